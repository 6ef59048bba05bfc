/* SPDX-License-Identifier: BSD-2-Clause */
/* The trail sorted into levels, measured routers and their steps. */
#include "analyze/account.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct row_def analysis__rows[ROWS] = {
	[FRT_STEP_ADD] = { "add", true, false },
	[FRT_STEP_EXEC] = { "exec", true, false },
	[FRT_STEP_SYSCTL] = { "sysctl", true, false },
	[FRT_STEP_VETH] = { "veth", true, false },
	[FRT_STEP_DELETE] = { "delete", false, false },
	[FRT_STEP_CONTROL] = { "true", false, true },
	[ROW_FOREIGN... ROW_GAP - 1] = { "create", true, false },
	[ROW_GAP] = { "gap", false, false },
	[ROW_ROUTER] = { "router", false, false },
};

enum row analysis__order(int i)
{
	static const enum row last[] = { ROW_ROUTER, (enum row)FRT_STEP_DELETE,
					 (enum row)FRT_STEP_CONTROL, ROW_GAP };

	if (i < FRT_STEP_DELETE)
		return (enum row)i;
	i -= FRT_STEP_DELETE;
	return i < ROWS_NAMED ? (enum row)(ROW_FOREIGN + i) : last[i - ROWS_NAMED];
}

static int by_router_and_time(const void *a, const void *b)
{
	const struct frt_stepinst *x = *(const struct frt_stepinst *const *)a;
	const struct frt_stepinst *y = *(const struct frt_stepinst *const *)b;

	if (x->router != y->router)
		return x->router < y->router ? -1 : 1;
	if (x->t0 != y->t0)
		return x->t0 < y->t0 ? -1 : 1;
	return (x->instance > y->instance) - (x->instance < y->instance);
}

static int by_level_and_time(const void *a, const void *b)
{
	const struct frt_router *x = *(const struct frt_router *const *)a;
	const struct frt_router *y = *(const struct frt_router *const *)b;

	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	if (x->t0 != y->t0)
		return x->t0 < y->t0 ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static int by_asked(const void *a, const void *b)
{
	const struct level *x = *(struct level *const *)a, *y = *(struct level *const *)b;

	if (x->l->asked != y->l->asked)
		return x->l->asked < y->l->asked ? -1 : 1;
	return (x > y) - (x < y); /* the order they were measured in */
}

static size_t first_step_of(const struct analysis *an, uint32_t router)
{
	size_t lo = 0, hi = an->t->step.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (an->steps[mid]->router < router)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void take_router(const struct analysis *an, struct router *out, const struct frt_router *r)
{
	size_t i = first_step_of(an, r->id);

	out->r = r;
	out->step = an->steps + i;
	out->traced = true;
	for (; i < an->t->step.n && an->steps[i]->router == r->id; i++) {
		out->nsteps++;
		if (!an->steps[i]->creator)
			out->traced = false;
	}
	if (!out->nsteps)
		out->traced = false;
}

/* Without the tracer every router is flagged untraced and counts; with it only
 * those made while nothing was attached are set aside. */
static bool counts(const struct frt_router *r, bool tracer)
{
	if (r->flags & (FRT_ROUTER_WARMUP | FRT_ROUTER_OVERHEAD | FRT_ROUTER_FAILED))
		return false;
	return !tracer || !(r->flags & FRT_ROUTER_UNTRACED);
}

/* Sampling costs time: where some routers were made without it, walls, actions
 * and waits come from those alone, and from the others only their samples. */
static int take_level(struct analysis *an, struct level *lv, const struct frt_router **r, size_t n)
{
	bool tracer = false, plain = false;
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		if (counts(r[i], true))
			tracer = true;
	for (size_t i = 0; i < n; i++)
		if (counts(r[i], tracer) && !(r[i]->flags & FRT_ROUTER_SAMPLED))
			plain = true;
	lv->router = arena__alloc(an->arena, (n + 1) * sizeof(*lv->router));
	lv->sampled = arena__alloc(an->arena, (n + 1) * sizeof(*lv->sampled));
	if (!lv->router || !lv->sampled)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (!counts(r[i], tracer))
			continue;
		if (plain && r[i]->flags & FRT_ROUTER_SAMPLED) {
			take_router(an, &lv->sampled[lv->nsampled++], r[i]);
			continue;
		}
		take_router(an, &lv->router[lv->nrouters], r[i]);
		sum += (double)r[i]->existing;
		lv->traced = lv->traced || lv->router[lv->nrouters].traced;
		lv->nrouters++;
	}
	lv->existing = sum > 0 ? sum / (double)lv->nrouters : (double)lv->l->existing;
	return 0;
}

static int make_groups(struct analysis *an)
{
	struct level **sorted = arena__alloc(an->arena, (an->nlevels + 1) * sizeof(*sorted));
	size_t n = 0;

	an->group = arena__alloc(an->arena, (an->nlevels + 1) * sizeof(*an->group));
	if (!sorted || !an->group)
		return -ENOMEM;
	for (size_t i = 0; i < an->nlevels; i++)
		if (!an->level[i].l->again && an->level[i].nrouters)
			sorted[n++] = &an->level[i];
	qsort(sorted, n, sizeof(*sorted), by_asked);
	for (size_t i = 0; i < n; i++) {
		struct group *g = an->ngroups ? &an->group[an->ngroups - 1] : NULL;

		if (!g || g->asked != sorted[i]->l->asked) {
			g = &an->group[an->ngroups++];
			g->asked = sorted[i]->l->asked;
			g->level = sorted + i;
			g->traced = true;
		}
		g->nlevels++;
		g->nrouters += sorted[i]->nrouters;
		g->existing += sorted[i]->existing * (double)sorted[i]->nrouters;
		g->traced = g->traced && sorted[i]->traced;
	}
	for (size_t i = 0; i < an->ngroups; i++)
		an->group[i].existing /= (double)an->group[i].nrouters;
	return 0;
}

/* The names that a loop's steps were given (foreign.c) stand in the header. */
static int name_rows(struct analysis *an)
{
	json_t *names = json_object_get(an->t->header, "steps"), *name;
	size_t i;

	for (int row = 0; row < ROWS; row++)
		an->row_name[row] = analysis__rows[row].name;
	json_array_foreach(names, i, name) if (json_is_string(name) && i < ROWS_NAMED)
	{
		an->row_name[ROW_FOREIGN + i] = arena__strdup(an->arena, json_string_value(name));
		if (!an->row_name[ROW_FOREIGN + i])
			return -ENOMEM;
	}
	return 0;
}

/* l with its routers of those sorted ones; *at is where the last level's ended. */
static int sort_level(struct analysis *an, const struct frt_level *l,
		      const struct frt_router **routers, size_t *at)
{
	struct level *lv = &an->level[an->nlevels++];
	size_t n = 0, all = an->t->router.n;
	int err;

	lv->l = l;
	/* levels are nearly always in order of their number */
	if (*at && routers[*at - 1]->level >= l->id)
		*at = 0;
	while (*at < all && routers[*at]->level < l->id)
		(*at)++;
	while (*at + n < all && routers[*at + n]->level == l->id)
		n++;
	err = take_level(an, lv, routers + *at, n);
	*at += n;
	return err;
}

int analysis__sort(struct analysis *an)
{
	const struct frt_trail *t = an->t;
	const struct frt_router **routers;
	const struct frt_level *cut;
	size_t at = 0;
	int err = name_rows(an);

	routers = calloc(t->router.n + 1, sizeof(*routers));
	an->steps = calloc(t->step.n + 1, sizeof(*an->steps));
	an->level = arena__alloc(an->arena, (t->level.n + 2) * sizeof(*an->level));
	if (err || !routers || !an->steps || !an->level) {
		err = -ENOMEM;
		goto out;
	}
	for (size_t i = 0; i < t->router.n; i++)
		routers[i] = &t->router.v[i];
	qsort(routers, t->router.n, sizeof(*routers), by_level_and_time);
	for (size_t i = 0; i < t->step.n; i++)
		an->steps[i] = &t->step.v[i];
	qsort(an->steps, t->step.n, sizeof(*an->steps), by_router_and_time);
	for (size_t i = 0; i < t->level.n && !err; i++)
		err = sort_level(an, &t->level.v[i], routers, &at);
	if (!err)
		err = analysis__cut_level(an, &cut);
	if (!err && cut)
		err = sort_level(an, cut, routers, &at);
	if (!err)
		err = make_groups(an);
out:
	free(routers);
	return err;
}

double *analysis__scratch(struct analysis *an, size_t n)
{
	if (n > an->nscratch) {
		double *v = reallocarray(NULL, n, sizeof(*v));

		if (!v)
			return NULL;
		free(an->scratch);
		an->scratch = v;
		an->nscratch = n;
	}
	return an->scratch ? an->scratch : (an->scratch = calloc(1, sizeof(double)));
}

double *group__walls(struct analysis *an, const struct group *g, enum row row, size_t *n)
{
	double *v = analysis__scratch(an, g->nrouters);

	*n = 0;
	if (!v)
		return NULL;
	for (size_t i = 0; i < g->nlevels; i++)
		for (size_t k = 0; k < g->level[i]->nrouters; k++)
			if (g->level[i]->has[row] && !isnan(g->level[i]->wall[row][k]))
				v[(*n)++] = g->level[i]->wall[row][k];
	return v;
}

void analysis__free(struct analysis *an)
{
	for (size_t i = 0; i < an->nlevels; i++) {
		for (int row = 0; row < ROWS; row++)
			account__free(an->level[i].account[row]);
		free(an->level[i].cell);
	}
	intern__free(an->strings);
	free(an->steps);
	free(an->scratch);
}
