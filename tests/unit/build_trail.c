/* SPDX-License-Identifier: BSD-2-Clause */
#include "build_trail.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

void *trail__more(void **v, size_t *n, size_t *cap, size_t size)
{
	if (*n == *cap) {
		*cap = *cap ? *cap * 2 : 64;
		*v = reallocarray(*v, *cap, size);
		if (!*v)
			abort();
	}
	memset((char *)*v + *n * size, 0, size);
	return (char *)*v + (*n)++ * size;
}

void trail__header(struct frt_trail *t, const char *json)
{
	json_decref(t->header);
	t->header = json_loads(json, 0, NULL);
	if (!t->header)
		abort();
}

void trail__drop(struct frt_trail *t)
{
	json_decref(t->header);
	json_decref(t->end);
	free(t->level.v);
	free(t->router.v);
	free(t->step.v);
	free(t->proc.v);
	free(t->exec.v);
	free(t->dead.v);
	free(t->call.v);
	free(t->off.v);
	free(t->node.v);
	free(t->sample.v);
	free(t->func.v);
	free(t->loss.v);
	free(t->outside.v);
	free(t->defer.v);
	free(t->rate.v);
	free(t->point.v);
	free(t->lock.v);
	memset(t, 0, sizeof(*t));
}

uint32_t trail__frame(struct frt_trail *t, uint32_t parent, const char *frame)
{
	struct frt_node *n;

	for (size_t i = 0; i < t->node.n; i++)
		if (t->node.v[i].parent == parent && strcmp(t->node.v[i].frame, frame) == 0)
			return t->node.v[i].id;
	n = trail_add(t, node);
	n->id = (uint32_t)t->node.n;
	n->parent = parent;
	n->frame = frame;
	return n->id;
}

struct frt_level *trail__level(struct frt_trail *t, uint32_t asked, uint64_t existing)
{
	struct frt_level *l = trail_add(t, level);

	l->id = (uint32_t)t->level.n;
	l->asked = asked;
	l->run = 1;
	l->streams = 1;
	l->existing = existing;
	return l;
}

struct frt_router *trail__router(struct frt_trail *t, uint64_t t0)
{
	struct frt_router *r = trail_add(t, router);
	struct frt_level *l = &t->level.v[t->level.n - 1];

	r->id = (uint32_t)t->router.n;
	r->level = l->id;
	r->existing = l->existing + l->routers;
	r->t0 = r->t1 = t0;
	l->routers++;
	if (!l->t0)
		l->t0 = t0;
	return r;
}

struct frt_stepinst *trail__step(struct frt_trail *t, enum frt_step step, uint64_t ns,
				 uint32_t creator)
{
	struct frt_router *r = &t->router.v[t->router.n - 1];
	struct frt_level *l = &t->level.v[t->level.n - 1];
	struct frt_stepinst *s = trail_add(t, step);

	s->instance = (uint32_t)t->step.n;
	s->router = r->id;
	s->level = r->level;
	s->step = step;
	s->creator = creator;
	s->t0 = r->t1;
	s->t1 = s->t0 + ns;
	if (frt_steps[step].creation) {
		r->t1 = s->t1;
		l->t1 = s->t1;
	}
	return s;
}

double noise(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return (double)(*state >> 8) / 8388608.0 - 1.0;
}
