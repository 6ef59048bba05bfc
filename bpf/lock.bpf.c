// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Contended locks of followed tasks. lock:contention_begin and _end exist since
 * 5.19 (16edd9b51148); a mutex tells of its spinning first and begins a second time
 * when it goes to sleep: that is one wait.
 */
#include "lock.h"

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
