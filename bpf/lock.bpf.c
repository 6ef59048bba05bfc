// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Contended locks of followed tasks. lock:contention_begin and _end exist since
 * 5.19 (16edd9b51148); a mutex tells of its spinning first and begins a second time
 * when it goes to sleep: that is one wait.
 */
#include "lock.h"

#define SPINS_TOLD 1000 /* a second, about: what is more is counted only */

static u64 spin_second;
static u32 spins_told;

/* Where a spinlock is contended. An event that there is no room for is no loss: the
 * spinlock may be the ring's own. */
static __always_inline void send_spin(void *ctx, struct frt_cpu *c, const struct task_state *s,
				      u64 lock, u32 flags)
{
	u64 now = bpf_ktime_get_ns(), second = now / 1000000000;
	struct frt_ev_lock *e;
	long n;

	if (second != spin_second) {
		spin_second = second;
		spins_told = 0;
	}
	if (spins_told >= SPINS_TOLD || is_quiet(s))
		return;
	spins_told++;
	e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);
	if (!e)
		return;
	fill_head(&e->h, s, FRT_EV_LOCK, sizeof(*e), now);
	e->t0 = e->t_owner = now;
	e->addr = lock;
	e->flags = flags & ~(FRT_LOCK_WAKER | FRT_LOCK_AGAIN);
	__builtin_memset(&e->who, 0, sizeof(e->who));
	n = bpf_get_stack(ctx, e->stack, sizeof(e->stack), 0);
	e->nstack = n > 0 ? n / sizeof(u64) : 0;
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	c->sent++;
}

SEC("raw_tp/contention_begin")
int frt_contention_begin(struct bpf_raw_tracepoint_args *ctx)
{
	u32 flags = (u32)ctx->args[1];
	struct frt_cpu *c = this_cpu();
	struct task_state *s = followed(c);
	u64 lock, now;

	if (!s)
		return 0;
	if (flags & FRT_LCB_SPIN && !(flags & FRT_LCB_MUTEX)) {
		c->spins++;
		send_spin(ctx, c, s, ctx->args[0], flags);
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
	read_owner(s, now);
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
