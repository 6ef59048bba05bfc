/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Who holds a lock, and who lets go of it. */
#ifndef FRT_LOCK_H
#define FRT_LOCK_H

#include "account.h"

#define TASK_UNINTERRUPTIBLE 2

/* t is somebody. */
static __always_inline void holder__fill(struct frt_holder_id *h, const struct task_struct *t)
{
	struct task_state *s;

	h->tid = BPF_CORE_READ(t, pid);
	h->pf = BPF_CORE_READ(t, flags);
	h->func = task__work(t);
	BPF_CORE_READ_INTO(&h->comm, t, comm);
	h->task = h->instance = 0;
	s = followed_tid(h->tid);
	if (s && s->start_time == BPF_CORE_READ(t, start_time)) {
		h->task = s->tag.task;
		h->instance = instance_of(s);
	}
}

/* Is it worth to know who wakes s? It sleeps for a lock that was seen to be
 * contended, for a file's (no tracepoint tells of those), or, where no kernel
 * lock's contention is told, in a way that locks do. */
static __always_inline bool lock__asks_waker(const struct task_state *s)
{
	if (!knob_off_stacks || s->flags & FRT_F_ON_CPU || s->off.why != FRT_OFF_BLOCKED)
		return false;
	if (s->lock || (s->mode == FRT_MODE_CALL && s->call.nr == NR_flock))
		return true;
	return knob_lock_wakers && s->off.state & TASK_UNINTERRUPTIBLE;
}

/* Runs where the waker (t) runs. */
static __always_inline void lock__send_waker(void *ctx, struct frt_cpu *c,
					     const struct task_state *s,
					     const struct task_struct *t, u64 now)
{
	struct frt_ev_lock *e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);
	long n;

	if (!e) {
		c->loss[FRT_LOSS_EVENTS]++;
		return;
	}
	fill_head(&e->h, s, FRT_EV_LOCK, sizeof(*e), now);
	e->t0 = s->off.out;
	e->t_owner = now;
	e->addr = s->lock;
	e->flags = FRT_LOCK_WAKER;
	holder__fill(&e->who, t);
	n = bpf_get_stack(ctx, e->stack, sizeof(e->stack), 0);
	e->nstack = n > 0 ? n / sizeof(u64) : 0;
	bpf_ringbuf_submit(e, wake_flags(now));
	c->sent++;
}

#endif
