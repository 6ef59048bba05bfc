/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rules of waiting. They are asked in this order: what stops a task whatever it
 * does (`anywhere`); a lock, when the leaf is one's slow path (`primitives`, then
 * `takers`); a fault; the innermost frame that says what is waited for (`places`);
 * the system call (`calls`). A new class is a row, or several.
 */
#include "analyze/waits.h"

#include "util/util.h"

#include <stdio.h>
#include <string.h>

#define ANY (-1)

/* Frames that decide wherever they stand in the stack. */
static const struct {
	const char *frame, *class;
} anywhere[] = {
	{ "do_signal_stop", "stopped" },
	{ "do_jobctl_trap", "stopped" },
	{ "ptrace_stop", "stopped" },
	{ "__refrigerator", "stopped" },
	{ "do_freezer_trap", "stopped" },
	{ "wait_for_vfork_done", "vfork" },
	{ "__request_module", "module" },
	{ "load_module", "module" },
	{ "idempotent_wait_for_completion", "module" },
};

/* clang-format off */
/* Slow paths of locks; MUTEX and RWSEM tell apart what one function takes of both. */
enum primitive { NO_LOCK, MUTEX, RWSEM, OTHER_LOCK };
static const struct {
	const char *frame; /* a '*' at the end: whatever begins so */
	enum primitive kind;
} primitives[] = {
	{ "mutex_spin_on_owner", MUTEX },
	{ "mutex_optimistic_spin", MUTEX },
	{ "rwsem_spin_on_owner", RWSEM },
	{ "rwsem_optimistic_spin", RWSEM },
	{ "osq_lock", OTHER_LOCK },
	{ "__mutex_lock*", MUTEX },
	{ "mutex_lock*", MUTEX },
	{ "__ww_mutex_lock*", MUTEX },
	{ "ww_mutex_lock*", MUTEX },
	{ "rt_mutex_*", MUTEX },
	{ "__rt_mutex_*", MUTEX },
	{ "rwsem_down_*", RWSEM },
	{ "rwbase_*", RWSEM },
	{ "down_read*", RWSEM },
	{ "down_write*", RWSEM },
	{ "__down_read*", RWSEM },
	{ "__down_write*", RWSEM },
	{ "percpu_rwsem_wait", RWSEM },
	{ "percpu_down_*", RWSEM },
	{ "__percpu_down_*", RWSEM },
	{ "cpus_read_lock", RWSEM },
	{ "cpus_write_lock", RWSEM },
	{ "down*", OTHER_LOCK },
	{ "__down*", OTHER_LOCK },
};
/* clang-format on */

/*
 * Who takes which lock. rtnl_lock is a tail call and namespace_lock is inlined: what
 * stands in the stack is whoever called them. The first row that fits counts.
 */
static const struct {
	const char *taker;   /* a '*' at the end: whatever begins so */
	enum primitive kind; /* NO_LOCK: any */
	const char *lock;
} takers[] = {
	{ "exp_funnel_lock", MUTEX, "rcu_state.exp_mutex" },
	{ "synchronize_rcu_expedited", MUTEX, "rcu_state.exp_mutex" },
	{ "rcu_barrier", MUTEX, "rcu_state.barrier_mutex" },
	{ "copy_net_ns", RWSEM, "pernet_ops_rwsem" },
	{ "cleanup_net", RWSEM, "pernet_ops_rwsem" },
	{ "register_pernet_*", NO_LOCK, "pernet_ops_rwsem" },
	{ "unregister_pernet_*", NO_LOCK, "pernet_ops_rwsem" },
	{ "register_netdevice_notifier", RWSEM, "pernet_ops_rwsem" },
	{ "unregister_netdevice_notifier", RWSEM, "pernet_ops_rwsem" },
	{ "setup_net", RWSEM, "net_rwsem" },
	{ "unhash_nsid", RWSEM, "net_rwsem" },
	{ "rtnl_*", MUTEX, "rtnl_mutex" },
	{ "rtnetlink_rcv_msg", MUTEX, "rtnl_mutex" },
	{ "register_nexthop_notifier", MUTEX, "rtnl_mutex" },
	{ "unregister_nexthop_notifier", MUTEX, "rtnl_mutex" },
	{ "nexthop_net_exit_batch*", MUTEX, "rtnl_mutex" },
	{ "register_netdevice_notifier*", MUTEX, "rtnl_mutex" },
	{ "unregister_netdevice_notifier*", MUTEX, "rtnl_mutex" },
	{ "register_netdev", MUTEX, "rtnl_mutex" },
	{ "unregister_netdev", MUTEX, "rtnl_mutex" },
	{ "default_device_exit*", MUTEX, "rtnl_mutex" },
	{ "ops_exit_rtnl_list", MUTEX, "rtnl_mutex" },
	{ "ops_undo_list", MUTEX, "rtnl_mutex" },
	{ "cleanup_net", MUTEX, "rtnl_mutex" },
	{ "fib_net_exit*", MUTEX, "rtnl_mutex" },
	{ "ip_tunnel_delete_nets", MUTEX, "rtnl_mutex" },
	{ "ip_tunnel_init_net", MUTEX, "rtnl_mutex" },
	{ "addrconf_*", MUTEX, "rtnl_mutex" },
	{ "sit_exit_batch_net", MUTEX, "rtnl_mutex" },
	{ "devinet_ioctl", MUTEX, "rtnl_mutex" },
	{ "ip_rt_ioctl", MUTEX, "rtnl_mutex" },
	{ "inet_rtm_newroute", MUTEX, "rtnl_mutex" },
	{ "dev_ioctl", MUTEX, "rtnl_mutex" },
	{ "dev_ethtool", MUTEX, "rtnl_mutex" },
	{ "linkwatch_event", MUTEX, "rtnl_mutex" },
	{ "netdev_run_todo", MUTEX, "rtnl_mutex" },
	{ "tun_chr_*", MUTEX, "rtnl_mutex" },
	{ "__tun_chr_*", MUTEX, "rtnl_mutex" },
	{ "do_ip_setsockopt", MUTEX, "rtnl_mutex" },
	{ "ip_mc_*", MUTEX, "rtnl_mutex" },
	{ "ipv6_sock_mc_*", MUTEX, "rtnl_mutex" },
	{ "kobject_uevent*", MUTEX, "uevent_sock_mutex" },
	{ "uevent_*", MUTEX, "uevent_sock_mutex" },
	{ "netlink_dump", MUTEX, "nl_cb_mutex" },
	{ "__netlink_dump_start", MUTEX, "nl_cb_mutex" },
	{ "genl_rcv", RWSEM, "genl cb_lock" },
	{ "genl_*", MUTEX, "genl_mutex" },
	{ "__nf_register_net_hook", MUTEX, "nf_hook_mutex" },
	{ "nf_register_net_hook*", MUTEX, "nf_hook_mutex" },
	{ "namespace_lock", RWSEM, "namespace_sem" },
	{ "lock_mount*", RWSEM, "namespace_sem" },
	{ "do_lock_mount", RWSEM, "namespace_sem" },
	{ "copy_mnt_ns", RWSEM, "namespace_sem" },
	{ "create_new_namespaces", RWSEM, "namespace_sem" },
	{ "path_umount", RWSEM, "namespace_sem" },
	{ "do_umount", RWSEM, "namespace_sem" },
	{ "__detach_mounts", RWSEM, "namespace_sem" },
	{ "path_mount", RWSEM, "namespace_sem" },
	{ "do_mount", RWSEM, "namespace_sem" },
	{ "do_add_mount", RWSEM, "namespace_sem" },
	{ "do_new_mount*", RWSEM, "namespace_sem" },
	{ "do_loopback", RWSEM, "namespace_sem" },
	{ "do_move_mount", RWSEM, "namespace_sem" },
	{ "do_change_type", RWSEM, "namespace_sem" },
	{ "graft_tree", RWSEM, "namespace_sem" },
	{ "finish_automount", RWSEM, "namespace_sem" },
	{ "mnt_already_visible", RWSEM, "namespace_sem" },
	{ "mount_too_revealing", RWSEM, "namespace_sem" },
	{ "open_detached_copy", RWSEM, "namespace_sem" },
	{ "vfs_open_tree", RWSEM, "namespace_sem" },
	{ "clone_private_mount", RWSEM, "namespace_sem" },
	{ "do_mount_setattr", RWSEM, "namespace_sem" },
	{ "mount_setattr_*", RWSEM, "namespace_sem" },
	{ "m_start", RWSEM, "namespace_sem" },
	{ "__do_sys_listmount", RWSEM, "namespace_sem" },
	{ "__do_sys_statmount", RWSEM, "namespace_sem" },
	{ "put_mnt_ns", RWSEM, "namespace_sem" },
	{ "drop_collected_mounts", RWSEM, "namespace_sem" },
	{ "free_nsproxy", RWSEM, "namespace_sem" },
	{ "switch_task_namespaces", RWSEM, "namespace_sem" },
	{ "exit_task_namespaces", RWSEM, "namespace_sem" },
	{ "kernfs_*", RWSEM, "kernfs_rwsem" },
	{ "kernfs_*", MUTEX, "kernfs_mutex" },
	{ "super_lock*", NO_LOCK, "s_umount" },
	{ "grab_super*", RWSEM, "s_umount" },
	{ "deactivate_super", RWSEM, "s_umount" },
	{ "sget_fc", RWSEM, "s_umount" },
	{ "iterate_supers*", RWSEM, "s_umount" },
	{ "filename_create", RWSEM, "i_rwsem" },
	{ "do_unlinkat", RWSEM, "i_rwsem" },
	{ "do_rmdir", RWSEM, "i_rwsem" },
	{ "open_last_lookups", RWSEM, "i_rwsem" },
	{ "path_openat", RWSEM, "i_rwsem" },
	{ "walk_component", RWSEM, "i_rwsem" },
	{ "lookup_slow", RWSEM, "i_rwsem" },
	{ "__lookup_slow", RWSEM, "i_rwsem" },
	{ "iterate_dir", RWSEM, "i_rwsem" },
	{ "lock_rename*", RWSEM, "i_rwsem" },
	{ "simple_*", RWSEM, "i_rwsem" },
	{ "start_creating", RWSEM, "i_rwsem" },
	{ "vm_mmap_pgoff", RWSEM, "mmap_lock" },
	{ "__vm_munmap", RWSEM, "mmap_lock" },
	{ "do_mprotect_pkey", RWSEM, "mmap_lock" },
	{ "exit_mmap", RWSEM, "mmap_lock" },
	{ "dup_mm*", RWSEM, "mmap_lock" },
	{ "lock_mm_and_find_vma", RWSEM, "mmap_lock" },
	{ "do_user_addr_fault", RWSEM, "mmap_lock" },
	{ "__mmap_region", RWSEM, "i_mmap_rwsem" },
	{ "mmap_region", RWSEM, "i_mmap_rwsem" },
	{ "vma_prepare", RWSEM, "i_mmap_rwsem" },
	{ "vma_link*", RWSEM, "i_mmap_rwsem" },
	{ "__vma_adjust", RWSEM, "i_mmap_rwsem" },
	{ "unlink_file_vma*", RWSEM, "i_mmap_rwsem" },
	{ "exec_mmap", RWSEM, "exec_update_lock" },
	{ "begin_new_exec", RWSEM, "exec_update_lock" },
	{ "prepare_bprm_creds", MUTEX, "cred_guard_mutex" },
	{ "copy_process", RWSEM, "cgroup_threadgroup_rwsem" },
	{ "cgroup_can_fork", RWSEM, "cgroup_threadgroup_rwsem" },
	{ "cgroup_css_set_fork", RWSEM, "cgroup_threadgroup_rwsem" },
	{ "exit_signals", RWSEM, "cgroup_threadgroup_rwsem" },
	{ "cgroup_*", MUTEX, "cgroup_mutex" },
};

/* What the innermost frame of these says is waited for. */
static const struct {
	const char *frame, *class; /* a '*' at the end: whatever begins so */
} places[] = {
	{ "synchronize_rcu_expedited*", "rcu:expedited" },
	{ "exp_funnel_lock", "rcu:expedited" },
	{ "synchronize_sched_expedited", "rcu:expedited" },
	{ "rcu_barrier*", "rcu:barrier" },
	{ "synchronize_rcu*", "rcu:normal" },
	{ "__wait_rcu_gp", "rcu:normal" },
	{ "synchronize_srcu*", "rcu:normal" },
	{ "__synchronize_srcu", "rcu:normal" },
	{ "cond_synchronize_rcu*", "rcu:normal" },
	{ "synchronize_net", "rcu:normal" },
	{ "netlink_table_grab", "lock:nl_table_lock" },
	{ "netlink_lock_table", "lock:nl_table_lock" },
	{ "super_lock", "lock:s_umount" },
	{ "flock_lock_inode_wait", "lock:file" },
	{ "locks_lock_inode_wait", "lock:file" },
	{ "posix_lock_inode_wait", "lock:file" },
	{ "do_lock_file_wait", "lock:file" },
	{ "__break_lease", "lock:file" },
	{ "__do_sys_flock", "lock:file" },
	{ "fcntl_setlk*", "lock:file" },
	{ "futex_wait*", "lock:futex" },
	{ "futex_lock_pi", "lock:futex" },
	{ "__flush_work", "work" },
	{ "flush_work", "work" },
	{ "__flush_workqueue", "work" },
	{ "flush_workqueue", "work" },
	{ "drain_workqueue", "work" },
	{ "cancel_*work_sync", "work" },
	{ "__cancel_work*", "work" },
	{ "kthread_stop", "work" },
	{ "__kthread_create_on_node", "work" },
	{ "kthread_create_*", "work" },
	{ "kthread_flush_work*", "work" },
	{ "devtmpfs_submit_req", "work" },
	{ "call_usermodehelper*", "work" },
	{ "do_init_module", "module" },
	{ "pipe_read", "pipe/socket" },
	{ "pipe_write", "pipe/socket" },
	{ "anon_pipe_*", "pipe/socket" },
	{ "fifo_open", "pipe/socket" },
	{ "wait_for_partner", "pipe/socket" },
	{ "do_poll*", "pipe/socket" },
	{ "do_sys_poll", "pipe/socket" },
	{ "do_select", "pipe/socket" },
	{ "ep_poll", "pipe/socket" },
	{ "__skb_wait_for_more_packets", "pipe/socket" },
	{ "sk_wait_data", "pipe/socket" },
	{ "sk_stream_wait_*", "pipe/socket" },
	{ "sock_alloc_send_pskb", "pipe/socket" },
	{ "sock_wait_for_wmem", "pipe/socket" },
	{ "unix_*", "pipe/socket" },
	{ "netlink_attachskb", "pipe/socket" },
	{ "inet_csk_accept", "pipe/socket" },
	{ "n_tty_read", "pipe/socket" },
	{ "n_tty_write", "pipe/socket" },
	{ "eventfd_read", "pipe/socket" },
	{ "do_wait", "child" },
	{ "kernel_wait4", "child" },
	{ "kernel_waitid", "child" },
	{ "zap_pid_ns_processes", "child" },
	{ "de_thread", "child" },
	{ "hrtimer_nanosleep", "sleep" },
	{ "do_nanosleep", "sleep" },
	{ "msleep*", "sleep" },
	{ "usleep_range*", "sleep" },
	{ "sigsuspend", "sleep" },
	{ "__do_sys_pause", "sleep" },
	{ "do_sigtimedwait", "sleep" },
	{ "folio_wait_*", "io" },
	{ "__folio_lock*", "io" },
	{ "wait_on_page_*", "io" },
	{ "wait_on_buffer", "io" },
	{ "__wait_on_buffer", "io" },
	{ "bit_wait_io*", "io" },
	{ "submit_bio_wait", "io" },
	{ "blk_*", "io" },
	{ "rq_qos_wait", "io" },
	{ "wbt_wait", "io" },
	{ "balance_dirty_pages*", "io" },
	{ "jbd2_*", "io" },
	{ "wait_transaction_locked", "io" },
	{ "xfs_*", "io" },
	{ "btrfs_*", "io" },
	{ "dio_*", "io" },
	{ "io_wq_*", "io" },
	{ "kernel_clone", "vfork" },
	{ "_do_fork", "vfork" },
};

static const char *const faults[] = { "asm_exc_page_fault", "exc_page_fault", "page_fault",
				      "do_user_addr_fault", "el0_da",	      "el1_abort",
				      "do_page_fault",	    "handle_mm_fault" };

/* By system call: unless more is known of what it was used on (is_request). */
static const struct {
	int mode; /* enum frt_mode or ANY */
	const char *call;
	const char *class;
} calls[] = {
	{ FRT_MODE_CALL, "wait4", "child" },
	{ FRT_MODE_CALL, "waitid", "child" },
	{ FRT_MODE_CALL, "vfork", "vfork" },
	{ FRT_MODE_CALL, "clone", "vfork" },
	{ FRT_MODE_CALL, "clone3", "vfork" },
	{ FRT_MODE_CALL, "nanosleep", "sleep" },
	{ FRT_MODE_CALL, "clock_nanosleep", "sleep" },
	{ FRT_MODE_CALL, "pause", "sleep" },
	{ FRT_MODE_CALL, "flock", "lock:file" },
	{ FRT_MODE_CALL, "futex", "lock:futex" },
	{ FRT_MODE_CALL, "poll", "pipe/socket" },
	{ FRT_MODE_CALL, "ppoll", "pipe/socket" },
	{ FRT_MODE_CALL, "select", "pipe/socket" },
	{ FRT_MODE_CALL, "pselect6", "pipe/socket" },
	{ FRT_MODE_CALL, "epoll_wait", "pipe/socket" },
	{ FRT_MODE_CALL, "epoll_pwait", "pipe/socket" },
	{ FRT_MODE_CALL, "epoll_pwait2", "pipe/socket" },
	{ FRT_MODE_CALL, "read", "pipe/socket" },
	{ FRT_MODE_CALL, "readv", "pipe/socket" },
	{ FRT_MODE_CALL, "write", "pipe/socket" },
	{ FRT_MODE_CALL, "writev", "pipe/socket" },
	{ FRT_MODE_CALL, "recvfrom", "pipe/socket" },
	{ FRT_MODE_CALL, "recvmsg", "pipe/socket" },
	{ FRT_MODE_CALL, "recvmmsg", "pipe/socket" },
	{ FRT_MODE_CALL, "sendto", "pipe/socket" },
	{ FRT_MODE_CALL, "sendmsg", "pipe/socket" },
	{ FRT_MODE_CALL, "sendmmsg", "pipe/socket" },
	{ FRT_MODE_CALL, "accept", "pipe/socket" },
	{ FRT_MODE_CALL, "accept4", "pipe/socket" },
	{ FRT_MODE_CALL, "connect", "pipe/socket" },
	{ FRT_MODE_CALL, "finit_module", "module" },
	{ FRT_MODE_CALL, "init_module", "module" },
	{ FRT_MODE_CALL, "fsync", "io" },
	{ FRT_MODE_CALL, "fdatasync", "io" },
};

static const char *const scheduler[] = {
	"__schedule",
	"__schedule_loop",
	"schedule",
	"schedule_timeout",
	"schedule_timeout_uninterruptible",
	"schedule_timeout_interruptible",
	"schedule_preempt_disabled",
	"schedule_rtlock",
	"schedule_hrtimeout_range_clock",
	"schedule_hrtimeout_range",
	"io_schedule",
	"io_schedule_timeout",
	"__cond_resched",
	"preempt_schedule_common",
	"preempt_schedule_irq",
	"preempt_schedule",
};

/* Ways to sleep that do not say for what: the caller does. */
static const char *const sleepers[] = {
	"__wait_for_common",
	"wait_for_common",
	"__wait_for_completion",
	"wait_for_completion",
	"wait_for_completion_state",
	"wait_for_completion_killable",
	"wait_for_completion_interruptible",
	"wait_for_completion_timeout",
	"wait_for_completion_io",
	"out_of_line_wait_on_bit",
	"__wait_on_bit",
	"bit_wait",
};

/* Callers of synchronize_net, which is a tail call on most builds: what is left of
 * it is the grace period it asked for. */
static const char *const net_callers[] = {
	"netif_set_real_num_tx_queues",
	"__dev_change_net_namespace",
	"dev_change_net_namespace",
	"dev_deactivate_many",
	"dev_close_many",
	"unregister_netdevice_many_notify",
	"unregister_netdevice_many",
	"rollback_registered_many",
	"default_device_exit_batch",
	"netdev_rx_handler_unregister",
	"netdev_master_upper_dev_link",
	"packet_release",
	"dev_remove_pack",
	"veth_disable_xdp",
	"veth_napi_del_range",
	"free_netdev",
};

static bool in_list(const char *const *v, size_t n, const char *frame)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(v[i], frame) == 0)
			return true;
	return false;
}

bool waits__fits(const char *pattern, const char *frame)
{
	const char *star = strchr(pattern, '*');
	size_t n = strlen(pattern);

	if (star) {
		size_t head = (size_t)(star - pattern), tail = n - head - 1,
		       len = strcspn(frame, " ");

		return strncmp(pattern, frame, head) == 0 && len >= head + tail &&
		       strncmp(star + 1, frame + len - tail, tail) == 0;
	}
	return strncmp(pattern, frame, n) == 0 && (!frame[n] || frame[n] == ' ');
}

static bool has_frame(const struct wait *w, const char *frame)
{
	for (size_t i = w->nframes; i-- > 0;)
		if (strcmp(w->frames[i], frame) == 0)
			return true;
	return false;
}

static enum primitive primitive_of(const char *frame)
{
	for (size_t i = 0; i < ARRAY_SIZE(primitives); i++)
		if (waits__fits(primitives[i].frame, frame))
			return primitives[i].kind;
	return NO_LOCK;
}

bool waits__is_probe(const char *frame)
{
	return waits__fits("bpf_trampoline_*", frame) || waits__fits("bpf_prog_*", frame) ||
	       waits__fits("arch_rethook_trampoline", frame) ||
	       waits__fits("*kretprobe_trampoline", frame);
}

/* Frames without the scheduler's at the leaf. */
static size_t below_scheduler(const char *const *frames, size_t n)
{
	while (n && (waits__is_scheduler(frames[n - 1]) || waits__is_probe(frames[n - 1])))
		n--;
	return n;
}

/* The frame that takes a lock, counted from 1; 0: the leaf is no lock's slow path. */
static size_t find_taker(const char *const *frames, size_t n, enum primitive *kind)
{
	size_t i = below_scheduler(frames, n);

	*kind = NO_LOCK;
	/* the outermost of them says what it is: one queue of spinners serves both */
	for (; i; i--) {
		enum primitive k = primitive_of(frames[i - 1]);

		if (k != NO_LOCK)
			*kind = k;
		else if (*kind == NO_LOCK || !waits__is_probe(frames[i - 1]))
			break;
	}
	if (*kind == NO_LOCK)
		return 0;
	return i;
}

const char *waits__lock(const char *const *frames, size_t nframes, const char **taker)
{
	enum primitive kind;
	size_t at = find_taker(frames, nframes, &kind);

	if (taker)
		*taker = at ? frames[at - 1] : NULL;
	for (size_t i = 0; at && i < ARRAY_SIZE(takers); i++)
		if ((takers[i].kind == NO_LOCK || takers[i].kind == kind) &&
		    waits__fits(takers[i].taker, frames[at - 1]))
			return takers[i].lock;
	return NULL;
}

/* Something was decoded of the call that says it is neither pipe nor stream: what
 * it waits for is inside the kernel. */
static bool is_request(enum frt_detail d)
{
	return d == FRT_DET_WRITE || d == FRT_DET_NETLINK || d == FRT_DET_OPEN ||
	       d == FRT_DET_MOUNT;
}

static const char *class_of_lock(const struct wait *w, char *buf)
{
	const char *taker, *lock = waits__lock(w->frames, w->nframes, &taker);

	/* Inside a grace period the lock seen is one of RCU's own; its table is better. */
	if (w->lock && (taker || !w->nframes))
		snprintf(buf, WAITS_TEXT_MAX, "lock:%s", w->lock);
	else if (lock)
		snprintf(buf, WAITS_TEXT_MAX, "lock:%s", lock);
	else if (taker)
		snprintf(buf, WAITS_TEXT_MAX, "lock:in %.*s", (int)strcspn(taker, " "), taker);
	else
		return NULL;
	return buf;
}

const char *waits__spinning(const char *const *frames, size_t nframes, char *buf)
{
	static const char *const spins[] = { "mutex_spin_on_owner", "mutex_optimistic_spin",
					     "rwsem_spin_on_owner", "rwsem_optimistic_spin",
					     "osq_lock" };
	const char *taker, *lock;
	size_t n = nframes;

	while (n && !in_list(spins, ARRAY_SIZE(spins), frames[n - 1]))
		n--;
	if (!n)
		return NULL;
	lock = waits__lock(frames, n, &taker);
	if (lock)
		snprintf(buf, WAITS_TEXT_MAX, "lock:%s (spinning)", lock);
	else
		snprintf(buf, WAITS_TEXT_MAX, "lock:in %.*s (spinning)",
			 taker ? (int)strcspn(taker, " ") : 1, taker ? taker : "?");
	return buf;
}

static const char *class_of_place(const struct wait *w)
{
	for (size_t k = below_scheduler(w->frames, w->nframes); k-- > 0;)
		for (size_t i = 0; i < ARRAY_SIZE(places); i++)
			if (waits__fits(places[i].frame, w->frames[k]))
				return places[i].class;
	return NULL;
}

static const char *class_of_call(const struct wait *w)
{
	for (size_t i = 0; w->call && !is_request(w->detail) && i < ARRAY_SIZE(calls); i++)
		if ((calls[i].mode == ANY || calls[i].mode == (int)w->mode) &&
		    strcmp(calls[i].call, w->call) == 0)
			return calls[i].class;
	return NULL;
}

const char *waits__class(const struct wait *w, char *buf)
{
	const char *class;

	for (size_t i = 0; i < ARRAY_SIZE(anywhere); i++)
		if (has_frame(w, anywhere[i].frame))
			return anywhere[i].class;
	class = class_of_lock(w, buf);
	if (class)
		return class;
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		if (has_frame(w, faults[i]))
			return "fault";
	class = class_of_place(w);
	if (!class)
		class = class_of_call(w);
	/* Outside calls, and not in work that was left for its way out. */
	if (!class && w->mode == FRT_MODE_USER && !has_frame(w, "task_work_run"))
		class = "fault";
	return class ? class : "other";
}

static bool is_grace_period(const char *frame)
{
	return waits__fits("synchronize_rcu*", frame) || waits__fits("synchronize_net", frame) ||
	       waits__fits("exp_funnel_lock", frame) || waits__fits("__wait_rcu_gp", frame) ||
	       waits__fits("rcu_barrier", frame);
}

const char *waits__where(const char *const *frames, size_t nframes, char *buf)
{
	size_t n = below_scheduler(frames, nframes), at;
	enum primitive kind;
	bool net = false, barrier = false;

	at = find_taker(frames, nframes, &kind);
	if (at)
		n = at;
	while (n > 1 && (in_list(sleepers, ARRAY_SIZE(sleepers), frames[n - 1]) ||
			 waits__is_probe(frames[n - 1])))
		n--;
	if (!n)
		return NULL;
	if (!is_grace_period(frames[n - 1]))
		return frames[n - 1];
	while (n > 1 && (is_grace_period(frames[n - 1]) || waits__is_probe(frames[n - 1]))) {
		net = net || waits__fits("synchronize_net", frames[n - 1]);
		barrier = barrier || waits__fits("rcu_barrier", frames[n - 1]);
		n--;
	}
	if (barrier || (!net && !in_list(net_callers, ARRAY_SIZE(net_callers), frames[n - 1])))
		return frames[n - 1];
	snprintf(buf, WAITS_TEXT_MAX, "%s (synchronize_net)", frames[n - 1]);
	return buf;
}

bool waits__is_scheduler(const char *frame)
{
	return in_list(scheduler, ARRAY_SIZE(scheduler), frame);
}
