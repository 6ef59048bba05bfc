// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Contended locks of followed tasks. lock:contention_begin and _end exist since
 * 5.19 (16edd9b51148); a mutex tells of its spinning first and begins a second time
 * when it goes to sleep: that is one wait.
 */
#include "lock.h"

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

SEC("raw_tp/contention_begin")
int frt_contention_begin(struct bpf_raw_tracepoint_args *ctx)
{
	u32 flags = (u32)ctx->args[1];
	struct frt_cpu *c = this_cpu();
	struct task_state *s = followed(c);
	struct task_struct *owner;
	u64 lock, now;

	if (!s)
		return 0;
	if (flags & FRT_LCB_SPIN && !(flags & FRT_LCB_MUTEX)) {
		c->spins++;
		return 0;
	}
	now = bpf_ktime_get_ns();
	lock = ctx->args[0];
	if (s->lock == lock && s->off.out > s->lock_ts_owner) {
		/* It slept and did not get it: who held it then is told now. */
		send_contention(c, s, s->lock_flags | FRT_LOCK_AGAIN, now);
		s->lock_ts = now;
	}
	if (s->lock != lock) {
		s->lock = lock;
		s->lock_ts = now;
	}
	s->lock_flags = flags & ~(FRT_LOCK_WAKER | FRT_LOCK_AGAIN);
	s->lock_ts_owner = now;
	owner = owner_of(lock, flags);
	if (owner)
		holder__fill(&s->lock_owner, owner);
	else
		__builtin_memset(&s->lock_owner, 0, sizeof(s->lock_owner));
	return 0;
}

SEC("raw_tp/contention_end")
int frt_contention_end(struct bpf_raw_tracepoint_args *ctx)
{
	struct frt_cpu *c = this_cpu();
	struct task_state *s = followed(c);

	if (!s || !s->lock || s->lock != ctx->args[0])
		return 0;
	/* Negative: it gave up. */
	send_contention(c, s, s->lock_flags | ((s32)ctx->args[1] < 0 ? FRT_LOCK_AGAIN : 0),
			bpf_ktime_get_ns());
	s->lock = 0;
	return 0;
}
