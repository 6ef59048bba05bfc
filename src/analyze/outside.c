/* SPDX-License-Identifier: BSD-2-Clause */
/* What others do in answer: CPU time of tasks outside the workload, and kernel
 * work that a step left for later. */
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
		}
		if (!r->woken_by && o->woken_by)
			r->woken_by = intern__get(an->strings, o->woken_by);
		r->cpu_ns += (double)o->cpu_ns;
		/* what it uses anyway, over the time that was measured */
		if (o->base_over_ns)
			r->baseline_ns += (double)o->base_cpu_ns * (double)o->over_ns /
					  (double)o->base_over_ns;
	}
	for (size_t k = 0; k < p->noutside; k++) {
		struct frt_outsiderow *r = &p->outside[k];

		r->per_router_ns = routers > 0 ? fmax(r->cpu_ns - r->baseline_ns, 0) / routers
					       : NAN;
	}
	qsort(p->outside, p->noutside, sizeof(*p->outside), by_excess);
	return 0;
}

static int by_instance_number(const void *a, const void *b)
{
	const struct frt_stepinst *x = *(const struct frt_stepinst *const *)a;
	const struct frt_stepinst *y = *(const struct frt_stepinst *const *)b;

	return (x->instance > y->instance) - (x->instance < y->instance);
}

static const char *step_of(const struct analysis *an, const struct frt_stepinst **by_number,
			   size_t n, uint32_t instance)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (by_number[mid]->instance < instance)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == n || by_number[lo]->instance != instance)
		return NULL;
	return an->row_name[row_of(by_number[lo])];
}

static int by_step_and_time(const void *a, const void *b)
{
	const struct frt_deferred *x = a, *y = b;
	int c = strcmp(x->step, y->step);

	if (c)
		return c;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return strcmp(x->function, y->function);
}

/* Sums by step and function, then per router. */
static int fill_deferred(struct analysis *an, double routers)
{
	const struct frt_trail *t = an->t;
	struct frt_profile *p = an->p;
	const struct frt_stepinst **steps = calloc(t->step.n + 1, sizeof(*steps));
	int err = 0;

	p->deferred = arena__alloc(an->arena, (t->defer.n + 1) * sizeof(*p->deferred));
	if (!steps || !p->deferred) {
		free(steps);
		return -ENOMEM;
	}
	for (size_t i = 0; i < t->step.n; i++)
		steps[i] = &t->step.v[i];
	qsort(steps, t->step.n, sizeof(*steps), by_instance_number);
	for (size_t i = 0; i < t->defer.n && !err; i++) {
		const struct frt_defer *d = &t->defer.v[i];
		const char *step = step_of(an, steps, t->step.n, d->instance);
		const char *function = intern__get(an->strings, d->function ? d->function : "?");
		double share = d->share_ppm ? (double)d->share_ppm / 1e6 : 1;
		struct frt_deferred *r;
		size_t k = 0;

		if (!step)
			continue;
		if (!function)
			err = -ENOMEM;
		while (k < p->ndeferred &&
		       (p->deferred[k].step != step || p->deferred[k].function != function))
			k++;
		r = &p->deferred[k];
		if (k == p->ndeferred)
			*r = (struct frt_deferred){ .step = step, .function = function };
		p->ndeferred += k == p->ndeferred;
		r->n += d->n;
		if (d->t_end > d->t_start)
			r->ns += (double)(d->t_end - d->t_start) * share;
		r->wait_ns += (double)d->wait_ns * share;
		if (d->t_start > d->t_queue)
			r->delay_ns += (double)(d->t_start - d->t_queue);
	}
	for (size_t k = 0; k < p->ndeferred && routers > 0; k++) {
		p->deferred[k].ns /= routers;
		p->deferred[k].wait_ns /= routers;
		p->deferred[k].delay_ns /= routers;
	}
	qsort(p->deferred, p->ndeferred, sizeof(*p->deferred), by_step_and_time);
	free(steps);
	return err;
}

int outside__fill(struct analysis *an)
{
	double routers = 0;
	int err;

	for (size_t i = 0; i < an->nlevels; i++)
		routers += (double)an->level[i].nrouters;
	err = fill_outside(an, routers);
	return err ? err : fill_deferred(an, routers);
}
