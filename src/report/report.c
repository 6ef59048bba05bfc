/* SPDX-License-Identifier: BSD-2-Clause */
/* The text report: which parts there are, and in which order. */
#include "report/text.h"
#include "util/utf8.h"

#include <errno.h>
#include <string.h>

/* One row per view, in the order of report__views. */
static const struct view {
	const char *name;
	void (*print)(struct text *t);
} views[] = {
	{ "steps", text__steps },
	{ "actions", text__actions },
	{ "functions", text__functions },
	{ "growth", text__growth },
	{ "waits", text__waits },
	{ "deferred", text__deferred },
	{ "environment", text__environment },
};

const char *const report__views[] = { "steps", "actions",  "functions",	  "growth",
				      "waits", "deferred", "environment", NULL };

_Static_assert(ARRAY_SIZE(views) + 1 == ARRAY_SIZE(report__views), "every view has a name");

/* What comes last stands where the eye is when the command has ended. */
static void (*const whole[])(struct text *t) = {
	text__head,	text__steps, text__growth, text__waits,
	text__deferred, text__trust, text__worst,  text__finding,
};

/* The lowest and the highest level that was measured; again is neither. */
static void find_ends(struct text *t)
{
	for (size_t i = 0; i < t->p->nlevels; i++) {
		const struct frt_levelrow *l = &t->p->levels[i];

		if (l->again || !l->routers)
			continue;
		if (!t->first || l->asked < t->first->asked)
			t->first = l;
		if (!t->last || l->asked > t->last->asked)
			t->last = l;
	}
}

/* As many decimals of a ms as the shortest creation step needs for three digits,
 * the same in all columns so that figures stand below each other. */
static unsigned find_decimals(const struct frt_profile *p)
{
	double least = INFINITY;

	for (size_t i = 0; i < p->nlevels; i++)
		for (size_t k = 0; k < p->levels[i].nsteps; k++) {
			const struct frt_steprow *s = &p->levels[i].steps[k];

			if (!s->control && s->wall.n && s->wall.mean > 0 && s->wall.mean < least)
				least = s->wall.mean;
		}
	if (!isfinite(least) || (least >= 0.95e6 && least < 100e6))
		return 2;
	return least < 0.95e6 ? 3 : 1;
}

static int print_report(struct text *t, const char *view)
{
	if (!view) {
		t->whole = true;
		for (size_t i = 0; i < ARRAY_SIZE(whole) && !t->err; i++)
			whole[i](t);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(views); i++) {
		if (strcmp(views[i].name, view) == 0) {
			views[i].print(t);
			return 0;
		}
	}
	return -EINVAL;
}

int report__text(FILE *f, const struct frt_profile *p, const struct report_opts *o)
{
	struct text t = { .f = f, .p = p, .color = o->color };
	struct utf8 utf8;
	int err;

	t.width = o->width > 100 || o->width == 0 ? 100 : o->width < 60 ? 60 : o->width;
	t.a = arena__new();
	if (!t.a)
		return -ENOMEM;
	find_ends(&t);
	t.decimals = find_decimals(p);
	utf8__begin(&utf8);
	err = print_report(&t, o->view);
	utf8__end(&utf8);
	arena__free(t.a);
	if (!err)
		err = t.err;
	if (!err && ferror(f))
		err = -EIO;
	return err;
}
