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

/* What took less is not worth an event: only sleeping is waiting, and the time
 * on the CPU is in the call anyway. */
#define LOCK_TOLD_NS 10000

#define RWSEM_READER_OWNED 1
#define RWSEM_WRITER_LOCKED 1
#define OWNER_FLAGS 7

/* The task that owns the lock, as it says itself; NULL when it does not. A
 * mutex's flags are 0 up to 6.0. */
static __always_inline struct task_struct *owner_of(u64 lock, u32 flags)
{
	const struct rw_semaphore *sem = (const void *)lock;
	const struct mutex *m = (const void *)lock;
	u64 v = 0;

	if (flags & (FRT_LCB_RT | FRT_LCB_PERCPU))
		return NULL;
	if (flags & FRT_LCB_MUTEX || !(flags & (FRT_LCB_READ | FRT_LCB_WRITE))) {
		if (bpf_core_field_exists(m->owner))
			v = BPF_CORE_READ(m, owner.counter);
	} else if (bpf_core_field_exists(sem->owner)) {
		v = BPF_CORE_READ(sem, owner.counter);
		if (v & RWSEM_READER_OWNED ||
		    !(BPF_CORE_READ(sem, count.counter) & RWSEM_WRITER_LOCKED))
			v = 0;
	}
	return (struct task_struct *)(v & ~(u64)OWNER_FLAGS);
}

static __always_inline void send_contention(struct frt_cpu *c, const struct task_state *s,
					    u32 flags, u64 now)
{
	struct frt_ev_lock *e;

	if (now - s->lock_ts < LOCK_TOLD_NS || is_quiet(s))
		return;
	e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);
	if (!e) {
		c->loss[FRT_LOSS_EVENTS]++;
		return;
	}
	fill_head(&e->h, s, FRT_EV_LOCK, sizeof(*e), now);
	e->t0 = s->lock_ts;
	e->t_owner = s->lock_ts_owner;
	e->addr = s->lock;
	e->flags = flags;
	e->nstack = 0;
	e->who = s->lock_owner;
	bpf_ringbuf_submit(e, wake_flags(now));
	c->sent++;
}

static __always_inline void read_owner(struct task_state *s, u64 now)
{
	struct task_struct *owner = owner_of(s->lock, s->lock_flags);

	s->lock_ts_owner = now;
	if (owner)
		holder__fill(&s->lock_owner, owner);
	else
		__builtin_memset(&s->lock_owner, 0, sizeof(s->lock_owner));
}

/*
 * s blocks. A semaphore's waiter that was woken and did not get it sleeps again without
 * another begin: who was faster is read here. off.out is still when it slept before.
 */
static __always_inline void lock__sleeps(struct frt_cpu *c, struct task_state *s, u64 now)
{
	if (knob_lock_wakers || !s->lock || s->off.out <= s->lock_ts_owner)
		return;
	send_contention(c, s, s->lock_flags | FRT_LOCK_AGAIN, now);
	s->lock_ts = now;
	read_owner(s, now);
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
