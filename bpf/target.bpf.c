// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Who is followed without being named by a descriptor: whatever takes a given
 * name, whatever is born in a control group or moved into it. Loaded only when
 * that is asked for.
 */
#include "account.h"

const volatile char target_comm[FRT_COMM_LEN] = {};

#define PROCESS_THREADS 2048 /* of one process that is moved */

/* The birth of somebody whose parent is not followed. */
static __always_inline void tell(struct frt_cpu *c, struct task_state *s,
				 const struct task_struct *t, u64 now)
{
	struct frt_ev_fork *e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);

	if (!e) {
		c->loss[FRT_LOSS_EVENTS]++;
		return;
	}
	fill_head(&e->h, s, FRT_EV_FORK, sizeof(*e), now);
	e->parent = 0;
	e->tgid = BPF_CORE_READ(t, tgid);
	e->is_thread = e->tgid != s->tag.tid;
	e->pad = 0;
	BPF_CORE_READ_INTO(&e->comm, t, comm);
	bpf_ringbuf_submit(e, wake_flags(now));
	c->sent++;
}

/* Followed from here on, in the middle of a call of its own. */
static __always_inline void adopt_current(struct frt_cpu *c, struct task_struct *t)
{
	u64 now = bpf_ktime_get_ns();
	struct task_state *s = slot__new(t, FRT_F_ON_CPU, now);

	if (!s) {
		c->loss[FRT_LOSS_UNTAGGED]++;
		return;
	}
	s->flags = FRT_F_ON_CPU;
	s->mode = FRT_MODE_CALL;
	call__begin(s, FRT_NR_NONE, now);
	s->flags |= FRT_F_FRESH;
	c->slot = s->slot;
	c->tid = s->tag.tid;
	c->task = (u64)t;
	c->ts = now;
	tell(c, s, t, now);
}

/*
 * Followed from its next turn on a CPU on. A global function of a plain number:
 * verified once, not once for every thread of a process.
 */
__noinline int adopt_other(u64 task)
{
	const struct task_struct *t = (void *)task;
	struct frt_cpu *c = this_cpu();
	struct task_state *s = followed_task(t);
	u64 now = bpf_ktime_get_ns();

	if (!c || (s && s->start_time == BPF_CORE_READ(t, start_time)))
		return 0;
	s = slot__new(t, FRT_F_UNSEEN, now);
	if (s)
		tell(c, s, t, now);
	else
		c->loss[FRT_LOSS_UNTAGGED]++;
	return 0;
}

/* All threads of t's process. The kernel holds off forks while it moves one. */
static __always_inline void adopt_process(struct frt_cpu *c, const struct task_struct *t)
{
	const struct signal_struct *sig = BPF_CORE_READ(t, signal);
	const struct list_head *pos, *next = NULL;
	u64 head = (u64)sig + bpf_core_field_offset(struct signal_struct, thread_head);

	pos = (const void *)head;
	for (int i = 0; i < PROCESS_THREADS; i++) {
		if (bpf_core_read(&next, sizeof(next), &pos->next) || !next || (u64)next == head)
			return;
		adopt_other((u64)next - bpf_core_field_offset(struct task_struct, thread_node));
		pos = next;
	}
	c->loss[FRT_LOSS_UNTAGGED]++; /* there are more */
}

/* An exec gives its task a name, and so does prctl. */
SEC("raw_tp/task_rename")
int frt_target_rename(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *t = current_task();
	struct frt_cpu *c = this_cpu();
	char comm[FRT_COMM_LEN] = {};

	if ((void *)ctx->args[0] != t || !c || followed_here(c))
		return 0;
	bpf_probe_read_kernel_str(comm, sizeof(comm), (void *)ctx->args[1]);
	for (int i = 0; i < FRT_COMM_LEN - 1; i++) {
		if (comm[i] != target_comm[i])
			return 0;
		if (!comm[i])
			break;
	}
	adopt_current(c, t);
	/* the leader's name is the process's */
	if (BPF_CORE_READ(t, pid) == BPF_CORE_READ(t, tgid))
		adopt_process(c, t);
	return 0;
}

SEC("raw_tp/sched_process_fork")
int frt_target_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *child = (void *)ctx->args[1];
	struct frt_cpu *c = this_cpu();
	struct task_state *s;
	u64 now;

	/* the child's: clone3 can put it into another group than its parent's */
	if (!c || followed_here(c) || !in_target(BPF_CORE_READ(child, cgroups, dfl_cgrp)))
		return 0;
	now = bpf_ktime_get_ns();
	s = slot__new(child, 0, now);
	if (!s) {
		c->loss[FRT_LOSS_UNTAGGED]++;
		return 0;
	}
	s->mode = FRT_MODE_START;
	call__begin(s, FRT_NR_START, now);
	s->off.out = now;
	s->off.why = FRT_OFF_BIRTH;
	s->off.mode = FRT_MODE_START;
	s->off.nr = FRT_NR_START;
	s->off.snap.cpu_ns = s->off.snap.user_ns = 0;
	s->off.state = 0;
	tell(c, s, child, now);
	return 0;
}

SEC("raw_tp/cgroup_attach_task")
int frt_target_attach(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *t = (void *)ctx->args[2];
	struct frt_cpu *c = this_cpu();

	if (!c || !in_target((void *)ctx->args[0]))
		return 0;
	/* told of the leader alone when its whole process moves */
	if (ctx->args[3])
		adopt_process(c, t);
	else
		adopt_other((u64)t);
	return 0;
}
