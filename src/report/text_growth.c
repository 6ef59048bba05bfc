/* SPDX-License-Identifier: BSD-2-Clause */
/* Growth: which rows the router's growth is made of, and where it leads. */
#include "report/text.h"

#include <string.h>

static bool has_shapes(const struct text *t)
{
	for (size_t i = 0; i < t->p->nstepgrowth; i++)
		if (t->p->stepgrowth[i].shape && strcmp(t->p->stepgrowth[i].shape, "unknown") != 0)
			return true;
	return false;
}

static const char *half(struct text *t, double lo, double hi)
{
	return text__ms(t, (hi - lo) / 2);
}

static const char *slope(struct text *t, double ns)
{
	if (!isfinite(ns))
		return "-";
	if (fabs(ns) < 9.95)
		return text__printf(t, "%.1f", ns);
	return text__printf(t, "%s%s", ns < 0 ? "-" : "",
			    text__count(t, (uint64_t)llround(fabs(ns))));
}

static const char *where(struct text *t, const struct frt_growthrow *g)
{
	if (!g->where)
		return frt_kind_names[g->kind];
	if (g->kind == FRT_KIND_USER || g->kind == FRT_KIND_RUNQ)
		return text__printf(t, "%s", text__name(t, g->where));
	return text__printf(t, "%s %s", frt_kind_names[g->kind], text__name(t, g->where));
}

/* Columns that only some tables need are taken out of the list. */
enum { G_SHARE, G_DELTA, G_CI, G_SLOPE, G_SHAPE, G_STEP, G_ACTION, G_WHERE, G_SOURCE, G_COLUMNS };

static const struct text_column growth_columns[G_COLUMNS] = {
	[G_SHARE] = { "SHARE", TEXT_RIGHT, 0, 0, false },
	[G_DELTA] = { "Δ ms", TEXT_RIGHT, 0, 0, false },
	[G_CI] = { "±99 %", TEXT_RIGHT, 0, 3, false },
	[G_SLOPE] = { "ns/EXISTING", TEXT_RIGHT, 0, 1, false },
	[G_SHAPE] = { "SHAPE", TEXT_LEFT, 0, 2, false },
	[G_STEP] = { "STEP", TEXT_LEFT, 6, 0, false },
	[G_ACTION] = { "ACTION", TEXT_LEFT, 12, 0, false },
	[G_WHERE] = { "WHERE", TEXT_LEFT, 16, 0, false },
	[G_SOURCE] = { "SOURCE", TEXT_LEFT, 0, 0, false },
};

static void put_growth_row(struct text *t, struct text_table *tb, const struct frt_growthrow *g,
			   bool shapes)
{
	bool rest = !g->action && !g->where;
	const char *color = g->share >= 0.1 && !rest ? TEXT_RED : NULL;

	text_table__line(tb, 0);
	text_table__colored(tb, color,
			    isfinite(g->share) ? text__printf(t, "%.1f %%", 100 * g->share) : "-");
	text_table__colored(tb, color, text__ms(t, g->delta_ns));
	text_table__cell(tb, half(t, g->lo, g->hi));
	text_table__cell(tb, slope(t, g->ns_per_existing));
	if (shapes)
		text_table__cell(tb, rest ? "" : text__name(t, g->shape));
	text_table__cell(tb, rest ? "" : text__name(t, g->step));
	text_table__cell(tb, rest ? "" : text__name(t, g->action));
	text_table__colored(tb, rest ? TEXT_DIM : color, rest ? "rest" : where(t, g));
	text_table__cell(tb, rest ? ""
				  : text__printf(t, "%s, n=%s", g->sampled ? "sampled" : "measured",
						 text__count(t, g->n)));
}

static void put_growth_table(struct text *t)
{
	struct text_column cols[G_COLUMNS];
	bool shapes = has_shapes(t);
	struct text_table *tb;
	size_t n = 0;

	for (size_t i = 0; i < G_COLUMNS; i++)
		if (i != G_SHAPE || shapes)
			cols[n++] = growth_columns[i];
	tb = text_table__new(t, cols, n);
	for (size_t i = 0; i < t->p->ngrowth; i++)
		put_growth_row(t, tb, &t->p->growth[i], shapes);
	text_table__print(tb);
}

/* "+16.7 ms per router (±0.3, 99 %), 4,170 ns per existing namespace" */
static const char *growth_summary(struct text *t, const struct frt_stepgrowth *router)
{
	const struct frt_profile *p = t->p;
	const char *s = text__printf(t, "%s → %s existing", text__count(t, t->first->existing),
				     text__count(t, t->last->existing));

	if (!isfinite(p->growth_ns))
		return s;
	s = text__printf(t, "%s: %s ms per router", s, text__ms_plus(t, p->growth_ns));
	if (isfinite(p->growth_lo))
		s = text__printf(t, "%s (±%s, 99 %%)", s, half(t, p->growth_lo, p->growth_hi));
	if (router && isfinite(router->ns_per_existing))
		s = text__printf(t, "%s, %s ns per existing namespace", s,
				 slope(t, router->ns_per_existing));
	return s;
}

static bool if_linear(const char *shape)
{
	return !shape || strcmp(shape, "unknown") == 0;
}

/* "59.4 ms (58.0–60.8)", or why not. */
static const char *predicted(struct text *t, const struct frt_prediction *p)
{
	if (p->refused)
		return "not predicted: beyond five times the highest level";
	if (!isfinite(p->lo))
		return text__printf(t, "%s ms (no interval)", text__ms(t, p->ns));
	return text__printf(t, "%s ms (%s–%s, 95 %%)", text__ms(t, p->ns), text__ms(t, p->lo),
			    text__ms(t, p->hi));
}

static void put_predictions(struct text *t, const struct frt_stepgrowth *g)
{
	for (size_t i = 0; g && i < g->npredicted; i++) {
		const struct frt_prediction *p = &g->predicted[i];

		text__paragraph(
			t, 0,
			text__printf(t, "At %s existing, per router: %s%s.", text__count(t, p->at),
				     predicted(t, p),
				     !p->refused && if_linear(g->shape) ? ", if linear" : ""));
	}
}

#define PREDICTED_MAX 4 /* columns of predictions */

/* Growth, shape and where it leads, step by step; every step is asked for the
 * same predictions. */
static size_t steps_columns(struct text *t, struct text_column *cols, size_t npredicted)
{
	const struct frt_prediction *v = t->p->stepgrowth[0].predicted;
	size_t n = 0;

	cols[n++] = (struct text_column){ "STEP", TEXT_LEFT, 6, 0, false };
	cols[n++] = (struct text_column){ "Δ ms", TEXT_RIGHT, 0, 0, false };
	cols[n++] = (struct text_column){ "±99 %", TEXT_RIGHT, 0, 0, false };
	cols[n++] = (struct text_column){ "ns/EXISTING", TEXT_RIGHT, 0, 0, false };
	if (has_shapes(t)) {
		cols[n++] = (struct text_column){ "SHAPE", TEXT_LEFT, 0, 0, false };
		cols[n++] = (struct text_column){ "MISFIT p", TEXT_RIGHT, 0, 1, false };
	}
	for (size_t i = 0; i < npredicted; i++) {
		cols[n++] = (struct text_column){ text__printf(t, "ms AT %s",
							       text__count(t, v[i].at)),
						  TEXT_RIGHT, 0, 0, false };
		cols[n++] = (struct text_column){ "±95 %", TEXT_RIGHT, 0, 2, false };
	}
	return n;
}

static void put_step_growth(struct text *t, struct text_table *tb, const struct frt_stepgrowth *g,
			    size_t npredicted, bool *refused)
{
	text_table__line(tb, 0);
	text_table__colored(tb, TEXT_BOLD, text__name(t, g->step));
	text_table__colored(tb,
			    g->grew	? TEXT_RED
			    : g->shrank ? TEXT_GREEN
					: NULL,
			    text__ms_plus(t, g->delta_ns));
	text_table__cell(tb, half(t, g->lo, g->hi));
	text_table__cell(tb, slope(t, g->ns_per_existing));
	if (has_shapes(t)) {
		text_table__cell(tb, text__name(t, g->shape));
		text_table__cell(tb,
				 isfinite(g->lack_p) ? text__printf(t, "%.2f", g->lack_p) : "-");
	}
	for (size_t i = 0; i < npredicted && i < g->npredicted; i++) {
		const struct frt_prediction *p = &g->predicted[i];

		*refused |= p->refused;
		text_table__cell(tb, p->refused ? "-" : text__ms(t, p->ns));
		text_table__cell(tb, p->refused ? "-" : half(t, p->lo, p->hi));
	}
}

static void put_steps_table(struct text *t)
{
	struct text_column cols[6 + 2 * PREDICTED_MAX];
	size_t n, npredicted;
	struct text_table *tb;
	bool refused = false;

	if (!t->p->nstepgrowth)
		return;
	npredicted = t->p->stepgrowth[0].npredicted;
	n = npredicted > PREDICTED_MAX ? PREDICTED_MAX : npredicted;
	if (t->p->ngrowth) {
		text__blank(t);
		text__heading(t, "GROWTH BY STEP", NULL);
	}
	tb = text_table__new(t, cols, steps_columns(t, cols, n));
	for (size_t i = 0; i < t->p->nstepgrowth; i++)
		put_step_growth(t, tb, &t->p->stepgrowth[i], n, &refused);
	text_table__print(tb);
	if (refused)
		text__paragraph(t, 0, "- not predicted: beyond five times the highest level.");
	else if (n && !has_shapes(t))
		text__paragraph(
			t, 0, "Two levels tell no shape: what is expected holds if it is linear.");
	if (npredicted > n)
		text__paragraph(t, 0,
				text__printf(t, "(%zu more predictions: --json)", npredicted - n));
}

void text__growth(struct text *t)
{
	const struct frt_stepgrowth *router = NULL;
	const struct frt_profile *p = t->p;

	for (size_t i = 0; i < p->nstepgrowth; i++)
		if (strcmp(p->stepgrowth[i].step, "router") == 0)
			router = &p->stepgrowth[i];
	if (t->whole)
		text__blank(t);
	if (!t->first || t->first->asked == t->last->asked) {
		text__heading(t, "GROWTH",
			      p->growth_note ? text__name(t, p->growth_note) : "not known");
		return;
	}
	text__heading(t, "GROWTH", growth_summary(t, router));
	if (p->growth_note)
		text__paragraph(t, 0, text__name(t, p->growth_note));
	put_growth_table(t);
	if (p->ngrowth)
		put_predictions(t, router);
	/* untraced, the steps are all there is */
	if (!t->whole || !p->ngrowth)
		put_steps_table(t);
}
