/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The kernel's types, as far as the BPF programs read them: hand-kept, only
 * the fields used. Offsets written here mean nothing: CO-RE moves every access
 * to where the running kernel has the field (preserve_access_index), and a
 * field that some kernels lack is asked for with bpf_core_field_exists().
 * What was renamed stands in bpf/core.h under both names.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __s8 s8;
typedef __u8 u8;
typedef __s16 s16;
typedef __u16 u16;
typedef __s32 s32;
typedef __u32 u32;
typedef __s64 s64;
typedef __u64 u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;
typedef _Bool bool;
typedef int pid_t;

enum {
	false = 0,
	true = 1,
};

/* From the kernel's ABI (include/uapi/linux/bpf.h): numbers, not layouts. */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_QUEUE = 22,
	BPF_MAP_TYPE_STACK = 23,
	BPF_MAP_TYPE_RINGBUF = 27,
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_F_NO_PREALLOC = 1,
	BPF_F_MMAPABLE = 1024,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
	BPF_RB_AVAIL_DATA = 0,
	BPF_F_SKIP_FIELD_MASK = 255,
};

/* Which helpers the kernel has: asked for by bpf_core_enum_value_exists(). */
enum bpf_func_id {
	BPF_FUNC_task_pt_regs = 175,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head {
	struct list_head *next, *prev;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct thread_info {
	unsigned long flags;
	u32 status; /* x86 */
	union {	    /* arm64 */
		u64 preempt_count;
	};
};

struct pt_regs;

struct seccomp {
	int mode;
};

/* __ns_ref and what else moves inside is of no interest here. */
struct ns_common {
	unsigned int inum;
};

struct net {
	struct list_head list;
	struct ns_common ns;
};

/* exit_batch_rtnl from 6.9 to 6.15, exit_rtnl since. */
struct pernet_operations {
	struct list_head list;
	void *pre_exit, *exit, *exit_batch, *exit_batch_rtnl, *exit_rtnl;
};

struct mnt_namespace {
	struct ns_common ns;
};

/* atomic_t up to 5.19, refcount_t since: a number at its beginning. */
struct frt_count {
	int counter;
};

struct nsproxy {
	struct frt_count count;
	struct mnt_namespace *mnt_ns;
	struct net *net_ns;
};

struct mm_struct {
	unsigned long arg_start, arg_end;
};

struct qstr {
	const unsigned char *name;
};

struct super_block {
	unsigned long s_magic;
};

struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
	void *i_private;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
	void *private_data;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct sock_common {
	unsigned short skc_family;
};

struct sk_buff {
	unsigned char *data;
};
struct sock {
	struct sock_common __sk_common;
	u16 sk_protocol;
};

struct socket {
	struct sock *sk;
};

struct pid {
	struct hlist_head tasks[4];
};

struct signal_struct {
	struct list_head thread_head;
};

struct sched_entity {
	u64 sum_exec_runtime;
	u64 prev_sum_exec_runtime; /* when it was last picked */
};

struct task_struct {
	struct thread_info thread_info;
	void *stack;
	unsigned int flags;
	struct mm_struct *mm;
	struct sched_entity se;
	int exit_code;
	pid_t pid;
	pid_t tgid;
	struct hlist_node pid_links[4];
	struct list_head thread_node;
	u64 start_time;
	char comm[16];
	struct files_struct *files;
	struct nsproxy *nsproxy;
	struct signal_struct *signal;
	struct css_set *cgroups;
	struct seccomp seccomp;
};

struct frt_atomic_long {
	long counter;
};

/* Under PREEMPT_RT both are another lock: asked for by field. */
struct mutex {
	struct frt_atomic_long owner;
};

struct rw_semaphore {
	struct frt_atomic_long count, owner;
};

struct work_struct {
	void *func;
};

struct kthread {
	void *data;
};

/* Of a workqueue. */
struct worker {
	void *current_func;
};

/* Of control groups: each begins with its place in the tree. */
struct kernfs_node {
	u64 id;
};

struct cgroup_subsys_state {
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct sigaction {
	void *sa_handler;
};

struct k_sigaction {
	struct sigaction sa;
};

#pragma clang attribute pop

/* Contexts of the program types used. */
struct bpf_raw_tracepoint_args {
	__u64 args[0];
};

#endif /* __VMLINUX_H__ */
