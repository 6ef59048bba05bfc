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
	free(t->nscount.v);
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

void trail__creator(struct frt_trail *t, uint32_t task)
{
	struct frt_proc *p = trail_add(t, proc);

	p->task = task;
	p->is_creator = 1;
}

void trail__born(struct frt_trail *t, uint32_t instance, uint32_t task, uint32_t parent,
		 uint64_t fork, uint64_t wake, uint64_t in, struct used w)
{
	struct frt_proc *p = trail_add(t, proc);
	struct frt_off *o = trail_add(t, off);

	p->task = task;
	p->parent = parent;
	p->instance = instance;
	p->t = fork;
	*o = (struct frt_off){ .task = task,
			       .instance = instance,
			       .why = FRT_OFF_BIRTH,
			       .mode = FRT_MODE_START,
			       .nr = FRT_NR_START,
			       .out = fork,
			       .waking = wake,
			       .in = in,
			       .waker = parent,
			       .waker_instance = instance,
			       .waker_cpu_ns = w.cpu,
			       .waker_user_ns = w.user };
}

struct frt_off *trail__slept(struct frt_trail *t, uint32_t instance, uint32_t task, int32_t nr,
			     uint64_t out, uint64_t waking, uint64_t in, struct used u,
			     uint32_t waker, struct used w)
{
	struct frt_off *o = trail_add(t, off);

	*o = (struct frt_off){ .task = task,
			       .instance = instance,
			       .why = FRT_OFF_BLOCKED,
			       .mode = FRT_MODE_CALL,
			       .nr = nr,
			       .out = out,
			       .waking = waking,
			       .in = in,
			       .cpu_ns = u.cpu,
			       .user_ns = u.user,
			       .waker = waker,
			       .waker_instance = waker ? instance : 0,
			       .waker_cpu_ns = w.cpu,
			       .waker_user_ns = w.user };
	return o;
}

void trail__preempted(struct frt_trail *t, uint32_t instance, uint32_t task, uint64_t out,
		      uint64_t in, struct used u)
{
	struct frt_off *o = trail__slept(t, instance, task, FRT_NR_NONE, out, out, in, u, 0,
					 (struct used){ 0 });

	o->why = FRT_OFF_PREEMPT;
	o->mode = FRT_MODE_USER;
}

struct frt_call *trail__call(struct frt_trail *t, uint32_t instance, uint32_t task, int32_t nr,
			     uint64_t t0, uint64_t t1, uint64_t cpu)
{
	struct frt_call *c = trail_add(t, call);

	*c = (struct frt_call){ .task = task,
				.instance = instance,
				.seq = (uint32_t)t->call.n,
				.nr = nr,
				.t0 = t0,
				.t1 = t1,
				.cpu_ns = cpu,
				.text = "" };
	return c;
}

void trail__dead(struct frt_trail *t, uint32_t instance, uint32_t task, uint64_t at, struct used u)
{
	struct frt_dead *d = trail_add(t, dead);

	*d = (struct frt_dead){
		.task = task, .instance = instance, .t = at, .cpu_ns = u.cpu, .user_ns = u.user
	};
}

#define NR_VFORK 58
#define NR_WAITID 247

void world__open(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->creator = 1;
	w->tasks = 1;
	w->now = 1000000;
	w->idle_since = w->now;
	trail__creator(&w->t, w->creator);
}

void world__pass(struct world *w, uint64_t ns)
{
	w->now += ns;
	w->used.cpu += ns;
	w->used.user += ns;
}

struct frt_stepinst *world__step(struct world *w, enum frt_step step, struct plan *p)
{
	struct frt_trail *t = &w->t;
	struct frt_stepinst *s = trail__step(t, step, 0, w->creator);
	uint64_t t0 = w->now, at;
	uint32_t i = s->instance, child = ++w->tasks;
	struct used c = { 0, 0 };
	struct frt_call *call;

	p->task = child;
	/* the creator up to its sleep in waitid */
	trail__call(t, i, w->creator, NR_VFORK, t0 + 10, t0 + 50, 40);
	trail__born(t, i, child, w->creator, t0 + 20, t0 + 40, t0 + 60,
		    (struct used){ w->used.cpu + 40, w->used.user + 10 });
	w->used.cpu += 70;
	w->used.user += 15; /* 10, and 5 between the calls */

	/* the child */
	at = t0 + 60;
	trail__call(t, i, child, FRT_NR_START, t0 + 20, at + 5, 5);
	at += 5;
	p->user_at = at;
	at += p->user + p->other;
	c = (struct used){ 5 + p->user + p->other, p->user };
	p->call_at = at;
	if (p->kernel) {
		call = trail__call(t, i, child, p->call.nr, at, at + p->kernel, p->kernel);
		call->detail = p->call.detail;
		call->flags = p->call.flags;
		call->net_before = p->call.net_before;
		call->net_after = p->call.net_after;
		call->mnt_before = p->call.mnt_before;
		call->mnt_after = p->call.mnt_after;
		call->restarts = p->call.restarts;
		at += p->kernel;
		c.cpu += p->kernel;
	}
	p->wait_at = at;
	if (p->blocked) {
		call = trail__call(t, i, child, p->wait.nr, at, at + 10 + p->blocked + p->runq, 10);
		call->detail = p->wait.detail;
		c.cpu += 5;
		trail__slept(t, i, child, p->wait.nr, at + 5, at + 5 + p->blocked,
			     at + 5 + p->blocked + p->runq, c, 0, (struct used){ 0 })
			->stack = p->wait_stack;
		c.cpu += 5;
		at += 10 + p->blocked + p->runq;
	}
	p->exit_at = at;
	trail__call(t, i, child, FRT_NR_EXIT, at, at + 80, 80);
	trail__dead(t, i, child, at + 80, (struct used){ c.cpu + 80, c.user });
	t->dead.v[t->dead.n - 1].rest_n = p->other ? 3 : 0;
	t->dead.v[t->dead.n - 1].rest_ns = p->other;
	at += 50;
	c.cpu += 50;

	/* the creator again */
	trail__call(t, i, w->creator, NR_WAITID, t0 + 55, at + 15, 20);
	trail__slept(t, i, w->creator, NR_WAITID, t0 + 70, at, at + 10, w->used, child, c);
	w->used.cpu += 10;
	w->used.user += 5;
	s->t0 = t0;
	s->t1 = w->now = at + 20;
	if (frt_steps[step].creation) {
		struct frt_router *r = &t->router.v[t->router.n - 1];

		r->t1 = s->t1;
		t->level.v[t->level.n - 1].t1 = s->t1;
	}
	return s;
}

double noise(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return (double)(*state >> 8) / 8388608.0 - 1.0;
}
