// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* On and off the CPU: who runs here, how long it was away, who woke it. */
#include "account.h"
#include "lock.h"
#include "outside.h"

/* A death is told when the task leaves its CPU for the last time: its parent
 * was woken before, and what is between belongs to the task. */
static __always_inline void switched_dead(struct frt_cpu *c, struct task_state *s,
					  const struct task_struct *t, u64 now)
{
	struct frt_ev_dead *e;

	if (s->mode == FRT_MODE_EXIT) {
		s->flags |= FRT_F_SEND;
		call__end(c, s, &s->sum, 0, now);
	} else {
		unpaired(c);
	}
	e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);
	if (e) {
		fill_head(&e->h, s, FRT_EV_DEAD, sizeof(*e), now);
		e->snap.cpu_ns = s->sum.cpu;
		e->snap.user_ns = s->user;
		e->rest_ns = s->rest_ns;
		e->rest_n = s->rest_n;
		e->code = BPF_CORE_READ(t, exit_code);
		bpf_ringbuf_submit(e, wake_flags(now));
		c->sent++;
	} else {
		c->loss[FRT_LOSS_EVENTS]++;
	}
	slot__free(s);
}

static __always_inline void switched_out(void *ctx, struct frt_cpu *c, struct task_state *s,
					 u32 state, bool preempt, u64 now)
{
	long n = 0;

	if (!preempt && state)
		lock__sleeps(c, s, now);
	s->off.out = now;
	s->off.snap.cpu_ns = s->sum.cpu;
	s->off.snap.user_ns = s->user;
	s->off.mode = s->mode;
	s->off.nr = s->mode == FRT_MODE_USER ? FRT_NR_NONE : s->call.nr;
	s->off.state = state;
	s->flags &= ~FRT_F_ON_CPU;
	if (preempt || !state) {
		s->off.why = FRT_OFF_PREEMPT;
	} else {
		s->off.why = FRT_OFF_BLOCKED;
		s->flags |= FRT_F_SLEPT;
		if (knob_off_stacks)
			n = bpf_get_stack(ctx, s->off.stack, sizeof(s->off.stack), 0);
	}
	s->off.nstack = n > 0 ? n / sizeof(u64) : 0;
}

static __always_inline void switched_in(struct frt_cpu *c, struct task_state *s, u64 now)
{
	u64 out = s->off.out, waking = s->off.waking, n = s->off.nstack;

	if (s->flags & FRT_F_ON_CPU && s->epoch == epoch)
		return; /* it moved to this CPU before switches were watched */
	if (s->epoch != epoch || s->flags & FRT_F_UNSEEN) {
		/* Attached while it was off the CPU: it slept in a call when somebody
		 * has woken it since, otherwise it was preempted. */
		s->since = now;
		s->flags = FRT_F_FRESH | FRT_F_ON_CPU;
		s->epoch = epoch;
		s->mode = FRT_MODE_USER;
		if (waking >= epoch_ts) {
			call__begin(s, FRT_NR_NONE, now);
			s->mode = FRT_MODE_CALL;
			s->flags |= FRT_F_FRESH;
		}
		s->off.waking = 0;
		return;
	}
	if (s->off.why == FRT_OFF_PREEMPT)
		waking = out;
	else if (waking && waking < out)
		waking = out; /* woken between its decision to sleep and the switch */
	s->sum.blocked += (waking ? waking : now) - out;
	s->sum.runq += waking ? now - waking : 0;
	s->since = now;
	s->flags |= FRT_F_ON_CPU;
	s->off.waking = waking;
	if (s->off.why == FRT_OFF_PREEMPT || !waking) {
		s->off.waker.task = 0;
		s->off.waker_comm[0] = 0;
	}
	if (n > FRT_OFF_STACK_MAX)
		n = FRT_OFF_STACK_MAX;
	n = __builtin_offsetof(struct frt_ev_off, stack) + n * sizeof(u64);
	if (!is_quiet(s)) {
		fill_head(&s->off.h, s, FRT_EV_OFF, n, now);
		send(c, &s->off, n, sizeof(s->off), now);
	}
	s->off.waking = 0;
}

/* tid runs here, and nobody said so. It came when the task before it, the last
 * that was seen to come, had run as long as the scheduler says it did. */
int resync(u32 tid)
{
	struct frt_cpu *c = this_cpu();
	struct task_state *s;
	struct task_struct *t, *last;
	u64 now, in;
	s64 ran;

	if (!c)
		return 0;
	t = current_task();
	last = (struct task_struct *)c->task;
	c->tid = tid;
	if (last == t)
		return 0; /* the same task: in exec a thread and its leader change tids */
	c->slot = 0;
	c->task = (u64)t;
	s = followed_task(t);
	if (!s || s->start_time != BPF_CORE_READ(t, start_time))
		return 0;
	now = in = bpf_ktime_get_ns();
	if (last) {
		ran = BPF_CORE_READ(last, se.sum_exec_runtime) -
		      BPF_CORE_READ(last, se.prev_sum_exec_runtime);
		if (ran >= 0 && c->ts + ran < now)
			in = c->ts + ran;
		if (in < s->off.out)
			in = s->off.out;
		if (in < s->off.waking && s->off.waking < now)
			in = s->off.waking;
	}
	c->ts = in;
	c->slot = s->slot;
	switched_in(c, s, in);
	return 1;
}

SEC("raw_tp/sched_switch")
int frt_switch(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *prev = (void *)ctx->args[1], *next = (void *)ctx->args[2];
	struct frt_cpu *c = this_cpu();
	struct task_state *s;
	u64 now;
	u32 state;

	if (!c)
		return 0;
	s = followed_here(c);
	now = bpf_ktime_get_ns();
	if (s) {
		state = knob_prev_state ? (u32)ctx->args[3] : task__state(prev);
		account(s, now);
		if (state & TASK_DEAD)
			switched_dead(c, s, prev, now);
		else if (s->flags & FRT_F_DROPPED)
			slot__free(s);
		else
			switched_out(ctx, c, s, state, ctx->args[0] & 1, now);
	} else if (outside_since && knob_off_stacks) {
		outside__ran(c, prev, now);
	}
	c->slot = 0;
	c->tid = BPF_CORE_READ(next, pid);
	c->task = (u64)next;
	c->ts = now;
	s = followed_tid(c->tid);
	if (s && s->start_time == BPF_CORE_READ(next, start_time)) {
		c->slot = s->slot;
		switched_in(c, s, now);
	}
	return 0;
}

/* Runs where the waker runs. */
static __always_inline void woken(void *ctx, const struct task_struct *p)
{
	struct task_state *s = followed_task(p), *w;
	struct task_struct *t;
	struct frt_cpu *c;
	u64 now;

	c = this_cpu();
	if (!s) {
		if (outside_since && knob_off_stacks && c && c->slot)
			outside__woken(ctx, c, p);
		return;
	}
	if (!c)
		return;
	now = bpf_ktime_get_ns();
	s->off.waker.task = 0;
	w = followed_here(c);
	t = current_task();
	if (in_interrupt(ctx, t) || (w ? w->mode == FRT_MODE_USER : entered_by_interrupt(t))) {
		__builtin_memcpy(s->off.waker_comm, FRT_COMM_INTERRUPT, FRT_COMM_LEN);
	} else {
		bpf_get_current_comm(s->off.waker_comm, sizeof(s->off.waker_comm));
		if (lock__asks_waker(s))
			lock__send_waker(ctx, c, s, t, now);
		if (w && w != s) {
			snapshot(w, now, &s->off.waker_snap);
			fill_tag(w, &s->off.waker);
		}
	}
	s->off.waking = now;
}

SEC("raw_tp/sched_waking")
int frt_waking(struct bpf_raw_tracepoint_args *ctx)
{
	woken(ctx, (void *)ctx->args[0]);
	return 0;
}

SEC("raw_tp/sched_wakeup_new")
int frt_wakeup_new(struct bpf_raw_tracepoint_args *ctx)
{
	woken(ctx, (void *)ctx->args[0]);
	return 0;
}
