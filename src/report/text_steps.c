/* SPDX-License-Identifier: BSD-2-Clause */
/* The steps table: what each step costs at each level, and what stands below it. */
#include "report/text.h"

#include <string.h>

/* Untraced, user and kernel are rusage's and say so. */
static const struct text_column columns[] = {
	{ "STEP", TEXT_LEFT, 6, 0, false },    { "EXISTING", TEXT_RIGHT, 0, 0, false },
	{ "n", TEXT_RIGHT, 0, 1, false },      { "WALL ms", TEXT_RIGHT, 0, 0, false },
	{ "±95 %", TEXT_RIGHT, 0, 2, false },  { "USER", TEXT_RIGHT, 0, 5, false },
	{ "KERNEL", TEXT_RIGHT, 0, 0, false }, { "BLOCKED", TEXT_RIGHT, 0, 0, false },
	{ "RUNQ", TEXT_RIGHT, 0, 4, false },   { "× FIRST", TEXT_RIGHT, 0, 0, false },
	{ "95 %", TEXT_LEFT, 0, 0, false },    { "/s", TEXT_RIGHT, 0, 3, false },
};
enum { COLUMN_USER = 5, COLUMN_KERNEL };

static const struct frt_stepgrowth *find_growth(const struct text *t, const char *step)
{
	for (size_t i = 0; i < t->p->nstepgrowth; i++)
		if (strcmp(t->p->stepgrowth[i].step, step) == 0)
			return &t->p->stepgrowth[i];
	return NULL;
}

static const struct frt_drift *find_drift(const struct text *t, const char *step)
{
	for (size_t i = 0; i < t->p->ndrift; i++)
		if (strcmp(t->p->drift[i].step, step) == 0)
			return &t->p->drift[i];
	return NULL;
}

static const struct frt_levelrow *first_of_run(const struct text *t, const struct frt_levelrow *l)
{
	for (size_t i = 0; i < t->p->nlevels; i++) {
		const struct frt_levelrow *o = &t->p->levels[i];

		if (o->run == l->run && !o->again && o->asked == t->first->asked)
			return o;
	}
	return t->first;
}

static uint32_t last_run(const struct text *t)
{
	uint32_t run = 0;

	for (size_t i = 0; i < t->p->nlevels; i++)
		if (!t->p->levels[i].again && t->p->levels[i].asked == t->last->asked &&
		    t->p->levels[i].run > run)
			run = t->p->levels[i].run;
	return run;
}

static const char *growth_color(const struct frt_stepgrowth *g)
{
	if (g->grew)
		return g->ratio >= 1.5 ? TEXT_RED : TEXT_YELLOW;
	return g->shrank ? TEXT_GREEN : TEXT_DIM;
}

/* "× FIRST" and what is said of it. */
static void put_ratio(struct text *t, struct text_table *tb, const struct frt_levelrow *l,
		      const struct frt_steprow *s)
{
	const struct frt_stepgrowth *g = find_growth(t, s->step);
	const struct frt_drift *d = find_drift(t, s->step);
	const struct frt_steprow *first = text__step(first_of_run(t, l), s->step);

	if (l->again) {
		text_table__cell(tb, "");
		if (!d)
			text_table__cell(tb, "");
		else if (d->real)
			text_table__colored(
				tb, TEXT_YELLOW,
				text__printf(t, "drift %s", text__ms_plus(t, d->delta_ns)));
		else
			text_table__colored(tb, TEXT_DIM, "no drift");
		return;
	}
	if (t->first && l->asked == t->first->asked) {
		text_table__cell(tb, "");
		text_table__colored(tb, TEXT_DIM, s->control ? "control" : "");
		return;
	}
	/* the growth is known between the ends only, over all runs: said once */
	if (!g || l->asked != t->last->asked || l->run != last_run(t)) {
		text_table__cell(tb,
				 first && first->wall.mean > 0 && isfinite(s->wall.mean)
					 ? text__printf(t, "%.2f", s->wall.mean / first->wall.mean)
					 : "-");
		text_table__cell(tb, "");
		return;
	}
	text_table__colored(tb, growth_color(g),
			    isfinite(g->ratio) ? text__printf(t, "%.2f", g->ratio) : "-");
	if (!isfinite(g->ratio_lo))
		text_table__cell(tb, s->n < 5 ? "n < 5" : "no bounds");
	else if (s->control ? g->lo <= 0 && g->hi >= 0 : !g->grew && !g->shrank)
		text_table__colored(tb, TEXT_DIM, "no change");
	else
		text_table__cell(tb, text__printf(t, "%.2f–%.2f", g->ratio_lo, g->ratio_hi));
}

static void put_row(struct text *t, struct text_table *tb, const struct frt_levelrow *l,
		    const struct frt_steprow *s, bool named)
{
	const struct frt_dist *w = &s->wall;
	bool router = strcmp(s->step, "router") == 0;

	text_table__line(tb, 0);
	text_table__colored(tb, TEXT_BOLD, named ? text__name(t, s->step) : "");
	text_table__cell(tb, text__existing(t, l));
	text_table__cell(tb, text__count(t, s->n));
	text_table__colored(tb, router ? TEXT_BOLD : NULL, text__ms(t, w->mean));
	text_table__cell(tb, text__ms(t, (w->hi - w->lo) / 2));
	for (int k = 0; k < FRT_KINDS; k++)
		text_table__cell(tb, text__ms(t, s->kind_ns[k]));
	put_ratio(t, tb, l, s);
	text_table__cell(
		tb, router && isfinite(l->rate_per_s)
			    ? text__printf(t, "%.*f", l->rate_per_s < 99.95 ? 1 : 0, l->rate_per_s)
			    : "");
}

/* After everything was removed: of interest for the router and the control, and
 * where it did not come back. */
static bool is_shown(const struct text *t, const struct frt_levelrow *l,
		     const struct frt_steprow *s)
{
	const struct frt_drift *d = find_drift(t, s->step);

	return !l->again || !t->whole || s->control || strcmp(s->step, "router") == 0 ||
	       (d && d->real);
}

/* Has the step at i of level l been shown with an earlier level? */
static bool seen_before(const struct text *t, size_t level, const char *step)
{
	for (size_t i = 0; i < level; i++)
		if (text__step(&t->p->levels[i], step))
			return true;
	return false;
}

static void put_step(struct text *t, struct text_table *tb, const char *step)
{
	bool named = true;

	/* the steps, their sum, the rest: an empty line between them */
	if (strcmp(step, "router") == 0 || strcmp(step, "delete") == 0)
		text_table__line(tb, 0);
	for (size_t i = 0; i < t->p->nlevels; i++) {
		const struct frt_levelrow *l = &t->p->levels[i];
		const struct frt_steprow *s = text__step(l, step);

		if (!s || !is_shown(t, l, s))
			continue;
		put_row(t, tb, l, s, named);
		named = false;
	}
}

/* "exec 0.62 (n=51), sysctl …": one figure per step, of the last level. */
static const char *list_steps(struct text *t, double (*figure)(const struct frt_steprow *),
			      uint64_t (*count)(const struct frt_steprow *), double least)
{
	const char *list = NULL;

	for (size_t i = 0; i < t->last->nsteps; i++) {
		const struct frt_steprow *s = &t->last->steps[i];
		double v = figure(s);

		if (!isfinite(v) || v < least || strcmp(s->step, "router") == 0)
			continue;
		list = text__printf(t, "%s%s%s %s", list ? list : "", list ? ", " : "",
				    text__name(t, s->step), text__ms(t, v));
		if (count)
			list = text__printf(t, "%s (n=%s)", list, text__count(t, count(s)));
	}
	return list;
}

static double kernel_in_user(const struct frt_steprow *s)
{
	return s->kernel_in_user_samples ? s->kernel_in_user_ns : NAN;
}

static uint64_t kernel_in_user_n(const struct frt_steprow *s)
{
	return s->kernel_in_user_samples;
}

static double parallel(const struct frt_steprow *s)
{
	return s->parallel_ns;
}

/* What the whole report need not mention: below 1 % of the wall. */
static double notable_parallel(const struct frt_steprow *s)
{
	return s->parallel_ns < 0.01 * s->wall.mean ? NAN : s->parallel_ns;
}

/* "sysctl 0.2, …": calls that the kernel entered again, at the last level. */
static const char *list_restarts(struct text *t)
{
	const char *list = NULL;

	for (size_t i = 0; i < t->last->nsteps; i++) {
		const struct frt_steprow *s = &t->last->steps[i];

		if (!isfinite(s->restarts) || s->restarts < 0.05 || strcmp(s->step, "router") == 0)
			continue;
		list = text__printf(t, "%s%s%s %.1f", list ? list : "", list ? ", " : "",
				    text__name(t, s->step), s->restarts);
	}
	return list;
}

static double worst_unaccounted(const struct text *t)
{
	double worst = 0;

	for (size_t i = 0; i < t->p->nlevels; i++)
		for (size_t k = 0; k < t->p->levels[i].nsteps; k++) {
			const struct frt_steprow *s = &t->p->levels[i].steps[k];
			double share = fabs(s->unaccounted_ns) / s->wall.mean;

			if (s->traced && isfinite(share) && share > worst)
				worst = share;
		}
	return worst;
}

static bool any_rusage(const struct text *t)
{
	for (size_t i = 0; i < t->p->nlevels; i++)
		for (size_t k = 0; k < t->p->levels[i].nsteps; k++)
			if (t->p->levels[i].steps[k].rusage)
				return true;
	return false;
}

static void put_notes(struct text *t)
{
	const char *at, *list;
	double share = worst_unaccounted(t);

	if (any_rusage(t))
		text__paragraph(t, 0, "* untraced: CPU time by rusage; waiting is not known.");
	if (!t->last)
		return;
	at = text__existing(t, t->last);
	list = list_steps(t, kernel_in_user, kernel_in_user_n, 0);
	if (list)
		text__paragraph(
			t, 0,
			text__printf(
				t,
				"Of USER in the kernel (faults, interrupts), sampled, ms at %s: %s.",
				at, list));
	list = list_steps(t, t->whole ? notable_parallel : parallel, NULL,
			  0.5 * pow(10, 6 - (int)t->decimals));
	if (list)
		text__paragraph(t, 0,
				text__printf(t, "Parallel to the wall, in no sum, ms at %s: %s.",
					     at, list));
	list = list_restarts(t);
	if (list)
		text__paragraph(t, 0,
				text__printf(t, "Restarted calls per router at %s: %s.", at, list));
	if (share >= 0.001)
		text__paragraph(t, 0,
				text__printf(t, "Unaccounted: up to %.1f %% of a step's wall.",
					     100 * share));
}

void text__steps(struct text *t)
{
	struct text_column cols[ARRAY_SIZE(columns)];
	struct text_table *tb;

	if (t->whole)
		text__blank(t);
	if (!t->last) {
		text__paragraph(t, 0, "No steps: nothing was measured to its end.");
		return;
	}
	memcpy(cols, columns, sizeof(cols));
	if (any_rusage(t)) {
		cols[COLUMN_USER].head = "USER*";
		cols[COLUMN_KERNEL].head = "KERNEL*";
	}
	tb = text_table__new(t, cols, ARRAY_SIZE(cols));
	for (size_t i = 0; i < t->p->nlevels; i++)
		for (size_t k = 0; k < t->p->levels[i].nsteps; k++)
			if (!seen_before(t, i, t->p->levels[i].steps[k].step))
				put_step(t, tb, t->p->levels[i].steps[k].step);
	text_table__print(tb);
	put_notes(t);
}
