/* SPDX-License-Identifier: BSD-2-Clause */
/* What others do in answer: CPU time of tasks outside the workload. */
#include "analyze/analysis.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_excess(const void *a, const void *b)
{
	const struct frt_outsiderow *x = a, *y = b;

	if (x->own != y->own)
		return x->own ? 1 : -1;
	if (x->per_router_ns != y->per_router_ns)
		return x->per_router_ns > y->per_router_ns ? -1 : 1;
	return strcmp(x->task, y->task);
}

static int fill_outside(struct analysis *an, double routers)
{
	const struct frt_trail *t = an->t;
	struct frt_profile *p = an->p;

	p->outside = arena__alloc(an->arena, (t->outside.n + 1) * sizeof(*p->outside));
	if (!p->outside)
		return -ENOMEM;
	for (size_t i = 0; i < t->outside.n; i++) {
		const struct frt_outside *o = &t->outside.v[i];
		const char *name = intern__get(an->strings, o->comm ? o->comm : "?");
		struct frt_outsiderow *r;
		size_t k = 0;

		if (!name)
			return -ENOMEM;
		while (k < p->noutside &&
		       (p->outside[k].task != name || p->outside[k].own != (o->own != 0)))
			k++;
		r = &p->outside[k];
		if (k == p->noutside) {
			p->noutside++;
			r->task = name;
			r->own = o->own;
			r->baseline_ns = NAN;
		}
		if (!r->woken_by && o->woken_by)
			r->woken_by = intern__get(an->strings, o->woken_by);
		r->cpu_ns += (double)o->cpu_ns;
		if (o->frames && (double)o->cpu_ns > r->frames_cpu_ns) {
			r->frames = intern__get(an->strings, o->frames);
			r->frames_cpu_ns = (double)o->cpu_ns;
		}
		/* what it uses anyway, over the time that was measured */
		if (o->base_over_ns && isnan(r->baseline_ns))
			r->baseline_ns = 0;
		if (o->base_over_ns)
			r->baseline_ns += (double)o->base_cpu_ns * (double)o->over_ns /
					  (double)o->base_over_ns;
	}
	for (size_t k = 0; k < p->noutside; k++) {
		struct frt_outsiderow *r = &p->outside[k];

		r->per_router_ns =
			routers > 0 ? fmax(r->cpu_ns - (isnan(r->baseline_ns) ? 0 : r->baseline_ns),
					   0) /
					      routers
				    : NAN;
	}
	qsort(p->outside, p->noutside, sizeof(*p->outside), by_excess);
	return 0;
}

int outside__fill(struct analysis *an)
{
	const struct frt_trail *t = an->t;
	double routers = 0;

	/* the levels it was taken at, routers to warm up included: it was on for them too */
	for (size_t i = 0; i < an->nlevels; i++)
		for (size_t k = 0; k < t->outside.n; k++)
			if (!t->outside.v[k].level || t->outside.v[k].level == an->level[i].l->id) {
				routers += an->level[i].l->routers + an->level[i].l->warmup;
				break;
			}
	return fill_outside(an, routers);
}
