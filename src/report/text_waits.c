/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits by class, and what other tasks did because of the steps. */
#include "report/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WAITS_MAX 8 /* rows in the whole report */

/* One class in one action; the same at both ends. Per router. */
struct wait_row {
	const char *step, *action, *class, *where;
	uint64_t n;
	double first_ns, last_ns;
	const struct frt_wait *last;
	uint32_t routers;
};

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static const struct frt_wait *find_wait(const struct frt_action *a, const struct frt_wait *like)
{
	for (size_t i = 0; a && i < a->nwaits; i++)
		if (same_text(a->waits[i].class, like->class) &&
		    same_text(a->waits[i].where, like->where))
			return &a->waits[i];
	return NULL;
}

static int by_last(const void *a, const void *b)
{
	const struct wait_row *x = a, *y = b;

	if (x->last_ns != y->last_ns)
		return x->last_ns < y->last_ns ? 1 : -1;
	return x->first_ns < y->first_ns ? 1 : x->first_ns > y->first_ns ? -1 : 0;
}

static double per_router(double ns, const struct frt_steprow *s)
{
	return s && s->n ? ns / s->n : NAN;
}

static void add_row(struct text *t, struct wait_row **v, size_t *n, size_t *cap,
		    struct wait_row row)
{
	if (t->err)
		return;
	if (grow(v, *n, cap, sizeof(**v)))
		t->err = -ENOMEM;
	else
		(*v)[(*n)++] = row;
}

/* The waits of s, a step of the last level; those of the first level beside them. */
static void collect_step(struct text *t, const struct frt_steprow *s, struct wait_row **v,
			 size_t *n, size_t *cap)
{
	const struct frt_steprow *first = text__step(t->first, s->step);

	for (size_t i = 0; i < s->nactions; i++) {
		const struct frt_action *a = &s->actions[i];
		const struct frt_action *before = text__action(first, a->action);

		for (size_t k = 0; k < a->nwaits; k++) {
			const struct frt_wait *w = &a->waits[k], *old = find_wait(before, w);

			add_row(t, v, n, cap,
				(struct wait_row){ .step = s->step,
						   .action = a->action,
						   .class = w->class,
						   .where = w->where,
						   .n = w->n,
						   .first_ns = old ? per_router(old->ns, first) : 0,
						   .last_ns = per_router(w->ns, s),
						   .last = w,
						   .routers = s->n });
		}
	}
	/* what there was at the first level only */
	for (size_t i = 0; first && i < first->nactions; i++) {
		const struct frt_action *a = &first->actions[i];
		const struct frt_action *now = text__action(s, a->action);

		for (size_t k = 0; k < a->nwaits; k++)
			if (!find_wait(now, &a->waits[k]))
				add_row(t, v, n, cap,
					(struct wait_row){
						.step = s->step,
						.action = a->action,
						.class = a->waits[k].class,
						.where = a->waits[k].where,
						.first_ns = per_router(a->waits[k].ns, first) });
	}
}

#define HOLDER_SHARE 0.2

static void put_holders(struct text *t, struct text_table *tb, size_t parent,
			const struct wait_row *r, bool one)
{
	for (size_t i = 0; r->last && i < r->last->nholders; i++) {
		const struct frt_holder *h = &r->last->holders[i];

		/* the whole report names who counts */
		if (t->whole && h->ns < HOLDER_SHARE * r->last->ns)
			continue;

		text_table__line(tb, parent);
		text_table__cell(tb, text__printf(t, "held by %s", text__name(t, h->task)));
		text_table__cell(tb, text__name(t, h->kind));
		text_table__cell(tb, "");
		text_table__cell(tb, h->stack ? text__name(t, h->stack) : "");
		text_table__cell(tb, "");
		if (!one)
			text_table__cell(tb, "");
		text_table__cell(tb, r->routers ? text__ms(t, h->ns / r->routers) : "");
	}
}

static void put_waits(struct text *t, const struct wait_row *v, size_t n)
{
	struct text_column cols[] = {
		{ "CLASS", TEXT_LEFT, 12, 0, true },   { "STEP", TEXT_LEFT, 6, 0, false },
		{ "ACTION", TEXT_LEFT, 12, 0, false }, { "WHERE", TEXT_LEFT, 12, 0, false },
		{ "n", TEXT_RIGHT, 0, 1, false },      { NULL, TEXT_RIGHT, 0, 0, false },
		{ NULL, TEXT_RIGHT, 0, 0, false },
	};
	bool one = t->first == t->last;
	struct text_table *tb;

	cols[5].head = text__printf(t, "ms AT %s", text__count(t, t->first->existing));
	cols[6].head = text__printf(t, "ms AT %s", text__count(t, t->last->existing));
	if (one)
		cols[5] = cols[6];
	tb = text_table__new(t, cols, ARRAY_SIZE(cols) - one);
	for (size_t i = 0; i < n && !(t->whole && i == WAITS_MAX); i++) {
		size_t line = text_table__line(tb, 0);

		text_table__cell(tb, text__name(t, v[i].class));
		text_table__cell(tb, text__name(t, v[i].step));
		text_table__cell(tb, text__name(t, v[i].action));
		text_table__cell(tb, text__name(t, v[i].where));
		text_table__cell(tb, text__count(t, v[i].n));
		if (!one)
			text_table__cell(tb, text__ms(t, v[i].first_ns));
		text_table__cell(tb, text__ms(t, v[i].last_ns));
		put_holders(t, tb, line, &v[i], one);
	}
	text_table__print(tb);
	if (t->whole && n > WAITS_MAX)
		text__paragraph(t, 0, text__printf(t, "(%zu more: --view waits)", n - WAITS_MAX));
}

static void put_spins(struct text *t, const struct frt_levelrow *l)
{
	const char *where = "";

	for (size_t i = 0; i < l->nspin; i++)
		where = text__printf(t, "%s%s %s %s", where, i ? "," : "",
				     text__name(t, l->spin[i].where), text__count(t, l->spin[i].n));
	if (l->nspin)
		where = text__printf(t, " Of %s with a stack (at most 1,000 a second):%s.",
				     text__count(t, l->spins_told), where);
	text__paragraph(t, 0,
			text__printf(t,
				     "Spinlocks contended by the steps' tasks at %s: %s times "
				     "(counted; their time is kernel time).%s",
				     text__count(t, l->existing), text__count(t, l->spins), where));
}

void text__waits(struct text *t)
{
	struct wait_row *v = NULL;
	size_t n = 0, cap = 0;

	for (size_t i = 0; t->last && i < t->last->nsteps; i++)
		collect_step(t, &t->last->steps[i], &v, &n, &cap);
	if (n && !t->err) {
		qsort(v, n, sizeof(*v), by_last);
		if (t->whole)
			text__blank(t);
		text__heading(t, "WAITS",
			      text__printf(t, "blocked, per router; n over all routers at %s",
					   text__count(t, t->last->existing)));
		put_waits(t, v, n);
	} else if (!t->whole) {
		text__paragraph(t, 0,
				t->last && !strcmp(t->p->backend ? t->p->backend : "", "untraced")
					? "No waits: not known untraced."
					: "No waits were recorded.");
	}
	if (!t->whole && t->last && t->last->spins)
		put_spins(t, t->last);
	free(v);
}

static bool is_control(struct text *t, const char *step)
{
	const struct frt_steprow *s = text__step(t->last, step);

	return s && s->control;
}

#define DEFERRED_SHARE 0.01 /* below, a row is for the view of its own */

static void put_deferred(struct text *t)
{
	static const struct text_column cols[] = {
		{ "STEP", TEXT_LEFT, 6, 0, false },	 { "FUNCTION", TEXT_LEFT, 16, 0, false },
		{ "n", TEXT_RIGHT, 0, 1, false },	 { "RUNS ms", TEXT_RIGHT, 0, 0, false },
		{ "WAITS ms", TEXT_RIGHT, 0, 0, false }, { "QUEUED ms", TEXT_RIGHT, 0, 0, false },
	};
	struct text_table *tb = text_table__new(t, cols, ARRAY_SIZE(cols));
	double sum = 0;
	size_t more = 0;

	for (size_t i = 0; i < t->p->ndeferred; i++)
		if (!is_control(t, t->p->deferred[i].step))
			sum += t->p->deferred[i].ns;
	text__heading(t, "DEFERRED", "what steps leave to other tasks, per router");
	for (size_t i = 0; i < t->p->ndeferred; i++) {
		const struct frt_deferred *d = &t->p->deferred[i];

		if (t->whole && d->ns < DEFERRED_SHARE * sum) {
			more++;
			continue;
		}
		text_table__line(tb, 0);
		text_table__cell(tb, text__name(t, d->step));
		text_table__cell(tb, text__name(t, d->function));
		text_table__cell(tb, text__count(t, d->n));
		text_table__cell(tb, text__ms(t, d->ns));
		text_table__cell(tb, text__ms(t, d->wait_ns));
		text_table__cell(tb, text__ms(t, d->delay_ns));
	}
	text_table__print(tb);
	if (more)
		text__paragraph(t, 0, text__printf(t, "(%zu more: --view deferred)", more));
	text__paragraph(t, 0,
			text__printf(t,
				     "Cost that comes later, on other tasks: %s ms per router, in "
				     "no step's wall.",
				     text__ms(t, sum)));
}

/* Namespaces that are dead but not gone: creation that outruns destruction. */
static void put_backlog(struct text *t)
{
	const char *list = NULL;

	for (size_t i = 0; i < t->p->nlevels; i++) {
		const struct frt_levelrow *l = &t->p->levels[i];

		if (l->backlog == INT64_MIN || l->backlog <= 0 || !l->routers)
			continue;
		list = text__printf(t, "%s%s%s%s at %s", list ? list : "", list ? ", " : "",
				    text__count(t, (uint64_t)l->backlog),
				    l->again ? " (again)" : "", text__count(t, l->existing));
	}
	if (list)
		text__paragraph(
			t, 0,
			text__printf(t,
				     "Namespaces more than were made when creating ended (dead "
				     "and not yet gone, or others' new ones): %s.",
				     list));
}

static int64_t surplus(const struct frt_backlog *b)
{
	return (int64_t)(b->existing - b->expected);
}

/* The most of each stretch of the level, so that no peak is left out, and the last. */
#define BACKLOGS_SHOWN 8

static const char *over_time(struct text *t, const struct frt_levelrow *l)
{
	const char *list = "";
	bool deleting = false;

	for (size_t i = 0, k = 1; k <= BACKLOGS_SHOWN + 1; k++) {
		size_t end = k > BACKLOGS_SHOWN ? l->nbacklogs
						: k * (l->nbacklogs - 1) / BACKLOGS_SHOWN;
		const struct frt_backlog *most = NULL;

		for (; i < end; i++)
			if (!most || surplus(&l->backlogs[i]) > surplus(most))
				most = &l->backlogs[i];
		if (!most)
			continue;
		list = text__printf(t, "%s%s%s%lld (%.1f s)", list, *list ? ", " : "",
				    most->deleting && !deleting ? "deleting " : "",
				    (long long)surplus(most), (double)most->t_ns / 1e9);
		deleting |= most->deleting;
	}
	return list;
}

/* Of the last level that had any; by itself, of all. */
static void put_backlogs(struct text *t)
{
	const struct frt_levelrow *last = NULL;

	for (size_t i = 0; i < t->p->nlevels; i++)
		for (size_t k = 0; k < t->p->levels[i].nbacklogs; k++)
			if (surplus(&t->p->levels[i].backlogs[k]) > 0)
				last = &t->p->levels[i];
	for (const struct frt_levelrow *l = t->whole ? last : t->p->levels; last && l <= last; l++)
		if (l->nbacklogs)
			text__paragraph(
				t, 0,
				text__printf(t,
					     "Namespaces dead and not yet gone, or others' new "
					     "ones%s, over time at %s: %s.",
					     l->streams > 1 ? " (each stream may be making one)"
							    : "",
					     text__existing(t, l), over_time(t, l)));
}

/* Work that outlives the level, or was cancelled: in no figure. */
static void put_unfinished(struct text *t)
{
	const char *list = NULL;

	for (size_t i = 0; i < t->p->nlevels; i++) {
		const struct frt_levelrow *l = &t->p->levels[i];

		if (l->unfinished)
			list = text__printf(t, "%s%s%s%s at %s", list ? list : "", list ? ", " : "",
					    text__count(t, l->unfinished),
					    l->again ? " (again)" : "",
					    text__count(t, l->existing));
	}
	if (list)
		text__paragraph(
			t, 0,
			text__printf(t,
				     "Queued by steps and not run to the end when the level "
				     "ended (still waiting, still running or cancelled), in "
				     "no figure: %s.",
				     list));
}

#define OUTSIDE_MAX 6

static void put_outside(struct text *t)
{
	static const struct text_column cols[] = {
		{ "TASK", TEXT_LEFT, 12, 0, true },
		{ "CPU ms", TEXT_RIGHT, 0, 0, false },
		{ "BASELINE ms", TEXT_RIGHT, 0, 1, false },
		{ "PER ROUTER ms", TEXT_RIGHT, 0, 0, false },
		{ "WOKEN BY", TEXT_LEFT, 8, 0, false },
	};
	struct text_table *tb = text_table__new(t, cols, ARRAY_SIZE(cols));
	size_t n = t->p->noutside, line;

	text__heading(t, "OUTSIDE",
		      "CPU time of tasks that are not the workload's, while it was measured");
	for (size_t i = 0; i < n && !(t->whole && i == OUTSIDE_MAX); i++) {
		const struct frt_outsiderow *o = &t->p->outside[i];

		line = text_table__line(tb, 0);
		text_table__cell(tb, text__printf(t, "%s%s", text__name(t, o->task),
						  o->own ? " (itself)" : ""));
		text_table__cell(tb, text__ms(t, o->cpu_ns));
		text_table__cell(tb, text__ms(t, o->baseline_ns));
		text_table__cell(tb, text__ms(t, o->per_router_ns));
		text_table__cell(tb, text__name(t, o->woken_by));
		if (t->whole || !o->frames)
			continue;
		text_table__line(tb, line);
		text_table__cell(tb, "sampled in");
		text_table__cell(tb, "");
		text_table__cell(tb, "");
		text_table__cell(tb, "");
		text_table__cell(tb, text__name(t, o->frames));
	}
	text_table__print(tb);
	if (t->whole && n > OUTSIDE_MAX)
		text__paragraph(t, 0,
				text__printf(t, "(%zu more: --view deferred)", n - OUTSIDE_MAX));
}

void text__deferred(struct text *t)
{
	if (t->p->ndeferred) {
		if (t->whole)
			text__blank(t);
		put_deferred(t);
		put_backlog(t);
		put_backlogs(t);
	}
	if (!t->whole)
		put_unfinished(t);
	if (t->p->noutside) {
		if (t->whole || t->p->ndeferred)
			text__blank(t);
		put_outside(t);
	}
	if (!t->whole && !t->p->ndeferred && !t->p->noutside)
		text__paragraph(t, 0, "Nothing deferred and nobody outside was recorded.");
}
