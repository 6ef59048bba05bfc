/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel functions that are probed, one row each. A function is looked for
 * under its name, then under the others, then under a name with a compiler's
 * suffix; a row that a kernel lacks is normal and never fatal.
 */
#ifndef FRTRACE_PROBES_H
#define FRTRACE_PROBES_H

#include <stddef.h>
#include <stdint.h>

enum frt_probe_split {
	FRT_PROBE_WHOLE = 0,
	FRT_PROBE_FLAG, /* first argument: do its bits of mask say there was something to do? */
	FRT_PROBE_INIT, /* first argument: a pernet_operations, named by its init function */
	FRT_PROBE_RTNL, /* first argument: a socket buffer; in a send of several, by message */
	FRT_PROBE_OPS,	/* the same; without init by the first of its other functions */
};

struct frt_probe_def {
	const char *function;
	const char *step;      /* the step it is expected in, or "any", "later" (another task) */
	const char *others[2]; /* names on other kernels, NULL at the end */
	const char *module;    /* to be loaded first; NULL: in the kernel */
	enum frt_probe_split split;
	uint64_t mask;
	const char *idle; /* FRT_PROBE_FLAG: what a call without the bits is shown as */
	int entry_only;	  /* never returns */
};

#define FRT_NEWNS 0x00020000u
#define FRT_NEWNET 0x40000000u

static const struct frt_probe_def frt_probes[] = {
	/* namespaces as such */
	{ "unshare_nsproxy_namespaces", "add", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "create_new_namespaces",
	  "add",
	  { NULL },
	  NULL,
	  FRT_PROBE_FLAG,
	  FRT_NEWNS | FRT_NEWNET,
	  "only to enter",
	  0 },
	{ "copy_net_ns", "add", { NULL }, NULL, FRT_PROBE_FLAG, FRT_NEWNET, "no NEWNET", 0 },
	{ "preinit_net", "add", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "setup_net", "add", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "ops_init", "add", { NULL }, NULL, FRT_PROBE_INIT, 0, NULL, 0 },
	{ "__register_sysctl_table", "add", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "loopback_net_init", "add", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "do_loopback", "add", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "attach_recursive_mnt", "add", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "propagate_mnt", "add", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "invent_group_ids", "add", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	/* entering one with a mount table of its own */
	{ "copy_mnt_ns", "exec", { NULL }, NULL, FRT_PROBE_FLAG, FRT_NEWNS, "no NEWNS", 0 },
	{ "copy_tree", "exec", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "path_mount", "exec", { "do_mount" }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "change_mnt_propagation", "exec", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "path_umount", "exec", { "ksys_umount" }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "umount_tree", "exec", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "namespace_unlock", "exec", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "sget_fc", "exec", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "vfs_get_tree", "exec", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "switch_task_namespaces", "exec", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "exit_task_namespaces",
	  "exec",
	  { "exit_nsproxy_namespaces" },
	  NULL,
	  FRT_PROBE_WHOLE,
	  0,
	  NULL,
	  0 },
	{ "free_nsproxy", "exec", { "deactivate_nsproxy" }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "put_mnt_ns", "exec", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "bprm_execve", "exec", { "do_execveat_common" }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	/* sysctl */
	{ "proc_sys_call_handler", "sysctl", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "proc_sys_lookup", "sysctl", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "devinet_sysctl_forward", "sysctl", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "addrconf_sysctl_forward", "sysctl", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	/* links */
	{ "rtnetlink_rcv_msg", "veth", { NULL }, NULL, FRT_PROBE_RTNL, 0, NULL, 0 },
	{ "rtnl_newlink", "veth", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "rtnl_create_link", "veth", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "veth_newlink", "veth", { NULL }, "veth", FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "register_netdevice", "veth", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "netdev_register_kobject", "veth", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "kobject_uevent_env", "veth", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "inetdev_init", "veth", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "ipv6_add_dev", "veth", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "addrconf_notify", "veth", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "rtnl_configure_link", "veth", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "rtmsg_ifinfo", "veth", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "peernet2id_alloc", "veth", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "__dev_change_net_namespace",
	  "veth",
	  { "dev_change_net_namespace" },
	  NULL,
	  FRT_PROBE_WHOLE,
	  0,
	  NULL,
	  0 },
	/* going away */
	{ "__put_net", "delete", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "cleanup_net", "later", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "ops_undo_list", "later", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	/* inlined from 6.12 on: there what it and its like call is probed (trace/operations.c) */
	{ "ops_exit_list", "later", { NULL }, NULL, FRT_PROBE_OPS, 0, NULL, 0 },
	{ "default_device_exit_batch", "later", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "unregister_netdevice_many_notify",
	  "later",
	  { "unregister_netdevice_many" },
	  NULL,
	  FRT_PROBE_WHOLE,
	  0,
	  NULL,
	  0 },
	{ "inet_twsk_purge", "later", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "netdev_run_todo", "later", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	/* waiting, wherever it happens */
	{ "rtnl_lock", "any", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "synchronize_rcu", "any", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "synchronize_rcu_expedited", "any", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "synchronize_net", "any", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "rcu_barrier", "any", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "exit_mmap", "any", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 0 },
	{ "do_exit", "any", { NULL }, NULL, FRT_PROBE_WHOLE, 0, NULL, 1 },
};

#define FRT_NPROBES (sizeof(frt_probes) / sizeof(frt_probes[0]))

#endif /* FRTRACE_PROBES_H */
