/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The partition of the growth of the router's wall, first to last level (design:
 * What a number means, 5). Every part is one value per router and level; what is
 * not listed is the row "rest", so that the rows add up exactly.
 */
#include "analyze/account.h"

#include "analyze/prob.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIN_SAMPLES 5  /* below, no frame of an action is told apart */
#define MIN_SHARE 0.01 /* below, a row goes to the rest */
#define ALPHA 0.99

#define NOT_PROBED "[not probed]"
#define OTHER_FRAMES "[other frames]"

struct ref {
	const struct level *level;
	size_t router;
};

/* A part: its values by group, and by how much sampling adds to the variance of
 * each mean. */
struct part {
	enum row row;
	enum frt_kind kind;
	const char *action, *where;
	bool sampled;
	uint64_t n;	    /* samples at the last level */
	double **v;	    /* by group */
	double *extra;	    /* by group, ns² */
	struct estimate *e; /* by group */
	struct interval delta;
};

struct partition {
	struct analysis *an;
	struct ref **ref; /* by group: the routers that count */
	size_t *n;
	const struct cell **cell; /* of all levels, by key */
	size_t ncells;
	FRT_ARRAY(part, kept);
	double **left; /* by group: the router's wall without what is kept */
	double *left_extra;
	double base; /* shares are of this, when it comes to "below 1 %" */
};

static int compare_names(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int by_key(const void *a, const void *b)
{
	const struct cell *x = *(const struct cell *const *)a, *y = *(const struct cell *const *)b;
	int c;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	c = compare_names(x->action, y->action);
	if (c)
		return c;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return compare_names(x->where, y->where);
}

static void *make(struct partition *p, size_t n, size_t size)
{
	return arena__alloc(p->an->arena, (n ? n : 1) * size);
}

static double **make_values(struct partition *p)
{
	double **v = make(p, p->an->ngroups, sizeof(*v));

	for (size_t g = 0; v && g < p->an->ngroups; g++) {
		v[g] = make(p, p->n[g], sizeof(**v));
		if (!v[g])
			return NULL;
	}
	return v;
}

/* The routers that count, their walls, and all cells in order. */
static int prepare(struct partition *p)
{
	struct analysis *an = p->an;
	size_t room = 0;

	p->ref = make(p, an->ngroups, sizeof(*p->ref));
	p->n = make(p, an->ngroups, sizeof(*p->n));
	p->left_extra = make(p, an->ngroups, sizeof(*p->left_extra));
	if (!p->ref || !p->n || !p->left_extra)
		return -ENOMEM;
	for (size_t g = 0; g < an->ngroups; g++) {
		const struct group *gr = &an->group[g];

		p->ref[g] = make(p, gr->nrouters, sizeof(**p->ref));
		if (!p->ref[g])
			return -ENOMEM;
		for (size_t l = 0; l < gr->nlevels; l++) {
			const struct level *lv = gr->level[l];

			room += lv->ncells;
			for (size_t i = 0; i < lv->nrouters; i++)
				if (lv->router[i].traced && !isnan(lv->wall[ROW_ROUTER][i]))
					p->ref[g][p->n[g]++] = (struct ref){ lv, i };
		}
	}
	p->left = make_values(p);
	p->cell = make(p, room, sizeof(*p->cell));
	if (!p->left || !p->cell)
		return -ENOMEM;
	for (size_t g = 0; g < an->ngroups; g++) {
		const struct group *gr = &an->group[g];

		for (size_t i = 0; i < p->n[g]; i++)
			p->left[g][i] = p->ref[g][i].level->wall[ROW_ROUTER][p->ref[g][i].router];
		for (size_t l = 0; l < gr->nlevels; l++)
			for (size_t i = 0; i < gr->level[l]->ncells; i++) {
				const struct cell *c = gr->level[l]->cell[i];

				if (c->kind != KIND_UNACCOUNTED &&
				    (analysis__rows[c->row].creation || c->row == ROW_GAP))
					p->cell[p->ncells++] = c;
			}
	}
	qsort(p->cell, p->ncells, sizeof(*p->cell), by_key);
	return 0;
}

/* Adds the values of cells [from, to), which are one key's at several levels. */
static void add_cells(const struct partition *p, size_t from, size_t to, double **v, double sign)
{
	for (size_t k = from; k < to; k++)
		for (size_t g = 0; g < p->an->ngroups; g++)
			for (size_t i = 0; i < p->n[g]; i++) {
				const struct level *lv = p->ref[g][i].level;
				const struct cell *c = p->cell[k];

				if (c->level == lv)
					v[g][i] += sign * (double)c->v[p->ref[g][i].router];
			}
}

static int begin_part(struct partition *p, const struct cell *c, struct part *out)
{
	*out = (struct part){ .row = c->row,
			      .kind = c->kind == KIND_FUNCTION ? FRT_KIND_KERNEL
							       : (enum frt_kind)c->kind,
			      .action = c->action,
			      .where = c->where };
	out->v = make_values(p);
	out->extra = make(p, p->an->ngroups, sizeof(*out->extra));
	out->e = make(p, p->an->ngroups, sizeof(*out->e));
	return out->v && out->extra && out->e ? 0 : -ENOMEM;
}

/* An estimate with what sampling adds; that part has as many degrees of freedom
 * as nobody counts. */
static struct estimate widened(struct estimate e, double extra)
{
	double var = e.var + extra;

	if (extra > 0 && e.var > 0)
		e.df *= var * var / (e.var * e.var);
	else if (extra > 0)
		e.df = 1e6;
	e.var = isnan(e.var) ? NAN : var;
	return e;
}

static void estimate_part(const struct partition *p, struct part *x)
{
	size_t last = p->an->ngroups - 1;

	for (size_t g = 0; g <= last; g++)
		x->e[g] = widened(stats__estimate(x->v[g], p->n[g]), x->extra[g]);
	x->delta = stats__difference(x->e[0], x->e[last], ALPHA);
}

static bool is_row(const struct partition *p, const struct part *x)
{
	return fabs(x->delta.at) >= MIN_SHARE * p->base && (x->delta.lo > 0 || x->delta.hi < 0);
}

static int keep(struct partition *p, const struct part *x)
{
	for (size_t g = 0; g < p->an->ngroups; g++)
		for (size_t i = 0; i < p->n[g]; i++)
			p->left[g][i] -= x->v[g][i];
	if (grow(&p->kept.v, p->kept.n, &p->kept.cap, sizeof(*p->kept.v)))
		return -ENOMEM;
	p->kept.v[p->kept.n++] = *x;
	return 0;
}

/* Samples of a step's action in one group: all, and those with the leaf frame. */
static uint64_t count_samples(const struct group *g, enum row row, const char *action,
			      const char *frame, uint64_t *self)
{
	uint64_t all = 0;

	*self = 0;
	for (size_t l = 0; l < g->nlevels; l++) {
		const struct step_account *a = g->level[l]->account[row];

		for (size_t i = 0; a && i < a->action.n; i++) {
			const struct action_sum *s = &a->action.v[i];

			if (s->name != action)
				continue;
			all += s->samples;
			for (size_t k = 0; k < s->frame.n && frame; k++)
				if (s->frame.v[k].frame == frame)
					*self += s->frame.v[k].self;
		}
	}
	return all;
}

/*
 * Makes x the share of `self` samples (by group) of the action `whole`. The share's
 * own error is that of a multinomial; half a sample is added so that no share is
 * certain. Where a level has too few samples of its own, the last level's share is
 * taken, with the error of what few there are.
 */
static void take_share(const struct partition *p, const struct part *whole, const uint64_t *all,
		       const uint64_t *self, struct part *x)
{
	size_t last = p->an->ngroups - 1;

	for (size_t g = 0; g <= last; g++) {
		size_t from = all[g] >= MIN_SAMPLES ? g : last;
		double share = (double)self[from] / (double)all[from];
		double n = all[g] >= 1 ? (double)all[g] : 1;
		double q = (share * n + 0.5) / (n + 1);

		for (size_t i = 0; i < p->n[g]; i++)
			x->v[g][i] = whole->v[g][i] * share;
		x->extra[g] = whole->e[g].mean * whole->e[g].mean * q * (1 - q) / n;
	}
	x->sampled = true;
	x->n = self[last];
}

/* The frames at the leaf of the action's samples at the last level, by name. */
static int leaf_frames(struct partition *p, enum row row, const char *action, const char ***out,
		       size_t *n)
{
	const struct group *g = &p->an->group[p->an->ngroups - 1];
	size_t room = 0;

	*n = 0;
	for (int pass = 0; pass < 2; pass++) {
		for (size_t l = 0; l < g->nlevels; l++) {
			const struct step_account *a = g->level[l]->account[row];

			for (size_t i = 0; a && i < a->action.n; i++) {
				const struct action_sum *s = &a->action.v[i];

				for (size_t k = 0; s->name == action && k < s->frame.n; k++) {
					size_t j = 0;

					if (!s->frame.v[k].self)
						continue;
					if (!pass) {
						room++;
						continue;
					}
					while (j < *n && (*out)[j] != s->frame.v[k].frame)
						j++;
					if (j == *n)
						(*out)[(*n)++] = s->frame.v[k].frame;
				}
			}
		}
		if (!pass)
			*out = make(p, room, sizeof(**out));
		if (!*out)
			return -ENOMEM;
	}
	return 0;
}

/* Kernel time of an action that samples fell into: a row for each leaf that stands
 * out, one for the other leaves together. */
static int split_by_frames(struct partition *p, const struct cell *c, const struct part *whole,
			   const uint64_t *all)
{
	size_t groups = p->an->ngroups, n;
	uint64_t *self = make(p, groups, sizeof(*self)), *rest = make(p, groups, sizeof(*rest));
	uint64_t *used = make(p, groups, sizeof(*used));
	const char **frame = NULL;
	struct part x = { 0 };
	int err;

	if (!self || !rest || !used)
		return -ENOMEM;
	for (size_t g = 0; g < groups; g++)
		rest[g] = all[g];
	err = leaf_frames(p, whole->row, whole->action, &frame, &n);
	for (size_t i = 0; i < n && !err; i++) {
		if (!x.v) /* the one before was kept */
			err = begin_part(p, c, &x);
		if (err)
			break;
		for (size_t g = 0; g < groups; g++)
			count_samples(&p->an->group[g], whole->row, whole->action, frame[i],
				      &self[g]);
		take_share(p, whole, all, self, &x);
		estimate_part(p, &x);
		x.where = frame[i];
		if (!is_row(p, &x))
			continue;
		for (size_t g = 0; g < groups; g++) {
			used[g] += self[g];
			rest[g] -= self[g];
		}
		err = keep(p, &x);
		x = (struct part){ 0 };
	}
	if (!err && !x.v)
		err = begin_part(p, c, &x);
	if (err)
		return err;
	take_share(p, whole, all, rest, &x);
	estimate_part(p, &x);
	x.where = rest[groups - 1] == all[groups - 1] ? NULL : OTHER_FRAMES;
	if (is_row(p, &x)) {
		/* no leaf stands out: the action as a whole is measured */
		if (!x.where) {
			x = *whole;
			x.where = NULL;
		}
		return keep(p, &x);
	}
	/* what was taken out of the rest, with its error, the rest lacks */
	take_share(p, whole, all, used, &x);
	for (size_t g = 0; g < groups && used[groups - 1]; g++)
		p->left_extra[g] += x.extra[g];
	return 0;
}

/* Cells [from, to): one row and action. */
static int take_action(struct partition *p, size_t from, size_t to)
{
	size_t groups = p->an->ngroups, next;
	uint64_t *all = make(p, groups, sizeof(*all)), self;
	bool probed = false;
	int err = all ? 0 : -ENOMEM;

	for (size_t k = from; k < to; k++)
		probed = probed || p->cell[k]->kind == KIND_FUNCTION;
	for (size_t k = from; k < to && !err; k = next) {
		const struct cell *c = p->cell[k];
		struct part x;

		for (next = k + 1; next < to && by_key(&p->cell[k], &p->cell[next]) == 0;)
			next++;
		err = begin_part(p, c, &x);
		if (err)
			return err;
		add_cells(p, k, next, x.v, 1);
		if (c->kind == FRT_KIND_KERNEL && probed && !c->where) {
			for (size_t f = from; f < to; f++)
				if (p->cell[f]->kind == KIND_FUNCTION)
					add_cells(p, f, f + 1, x.v, -1);
			x.where = NOT_PROBED;
		}
		x.n = p->n[groups - 1];
		estimate_part(p, &x);
		for (size_t g = 0; g < groups; g++)
			all[g] = count_samples(&p->an->group[g], x.row, x.action, NULL, &self);
		if (c->kind == FRT_KIND_KERNEL && !probed && !c->where &&
		    all[groups - 1] >= MIN_SAMPLES)
			err = split_by_frames(p, c, &x, all);
		else if (is_row(p, &x))
			err = keep(p, &x);
	}
	return err;
}

static int by_delta(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	double p = fabs(x->delta.at), q = fabs(y->delta.at);
	int c;

	if (p != q)
		return p > q ? -1 : 1;
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	c = compare_names(x->action, y->action);
	if (c)
		return c;
	return x->kind != y->kind ? (x->kind < y->kind ? -1 : 1)
				  : compare_names(x->where, y->where);
}

static int write_row(struct partition *p, const struct part *x, bool rest)
{
	struct frt_profile *out = p->an->p;
	struct frt_growthrow *r = &out->growth[out->ngrowth++];
	const struct group *first = &p->an->group[0], *last = &p->an->group[p->an->ngroups - 1];
	struct growth_fit fit;
	int err = growth__fit(p->an, x->e, &fit);

	if (err)
		return err;
	*r = (struct frt_growthrow){ .step = rest ? "rest" : p->an->row_name[x->row],
				     .action = x->action,
				     .where = x->where,
				     .kind = x->kind,
				     .sampled = x->sampled,
				     .n = x->n,
				     .delta_ns = x->delta.at,
				     .lo = x->delta.lo,
				     .hi = x->delta.hi,
				     .share = NAN,
				     .ns_per_existing = NAN,
				     .shape = fit.shape,
				     .fit_a = fit.a,
				     .fit_b = fit.b,
				     .lack_p = fit.lack_p,
				     .predicted = fit.predicted,
				     .npredicted = fit.npredicted };
	if (last->existing > first->existing)
		r->ns_per_existing = x->delta.at / (last->existing - first->existing);
	if (out->growth_lo > 0 || out->growth_hi < 0)
		r->share = x->delta.at / out->growth_ns;
	return 0;
}

/* The rows, and the rest: whatever the router's growth has that no row has. */
static int write_rows(struct partition *p)
{
	struct analysis *an = p->an;
	struct part rest = { .v = p->left, .extra = p->left_extra, .n = p->n[an->ngroups - 1] };
	int err = 0;

	an->p->growth = make(p, p->kept.n + 1, sizeof(*an->p->growth));
	rest.e = make(p, an->ngroups, sizeof(*rest.e));
	if (!an->p->growth || !rest.e)
		return -ENOMEM;
	if (p->kept.n)
		qsort(p->kept.v, p->kept.n, sizeof(*p->kept.v), by_delta);
	for (size_t i = 0; i < p->kept.n && !err; i++)
		err = write_row(p, &p->kept.v[i], false);
	estimate_part(p, &rest);
	return err ? err : write_row(p, &rest, true);
}

static int partition__run(struct partition *p)
{
	struct analysis *an = p->an;
	struct part router = { 0 };
	size_t next;
	int err = prepare(p);

	if (err)
		return err;
	if (!p->n[0] || !p->n[an->ngroups - 1])
		return 0;
	/* the walls of exactly the routers that the rows are made of */
	router.v = p->left;
	router.extra = p->left_extra;
	router.e = make(p, an->ngroups, sizeof(*router.e));
	if (!router.e)
		return -ENOMEM;
	estimate_part(p, &router);
	an->p->growth_ns = router.delta.at;
	an->p->growth_lo = router.delta.lo;
	an->p->growth_hi = router.delta.hi;
	p->base = fabs(router.delta.at);
	if (!(router.delta.lo > 0 || router.delta.hi < 0)) {
		p->base = router.e[0].mean;
		an->p->growth_note =
			isnan(router.delta.lo)
				? "fewer than 5 routers a level: no interval, no shares"
				: "the router did not grow beyond its interval: no shares";
	}
	for (size_t k = 0; k < p->ncells && !err; k = next) {
		for (next = k + 1; next < p->ncells && p->cell[next]->row == p->cell[k]->row &&
				   p->cell[next]->action == p->cell[k]->action;)
			next++;
		err = take_action(p, k, next);
	}
	return err ? err : write_rows(p);
}

int growth__fill(struct analysis *an)
{
	struct partition p = { .an = an };
	int err;

	if (an->ngroups < 2)
		return 0; /* stepgrowth__fill has said why */
	for (size_t g = 0; g < an->ngroups; g++)
		if (!an->group[g].traced) {
			an->p->growth_note = "untraced: growth by step only";
			return 0;
		}
	err = partition__run(&p);
	free(p.kept.v);
	return err;
}
