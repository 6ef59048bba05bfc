/* SPDX-License-Identifier: BSD-2-Clause */
/* Profiles side by side: steps, growth, and what explains a difference. */
#include "analyze/compare.h"

#include "util/util.h"

#include <frtrace/steps.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows that explain one step of one column. */
#define EXPLAIN_MAX 8
/* Below this share of the step's difference a row explains nothing. */
#define EXPLAIN_SHARE 0.02
#define CONTROL_STEP frt_steps[FRT_STEP_CONTROL].name
#define GROWTH_P 0.99 /* design: growth rows use 99 % */

static const struct frt_levelrow *find_level(const struct frt_profile *p, uint32_t asked,
					     uint32_t run)
{
	for (size_t i = 0; i < p->nlevels; i++)
		if (p->levels[i].asked == asked && p->levels[i].run == run && !p->levels[i].again)
			return &p->levels[i];
	return NULL;
}

static const struct frt_steprow *find_step(const struct frt_levelrow *l, const char *name)
{
	for (size_t i = 0; l && i < l->nsteps; i++)
		if (strcmp(l->steps[i].step, name) == 0)
			return &l->steps[i];
	return NULL;
}

static bool is_profile(const struct compare *c, size_t i)
{
	return c->column[i].kind == COMPARE_PROFILE;
}

/* Levels that every profile measured, ascending. */
static int common_levels(const struct compare *c, uint32_t **out, size_t *n)
{
	const struct frt_profile *first = NULL;
	size_t cap = 0;

	for (size_t i = 0; i < c->ncolumns && !first; i++)
		if (is_profile(c, i))
			first = c->column[i].profile;
	for (size_t l = 0; first && l < first->nlevels; l++) {
		uint32_t asked = first->levels[l].asked;
		bool everywhere = !first->levels[l].again, known = false;

		for (size_t k = 0; k < *n; k++)
			known |= (*out)[k] == asked;
		for (size_t i = 0; i < c->ncolumns && everywhere; i++) {
			bool there = false;

			for (uint32_t run = 0; run <= c->column[i].runs && is_profile(c, i); run++)
				there |= find_level(c->column[i].profile, asked, run) != NULL;
			everywhere = there || !is_profile(c, i);
		}
		if (known || !everywhere)
			continue;
		if (grow(out, *n, &cap, sizeof(**out)))
			return -ENOMEM;
		(*out)[(*n)++] = asked;
	}
	for (size_t i = 1; i < *n; i++) /* few: as many as --at has */
		for (size_t k = i; k > 0 && (*out)[k - 1] > (*out)[k]; k--) {
			uint32_t t = (*out)[k];

			(*out)[k] = (*out)[k - 1];
			(*out)[k - 1] = t;
		}
	return 0;
}

/* A step's wall at one level, or its growth between two, of one column. */
static int step_estimate(struct compare *c, const struct compare_column *col, const char *step,
			 uint32_t first, uint32_t last, struct estimate *out)
{
	static const double minus[2] = { -1, 1 };
	struct estimate *run = arena__alloc(c->arena, ((size_t)col->runs + 1) * sizeof(*run));
	uint64_t count = 0;
	size_t n = 0;
	int rc;

	*out = (struct estimate){ .mean = NAN, .var = NAN, .df = NAN };
	if (!run)
		return -ENOMEM;
	for (uint32_t r = 0; r <= col->runs; r++) {
		const struct frt_steprow *a = find_step(find_level(col->profile, first, r), step);
		const struct frt_steprow *b = find_step(find_level(col->profile, last, r), step);
		struct estimate e[2];

		if (!a || !b || !a->n || !b->n)
			continue;
		e[0] = stats__estimate(a->values, a->n);
		e[1] = stats__estimate(b->values, b->n);
		run[n++] = first == last ? e[1] : stats__combine(e, minus, 2);
		count += b->n;
	}
	if (!n)
		return 0;
	rc = compare__pool(c, run, n, out);
	out->n = count;
	return rc;
}

static int all_steps(struct compare *c, const char *step, uint32_t first, uint32_t last,
		     struct estimate *e)
{
	int rc = 0;

	for (size_t i = 0; i < c->ncolumns && !rc; i++) {
		e[i] = (struct estimate){ .mean = NAN, .var = NAN, .df = NAN };
		if (is_profile(c, i))
			rc = step_estimate(c, &c->column[i], step, first, last, &e[i]);
	}
	return rc;
}

static int add_steps(struct compare *c, const char *step, const uint32_t *level, size_t nlevels,
		     struct estimate *e)
{
	int rc = 0;

	for (size_t i = 0; i < nlevels && !rc; i++) {
		struct compare_row *row = compare__add(c, COMPARE_STEPS, "ns");

		if (!row)
			return -ENOMEM;
		row->step = step;
		row->x0 = level[i];
		row->key = arena__printf(c->arena, "step/%s@%u", step, level[i]);
		if (!row->key)
			return -ENOMEM;
		rc = all_steps(c, step, level[i], level[i], e);
		if (!rc)
			compare__judge(c, row, COMPARE_PROFILE, e, 0.95, false);
	}
	return rc;
}

/* More growth is slower. No difference worth a word: within 5 % of the base's
 * own wall at the first level, since growth itself may be 0. */
static void judge_growth(const struct compare *c, struct compare_row *row, const double *wall)
{
	for (size_t i = 0; i < c->ncolumns; i++) {
		const struct compare_column *col = &c->column[i];
		struct compare_cell *cell = &row->cell[i];

		cell->verdict = COMPARE_UNKNOWN;
		if (!is_profile(c, i) || col->base == i || col->differs || isnan(cell->diff.lo))
			continue;
		if (cell->diff.lo > 0)
			cell->verdict = COMPARE_SLOWER;
		else if (cell->diff.hi < 0)
			cell->verdict = COMPARE_FASTER;
		else if (fmax(-cell->diff.lo, cell->diff.hi) < 0.05 * wall[col->base])
			cell->verdict = COMPARE_SAME;
	}
}

static int add_growth(struct compare *c, const char *step, uint32_t first, uint32_t last,
		      struct estimate *e, double *wall)
{
	struct compare_row *row = compare__add(c, COMPARE_GROWTH, "ns");
	int rc;

	if (!row)
		return -ENOMEM;
	row->step = step;
	row->x0 = first;
	row->x1 = last;
	row->key = arena__printf(c->arena, "growth/%s", step);
	if (!row->key)
		return -ENOMEM;
	rc = all_steps(c, step, first, first, e);
	for (size_t i = 0; i < c->ncolumns; i++)
		wall[i] = e[i].mean;
	if (!rc)
		rc = all_steps(c, step, first, last, e);
	if (rc)
		return rc;
	compare__judge(c, row, COMPARE_PROFILE, e, GROWTH_P, false);
	judge_growth(c, row, wall);
	return 0;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static const struct frt_growthrow *find_growth(const struct frt_profile *p,
					       const struct frt_growthrow *like)
{
	for (size_t i = 0; i < p->ngrowth; i++) {
		const struct frt_growthrow *g = &p->growth[i];

		if (g->kind == like->kind && same_text(g->step, like->step) &&
		    same_text(g->action, like->action) && same_text(g->where, like->where))
			return g;
	}
	return NULL;
}

/* A growth row comes with its 99 % interval; the variance behind it, by the t
 * of the routers (or samples) it is from. */
static struct estimate growth_estimate(const struct frt_growthrow *g)
{
	struct estimate e = { .mean = g->delta_ns, .var = NAN, .df = NAN, .n = g->n };
	struct interval unit;

	if (isnan(g->lo) || isnan(g->hi) || g->n < STATS_MIN_N)
		return e;
	e.df = (double)g->n - 1;
	unit = stats__mean((struct estimate){ .var = 1, .df = e.df, .n = g->n }, GROWTH_P);
	e.var = (g->hi - g->lo) / 2 / unit.hi;
	e.var *= e.var;
	return e;
}

static int add_where(struct compare *c, struct estimate *e, const double *wall)
{
	size_t from = c->nrows;

	for (size_t i = 0; i < c->ncolumns; i++)
		for (size_t k = 0; is_profile(c, i) && k < c->column[i].profile->ngrowth; k++) {
			const struct frt_growthrow *g = &c->column[i].profile->growth[k];
			const char *kind = frt_kind_names[g->kind];
			struct compare_row *row;
			bool known = false;

			if (!g->action)
				continue; /* "rest": not the same things on both sides */
			for (size_t r = from; r < c->nrows; r++)
				known |= same_text(c->row[r].step, g->step) &&
					 same_text(c->row[r].action, g->action) &&
					 same_text(c->row[r].where, g->where) &&
					 same_text(c->row[r].what, kind);
			if (known)
				continue;
			row = compare__add(c, COMPARE_WHERE, "ns");
			if (!row)
				return -ENOMEM;
			row->step = g->step;
			row->action = g->action;
			row->where = g->where;
			row->what = kind;
			row->key = arena__printf(c->arena, "where/%s/%s/%s/%s", g->step, g->action,
						 kind, g->where ? g->where : "");
			if (!row->key)
				return -ENOMEM;
			for (size_t j = 0; j < c->ncolumns; j++) {
				const struct frt_growthrow *there =
					is_profile(c, j) ? find_growth(c->column[j].profile, g)
							 : NULL;

				e[j] = there ? growth_estimate(there)
					     : (struct estimate){ .mean = NAN,
								  .var = NAN,
								  .df = NAN };
			}
			compare__judge(c, row, COMPARE_PROFILE, e, GROWTH_P, false);
			judge_growth(c, row, wall);
		}
	return 0;
}

/* One thing that may explain a step's difference: time per router, per column. */
struct part {
	const char *action, *what;
	double *v;
	uint64_t *n;
};

struct parts {
	struct part *v;
	size_t n, cap;
};

static int parts__add(struct compare *c, struct parts *p, const char *action, const char *what,
		      size_t col, double v, uint64_t n)
{
	struct part *part = NULL;

	for (size_t i = 0; i < p->n && !part; i++)
		if (same_text(p->v[i].action, action) && same_text(p->v[i].what, what))
			part = &p->v[i];
	if (!part) {
		if (grow(&p->v, p->n, &p->cap, sizeof(*p->v)))
			return -ENOMEM;
		part = &p->v[p->n];
		*part = (struct part){ .action = action, .what = what };
		part->v = arena__alloc(c->arena, c->ncolumns * sizeof(*part->v));
		part->n = arena__alloc(c->arena, c->ncolumns * sizeof(*part->n));
		if (!part->v || !part->n)
			return -ENOMEM;
		p->n++;
	}
	part->v[col] += v;
	part->n[col] += n;
	return 0;
}

/* Self times of the tree below, per router. */
static int add_functions(struct compare *c, struct parts *p, const struct frt_fn *fn, size_t nfn,
			 size_t col, double routers)
{
	int rc = 0;

	for (size_t i = 0; i < nfn && !rc; i++) {
		rc = parts__add(c, p, NULL, fn[i].function, col, fn[i].self_ns / routers, fn[i].n);
		if (!rc)
			rc = add_functions(c, p, fn[i].children, fn[i].nchildren, col, routers);
	}
	return rc;
}

static int collect_parts(struct compare *c, struct parts *p, const struct frt_steprow *s,
			 size_t col, bool functions)
{
	int rc = 0;

	for (size_t i = 0; s && s->n && i < s->nactions && !rc; i++) {
		const struct frt_action *a = &s->actions[i];

		if (functions) {
			rc = add_functions(c, p, a->functions, a->nfunctions, col, s->n);
			continue;
		}
		for (unsigned k = 0; k < FRT_KINDS && !rc; k++)
			if (!isnan(a->kind_ns[k]))
				rc = parts__add(c, p, a->action, frt_kind_names[k], col,
						a->kind_ns[k], a->n);
	}
	return rc;
}

struct sides {
	size_t base, col;
};

static int by_difference(const void *a, const void *b, void *arg)
{
	const struct part *x = a, *y = b;
	const struct sides *s = arg;
	double dx = fabs(x->v[s->col] - x->v[s->base]), dy = fabs(y->v[s->col] - y->v[s->base]);

	return (dx < dy) - (dx > dy);
}

/* The largest parts of one step's difference between a column and its base. Sums
 * over the level carry no spread: a share, but no verdict. */
static int explain(struct compare *c, const char *step, uint32_t level, size_t col, bool functions,
		   double difference)
{
	const struct compare_column *me = &c->column[col], *base = &c->column[me->base];
	const struct frt_steprow *a = NULL, *b = NULL;
	struct sides sides = { .base = me->base, .col = col };
	struct parts p = { 0 };
	int rc;

	for (uint32_t r = 0; r <= base->runs && !a; r++)
		a = find_step(find_level(base->profile, level, r), step);
	for (uint32_t r = 0; r <= me->runs && !b; r++)
		b = find_step(find_level(me->profile, level, r), step);
	rc = collect_parts(c, &p, a, me->base, functions);
	if (!rc)
		rc = collect_parts(c, &p, b, col, functions);
	if (p.n)
		qsort_r(p.v, p.n, sizeof(*p.v), by_difference, &sides);
	for (size_t i = 0; i < p.n && i < EXPLAIN_MAX && !rc; i++) {
		double d = p.v[i].v[col] - p.v[i].v[me->base];
		struct compare_row *row;

		if (fabs(d) < EXPLAIN_SHARE * fabs(difference))
			break;
		row = compare__add(c, functions ? COMPARE_FUNCTIONS : COMPARE_ACTIONS, "ns");
		rc = row ? 0 : -ENOMEM;
		if (rc)
			break;
		row->step = step;
		row->x0 = level;
		row->action = p.v[i].action;
		row->where = functions ? p.v[i].what : NULL;
		row->what = functions ? NULL : p.v[i].what;
		row->key = arena__printf(c->arena, "%s/%s@%u/%s%s%s#%s",
					 functions ? "function" : "action", step, level,
					 p.v[i].action ? p.v[i].action : "",
					 p.v[i].action ? "/" : "", p.v[i].what, me->letter);
		rc = row->key ? 0 : -ENOMEM;
		for (size_t k = 0; k < 2; k++) {
			size_t at = k ? col : me->base;

			row->cell[at].value = p.v[i].v[at];
			row->cell[at].n = p.v[i].n[at];
		}
		row->cell[col].diff.at = d;
		row->cell[col].ratio.at = p.v[i].v[me->base] > 0
						  ? p.v[i].v[col] / p.v[i].v[me->base]
						  : NAN;
		row->cell[col].share = d / difference;
	}
	free(p.v);
	return rc;
}

static bool has_functions(const struct frt_profile *p)
{
	return p->attached && p->backend && strcmp(p->backend, "none") != 0 &&
	       strcmp(p->backend, "untraced") != 0;
}

/* Explains every step that differs for real; the router is the sum of the others. */
static int explain_all(struct compare *c, size_t first_step_row)
{
	size_t end = c->nrows;
	int rc = 0;

	for (size_t r = first_step_row; r < end; r++)
		for (size_t i = 0; i < c->ncolumns && !rc; i++) {
			const struct compare_row row = c->row[r]; /* the array may move */
			const struct compare_cell *cell = &row.cell[i];

			if (row.section != COMPARE_STEPS || strcmp(row.step, "router") == 0 ||
			    (cell->verdict != COMPARE_SLOWER && cell->verdict != COMPARE_FASTER))
				continue;
			rc = explain(c, row.step, (uint32_t)row.x0, i, false, cell->diff.at);
			if (!rc && has_functions(c->column[i].profile) &&
			    has_functions(c->column[c->column[i].base].profile))
				rc = explain(c, row.step, (uint32_t)row.x0, i, true, cell->diff.at);
		}
	return rc;
}

/* A control step that differs says that the machine does, not only the kernel. */
static int note_control(struct compare *c, size_t first_step_row)
{
	int rc = 0;

	for (size_t r = first_step_row; r < c->nrows && !rc; r++)
		for (size_t i = 0; i < c->ncolumns && !rc; i++) {
			const struct compare_row *row = &c->row[r];
			const struct compare_cell *cell = &row->cell[i];

			if (row->section == COMPARE_STEPS && strcmp(row->step, CONTROL_STEP) == 0 &&
			    (cell->verdict == COMPARE_SLOWER || cell->verdict == COMPARE_FASTER))
				rc = compare__note(
					c, true,
					"%s: the control step is %s too at %.0f (%.2f times %s): "
					"part of every difference there is the machine's",
					c->column[i].letter, compare__verdicts[cell->verdict],
					row->x0, cell->ratio.at,
					c->column[c->column[i].base].letter);
		}
	return rc;
}

/* Names of the steps any profile has at this level, in the order of the first. */
static int step_names(const struct compare *c, uint32_t level, const char ***out, size_t *n)
{
	size_t cap = 0;

	for (size_t i = 0; i < c->ncolumns; i++) {
		const struct frt_levelrow *l = NULL;

		for (uint32_t r = 0; is_profile(c, i) && r <= c->column[i].runs && !l; r++)
			l = find_level(c->column[i].profile, level, r);
		for (size_t k = 0; l && k < l->nsteps; k++) {
			bool known = false;

			for (size_t j = 0; j < *n; j++)
				known |= strcmp((*out)[j], l->steps[k].step) == 0;
			if (known)
				continue;
			if (grow(out, *n, &cap, sizeof(**out)))
				return -ENOMEM;
			(*out)[(*n)++] = l->steps[k].step;
		}
	}
	return 0;
}

/* Growth rows go from a profile's lowest level to its highest: they compare
 * only where those are the same. */
static bool same_span(const struct compare *c, uint32_t lowest, uint32_t highest)
{
	for (size_t i = 0; i < c->ncolumns; i++)
		for (size_t k = 0; is_profile(c, i) && k < c->column[i].profile->nlevels; k++)
			if (c->column[i].profile->levels[k].asked < lowest ||
			    c->column[i].profile->levels[k].asked > highest)
				return false;
	return true;
}

static int compare_levels(struct compare *c, const uint32_t *level, size_t nlevels)
{
	struct estimate *e = arena__alloc(c->arena, c->ncolumns * sizeof(*e));
	double *wall = arena__alloc(c->arena, c->ncolumns * sizeof(*wall));
	const char **step = NULL;
	size_t nsteps = 0, first = c->nrows;
	int rc = e && wall ? step_names(c, level[0], &step, &nsteps) : -ENOMEM;

	for (size_t i = 0; i < nsteps && !rc; i++)
		rc = add_steps(c, step[i], level, nlevels, e);
	for (size_t i = 0; i < nsteps && !rc && nlevels > 1; i++)
		rc = add_growth(c, step[i], level[0], level[nlevels - 1], e, wall);
	if (!rc)
		rc = all_steps(c, "router", level[0], level[0], e);
	for (size_t i = 0; i < c->ncolumns && !rc; i++)
		wall[i] = e[i].mean;
	if (!rc && same_span(c, level[0], level[nlevels - 1]))
		rc = add_where(c, e, wall);
	else if (!rc)
		rc = compare__note(
			c, true,
			"the lowest and highest levels are not the same: rows of growth are not "
			"compared; take the same --at");
	if (!rc)
		rc = explain_all(c, first);
	if (!rc)
		rc = note_control(c, first);
	free(step);
	return rc;
}

int compare__profiles(struct compare *c)
{
	uint32_t *level = NULL;
	size_t nlevels = 0, columns = 0;
	int rc = common_levels(c, &level, &nlevels);

	for (size_t i = 0; i < c->ncolumns; i++)
		columns += is_profile(c, i);
	if (!rc && nlevels)
		rc = compare_levels(c, level, nlevels);
	else if (!rc && columns > 1)
		rc = compare__note(c, true, "no level is common: take the same --at");
	free(level);
	return rc;
}
