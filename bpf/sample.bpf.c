// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* Where a followed task is, every so often (perf event, cpu-clock). */
#include "account.h"
#include "outside.h"

/* The context's registers come first and as ABI: no relocation. */
struct frt_perf_context {
	struct frt_regs regs;
};

SEC("perf_event")
int frt_sample(struct frt_perf_context *ctx)
{
	u32 use = FRT_SCRATCH_SAMPLE;
	struct frt_cpu *c = this_cpu();
	struct frt_scratch *sc;
	struct frt_ev_sample *e;
	struct task_state *s;
	u64 size, now;
	long n = 0;

	if (!sampling)
		return 0;
	s = followed(c);
	if (!s && c && outside_since && knob_off_stacks)
		outside__sampled(ctx, c, !FRT_USER_REGS(&ctx->regs));
	sc = bpf_map_lookup_elem(&scratches, &use);
	if (!s || !sc || is_quiet(s))
		return 0;
	e = &sc->sample;
	e->in_kernel = !FRT_USER_REGS(&ctx->regs);
	if (e->in_kernel)
		n = bpf_get_stack(ctx, e->stack, sizeof(e->stack), 0);
	if (n < 0)
		n = 0;
	if (n > (long)sizeof(e->stack))
		n = sizeof(e->stack);
	now = bpf_ktime_get_ns();
	e->mode = s->mode;
	e->nr = s->mode == FRT_MODE_USER ? FRT_NR_NONE : s->call.nr;
	e->seq = s->seq;
	e->nstack = n / sizeof(u64);
	size = __builtin_offsetof(struct frt_ev_sample, stack) + n;
	fill_head(&e->h, s, FRT_EV_SAMPLE, size, now);
	if (send_bytes(e, size, sizeof(*e), now))
		c->loss[FRT_LOSS_SAMPLES]++;
	else
		c->samples++;
	return 0;
}
