/* SPDX-License-Identifier: BSD-2-Clause */
#include "analyze/finding.h"

#include <errno.h>
#include <frtrace/steps.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FINDING_MAX 4
#define PARTS_MAX 3 /* of a step's growth, named in the finding */

char *finding__ms(char *buf, size_t size, double ns)
{
	double v = ns / 1e6, a = fabs(v);

	if (isnan(ns))
		snprintf(buf, size, "?");
	else if (a >= 9.995)
		snprintf(buf, size, "%.*f ms", a >= 99.95 ? 0 : 1, v);
	else
		snprintf(buf, size, "%.*f ms", a >= 0.9995 ? 2 : 3, v);
	return buf;
}

/* The same with its sign. */
static char *more(char *buf, size_t size, double ns)
{
	char v[24];

	finding__ms(v, sizeof(v), ns);
	snprintf(buf, size, "%s%s", ns >= 0 ? "+" : "", v);
	return buf;
}

/* 10000 as "10,000". */
static char *thousands(char *buf, size_t size, uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
	size_t o = 0;

	for (int i = 0; i < len && o + 2 < size; i++) {
		if (i && (len - i) % 3 == 0)
			buf[o++] = ',';
		buf[o++] = digits[i];
	}
	buf[o] = '\0';
	return buf;
}

static int say(struct frt_profile *p, const char *sentence)
{
	if (!sentence)
		return -ENOMEM;
	p->finding[p->nfinding++] = sentence;
	return 0;
}

static const struct frt_stepgrowth *step_named(const struct frt_profile *p, const char *name)
{
	for (size_t i = 0; i < p->nstepgrowth; i++)
		if (strcmp(p->stepgrowth[i].step, name) == 0)
			return &p->stepgrowth[i];
	return NULL;
}

static bool is_creation(const struct frt_profile *p, const char *name)
{
	for (size_t i = 0; i < p->nlevels; i++)
		for (size_t k = 0; k < p->levels[i].nsteps; k++)
			if (strcmp(p->levels[i].steps[k].step, name) == 0)
				return p->levels[i].steps[k].creation;
	return false;
}

/* " exec +9.10 ms, sysctl +3.20 ms": the creation steps that grew (or shrank). */
static const char *steps_that(const struct frt_profile *p, struct arena *arena, bool grew)
{
	const char *list = NULL;
	char ms[32];

	for (size_t i = 0; i < p->nstepgrowth; i++) {
		const struct frt_stepgrowth *g = &p->stepgrowth[i];

		if (!(grew ? g->grew : g->shrank) || !is_creation(p, g->step))
			continue;
		list = arena__printf(arena, "%s%s%s %s", list ? list : "", list ? ", " : "",
				     g->step, more(ms, sizeof(ms), g->delta_ns));
		if (!list)
			return NULL;
	}
	return list;
}

static void ends_of(const struct frt_profile *p, uint32_t *first, uint32_t *last)
{
	bool any = false;

	for (size_t i = 0; i < p->nlevels; i++) {
		const struct frt_levelrow *l = &p->levels[i];

		if (l->again || !l->routers)
			continue;
		if (!any || l->asked < *first)
			*first = l->asked;
		if (!any || l->asked > *last)
			*last = l->asked;
		any = true;
	}
}

static int say_router(struct frt_profile *p, struct arena *arena, const struct frt_stepgrowth *r)
{
	const char *up = steps_that(p, arena, true), *down = steps_that(p, arena, false);
	const struct frt_stepgrowth *control = step_named(p, frt_steps[FRT_STEP_CONTROL].name);
	char a[24], b[24], lo[32], hi[32], at0[24], at1[24];
	uint32_t first = 0, last = 0;

	ends_of(p, &first, &last);
	thousands(at0, sizeof(at0), first);
	thousands(at1, sizeof(at1), last);
	finding__ms(a, sizeof(a), r->first_ns);
	finding__ms(b, sizeof(b), r->last_ns);
	more(lo, sizeof(lo), r->lo);
	more(hi, sizeof(hi), r->hi);
	if (isnan(r->lo))
		return say(p,
			   arena__printf(arena,
					 "A router took %s at %s and %s at %s, but fewer than 5 "
					 "values a level give no interval: no growth is claimed.",
					 a, at0, b, at1));
	if (!r->grew && !r->shrank && r->lo > 0 && control)
		return say(p,
			   arena__printf(
				   arena,
				   "A router takes %s at %s after %s at %s, but the control step "
				   "grew too, %.2f times (%.2f to %.2f, 99 %%): it may be the "
				   "machine that got slower, not the steps.",
				   b, at1, a, at0, control->ratio, control->ratio_lo,
				   control->ratio_hi));
	if (!r->grew && !r->shrank)
		return say(p,
			   arena__printf(arena,
					 "A router takes %s at %s and %s at %s: no growth that the "
					 "interval supports (%s to %s, 99 %%)%s%s.",
					 a, at0, b, at1, lo, hi, up ? "; by itself " : "",
					 up ? up : "; no step grew"));
	return say(p, arena__printf(arena,
				    "A router takes %s at %s, %.2f times the %s at %s (%s to %s, "
				    "99 %%)%s%s%s%s.",
				    b, at1, r->ratio, a, at0, lo, hi, up ? ": " : "", up ? up : "",
				    down ? "; faster: " : "", down ? down : ""));
}

/* What a part of the growth is, in words. */
static const char *part_in_words(struct arena *arena, const struct frt_growthrow *g)
{
	switch (g->kind) {
	case FRT_KIND_USER:
		return "user code";
	case FRT_KIND_RUNQ:
		return arena__printf(arena, "waiting for a CPU in %s", g->action);
	case FRT_KIND_BLOCKED:
		return arena__printf(arena, "waiting (%s) in %s", g->where ? g->where : "other",
				     g->action);
	default:
		break;
	}
	if (!g->where)
		return arena__printf(arena, "kernel time in %s", g->action);
	if (g->where[0] == '[') /* [other frames], [not probed], [no stack] */
		return arena__printf(arena, "kernel time in other functions under %s", g->action);
	return arena__printf(arena, "kernel time in %s under %s", g->where, g->action);
}

/* The step that grew most, and what of it its largest parts are. A part is named
 * only when its interval is above 0 and it is a twentieth of the step's growth. */
static int say_step(struct frt_profile *p, struct arena *arena)
{
	const struct frt_stepgrowth *step = NULL;
	const char *list = NULL;
	char ms[24], at[24];
	uint32_t first = 0, last = 0;
	int named = 0;

	for (size_t i = 0; i < p->nstepgrowth; i++) {
		const struct frt_stepgrowth *g = &p->stepgrowth[i];

		if (g->grew && is_creation(p, g->step) && (!step || g->delta_ns > step->delta_ns))
			step = g;
	}
	if (!step)
		return 0;
	for (size_t i = 0; i < p->ngrowth && named < PARTS_MAX; i++) {
		const struct frt_growthrow *g = &p->growth[i];
		const char *words;

		if (!g->action || strcmp(g->step, step->step) != 0 || !(g->lo > 0) ||
		    g->delta_ns < 0.05 * step->delta_ns)
			continue;
		words = part_in_words(arena, g);
		if (!words)
			return -ENOMEM;
		list = arena__printf(arena, "%s%s%.0f %%%s is %s (%s, n=%llu)", list ? list : "",
				     list ? ", " : "", 100 * g->delta_ns / step->delta_ns,
				     list ? "" : " of it", words,
				     g->sampled ? "sampled" : "measured", (unsigned long long)g->n);
		if (!list)
			return -ENOMEM;
		named++;
	}
	if (!list)
		return 0;
	ends_of(p, &first, &last);
	return say(p, arena__printf(arena, "%s costs %s more at %s: %s.", step->step,
				    finding__ms(ms, sizeof(ms), step->delta_ns),
				    thousands(at, sizeof(at), last), list));
}

static int say_prediction(struct frt_profile *p, struct arena *arena,
			  const struct frt_stepgrowth *r)
{
	char at[24], ms[24], lo[24], hi[24];

	if (!r->grew || !r->npredicted)
		return 0;
	thousands(at, sizeof(at), r->predicted[0].at);
	if (r->predicted[0].refused)
		return say(p,
			   arena__printf(arena,
					 "%s is more than five times the highest level: nothing is "
					 "predicted for it.",
					 at));
	finding__ms(ms, sizeof(ms), r->predicted[0].ns);
	finding__ms(lo, sizeof(lo), r->predicted[0].lo);
	finding__ms(hi, sizeof(hi), r->predicted[0].hi);
	return say(p, arena__printf(arena, "At %s expect %s per router (%s to %s, 95 %%)%s%s.", at,
				    ms, lo, hi,
				    strcmp(r->shape, "unknown") == 0 ? " if it is linear"
								     : "; the growth is ",
				    strcmp(r->shape, "unknown") == 0 ? "" : r->shape));
}

/* One level: where the time of a router goes. */
static int say_level(struct frt_profile *p, struct arena *arena)
{
	for (size_t i = 0; i < p->nlevels; i++) {
		const struct frt_levelrow *l = &p->levels[i];
		const struct frt_steprow *router = NULL, *most = NULL;
		char a[24], b[24], at[24];

		for (size_t k = 0; k < l->nsteps; k++) {
			const struct frt_steprow *s = &l->steps[k];

			if (strcmp(s->step, "router") == 0)
				router = s;
			else if (s->creation && (!most || s->wall.mean > most->wall.mean))
				most = s;
		}
		if (l->again || !router || !most || !router->n)
			continue;
		return say(p,
			   arena__printf(arena, "At %s a router takes %s, most of it in %s (%s).",
					 thousands(at, sizeof(at), l->asked),
					 finding__ms(a, sizeof(a), router->wall.mean), most->step,
					 finding__ms(b, sizeof(b), most->wall.mean)));
	}
	return say(p, "No router was measured: there is nothing to say.");
}

int finding__write(struct frt_profile *p, struct arena *arena)
{
	const struct frt_stepgrowth *router = step_named(p, "router");
	int err;

	p->finding = arena__alloc(arena, FINDING_MAX * sizeof(*p->finding));
	if (!p->finding)
		return -ENOMEM;
	p->nfinding = 0;
	if (!router)
		return say_level(p, arena);
	err = say_router(p, arena, router);
	if (!err)
		err = say_step(p, arena);
	if (!err)
		err = say_prediction(p, arena, router);
	return err;
}
