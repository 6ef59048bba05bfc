/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Accessors for what kernels call by different names, and for what takes more
 * than one read. All read through the probe helpers: a pointer that went away
 * gives 0, never a fault. */
#ifndef FRT_CORE_H
#define FRT_CORE_H

#include "vmlinux.h"
#include "arch.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define TASK_DEAD 0x80

#define PROC_SUPER_MAGIC 0x9fa0
#define NSFS_MAGIC 0x6e736673
#define PID_FS_MAGIC 0x50494446
#define AF_NETLINK 16
#define S_IFMT 0170000
#define S_IFSOCK 0140000

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
/* __state since 5.14 (2f064a59a11f), before that state. */
struct task_struct___new {
	unsigned int __state;
};
struct task_struct___old {
	long state;
};
/* The type of a namespace stands in itself since 6.18, before in its operations. */
struct ns_common___new {
	u32 ns_type;
};
struct proc_ns_operations___old {
	int type;
};
struct ns_common___old {
	const struct proc_ns_operations___old *ops;
};
/* What a kernel thread is for, since 5.17 (e32cf5dfbe22); kthread_data() of a
 * worker is its struct. */
struct task_struct___worker {
	void *worker_private;
};
/* Before, a kernel thread's struct was kept in a field that it has no use for. */
struct task_struct___kthread {
	void *set_child_tid;
};
/* How many hold a network namespace: in ns_common since 5.11 (c1b454a1a1b3 and
 * before), __ns_ref there since 6.18. */
struct ns_common___ref {
	struct frt_count __ns_ref;
};
struct ns_common___count {
	struct frt_count count;
};
struct net___count {
	struct frt_count count;
};
#pragma clang attribute pop

static __always_inline struct task_struct *current_task(void)
{
	return (struct task_struct *)bpf_get_current_task();
}

static __always_inline u32 task__state(const struct task_struct *t)
{
	const struct task_struct___new *n = (const void *)t;
	const struct task_struct___old *o = (const void *)t;

	if (bpf_core_field_exists(n->__state))
		return BPF_CORE_READ(n, __state);
	return (u32)BPF_CORE_READ(o, state);
}

/*
 * Does the kernel give the current task (since 5.11) and its registers (since
 * 5.15) as pointers that are read by plain loads? Those cost a tenth of a probe
 * helper, which tells where it is done at every call.
 */
#define reads_directly() bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs)

#define PF_WQ_WORKER 0x20
#define PF_KTHREAD 0x00200000

/* The function that a workqueue's worker executes; 0: it is none, or idle. */
static __always_inline u64 task__work(const struct task_struct *t)
{
	const struct task_struct___worker *n = (const void *)t;
	const struct task_struct___kthread *o = (const void *)t;
	const struct kthread *k;
	const struct worker *w;

	if (!(BPF_CORE_READ(t, flags) & PF_WQ_WORKER))
		return 0;
	if (bpf_core_field_exists(n->worker_private))
		k = BPF_CORE_READ(n, worker_private);
	else
		k = BPF_CORE_READ(o, set_child_tid);
	w = BPF_CORE_READ(k, data);
	return (u64)BPF_CORE_READ(w, current_func);
}

static __always_inline u32 task__net(const struct task_struct *t)
{
	return BPF_CORE_READ(t, nsproxy, net_ns, ns.inum);
}

/* Does t, about to exit, hold the last reference to its network namespace? */
static __always_inline bool task__last_in_net(const struct task_struct *t)
{
	const struct nsproxy *p = BPF_CORE_READ(t, nsproxy);
	const struct net *net;
	const struct ns_common *ns;
	const struct ns_common___ref *r;
	const struct ns_common___count *c;
	const struct net___count *n;
	u32 v = 0;

	if (!p || bpf_core_read(&v, sizeof(v), &p->count) || v != 1)
		return false;
	net = BPF_CORE_READ(p, net_ns);
	ns = &net->ns;
	r = (const void *)ns;
	c = (const void *)ns;
	n = (const void *)net;
	if (bpf_core_field_exists(r->__ns_ref))
		bpf_core_read(&v, sizeof(v), &r->__ns_ref);
	else if (bpf_core_field_exists(c->count))
		bpf_core_read(&v, sizeof(v), &c->count);
	else if (bpf_core_field_exists(n->count))
		bpf_core_read(&v, sizeof(v), &n->count);
	else
		return false;
	return v == 1;
}

static __always_inline u32 task__mnt(const struct task_struct *t)
{
	return BPF_CORE_READ(t, nsproxy, mnt_ns, ns.inum);
}

/* CLONE_NEW* of a namespace. */
static __always_inline u32 ns__type(const void *ns)
{
	const struct ns_common___new *n = ns;
	const struct ns_common___old *o = ns;

	if (bpf_core_field_exists(n->ns_type))
		return BPF_CORE_READ(n, ns_type);
	return (u32)BPF_CORE_READ(o, ops, type);
}

/* Is the current task in a 32-bit call (after its entry)? */
static __always_inline bool in_compat_call(void)
{
	const struct task_struct *t;

	if (reads_directly()) {
		t = bpf_get_current_task_btf();
#ifdef FRT_COMPAT_STATUS
		return t->thread_info.status & FRT_COMPAT_STATUS;
#else
		return t->thread_info.flags & FRT_COMPAT_FLAGS;
#endif
	}
	t = current_task();
#ifdef FRT_COMPAT_STATUS
	return BPF_CORE_READ(t, thread_info.status) & FRT_COMPAT_STATUS;
#else
	return BPF_CORE_READ(t, thread_info.flags) & FRT_COMPAT_FLAGS;
#endif
}

/* The arguments of the call that the current task has entered with regs. */
static __always_inline void call_arguments(u64 regs, struct frt_arg_block *b)
{
	if (reads_directly()) {
		regs = (u64)bpf_task_pt_regs(bpf_get_current_task_btf());
		*b = *(const struct frt_arg_block *)FRT_ARG_BLOCK(regs);
	} else {
		bpf_probe_read_kernel(b, sizeof(*b), FRT_ARG_BLOCK(regs));
	}
}

/* Has the current task, a user's, left user mode other than by a system call?
 * Then its saved registers hold -1 where the call's number would be (x86-64;
 * arm64 has the preemption count instead). */
static __always_inline bool entered_by_interrupt(const struct task_struct *t)
{
#ifdef FRT_TASK_STACK
	const void *regs;
	s64 nr = 0;

	if (!BPF_CORE_READ(t, mm))
		return false; /* a kernel thread has not left user mode */
	/* The stack's top is padded on some kernels: ask (5.15), or it is not (before). */
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		regs = (const void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	else
		regs = BPF_CORE_READ(t, stack) + FRT_TASK_STACK - sizeof(struct frt_regs);
	bpf_probe_read_kernel(&nr, sizeof(nr), FRT_NR_ADDR(regs));
	return nr == -1;
#else
	return false;
#endif
}

/*
 * Does this run in an interrupt rather than in the task it interrupted? arm64
 * keeps the preemption count (any bit above the low 8: softirq, hardirq, NMI)
 * in thread_info. On x86-64 it is a per-CPU variable that not every kernel
 * lets BPF find; but interrupts that hit kernel code, and softirqs, run on a
 * stack of their own (since 5.8), and a raw tracepoint's context lies on the
 * stack in use. Interrupts that hit user code run on the task's stack: those
 * are told by its mode, or by entered_by_interrupt().
 */
static __always_inline bool in_interrupt(const void *ctx, struct task_struct *t)
{
	u64 base, end;

	if (bpf_core_field_exists(t->thread_info.preempt_count))
		return (u32)BPF_CORE_READ(t, thread_info.preempt_count) & 0xffff00;
#ifdef FRT_TASK_STACK
	base = reads_directly() ? (u64)bpf_get_current_task_btf()->stack
				: (u64)BPF_CORE_READ(t, stack);
	end = base + FRT_TASK_STACK;
	/* The pointer is compared as it is: map memory, which would make it a number, is
	 * written by the programs of an interrupt in between. Each bound by itself, or the
	 * compiler would subtract, which the verifier refuses of a context. */
	asm volatile("" : "+r"(base));
	asm volatile("" : "+r"(end));
	return (u64)ctx < base || (u64)ctx >= end;
#else
	(void)base;
	(void)end;
	return false;
#endif
}

/* The file behind a descriptor of the current task; NULL when there is none. */
static __always_inline struct file *file_of(u32 fd)
{
	struct fdtable *fdt = BPF_CORE_READ(current_task(), files, fdt);
	struct file **fds, *f = NULL;

	if (!fdt || fd >= BPF_CORE_READ(fdt, max_fds))
		return NULL;
	fds = BPF_CORE_READ(fdt, fd);
	if (bpf_probe_read_kernel(&f, sizeof(f), fds + fd))
		return NULL;
	return f;
}

#endif
