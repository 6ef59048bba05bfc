/* SPDX-License-Identifier: BSD-2-Clause */
/* The figures behind sample_profile.c. */
#ifndef SAMPLE_SPECS_H
#define SAMPLE_SPECS_H

#include "sample_profile.h"

/*
 * One action of one step at one level. us: mean user, kernel, blocked and
 * runqueue time per router in us. stacks: kernel stacks, root first, with their
 * share of the kernel time in permille; what is missing to 1000 was not
 * sampled. wait: class, self frame.
 */
struct action_spec {
	int level; /* 0: at the first, 1: at the second level */
	const char *step, *action;
	unsigned hits; /* per router */
	int us[FRT_KINDS];
	const char *wait, *where;
	const char *stacks;
};

/* clang-format off */
static const struct action_spec specs[] = {
	{ 0, "add", "start", 1, { 0, 310, 0, 12 }, 0, 0, "ret_from_fork;schedule_tail=420" },
	{ 0, "add", "execve", 1, { 0, 420, 0, 4 }, 0, 0,
	  "bprm_execve;begin_new_exec;exec_mmap=330 bprm_execve;load_elf_binary=470" },
	{ 0, "add", "mount(shared,rec)", 1, { 0, 24, 0, 0 }, 0, 0,
	  "path_mount;change_mnt_propagation=900" },
	{ 0, "add", "unshare(NEWNET)", 1, { 0, 690, 130, 6 }, "other", "synchronize_rcu_expedited",
	  "create_new_namespaces;copy_net_ns;setup_net;ops_init=610 "
	  "create_new_namespaces;copy_net_ns;register_net_sysctl_sz=240" },
	{ 0, "add", "user", 1, { 1180, 0, 0, 30 }, 0, 0, "" },
	{ 0, "add", "exit", 1, { 0, 260, 0, 9 }, 0, 0, "do_exit;mmput;exit_mmap=720" },
	{ 0, "exec", "setns(NEWNET)", 1, { 0, 38, 0, 0 }, 0, 0, "" },
	{ 0, "exec", "unshare(NEWNS)", 1, { 0, 96, 210, 2 }, "other", "synchronize_rcu_expedited",
	  "copy_mnt_ns;copy_tree;clone_mnt=520" },
	{ 0, "exec", "execve", 2, { 0, 810, 0, 12 }, 0, 0, "bprm_execve;load_elf_binary=560" },
	{ 0, "exec", "user", 1, { 1640, 0, 0, 55 }, 0, 0, "" },
	{ 0, "exec", "exit", 1, { 0, 330, 700, 17 }, "other", "synchronize_rcu_expedited",
	  "do_exit;mmput;exit_mmap=610 "
	  "do_exit;exit_task_namespaces;put_mnt_ns;umount_tree=220" },
	{ 0, "sysctl", "unshare(NEWNS)", 1, { 0, 97, 190, 2 }, "other", "synchronize_rcu_expedited",
	  "copy_mnt_ns;copy_tree;clone_mnt=510" },
	{ 0, "sysctl", "write /proc/sys", 1, { 0, 35, 6, 0 }, "other", "rtnl_lock",
	  "vfs_write;proc_sys_call_handler;devinet_sysctl_forward=800" },
	{ 0, "sysctl", "user", 1, { 1210, 0, 0, 41 }, 0, 0, "" },
	{ 0, "sysctl", "exit", 1, { 0, 322, 690, 13 }, "other", "synchronize_rcu_expedited",
	  "do_exit;mmput;exit_mmap=640" },
	{ 0, "veth", "rtnl newlink veth", 2, { 0, 1480, 0, 18 }, 0, 0,
	  "rtnetlink_rcv_msg;rtnl_newlink;veth_newlink;register_netdevice=640 "
	  "rtnetlink_rcv_msg;rtnl_newlink;rtnl_configure_link=210" },
	{ 0, "veth", "user", 2, { 2310, 0, 0, 77 }, 0, 0, "" },
	{ 0, "veth", "exit", 2, { 0, 540, 0, 21 }, 0, 0, "do_exit;mmput;exit_mmap=700" },
	{ 0, "delete", "umount2", 1, { 0, 210, 95, 5 }, "other", "synchronize_rcu_expedited",
	  "path_umount;namespace_unlock=640" },
	{ 0, "delete", "user", 1, { 890, 0, 0, 22 }, 0, 0, "" },
	{ 0, "true", "execve", 1, { 0, 250, 0, 3 }, 0, 0, "bprm_execve;load_elf_binary=520" },
	{ 0, "true", "user", 1, { 280, 0, 0, 8 }, 0, 0, "" },

	{ 1, "add", "start", 1, { 0, 312, 0, 12 }, 0, 0, "ret_from_fork;schedule_tail=420" },
	{ 1, "add", "execve", 1, { 0, 424, 0, 4 }, 0, 0,
	  "bprm_execve;begin_new_exec;exec_mmap=330 bprm_execve;load_elf_binary=470" },
	{ 1, "add", "mount(shared,rec)", 1, { 0, 131, 0, 0 }, 0, 0,
	  "path_mount;change_mnt_propagation=960" },
	{ 1, "add", "unshare(NEWNET)", 1, { 0, 705, 135, 6 }, "other", "synchronize_rcu_expedited",
	  "create_new_namespaces;copy_net_ns;setup_net;ops_init=620 "
	  "create_new_namespaces;copy_net_ns;register_net_sysctl_sz=235" },
	{ 1, "add", "user", 1, { 1190, 0, 0, 31 }, 0, 0, "" },
	{ 1, "add", "exit", 1, { 0, 262, 0, 9 }, 0, 0, "do_exit;mmput;exit_mmap=720" },
	{ 1, "exec", "setns(NEWNET)", 1, { 0, 39, 0, 0 }, 0, 0, "" },
	{ 1, "exec", "unshare(NEWNS)", 1, { 0, 4210, 215, 9 }, "other", "synchronize_rcu_expedited",
	  "copy_mnt_ns;copy_tree;clone_mnt=710 copy_mnt_ns;copy_tree=190 "
	  "copy_mnt_ns;lock_mount=40" },
	{ 1, "exec", "execve", 2, { 0, 822, 0, 12 }, 0, 0, "bprm_execve;load_elf_binary=560" },
	{ 1, "exec", "user", 1, { 1655, 0, 0, 56 }, 0, 0, "" },
	{ 1, "exec", "exit", 1, { 0, 3120, 1180, 31 }, "other", "synchronize_rcu_expedited",
	  "do_exit;mmput;exit_mmap=60 "
	  "do_exit;exit_task_namespaces;put_mnt_ns;umount_tree=610 "
	  "do_exit;task_work_run;cleanup_mnt=210" },
	{ 1, "sysctl", "unshare(NEWNS)", 1, { 0, 4190, 205, 9 }, "other", "synchronize_rcu_expedited",
	  "copy_mnt_ns;copy_tree;clone_mnt=700 copy_mnt_ns;copy_tree=200" },
	{ 1, "sysctl", "write /proc/sys", 1, { 0, 36, 8, 0 }, "other", "rtnl_lock",
	  "vfs_write;proc_sys_call_handler;devinet_sysctl_forward=800" },
	{ 1, "sysctl", "user", 1, { 1215, 0, 0, 42 }, 0, 0, "" },
	{ 1, "sysctl", "exit", 1, { 0, 3080, 1150, 29 }, "other", "synchronize_rcu_expedited",
	  "do_exit;mmput;exit_mmap=60 "
	  "do_exit;exit_task_namespaces;put_mnt_ns;umount_tree=630" },
	{ 1, "veth", "rtnl newlink veth", 2, { 0, 1510, 0, 19 }, 0, 0,
	  "rtnetlink_rcv_msg;rtnl_newlink;veth_newlink;register_netdevice=650 rtnetlink_rcv_msg;"
	  SAMPLE_EVIL_FRAME "=50 rtnetlink_rcv_msg;rtnl_newlink;rtnl_configure_link=200" },
	{ 1, "veth", "user", 2, { 2320, 0, 0, 78 }, 0, 0, "" },
	{ 1, "veth", "exit", 2, { 0, 543, 0, 21 }, 0, 0, "do_exit;mmput;exit_mmap=700" },
	{ 1, "delete", "umount2", 1, { 0, 640, 120, 7 }, "other", "synchronize_rcu_expedited",
	  "path_umount;namespace_unlock=710" },
	{ 1, "delete", "user", 1, { 893, 0, 0, 22 }, 0, 0, "" },
	{ 1, "true", "execve", 1, { 0, 251, 0, 3 }, 0, 0, "bprm_execve;load_elf_binary=520" },
	{ 1, "true", "user", 1, { 281, 0, 0, 8 }, 0, 0, "" },
};
/* clang-format on */

#endif
