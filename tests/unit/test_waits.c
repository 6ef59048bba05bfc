/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of waiting, on stacks as kernels from 5.10 to 7.x show them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/waits.h"

#include <stdio.h>
#include <string.h>

#define DEPTH 24

/* "leaf < caller < …" as an array, root first. */
struct frames {
	char text[512];
	const char *v[DEPTH];
	size_t n;
};

static void split(struct frames *f, const char *stack)
{
	const char *leaf_first[DEPTH];
	char *save = NULL;

	f->n = 0;
	snprintf(f->text, sizeof(f->text), "%s", stack);
	for (char *s = strtok_r(f->text, "<", &save); s && f->n < DEPTH;
	     s = strtok_r(NULL, "<", &save)) {
		s += strspn(s, " ");
		while (*s && s[strlen(s) - 1] == ' ')
			s[strlen(s) - 1] = '\0';
		leaf_first[f->n++] = s;
	}
	for (size_t i = 0; i < f->n; i++)
		f->v[i] = leaf_first[f->n - 1 - i];
}

#define SLEEP "__schedule < schedule < "
#define MUTEX "__schedule < schedule < schedule_preempt_disabled < __mutex_lock < "
#define RWSEM "__schedule < schedule < schedule_preempt_disabled < rwsem_down_write_slowpath < "
#define COMPLETION "__schedule < schedule < schedule_timeout < __wait_for_common < "

static const struct {
	const char *stack, *class, *where;
	enum frt_mode mode;
	const char *call;
	enum frt_detail detail;
} rows[] = {
	/* grace periods, told apart; the caller is where */
	{ SLEEP "synchronize_rcu_expedited < namespace_unlock < path_umount", "rcu:expedited",
	  "namespace_unlock", FRT_MODE_CALL, "umount2", FRT_DET_MOUNT },
	{ SLEEP "exp_funnel_lock < synchronize_rcu_expedited < namespace_unlock < free_nsproxy",
	  "rcu:expedited", "namespace_unlock", FRT_MODE_EXIT, NULL, 0 },
	{ COMPLETION "__wait_rcu_gp < synchronize_rcu < synchronize_net < packet_release",
	  "rcu:normal", "packet_release (synchronize_net)", FRT_MODE_CALL, "close", 0 },
	{ COMPLETION "wait_for_completion < __wait_rcu_gp < synchronize_rcu_normal < "
		     "synchronize_rcu < namespace_unlock",
	  "rcu:normal", "namespace_unlock", FRT_MODE_CALL, "umount2", FRT_DET_MOUNT },
	{ COMPLETION "rcu_barrier < netdev_run_todo < rtnl_dellink", "rcu:barrier",
	  "netdev_run_todo", FRT_MODE_CALL, "sendmsg", FRT_DET_NETLINK },
	/* synchronize_net is a tail call: known by its caller */
	{ SLEEP "synchronize_rcu_expedited < __dev_change_net_namespace < do_setlink",
	  "rcu:expedited", "__dev_change_net_namespace (synchronize_net)", FRT_MODE_CALL, "sendmsg",
	  FRT_DET_NETLINK },
	{ SLEEP "synchronize_rcu_expedited < dev_change_net_namespace < do_setlink",
	  "rcu:expedited", "dev_change_net_namespace (synchronize_net)", FRT_MODE_CALL, "sendmsg",
	  FRT_DET_NETLINK },
	{ COMPLETION "rcu_barrier < dev_change_net_namespace < do_setlink", "rcu:barrier",
	  "dev_change_net_namespace", FRT_MODE_CALL, "sendmsg", FRT_DET_NETLINK },
	/* locks by who takes them */
	{ MUTEX "rtnl_newlink < netlink_rcv_skb", "lock:rtnl_mutex", "rtnl_newlink", FRT_MODE_CALL,
	  "sendmsg", FRT_DET_NETLINK },
	{ "__schedule < schedule < schedule_preempt_disabled < __mutex_lock.constprop.0 < "
	  "rtnetlink_rcv_msg < netlink_rcv_skb",
	  "lock:rtnl_mutex", "rtnetlink_rcv_msg", FRT_MODE_CALL, "sendmsg", FRT_DET_NETLINK },
	{ MUTEX "mutex_lock < exp_funnel_lock < synchronize_rcu_expedited < namespace_unlock",
	  "lock:rcu_state.exp_mutex", "namespace_unlock", FRT_MODE_CALL, "umount2", FRT_DET_MOUNT },
	{ RWSEM "down_write < path_mount < do_mount", "lock:namespace_sem", "path_mount",
	  FRT_MODE_CALL, "mount", FRT_DET_MOUNT },
	{ "__schedule < schedule < rwsem_down_read_slowpath < down_read < m_start < seq_read",
	  "lock:namespace_sem", "m_start", FRT_MODE_CALL, "read", 0 },
	{ "__schedule < schedule < rwsem_down_read_slowpath < down_read_killable < copy_net_ns",
	  "lock:pernet_ops_rwsem", "copy_net_ns", FRT_MODE_CALL, "unshare", FRT_DET_NS },
	{ RWSEM "down_write < kernfs_activate < kernfs_add_one", "lock:kernfs_rwsem",
	  "kernfs_activate", FRT_MODE_CALL, "sendmsg", FRT_DET_NETLINK },
	{ MUTEX "devlink_alloc_ns [devlink] < probe", "lock:in devlink_alloc_ns",
	  "devlink_alloc_ns [devlink]", FRT_MODE_CALL, "write", FRT_DET_WRITE },
	/* one function takes a mutex and a semaphore */
	{ RWSEM "register_netdevice_notifier < x", "lock:pernet_ops_rwsem",
	  "register_netdevice_notifier", FRT_MODE_CALL, "finit_module", 0 },
	{ MUTEX "register_netdevice_notifier < x", "lock:rtnl_mutex", "register_netdevice_notifier",
	  FRT_MODE_CALL, "bind", 0 },
	/* probes in between say nothing */
	{ MUTEX "bpf_trampoline_6442_1 < rtnl_newlink", "lock:rtnl_mutex", "rtnl_newlink",
	  FRT_MODE_CALL, "sendmsg", FRT_DET_NETLINK },
	{ SLEEP "synchronize_rcu_expedited < bpf_trampoline_77 < namespace_unlock", "rcu:expedited",
	  "namespace_unlock", FRT_MODE_CALL, "umount2", FRT_DET_MOUNT },
	{ SLEEP "locks_lock_inode_wait < __do_sys_flock", "lock:file", "locks_lock_inode_wait",
	  FRT_MODE_CALL, "flock", 0 },
	{ SLEEP "netlink_table_grab < __netlink_kernel_create", "lock:nl_table_lock",
	  "netlink_table_grab", FRT_MODE_CALL, "unshare", FRT_DET_NS },
	/* the rest of the classes */
	{ SLEEP "io_schedule < __folio_lock < filemap_fault < handle_mm_fault < exc_page_fault",
	  "fault", "__folio_lock", FRT_MODE_USER, NULL, 0 },
	{ "__schedule < schedule < io_schedule < folio_wait_bit_common < filemap_read", "io",
	  "folio_wait_bit_common", FRT_MODE_CALL, "read", 0 },
	{ RWSEM "down_read < do_user_addr_fault < exc_page_fault", "lock:mmap_lock",
	  "do_user_addr_fault", FRT_MODE_USER, NULL, 0 },
	{ COMPLETION "__flush_work < lru_add_drain_all", "work", "__flush_work", FRT_MODE_CALL,
	  "fadvise64", 0 },
	{ SLEEP "pipe_read < vfs_read", "pipe/socket", "pipe_read", FRT_MODE_CALL, "read", 0 },
	{ SLEEP "do_wait < kernel_wait4", "child", "do_wait", FRT_MODE_CALL, "wait4", 0 },
	{ SLEEP "do_nanosleep < hrtimer_nanosleep", "sleep", "do_nanosleep", FRT_MODE_CALL,
	  "clock_nanosleep", 0 },
	{ COMPLETION "wait_for_completion_state < kernel_clone < __do_sys_vfork", "vfork",
	  "kernel_clone", FRT_MODE_CALL, "vfork", FRT_DET_NS },
	{ COMPLETION "wait_for_completion < call_usermodehelper_exec < __request_module", "module",
	  "call_usermodehelper_exec", FRT_MODE_CALL, "socket", 0 },
	{ SLEEP "do_signal_stop < get_signal", "stopped", "do_signal_stop", FRT_MODE_USER, NULL,
	  0 },
	{ COMPLETION "wait_for_completion < stop_one_cpu < sched_exec", "other", "stop_one_cpu",
	  FRT_MODE_CALL, "execve", 0 },
	/* no stack: the call alone */
	{ "", "child", NULL, FRT_MODE_CALL, "wait4", 0 },
	{ "", "lock:file", NULL, FRT_MODE_CALL, "flock", 0 },
	{ "", "other", NULL, FRT_MODE_CALL, "write", FRT_DET_WRITE },
};

static void classes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char folded[512], buf[WAITS_TEXT_MAX], *dot;
		struct frames f;
		struct wait w = { .mode = rows[i].mode,
				  .call = rows[i].call,
				  .detail = rows[i].detail };
		const char *where;

		snprintf(folded, sizeof(folded), "%s", rows[i].stack);
		dot = strstr(folded, ".constprop.0"); /* names arrive folded */
		if (dot)
			memmove(dot, dot + 12, strlen(dot + 12) + 1);
		split(&f, folded);
		w.frames = f.v;
		w.nframes = f.n;
		if (strcmp(waits__class(&w, buf), rows[i].class) != 0)
			print_message("%s\n", rows[i].stack);
		assert_string_equal(waits__class(&w, buf), rows[i].class);
		where = waits__where(f.v, f.n, buf);
		if (rows[i].where)
			assert_string_equal(where, rows[i].where);
		else
			assert_null(where);
	}
}

/* A lock that was seen has its own name, but only where a lock is waited for. */
static void seen_locks(void **state)
{
	struct wait w = { .mode = FRT_MODE_CALL, .call = "sendmsg", .lock = "other_mutex" };
	char buf[WAITS_TEXT_MAX];
	struct frames f;

	(void)state;
	split(&f, MUTEX "rtnl_newlink");
	w.frames = f.v;
	w.nframes = f.n;
	assert_string_equal(waits__class(&w, buf), "lock:other_mutex");
	split(&f, SLEEP "synchronize_rcu_expedited < namespace_unlock");
	w.frames = f.v;
	w.nframes = f.n;
	assert_string_equal(waits__class(&w, buf), "rcu:expedited");
	/* a name longer than there is room is cut */
	w.lock = "a_lock_with_a_very_long_name_that_goes_on_and_on_and_on_and_on_and_on_and_on_and_"
		 "on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on";
	w.nframes = 0;
	assert_int_equal(strlen(waits__class(&w, buf)), WAITS_TEXT_MAX - 1);
}

static void takers(void **state)
{
	const char *taker;
	struct frames f;

	(void)state;
	split(&f, MUTEX "rtnl_newlink");
	assert_string_equal(waits__lock(f.v, f.n, &taker), "rtnl_mutex");
	assert_string_equal(taker, "rtnl_newlink");
	split(&f, MUTEX "nobody_knows < x");
	assert_null(waits__lock(f.v, f.n, &taker));
	assert_string_equal(taker, "nobody_knows");
	split(&f, SLEEP "do_wait");
	assert_null(waits__lock(f.v, f.n, &taker));
	assert_null(taker);
	/* nothing but the slow path */
	split(&f, MUTEX);
	assert_null(waits__lock(f.v, f.n, &taker));
	assert_null(waits__lock(NULL, 0, NULL));
}

static void wakers(void **state)
{
	static const struct {
		const char *stack, *what;
		bool unlocks;
	} w[] = {
		{ "wake_up_q < __mutex_unlock_slowpath < rtnl_newlink", "lock released", true },
		{ "wake_up_q < rwsem_wake < up_write < namespace_unlock", "lock released", true },
		{ "try_to_wake_up < wake_up_q < up_write < namespace_unlock", "lock released",
		  true },
		{ "__wake_up < __locks_wake_up_blocks < flock_lock_inode", "lock released", true },
		{ "sock_def_readable < __netlink_sendskb < netlink_broadcast_filtered < "
		  "kobject_uevent_net_broadcast < kobject_uevent_env < device_add",
		  "uevent", false },
		{ "sock_def_readable < netlink_broadcast_filtered < rtnl_notify", "netlink message",
		  false },
		{ "__wake_up < touch_mnt_namespace < commit_tree", "mountinfo poll", false },
		{ "try_to_wake_up < __queue_work < queue_work_on < x", "work queued", false },
		{ "try_to_wake_up < complete < something", NULL, false },
	};
	struct frames f;

	(void)state;
	for (size_t i = 0; i < sizeof(w) / sizeof(*w); i++) {
		split(&f, w[i].stack);
		if (w[i].what)
			assert_string_equal(waits__waking(f.v, f.n), w[i].what);
		else
			assert_null(waits__waking(f.v, f.n));
		assert_true(waits__unlocks(f.v, f.n) == w[i].unlocks);
	}
	assert_true(waits__wakes("try_to_wake_up") && !waits__wakes("rtnl_newlink"));
}

static void spinning(void **state)
{
	static const struct {
		const char *stack, *class, *where;
	} v[] = {
		{ "mutex_spin_on_owner < __mutex_lock < rtnl_newlink", "lock:rtnl_mutex (spinning)",
		  "rtnl_newlink" },
		{ "rwsem_spin_on_owner < rwsem_optimistic_spin < rwsem_down_write_slowpath < "
		  "down_write < path_mount",
		  "lock:namespace_sem (spinning)", "path_mount" },
		/* one queue of spinners for both kinds: told by what is around it */
		{ "osq_lock < rwsem_down_write_slowpath < register_netdevice_notifier",
		  "lock:pernet_ops_rwsem (spinning)", "register_netdevice_notifier" },
		{ "osq_lock < __mutex_lock < register_netdevice_notifier",
		  "lock:rtnl_mutex (spinning)", "register_netdevice_notifier" },
		{ "osq_lock < __mutex_lock < odd [mod]", "lock:in odd (spinning)", "odd [mod]" },
		{ "osq_lock", "lock:in ? (spinning)", NULL },
		{ "copy_tree < copy_mnt_ns", NULL, NULL },
	};
	char buf[WAITS_TEXT_MAX];
	struct frames f;

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
		split(&f, v[i].stack);
		if (!v[i].class) {
			assert_null(waits__spinning(f.v, f.n, buf));
			continue;
		}
		assert_string_equal(waits__spinning(f.v, f.n, buf), v[i].class);
		if (v[i].where)
			assert_string_equal(waits__where(f.v, f.n, buf), v[i].where);
	}
	assert_null(waits__spinning(NULL, 0, buf));
}

static void patterns(void **state)
{
	(void)state;
	assert_true(waits__fits("a*", "a") && waits__fits("a*", "abc"));
	assert_true(waits__fits("a*c", "abc") && !waits__fits("a*c", "ab"));
	assert_false(waits__fits("ab*bc", "abc")); /* the ends must not share a letter */
	assert_true(waits__fits("*c", "abc [mod]") && waits__fits("abc", "abc [mod]"));
	assert_false(waits__fits("abc", "abcd") || waits__fits("abc", "ab"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes), cmocka_unit_test(seen_locks),
		cmocka_unit_test(takers),  cmocka_unit_test(spinning),
		cmocka_unit_test(wakers),  cmocka_unit_test(patterns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
