/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A record that was cut short ends within a level, whose line would have come when
 * it was over. What there is of its routers is worth a report: the level is put
 * together from them and from the order in which a profile measures.
 */
#include "analyze/analysis.h"

#include <errno.h>
#include <jansson.h>

/* The number-th level (from 0) of a profile with these options. */
static void from_options(struct frt_level *l, const json_t *options, size_t number)
{
	const json_t *at = json_object_get(options, "at");
	size_t n = json_array_size(at), per_run;

	if (!n)
		return; /* no profile: asked stays what was found */
	/* the first once more at the end, if there is another */
	per_run = n + (n > 1 && !json_is_true(json_object_get(options, "keep")));
	l->run = (uint32_t)(number / per_run) + 1;
	l->again = number % per_run == n;
	l->asked = (uint32_t)json_integer_value(json_array_get(at, number % per_run % n));
	l->streams = (uint32_t)json_integer_value(json_object_get(options, "streams"));
}

int analysis__cut_level(struct analysis *an, const struct frt_level **out)
{
	const struct frt_trail *t = an->t;
	uint32_t last = t->level.n ? t->level.v[t->level.n - 1].id : 0, id;
	struct frt_level *l;

	*out = NULL;
	id = t->router.n ? t->router.v[t->router.n - 1].level : 0;
	if (!t->truncated || id <= last)
		return 0;
	l = arena__alloc(an->arena, sizeof(*l));
	if (!l)
		return -ENOMEM;
	*l = (struct frt_level){ .id = id, .run = 1, .streams = 1 };
	for (size_t i = 0; i < t->router.n; i++) {
		const struct frt_router *r = &t->router.v[i];

		if (r->level != id || r->flags & FRT_ROUTER_OVERHEAD)
			continue;
		if (!l->routers && !l->warmup)
			l->existing = r->existing;
		l->existing_end = r->existing + 1;
		if (r->flags & FRT_ROUTER_WARMUP) {
			l->warmup++;
			continue;
		}
		if (!l->routers++)
			l->t0 = r->t0;
		l->t1 = r->t1 > l->t1 ? r->t1 : l->t1;
		l->steal_ns += r->steal_ns;
		l->cpu_ns += r->cpu_ns;
	}
	l->asked = l->existing < UINT32_MAX ? (uint32_t)l->existing : UINT32_MAX;
	from_options(l, json_object_get(t->header, "options"), id - 1);
	*out = l;
	return 0;
}
