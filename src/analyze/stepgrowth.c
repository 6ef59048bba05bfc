/* SPDX-License-Identifier: BSD-2-Clause */
/* Growth of whole steps, untraced too; drift; the cost of looking. */
#include "analyze/analysis.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

int growth__fit(struct analysis *an, const struct estimate *e, struct growth_fit *out)
{
	struct fit_point *v = arena__alloc(an->arena, (an->ngroups + 1) * sizeof(*v));
	struct fit f;

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < an->ngroups; i++)
		v[i] = (struct fit_point){ .x = an->group[i].existing, .y = e[i] };
	fit__points(v, an->ngroups, &f);
	*out = (struct growth_fit){ .shape = f.shape, .a = f.a, .b = f.b, .lack_p = f.lack_p };
	out->predicted = arena__alloc(an->arena, (an->npredict + 1) * sizeof(*out->predicted));
	if (!out->predicted)
		return -ENOMEM;
	for (size_t i = 0; i < an->npredict && an->ngroups > 1; i++) {
		struct frt_prediction *p = &out->predicted[out->npredicted++];

		p->at = an->predict[i];
		fit__predict(&f, (double)p->at, &p->ns, &p->lo, &p->hi, &p->refused);
	}
	return 0;
}

static int fill_step(struct analysis *an, enum row row, struct frt_stepgrowth *out)
{
	struct estimate *e = arena__alloc(an->arena, (an->ngroups + 1) * sizeof(*e));
	const struct group *first = &an->group[0], *last = &an->group[an->ngroups - 1];
	struct growth_fit fit;
	struct interval d, r;
	int err;

	if (!e)
		return -ENOMEM;
	for (size_t i = 0; i < an->ngroups; i++) {
		size_t n;
		double *v = group__walls(an, &an->group[i], row, &n);

		if (!v)
			return -ENOMEM;
		if (!n)
			return -ENODATA; /* not measured at every level: no growth to tell */
		e[i] = stats__estimate(v, n);
	}
	err = growth__fit(an, e, &fit);
	if (err)
		return err;
	d = stats__difference(e[0], e[an->ngroups - 1], 0.99);
	r = stats__ratio(e[0], e[an->ngroups - 1], 0.95);
	*out = (struct frt_stepgrowth){ .step = an->row_name[row],
					.first_ns = e[0].mean,
					.last_ns = e[an->ngroups - 1].mean,
					.ratio = r.at,
					.ratio_lo = r.lo,
					.ratio_hi = r.hi,
					.delta_ns = d.at,
					.lo = d.lo,
					.hi = d.hi,
					.ns_per_existing = NAN,
					.shape = fit.shape,
					.fit_a = fit.a,
					.fit_b = fit.b,
					.lack_p = fit.lack_p,
					.predicted = fit.predicted,
					.npredicted = fit.npredicted };
	if (last->existing > first->existing)
		out->ns_per_existing = d.at / (last->existing - first->existing);
	return 0;
}

/* Growth that the control step shows too is the machine's: where the control's
 * ratio itself is clearly above (below) 1, a step must have grown (shrunk) by more.
 * Both ratios have errors of their own, which on the scale of logarithms add up as
 * those of a difference of independent means do: in squares. */
static void judge_step(struct frt_stepgrowth *g, const struct frt_stepgrowth *control)
{
	double beyond;

	g->grew = g->lo > 0;
	g->shrank = g->hi < 0;
	if (!control || control == g)
		return;
	beyond = log(g->ratio / control->ratio);
	if (control->lo > 0)
		g->grew = g->grew && beyond > hypot(log(g->ratio / g->ratio_lo),
						    log(control->ratio_hi / control->ratio));
	if (control->hi < 0)
		g->shrank = g->shrank && -beyond > hypot(log(g->ratio_hi / g->ratio),
							 log(control->ratio / control->ratio_lo));
}

static int fill_drift(struct analysis *an)
{
	struct group again = { 0 };
	const struct group *first = &an->group[0];

	if (!an->ngroups)
		return 0;
	again.level = arena__alloc(an->arena, (an->nlevels + 1) * sizeof(*again.level));
	an->p->drift = arena__alloc(an->arena, ROWS * sizeof(*an->p->drift));
	if (!again.level || !an->p->drift)
		return -ENOMEM;
	for (size_t i = 0; i < an->nlevels; i++) {
		struct level *lv = &an->level[i];

		if (!lv->l->again || lv->l->asked != first->asked)
			continue;
		again.level[again.nlevels++] = lv;
		again.nrouters += lv->nrouters;
	}
	for (int i = 0; i < ROWS && again.nrouters; i++) {
		enum row row = analysis__order(i);
		struct estimate e[2];
		struct interval d;
		size_t n = 1;

		if (row == ROW_GAP)
			continue;
		for (int k = 0; k < 2 && n; k++) {
			double *v = group__walls(an, k ? &again : first, row, &n);

			if (!v)
				return -ENOMEM;
			e[k] = stats__estimate(v, n);
		}
		if (!n)
			continue;
		d = stats__difference(e[0], e[1], 0.99);
		an->p->drift[an->p->ndrift++] = (struct frt_drift){ .step = an->row_name[row],
								    .delta_ns = d.at,
								    .lo = d.lo,
								    .hi = d.hi,
								    .real = d.lo > 0 || d.hi < 0 };
	}
	return 0;
}

int stepgrowth__fill(struct analysis *an)
{
	struct frt_profile *p = an->p;
	const struct frt_stepgrowth *control = NULL;
	int err;

	p->growth_ns = p->growth_lo = p->growth_hi = NAN;
	if (an->ngroups < 2) {
		p->growth_note = an->ngroups ? "one level only: nothing to compare"
					     : "no router was measured";
		return fill_drift(an);
	}
	p->stepgrowth = arena__alloc(an->arena, ROWS * sizeof(*p->stepgrowth));
	if (!p->stepgrowth)
		return -ENOMEM;
	for (int i = 0; i < ROWS; i++) {
		struct frt_stepgrowth *out = &p->stepgrowth[p->nstepgrowth];
		enum row row = analysis__order(i);

		if (row == ROW_GAP)
			continue;
		err = fill_step(an, row, out);
		if (err == -ENODATA)
			continue;
		if (err)
			return err;
		p->nstepgrowth++;
		if (row == ROW_ROUTER) {
			p->growth_ns = out->delta_ns;
			p->growth_lo = out->lo;
			p->growth_hi = out->hi;
		}
		if (analysis__rows[row].control)
			control = out;
	}
	for (size_t i = 0; i < p->nstepgrowth; i++)
		judge_step(&p->stepgrowth[i], control);
	return fill_drift(an);
}

struct block {
	uint32_t id;
	bool untraced;
	double sum;
	size_t n;
};

static int by_block(const void *a, const void *b)
{
	const struct block *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (int)x->untraced - (int)y->untraced;
}

/* Traced over untraced, from pairs of neighbouring blocks. In ABBA order every
 * second pair is the other way round, so a drift of the machine cancels. The
 * mean is of log ratios: traced/untraced and its inverse weigh the same. */
int overhead__fill(struct analysis *an)
{
	const struct frt_trail *t = an->t;
	struct block *b = NULL;
	double *ratio = NULL;
	size_t n = 0, m = 0, pairs = 0;
	int err = -ENOMEM;

	an->p->overhead = an->p->overhead_lo = an->p->overhead_hi = NAN;
	b = calloc(t->router.n + 1, sizeof(*b));
	ratio = calloc(t->router.n + 1, sizeof(*ratio));
	if (!b || !ratio)
		goto out;
	for (size_t i = 0; i < t->router.n; i++) {
		const struct frt_router *r = &t->router.v[i];

		if (!(r->flags & FRT_ROUTER_OVERHEAD) ||
		    (r->flags & (FRT_ROUTER_WARMUP | FRT_ROUTER_FAILED)) || r->t1 <= r->t0)
			continue;
		b[n] = (struct block){ .id = r->block,
				       .untraced = r->flags & FRT_ROUTER_UNTRACED,
				       .sum = (double)(r->t1 - r->t0),
				       .n = 1 };
		n++;
	}
	qsort(b, n, sizeof(*b), by_block);
	for (size_t i = 0; i < n; i++) {
		if (m && b[m - 1].id == b[i].id && b[m - 1].untraced == b[i].untraced) {
			b[m - 1].sum += b[i].sum;
			b[m - 1].n++;
		} else {
			b[m++] = b[i];
		}
	}
	for (size_t i = 0; i + 1 < m; i += 2) {
		double x = b[i].sum / (double)b[i].n, y = b[i + 1].sum / (double)b[i + 1].n;

		if (b[i].untraced == b[i + 1].untraced)
			continue;
		ratio[pairs++] = b[i].untraced ? log(y / x) : log(x / y);
	}
	if (pairs) {
		struct interval ci = stats__mean(stats__estimate(ratio, pairs), 0.95);

		an->p->overhead = exp(ci.at);
		an->p->overhead_lo = exp(ci.lo);
		an->p->overhead_hi = exp(ci.hi);
		an->p->overhead_n = (uint32_t)pairs;
	}
	err = 0;
out:
	free(b);
	free(ratio);
	return err;
}
