/* SPDX-License-Identifier: BSD-2-Clause */
/* Views that look into the steps: actions and functions, both ends side by side. */
#include "report/text.h"

#include <string.h>

static const char *at_level(struct text *t, const char *what, const struct frt_levelrow *l)
{
	return text__printf(t, "%s AT %s", what, text__count(t, l->existing));
}

static bool one_level(const struct text *t)
{
	return t->first == t->last;
}

static void put_action(struct text *t, struct text_table *tb, const char *step,
		       const struct frt_action *first, const struct frt_action *last)
{
	const struct frt_action *a = last ? last : first;
	double before = first ? first->wall_ns : 0, now = last ? last->wall_ns : 0;

	text_table__line(tb, 0);
	text_table__colored(tb, TEXT_BOLD, step);
	text_table__cell(tb, text__name(t, a->action));
	text_table__cell(tb, last && last->n ? text__count(t, last->n) : "-");
	if (!one_level(t))
		text_table__cell(tb, text__ms(t, before));
	text_table__cell(tb, text__ms(t, now));
	if (!one_level(t))
		text_table__cell(tb, text__ms_plus(t, now - before));
	for (int k = 0; k < FRT_KINDS; k++)
		text_table__cell(tb, text__ms(t, last ? last->kind_ns[k] : 0));
}

/* What of an action's kernel time went into trying again. */
static void put_spin(struct text *t, struct text_table *tb, const struct frt_action *first,
		     const struct frt_action *last)
{
	double before = first ? first->spin_ns : 0, now = last ? last->spin_ns : 0;

	if (!(before > 0 || now > 0))
		return;
	text_table__line(tb, 0);
	text_table__cell(tb, "");
	text_table__cell(tb, text__printf(t, "  of it rtnl spin, %.1f restarts",
					  last ? last->restarts : 0.));
	text_table__cell(tb, "");
	if (!one_level(t))
		text_table__cell(tb, text__ms(t, before));
	text_table__cell(tb, text__ms(t, now));
	if (!one_level(t))
		text_table__cell(tb, text__ms_plus(t, now - before));
	text_table__cell(tb, "");
	text_table__cell(tb, text__ms(t, now));
	text_table__cell(tb, "");
	text_table__cell(tb, "");
}

void text__actions(struct text *t)
{
	struct text_column cols[12] = { { "STEP", TEXT_LEFT, 6, 0, false },
					{ "ACTION", TEXT_LEFT, 12, 0, false },
					{ "n", TEXT_RIGHT, 0, 1, false } };
	static const char *const kinds[FRT_KINDS] = { "USER", "KERNEL", "BLOCKED", "RUNQ" };
	struct text_table *tb;
	size_t n = 3;

	if (!t->last) {
		text__paragraph(t, 0, "No actions: nothing was measured to its end.");
		return;
	}
	if (!one_level(t))
		cols[n++] = (struct text_column){ at_level(t, "ms", t->first), TEXT_RIGHT, 0, 0,
						  false };
	cols[n++] = (struct text_column){ at_level(t, "ms", t->last), TEXT_RIGHT, 0, 0, false };
	if (!one_level(t))
		cols[n++] = (struct text_column){ "Δ", TEXT_RIGHT, 0, 0, false };
	for (int k = 0; k < FRT_KINDS; k++)
		cols[n++] = (struct text_column){ kinds[k], TEXT_RIGHT, 0,
						  k == FRT_KIND_RUNQ ? 2 : 0, false };
	tb = text_table__new(t, cols, n);
	n = 0;
	for (size_t i = 0; i < t->last->nsteps; i++) {
		const struct frt_steprow *s = &t->last->steps[i];
		const struct frt_steprow *first = text__step(t->first, s->step);
		const char *name = text__name(t, s->step);

		for (size_t k = 0; k < s->nactions; k++, n++, name = "") {
			const struct frt_action *a = &s->actions[k];
			const struct frt_action *before = text__action(first, a->action);

			put_action(t, tb, name, before, a);
			put_spin(t, tb, before, a);
		}
		for (size_t k = 0; first && k < first->nactions; k++) {
			if (text__action(s, first->actions[k].action))
				continue;
			put_action(t, tb, name, &first->actions[k], NULL);
			name = "";
			n++;
		}
	}
	if (!n) {
		text__paragraph(t, 0, "No actions are known: they need tracing.");
	} else {
		text__heading(
			t, "ACTIONS",
			text__printf(
				t,
				"mean ms per router; n over all routers, and the kinds of time, at %s",
				text__count(t, t->last->existing)));
	}
	text_table__print(tb);
}

static const struct frt_fn *find_fn(const struct frt_fn *v, size_t n, const char *function)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(v[i].function, function) == 0)
			return &v[i];
	return NULL;
}

/* n and ns are sums over the routers of a level. */
static const char *per_router(struct text *t, double ns, uint32_t routers)
{
	return routers ? text__ms(t, ns / routers) : "-";
}

#define FN_DEPTH 64

#define FN_FOLD 0.005 /* of its tree: smaller ones share a row, when there are several */

struct ends {
	uint32_t first, last; /* routers */
	double small_first, small_last;
};

static void put_fn_cells(struct text *t, struct text_table *tb, const char *name,
			 const struct frt_fn *a, const struct frt_fn *b, struct ends n)
{
	text_table__cell(tb, name);
	text_table__cell(tb, text__count(t, b->n));
	if (!one_level(t))
		text_table__cell(tb, per_router(t, a->total_ns, n.first));
	text_table__cell(tb, per_router(t, b->total_ns, n.last));
	if (!one_level(t))
		text_table__cell(tb, per_router(t, a->self_ns, n.first));
	text_table__cell(tb, per_router(t, b->self_ns, n.last));
	text_table__cell(tb, per_router(t, b->blocked_ns, n.last));
}

static bool is_small(const struct frt_fn *a, const struct frt_fn *b, struct ends n)
{
	return (!a || a->total_ns < n.small_first) && (!b || b->total_ns < n.small_last);
}

/* With nothing shown below it, what is inside is its own. */
static void fold_fn(struct frt_fn *sum, const struct frt_fn *f)
{
	if (!f)
		return;
	sum->n += f->n;
	sum->total_ns += f->total_ns;
	sum->self_ns += f->total_ns;
	sum->blocked_ns += f->blocked_ns;
}

static void put_fn(struct text *t, struct text_table *tb, size_t parent, const struct frt_fn *first,
		   const struct frt_fn *last, struct ends n, unsigned depth);

/* Children of both ends, each once: `last` in its order, then what only `first` has.
 * Without a table the small ones are only counted. */
static size_t put_children(struct text *t, struct text_table *tb, size_t line,
			   const struct frt_fn *a, const struct frt_fn *b, struct ends n,
			   unsigned depth, bool fold)
{
	struct frt_fn sum_first = { 0 }, sum_last = { 0 };
	size_t small = 0;

	for (size_t i = 0; i < b->nchildren + a->nchildren; i++) {
		const struct frt_fn *y = i < b->nchildren ? &b->children[i] : NULL;
		const struct frt_fn *x = y ? find_fn(a->children, a->nchildren, y->function)
					   : &a->children[i - b->nchildren];

		if (!y && find_fn(b->children, b->nchildren, x->function))
			continue;
		if (fold && is_small(x, y, n)) {
			small++;
			fold_fn(&sum_first, x);
			fold_fn(&sum_last, y);
		} else if (tb) {
			put_fn(t, tb, line, x, y, n, depth + 1);
		}
	}
	if (tb && small) {
		text_table__line(tb, line);
		put_fn_cells(t, tb, text__printf(t, "… %zu more", small), &sum_first, &sum_last, n);
	}
	return small;
}

static void put_fn(struct text *t, struct text_table *tb, size_t parent, const struct frt_fn *first,
		   const struct frt_fn *last, struct ends n, unsigned depth)
{
	const struct frt_fn none = { 0 }, *a = first ? first : &none, *b = last ? last : &none;
	size_t line = text_table__line(tb, parent);

	if (!depth) {
		n.small_first = a->total_ns * FN_FOLD;
		n.small_last = b->total_ns * FN_FOLD;
	}
	put_fn_cells(t, tb, text__name(t, last ? last->function : first->function), a, b, n);
	if (depth < FN_DEPTH)
		put_children(t, tb, line, a, b, n, depth,
			     put_children(t, NULL, 0, a, b, n, depth, true) > 1);
}

static struct text_table *functions_table(struct text *t)
{
	struct text_column cols[8] = { { "FUNCTION", TEXT_LEFT, 30, 0, true },
				       { "n", TEXT_RIGHT, 0, 1, false } };
	size_t n = 2;

	if (!one_level(t))
		cols[n++] = (struct text_column){ at_level(t, "ms", t->first), TEXT_RIGHT, 0, 0,
						  false };
	cols[n++] = (struct text_column){ at_level(t, "ms", t->last), TEXT_RIGHT, 0, 0, false };
	if (!one_level(t))
		cols[n++] = (struct text_column){ at_level(t, "SELF", t->first), TEXT_RIGHT, 0, 2,
						  false };
	cols[n++] = (struct text_column){ at_level(t, "SELF", t->last), TEXT_RIGHT, 0, 0, false };
	cols[n++] = (struct text_column){ "BLOCKED", TEXT_RIGHT, 0, 0, false };
	return text_table__new(t, cols, n);
}

/* The functions of one action below a line that names it. */
static size_t put_functions(struct text *t, struct text_table *tb, const struct frt_steprow *s,
			    const struct frt_action *a)
{
	const struct frt_steprow *step = text__step(t->first, s->step);
	const struct frt_action *first = text__action(step, a->action), none = { 0 };
	struct ends n = { .first = step ? step->n : 0, .last = s->n };
	size_t line;

	if (!first)
		first = &none;
	if (!a->nfunctions && !first->nfunctions)
		return 0;
	line = text_table__line(tb, 0);
	text_table__colored(
		tb, TEXT_BOLD,
		text__printf(t, "%s: %s", text__name(t, s->step), text__name(t, a->action)));
	text_table__cell(tb, text__count(t, a->n));
	for (size_t i = 0; i < a->nfunctions; i++)
		put_fn(t, tb, line,
		       find_fn(first->functions, first->nfunctions, a->functions[i].function),
		       &a->functions[i], n, 0);
	for (size_t i = 0; i < first->nfunctions; i++)
		if (!find_fn(a->functions, a->nfunctions, first->functions[i].function))
			put_fn(t, tb, line, &first->functions[i], NULL, n, 0);
	return 1;
}

/* A deferred function and what is below it; small ones share a row. */
static void put_late(struct text *t, struct text_table *tb, size_t parent, const struct frt_fn *f,
		     double small, unsigned depth)
{
	struct frt_fn sum = { 0 };
	size_t line = text_table__line(tb, parent), n = 0;

	text_table__cell(tb, text__name(t, f->function));
	text_table__cell(tb, text__count(t, f->n));
	text_table__cell(tb, text__ms(t, f->total_ns));
	text_table__cell(tb, text__ms(t, f->self_ns));
	text_table__cell(tb, text__ms(t, f->blocked_ns));
	for (size_t i = 0; i < f->nchildren && depth < FN_DEPTH; i++) {
		if (f->children[i].total_ns < small) {
			fold_fn(&sum, &f->children[i]);
			n++;
		} else {
			put_late(t, tb, line, &f->children[i], small, depth + 1);
		}
	}
	if (n) {
		sum.function = text__printf(t, "… %zu more", n);
		put_late(t, tb, line, &sum, 0, depth + 1);
	}
}

/* What other tasks ran later because of a step. */
static void late_functions(struct text *t)
{
	struct text_column cols[] = { { "FUNCTION", TEXT_LEFT, 30, 0, true },
				      { "n", TEXT_RIGHT, 0, 1, false },
				      { "ms", TEXT_RIGHT, 0, 0, false },
				      { "SELF", TEXT_RIGHT, 0, 0, false },
				      { "BLOCKED", TEXT_RIGHT, 0, 0, false } };
	struct text_table *tb = text_table__new(t, cols, ARRAY_SIZE(cols));
	bool any = false;

	for (size_t i = 0; i < t->p->ndeferred; i++) {
		const struct frt_deferred *d = &t->p->deferred[i];
		size_t line;

		if (!d->nfunctions)
			continue;
		any = true;
		line = text_table__line(tb, 0);
		text_table__colored(tb, TEXT_BOLD,
				    text__printf(t, "%s, later: %s", text__name(t, d->step),
						 text__name(t, d->function)));
		for (size_t k = 0; k < d->nfunctions; k++)
			put_late(t, tb, line, &d->functions[k], d->functions[k].total_ns * FN_FOLD,
				 0);
	}
	if (any)
		text__heading(
			t, "DEFERRED FUNCTIONS",
			"in the kernel's workers, in no wall; the step's share, ms per router; "
			"n calls in all runs it shared in");
	text_table__print(tb);
	if (any)
		text__blank(t);
}

static const struct frt_frame *find_frame(const struct frt_action *a, const char *frame)
{
	for (size_t i = 0; a && i < a->nframes; i++)
		if (strcmp(a->frames[i].frame, frame) == 0)
			return &a->frames[i];
	return NULL;
}

static void put_frame(struct text *t, struct text_table *tb, size_t parent,
		      const struct frt_frame *first, const struct frt_frame *last)
{
	text_table__line(tb, parent);
	text_table__cell(tb, text__name(t, last ? last->frame : first->frame));
	text_table__cell(tb, text__count(t, last ? last->samples : 0));
	if (!one_level(t))
		text_table__cell(tb, text__ms(t, first ? first->total_ns : 0));
	text_table__cell(tb, text__ms(t, last ? last->total_ns : 0));
	if (!one_level(t))
		text_table__cell(tb, text__ms(t, first ? first->self_ns : 0));
	text_table__cell(tb, text__ms(t, last ? last->self_ns : 0));
}

#define FRAMES_MAX 15 /* of an action: they come with the most first */

static size_t put_frames(struct text *t, struct text_table *tb, const struct frt_steprow *s,
			 const struct frt_action *a)
{
	const struct frt_action *first = text__action(text__step(t->first, s->step), a->action);
	bool more = false;
	size_t line, n = 0;

	if (!a->nframes && (!first || !first->nframes))
		return 0;
	line = text_table__line(tb, 0);
	text_table__colored(
		tb, TEXT_BOLD,
		text__printf(t, "%s: %s", text__name(t, s->step), text__name(t, a->action)));
	for (size_t i = 0; i < a->nframes; i++) {
		const struct frt_frame *f = &a->frames[i];

		/* what no sample fell into is never left out */
		if (n < FRAMES_MAX || strcmp(f->frame, "[not sampled]") == 0) {
			put_frame(t, tb, line, find_frame(first, f->frame), f);
			n++;
		} else {
			more = true;
		}
	}
	for (size_t i = 0; first && i < first->nframes && !more; i++) {
		more = n >= FRAMES_MAX;
		if (more || find_frame(a, first->frames[i].frame))
			continue;
		put_frame(t, tb, line, &first->frames[i], NULL);
		n++;
	}
	if (more) {
		text_table__line(tb, line);
		text_table__colored(tb, TEXT_DIM, "(more: --json)");
	}
	return 1;
}

static size_t each_action(struct text *t, struct text_table *tb,
			  size_t (*put)(struct text *, struct text_table *,
					const struct frt_steprow *, const struct frt_action *))
{
	size_t n = 0;

	for (size_t i = 0; t->last && i < t->last->nsteps; i++)
		for (size_t k = 0; k < t->last->steps[i].nactions; k++)
			n += put(t, tb, &t->last->steps[i], &t->last->steps[i].actions[k]);
	return n;
}

static void frames_view(struct text *t)
{
	struct text_column cols[8] = { { "FRAME", TEXT_LEFT, 30, 0, true },
				       { "SAMPLES", TEXT_RIGHT, 0, 1, false } };
	struct text_table *tb;
	size_t n = 2;

	if (!one_level(t))
		cols[n++] = (struct text_column){ at_level(t, "ms", t->first), TEXT_RIGHT, 0, 0,
						  false };
	cols[n++] = (struct text_column){ at_level(t, "ms", t->last), TEXT_RIGHT, 0, 0, false };
	if (!one_level(t))
		cols[n++] = (struct text_column){ at_level(t, "SELF", t->first), TEXT_RIGHT, 0, 2,
						  false };
	cols[n++] = (struct text_column){ at_level(t, "SELF", t->last), TEXT_RIGHT, 0, 0, false };
	tb = text_table__new(t, cols, n);
	if (each_action(t, tb, put_frames)) {
		text__heading(
			t, "FRAMES",
			text__printf(
				t,
				"sampled, scaled to the measured kernel time, ms per router; samples at %s",
				text__count(t, t->last->existing)));
	} else {
		text__paragraph(t, 0, "No frames: nothing was sampled.");
	}
	text_table__print(tb);
}

void text__functions(struct text *t)
{
	struct text_table *tb;

	if (!t->last) {
		text__paragraph(t, 0, "No functions: nothing was measured to its end.");
		return;
	}
	tb = functions_table(t);
	if (each_action(t, tb, put_functions)) {
		text__heading(
			t, "FUNCTIONS",
			text__printf(t, "probed, measured, ms per router; n over all routers at %s",
				     text__count(t, t->last->existing)));
	} else {
		text__paragraph(t, 0,
				"No functions were probed in this record; the frames are sampled.");
	}
	text_table__print(tb);
	text__blank(t);
	late_functions(t);
	frames_view(t);
}
