/* SPDX-License-Identifier: BSD-2-Clause */
#include "analyze/assemble.h"

#include "util/util.h"

#include <errno.h>
#include <string.h>

struct walk {
	struct index *ix;
	struct wall *out;
	uint64_t t0, t;
	const struct task *creator;
	uint32_t instance;
	int err;
};

/* [a, walk.t) goes to the carrier; t moves to a. What lies before t0 is cut. */
static void give(struct walk *w, enum seg_kind kind, const struct task *c,
		 const struct frt_off *off, uint64_t a)
{
	struct wall *o = w->out;

	if (a < w->t0)
		a = w->t0;
	if (a >= w->t || w->err)
		return;
	w->err = grow(&o->v, o->n, &o->cap, sizeof(*o->v));
	if (w->err)
		return;
	o->v[o->n++] = (struct seg){ .kind = kind, .task = c, .off = off, .a = a, .b = w->t };
	w->t = a;
}

/* Marks start afresh with every walk. */
static void touch(struct walk *w, struct task *c)
{
	if (c->walk == w->ix->walks)
		return;
	c->walk = w->ix->walks;
	c->cursor = c->noff;
	c->born = false;
}

/* The latest switch-out before t that the walk has not passed yet. One that
 * reaches beyond t (t fell into it) counts too. Each is given out once, so the
 * walk ends however the events are. */
static const struct frt_off *off_before(struct walk *w, struct task *c)
{
	size_t lo = 0, hi;

	touch(w, c);
	hi = c->cursor;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->off[mid]->in <= w->t)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < c->cursor && c->off[lo]->out < w->t)
		lo++;
	if (!lo) {
		c->cursor = 0;
		return NULL;
	}
	c->cursor = lo - 1;
	return c->off[lo - 1];
}

/* Is this task one of the step, so that it may carry? */
static struct task *in_step(const struct walk *w, uint32_t serial)
{
	struct task *t = w->instance ? index__task(w->ix, serial) : NULL;

	if (!t)
		return NULL;
	if (t == w->creator || t->instance == w->instance)
		return t;
	return t->serves && t->serves == w->creator ? t : NULL;
}

/* Before its birth a task was its parent. NULL: nobody knows who that was. */
static struct task *parent_of(struct walk *w, struct task *c, const struct frt_off *birth)
{
	struct task *p = NULL;

	if (c->born) /* a circle: events nobody can believe */
		return NULL;
	c->born = true;
	if (birth && birth->waking && birth->waker)
		p = in_step(w, birth->waker);
	if (!p && c->proc)
		p = in_step(w, c->proc->parent);
	return p == c ? NULL : p;
}

/* No switch-out is left before t. The creator was on the CPU all the time; of
 * another task the birth was lost, what the fork and the snapshots say holds. */
static struct task *begin_of_task(struct walk *w, struct task *c)
{
	if (c == w->creator || (c->proc && c->proc->t <= w->t0)) {
		give(w, SEG_CPU, c, NULL, w->t0);
		return NULL;
	}
	if (!c->proc || c->proc->t > w->t)
		return NULL;
	give(w, SEG_CPU, c, NULL, c->proc->t);
	return parent_of(w, c, NULL);
}

/* The carrier is c at w->t. Walks over its latest switch-out; returns the
 * carrier before that. */
static struct task *step_back(struct walk *w, struct task *c)
{
	const struct frt_off *o = off_before(w, c);
	uint64_t in, waking;
	struct task *waker;

	if (!o)
		return begin_of_task(w, c);
	if (o->in <= w->t0) {
		give(w, SEG_CPU, c, NULL, w->t0);
		return NULL;
	}
	in = o->in < w->t ? o->in : w->t;
	give(w, SEG_CPU, c, NULL, in);
	waking = o->waking;
	if (waking > w->t)
		waking = 0; /* t fell into the wait itself */
	if (waking && waking < o->out)
		waking = o->out;
	switch (o->why) {
	case FRT_OFF_PREEMPT:
		give(w, SEG_RUNQ, c, o, o->out);
		return c;
	case FRT_OFF_BIRTH:
		if (waking)
			give(w, SEG_RUNQ, c, o, waking);
		else
			give(w, SEG_MISSING, c, NULL, o->out);
		return parent_of(w, c, o);
	}
	if (!waking) {
		give(w, SEG_BLOCKED, c, o, o->out);
		return c;
	}
	give(w, SEG_RUNQ, c, o, waking);
	waker = in_step(w, o->waker);
	if (waker && waker != c)
		return waker;
	give(w, SEG_BLOCKED, c, o, o->out);
	return c;
}

int wall__assemble(struct index *ix, uint64_t t0, uint64_t t1, uint32_t creator, uint32_t instance,
		   struct wall *out)
{
	struct walk w = { .ix = ix, .out = out, .t0 = t0, .t = t1, .instance = instance };
	struct task *c = index__task(ix, creator);

	ix->walks++;
	out->n = 0;
	w.creator = c;
	while (c && w.t > t0 && !w.err)
		c = step_back(&w, c);
	give(&w, SEG_MISSING, NULL, NULL, t0);
	return w.err;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t overlap(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	uint64_t lo = a > c ? a : c, hi = b < d ? b : d;

	return hi > lo ? hi - lo : 0;
}

static uint64_t part(uint64_t whole, uint64_t share, uint64_t of)
{
	return of ? (uint64_t)((unsigned __int128)whole * share / of) : 0;
}

/* First call of t that ends after a. */
static size_t first_call(const struct task *t, uint64_t a)
{
	size_t lo = 0, hi = t->ncall;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->call[mid]->t1 <= a)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* A call as far as it is on the CPU of a piece. */
struct stretch {
	uint64_t a, b; /* its place */
	uint64_t ns;   /* of that on the CPU: all, unless the call knows better */
};

/* Calls follow one another; should a record say otherwise, each begins at the
 * end of the one before (from). A call that lies in one piece and was on the CPU
 * for less than it took says that a switch-out was lost in it. */
static struct stretch stretch_of(const struct frt_call *c, uint64_t from, uint64_t pa, uint64_t pb)
{
	struct stretch s = { .a = c->t0 > from ? c->t0 : from, .b = c->t1 < pb ? c->t1 : pb };

	if (s.b < s.a)
		s.b = s.a;
	s.ns = s.b - s.a;
	if (c->t0 >= pa && c->t1 <= pb && c->cpu_ns < s.ns)
		s.ns = c->cpu_ns;
	return s;
}

/*
 * A piece [pa, pb) lies between two neighbouring snapshots, known says that
 * both are there, cpu and user are what was used up between them. The task was
 * on the CPU all the time unless a switch-out was lost. The part [a, b) of it is
 * split: the calls sent have their place; of what is outside them, the snapshots
 * say how much was user, how much other calls, how much missing, but not where:
 * that is spread evenly. A part that is the whole piece comes out exactly.
 */
static void split_piece(const struct task *t, uint64_t pa, uint64_t pb, bool known, uint64_t cpu,
			uint64_t user, uint64_t a, uint64_t b, struct cpu_split *s,
			void (*on_call)(void *ctx, const struct frt_call *c, uint64_t ns),
			void *ctx)
{
	uint64_t from = pa, calls = 0, outside = pb - pa, q_outside = b - a, on, missing, other;

	for (size_t i = first_call(t, pa); i < t->ncall && t->call[i]->t0 < pb; i++) {
		struct stretch c = stretch_of(t->call[i], from, pa, pb);
		uint64_t q = overlap(c.a, c.b, a, b), ns = q;

		from = c.b;
		if (known) {
			outside -= c.b - c.a;
			calls += c.ns;
			ns = part(c.ns, q, c.b - c.a);
		}
		q_outside -= q;
		s->calls += ns;
		s->missing += q - ns;
		if (on_call && ns)
			on_call(ctx, t->call[i], ns);
	}
	if (!known) {
		s->user += q_outside;
		return;
	}
	on = least(cpu > calls ? cpu - calls : 0, outside);
	missing = part(outside - on, q_outside, outside);
	other = part(on - least(user, on), q_outside, outside);
	s->missing += missing;
	s->other += other;
	s->user += q_outside - missing - other;
}

struct cpu_split cpu__split(const struct task *t, uint64_t a, uint64_t b,
			    void (*on_call)(void *ctx, const struct frt_call *c, uint64_t ns),
			    void *ctx)
{
	struct cpu_split s = { 0 };
	size_t lo = 0, hi = t->nsnap;

	while (lo < hi) { /* first snapshot after a */
		size_t mid = lo + (hi - lo) / 2;

		if (t->snap[mid].t <= a)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; a < b; lo++) {
		const struct snap *from = lo ? &t->snap[lo - 1] : NULL;
		const struct snap *to = lo < t->nsnap ? &t->snap[lo] : NULL;
		uint64_t end = to && to->t < b ? to->t : b;
		bool known = from && to;

		if (end <= a)
			continue;
		split_piece(t, known ? from->t : a, known ? to->t : end, known,
			    known && to->cpu > from->cpu ? to->cpu - from->cpu : 0,
			    known && to->user > from->user ? to->user - from->user : 0, a, end, &s,
			    on_call, ctx);
		a = end;
	}
	return s;
}

struct wall_sums wall__sums(const struct wall *w)
{
	struct wall_sums sums = { 0 };
	struct cpu_split s;

	for (size_t i = 0; i < w->n; i++) {
		const struct seg *g = &w->v[i];

		switch (g->kind) {
		case SEG_CPU:
			s = cpu__split(g->task, g->a, g->b, NULL, NULL);
			sums.user += s.user;
			sums.kernel += s.calls + s.other;
			sums.unaccounted += s.missing;
			break;
		case SEG_RUNQ:
			sums.runq += g->b - g->a;
			break;
		case SEG_BLOCKED:
			sums.blocked += g->b - g->a;
			break;
		case SEG_MISSING:
			sums.unaccounted += g->b - g->a;
		}
	}
	return sums;
}
