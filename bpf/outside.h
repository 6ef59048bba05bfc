/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What tasks that are not followed do meanwhile: CPU time by name, and what the
 * followed wake them with. */
#ifndef FRT_OUTSIDE_H
#define FRT_OUTSIDE_H

#include "account.h"
#include "outside_maps.h"

static __always_inline void name__of(struct frt_name *n, const struct task_struct *t)
{
	u64 func = task__work(t);

	if (func) {
		n->half[0] = 0;
		n->half[1] = func;
	} else {
		BPF_CORE_READ_INTO(&n->comm, t, comm);
	}
}

/* t, not followed, leaves the CPU. */
static __always_inline void outside__ran(struct frt_cpu *c, const struct task_struct *t, u64 now)
{
	u64 from = c->ts > outside_since ? c->ts : outside_since, ns, *sum;
	struct frt_name n;

	if (c->task != (u64)t || from >= now || !BPF_CORE_READ(t, pid))
		return;
	ns = now - from;
	name__of(&n, t);
	sum = bpf_map_lookup_elem(&outside, &n);
	if (sum) {
		*sum += ns;
	} else if (bpf_map_update_elem(&outside, &n, &ns, BPF_ANY)) {
		/* too many names: the loader has put one for all the rest */
		__builtin_memcpy(n.comm, FRT_NAME_REST, FRT_COMM_LEN);
		sum = bpf_map_lookup_elem(&outside, &n);
		if (sum)
			*sum += ns;
		else
			c->loss[FRT_LOSS_MAPS]++;
	}
}

/* A sample of a task that is not followed. */
static __always_inline void outside__sampled(void *ctx, struct frt_cpu *c, bool in_kernel)
{
	struct frt_place p = {};
	u64 one = 1, *n;

	if (!(u32)bpf_get_current_pid_tgid())
		return; /* idle */
	name__of(&p.name, current_task());
	if (in_kernel && bpf_get_stack(ctx, &p.ip, sizeof(p.ip), 0) <= 0)
		p.ip = FRT_IP_NONE;
	n = bpf_map_lookup_elem(&places, &p);
	if (!n && bpf_map_update_elem(&places, &p, &one, BPF_NOEXIST)) {
		/* no room: where the rest was is not told, how often is */
		__builtin_memcpy(p.name.comm, FRT_NAME_REST, FRT_COMM_LEN);
		p.ip = 0;
		n = bpf_map_lookup_elem(&places, &p);
	}
	if (n)
		__sync_fetch_and_add(n, 1);
}

/* The followed task that runs here wakes p, which is not. */
static __always_inline void outside__woken(void *ctx, struct frt_cpu *c,
					   const struct task_struct *p)
{
	struct task_state *s = followed_here(c);
	struct frt_name n;
	struct frt_wake *w, *none;
	u32 zero = 0;
	long size;

	if (!s || s->mode == FRT_MODE_USER || is_quiet(s) || in_interrupt(ctx, current_task()))
		return;
	BPF_CORE_READ_INTO(&n.comm, p, comm);
	w = bpf_map_lookup_elem(&wakes, &n);
	if (!w) {
		none = bpf_map_lookup_elem(&no_wake, &zero);
		if (!none || bpf_map_update_elem(&wakes, &n, none, BPF_NOEXIST))
			return;
		w = bpf_map_lookup_elem(&wakes, &n);
		if (!w)
			return;
	}
	/* The 1st, 2nd, 4th, …: whichever was last is as good as any. */
	if (!(++w->n & (w->n - 1))) {
		bpf_get_current_comm(w->by, sizeof(w->by));
		size = bpf_get_stack(ctx, w->stack, sizeof(w->stack), 0);
		w->nstack = size > 0 ? size / sizeof(u64) : 0;
	}
}

#endif
