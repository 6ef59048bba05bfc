/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loops, routers and buckets. A loop is the task whose children are the steps, or
 * that asks for them itself; what it runs and waits for belongs to it. One round
 * of a loop is a router: from the end of the round before to the end of its last
 * step. A round begins with the step that makes the namespace, or else with the
 * step that was the loop's first. Buckets are levels.
 */
#include "analyze/loops.h"

#include <errno.h>
#include <frtrace/steps.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS_MAX 200
#define BUCKET_FEW 5 /* fewer values give no interval */
#define LEAD_MOST 3  /* before the first round it may be so many times the longest other */

static uint64_t birth_of(const struct member *m)
{
	return m->t->proc ? m->t->proc->t : 0;
}

static uint64_t death_of(const struct member *m)
{
	return m->t->dead ? m->t->dead->t : UINT64_MAX;
}

/* A stretch of time in which a child of `parent` was at it. */
struct stretch {
	size_t parent, child; /* child NONE: a step */
	uint64_t a, b;
};

static int by_parent_and_time(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	return (x->b > y->b) - (x->b < y->b);
}

/* Marks who works for the loop beside others: those are loops of their own. */
static int find_apart(struct foreign *f)
{
	struct stretch *v = calloc(f->found.n + f->ix.ntasks + 1, sizeof(*v));
	size_t n = 0, longest = 0;

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < f->found.n; i++)
		v[n++] = (struct stretch){ f->found.v[i].loop, NONE, f->found.v[i].s.t0,
					   f->found.v[i].s.t1 };
	for (size_t i = 0; i < f->ix.ntasks; i++)
		if (f->m[i].bears && f->m[i].parent != NONE)
			v[n++] = (struct stretch){ f->m[i].parent, i, birth_of(&f->m[i]),
						   death_of(&f->m[i]) };
	qsort(v, n, sizeof(*v), by_parent_and_time);
	for (size_t i = 1; i < n; i++) {
		if (v[i].parent != v[longest].parent) {
			longest = i;
			continue;
		}
		if (v[i].a < v[longest].b) {
			if (v[i].child != NONE)
				f->m[v[i].child].apart = true;
			if (v[longest].child != NONE)
				f->m[v[longest].child].apart = true;
		}
		if (v[i].b > v[longest].b)
			longest = i;
	}
	free(v);
	return 0;
}

int loops__find(struct foreign *f)
{
	int err;

	for (size_t i = 0; i < f->found.n; i++)
		for (size_t up = f->found.v[i].loop; up != NONE && !f->m[up].bears;
		     up = f->m[up].parent)
			f->m[up].bears = true;
	err = find_apart(f);
	if (err)
		return err;
	/* parents first */
	for (size_t k = 0; k < f->ix.ntasks; k++) {
		struct member *m = &f->m[f->order[k]];
		bool serves = m->acts && !m->execs; /* a server's child: a loop of its own */

		m->loop = f->order[k];
		if (m->parent != NONE && f->m[m->parent].loop != NONE && !m->apart && !serves &&
		    !(m->t->proc && m->t->proc->is_thread))
			m->loop = f->m[m->parent].loop;
	}
	for (size_t i = 0; i < f->found.n; i++)
		f->found.v[i].loop = f->m[f->found.v[i].loop].loop;
	return 0;
}

static int by_loop_and_time(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->loop != y->loop)
		return x->loop < y->loop ? -1 : 1;
	if (x->s.t0 != y->s.t0)
		return x->s.t0 < y->s.t0 ? -1 : 1;
	if (x->s.t1 != y->s.t1)
		return x->s.t1 < y->s.t1 ? -1 : 1;
	return (x->s.instance > y->s.instance) - (x->s.instance < y->s.instance);
}

static bool is_delete(const struct found *x)
{
	return x->s.step == FRT_STEP_DELETE;
}

/* Which step a round of this loop begins with; of a wrapped one, its wrapper. */
static unsigned anchor_of(const struct foreign *f, const struct found *v, size_t n)
{
	unsigned wrapper = foreign__step((struct foreign *)f, "wrapper");
	size_t i = 0;

	for (size_t k = 0; k < n; k++)
		if (v[k].s.step == FRT_STEP_ADD)
			return v[k].name;
	while (i + 1 < n && (v[i].name == wrapper || is_delete(&v[i])))
		i++;
	return v[i].name;
}

/* Does a round begin at v[i]: with the anchor itself, or with what wraps it? */
static bool begins(const struct foreign *f, const struct found *v, size_t n, size_t i,
		   unsigned anchor)
{
	unsigned wrapper = foreign__step((struct foreign *)f, "wrapper");
	bool led = i && v[i - 1].name == wrapper && v[i - 1].s.t1 == v[i].s.t0;

	if (v[i].name == anchor)
		return !led;
	return v[i].name == wrapper && i + 1 < n && v[i + 1].name == anchor &&
	       v[i + 1].s.t0 == v[i].s.t1 && !led;
}

/* The loop's own beginning: when the program that runs it took over. */
static uint64_t start_of(const struct foreign *f, size_t by, uint64_t first)
{
	const struct member *m;
	uint64_t t;

	while (f->m[by].owner != NONE && f->m[by].parent != NONE)
		by = f->m[by].parent;
	m = &f->m[by];
	t = m->parent == NONE ? first : birth_of(m);

	for (size_t i = 0; i < m->t->nexec && m->t->exec[i]->t < first; i++)
		t = m->t->exec[i]->t;
	return t < first ? t : first;
}

/* The longest time from the end of a round to the first step of the next. */
static uint64_t longest_lead(const struct foreign *f, const struct found *v, size_t n,
			     unsigned anchor)
{
	uint64_t end = v[0].s.t1, lead = 0;

	for (size_t i = 1; i < n && !is_delete(&v[i]); i++) {
		if (begins(f, v, n, i, anchor) && v[i].s.t0 > end && v[i].s.t0 - end > lead)
			lead = v[i].s.t0 - end;
		if (v[i].s.t1 > end)
			end = v[i].s.t1;
	}
	return lead;
}

static int put_router(struct foreign *f, const struct frt_router *r)
{
	struct frt_trail *t = f->t;
	int err = grow(&t->router.v, t->router.n, &t->router.cap, sizeof(*t->router.v));

	if (!err)
		t->router.v[t->router.n++] = *r;
	return err;
}

static int put_step(struct foreign *f, const struct found *x, uint32_t router)
{
	struct frt_trail *t = f->t;
	int err = grow(&t->step.v, t->step.n, &t->step.cap, sizeof(*t->step.v));

	if (err)
		return err;
	t->step.v[t->step.n] = x->s;
	t->step.v[t->step.n++].router = router;
	return 0;
}

/* The rounds of one loop. What was joined in the middle of a round is warm-up. */
static int write_loop(struct foreign *f, const struct found *v, size_t n, uint32_t stream,
		      uint32_t flags)
{
	const struct member *m = &f->m[v[0].loop];
	unsigned anchor = anchor_of(f, v, n);
	size_t last_made = 0, first_router = f->t->router.n, rounds, late = 0;
	struct frt_router r = { .stream = stream, .flags = flags, .creator = m->t->serial };
	bool joined = m->parent == NONE && !(m->t->nexec);
	uint64_t lead;
	int err = 0;

	for (size_t i = 0; i < n; i++)
		if (!is_delete(&v[i]))
			last_made = i;
	r.t1 = start_of(f, v[0].by, v[0].s.t0);
	/* a program starts up once: that is no part of a round */
	lead = LEAD_MOST * longest_lead(f, v, n, anchor);
	if (lead && v[0].s.t0 - r.t1 > lead) {
		f->startup_ns += v[0].s.t0 - lead - r.t1;
		r.t1 = v[0].s.t0 - lead;
	}
	for (size_t i = 0; i <= last_made && !err;) {
		size_t k = i + 1;

		while (k <= last_made && !begins(f, v, n, k, anchor))
			k++;
		r.id = (uint32_t)f->t->router.n + 1;
		r.t0 = r.t1;
		r.flags = flags;
		if (i == 0 && joined && !begins(f, v, n, 0, anchor))
			r.flags |= FRT_ROUTER_WARMUP;
		for (; i < k && !err; i++) {
			if (v[i].s.t1 > r.t1)
				r.t1 = v[i].s.t1;
			err = put_step(f, &v[i], r.id);
		}
		if (!err)
			err = put_router(f, &r);
	}
	rounds = f->t->router.n - first_router;
	for (size_t i = last_made + 1; i < n && !err; i++, late++)
		err = put_step(f, &v[i], (uint32_t)(first_router + late % rounds) + 1);
	return err;
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int by_begin(const void *a, const void *b)
{
	const struct frt_level *x = a, *y = b;

	if (x->t0 != y->t0)
		return x->t0 < y->t0 ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* What was counted, and when namespaces were made. */
struct count {
	const struct frt_level *v;
	size_t n;
	uint64_t *made;
	size_t nmade;
};

static size_t made_until(const struct count *c, uint64_t t)
{
	size_t lo = 0, hi = c->nmade;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->made[mid] <= t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Existing at t: the last count, and the creations seen since. */
static uint64_t existing_at(const struct count *c, uint64_t t)
{
	size_t lo = 0, hi = c->n;
	const struct frt_level *l;
	uint64_t since;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->v[mid].t0 <= t)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!c->n)
		return made_until(c, t);
	if (!lo)
		return c->v[0].existing;
	l = &c->v[lo - 1];
	if (l->t1 && t >= l->t1)
		return l->existing_end + made_until(c, t) - made_until(c, l->t1);
	since = made_until(c, t) - made_until(c, l->t0);
	return l->existing + since;
}

static int gather_made(struct foreign *f, struct count *c)
{
	const struct frt_trail *t = f->t;

	c->made = calloc(t->call.n + 1, sizeof(*c->made));
	if (!c->made)
		return -ENOMEM;
	for (size_t i = 0; i < t->call.n; i++)
		if (acts__creates(f, &t->call.v[i]))
			c->made[c->nmade++] = t->call.v[i].t1;
	qsort(c->made, c->nmade, sizeof(*c->made), by_time);
	return 0;
}

/* Bucket numbers, dense, ascending. */
static int by_number(const void *a, const void *b)
{
	return by_time(a, b);
}

static void add_period(struct frt_level *l, const struct frt_level *from)
{
	l->steal_ns += from->steal_ns;
	l->cpu_ns += from->cpu_ns;
}

static size_t bucket_index(const uint64_t *bucket, size_t n, uint64_t number)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (bucket[mid] < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n ? lo : n - 1;
}

/* Sorts the routers' bucket numbers and leaves one of each; how many. The first and
 * the last bucket may hold too few routers to tell anything: then they are part of
 * their neighbours (see bucket_index), or the growth would end at nothing. */
static size_t choose_buckets(uint64_t *bucket, size_t routers)
{
	size_t n = 0, first = 0, second = 0, last = 0, before = 0;

	qsort(bucket, routers, sizeof(*bucket), by_number);
	for (size_t i = 0; i < routers; i++) {
		if (!n || bucket[i] != bucket[n - 1]) {
			bucket[n++] = bucket[i];
			before = last;
			last = 0;
		}
		last++;
		first += n == 1;
		second += n == 2;
	}
	if (n > 1 && last < BUCKET_FEW && before >= BUCKET_FEW)
		n--;
	if (n > 1 && first < BUCKET_FEW && second >= BUCKET_FEW)
		memmove(bucket, bucket + 1, --n * sizeof(*bucket));
	return n;
}

static int write_levels(struct foreign *f, struct count *c)
{
	struct frt_trail *t = f->t;
	uint64_t *bucket = calloc(t->router.n + 1, sizeof(*bucket)), every = f->every, hi = 0;
	size_t n = 0;
	int err = bucket ? 0 : -ENOMEM;

	for (size_t i = 0; i < t->router.n && !err; i++) {
		t->router.v[i].existing = existing_at(c, t->router.v[i].t0);
		if (t->router.v[i].existing > hi)
			hi = t->router.v[i].existing;
	}
	while (hi / every >= BUCKETS_MAX)
		every *= 2;
	for (size_t i = 0; i < t->router.n && !err; i++)
		bucket[i] = t->router.v[i].existing / every;
	if (!err) {
		n = choose_buckets(bucket, t->router.n);
		t->level.v = calloc(n + 1, sizeof(*t->level.v));
		t->level.n = t->level.cap = n;
		err = t->level.v ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < n && !err; i++)
		t->level.v[i] = (struct frt_level){ .id = (uint32_t)i + 1,
						    .run = 1,
						    .mode = FRT_WORK_FOREIGN,
						    .existing = UINT64_MAX };
	for (size_t i = 0; i < t->router.n && !err; i++) {
		struct frt_router *r = &t->router.v[i];
		struct frt_level *l = &t->level.v[bucket_index(bucket, n, r->existing / every)];

		r->level = l->id;
		if (!l->t0 || r->t0 < l->t0)
			l->t0 = r->t0;
		if (r->t1 > l->t1)
			l->t1 = r->t1;
		if (r->existing < l->existing)
			l->existing = r->existing;
		if (r->existing + 1 > l->existing_end)
			l->existing_end = r->existing + 1;
		if (r->flags & FRT_ROUTER_WARMUP)
			l->warmup++;
		else
			l->routers++;
		if (r->stream + 1 > l->streams)
			l->streams = r->stream + 1;
	}
	for (size_t i = 0; i < n && !err; i++)
		t->level.v[i].asked = (uint32_t)t->level.v[i].existing;
	for (size_t i = 0; i < t->step.n && !err; i++)
		t->step.v[i].level = t->router.v[t->step.v[i].router - 1].level;
	/* what was counted in a period belongs to the bucket it ended in */
	for (size_t i = 0; i < c->n && n && !err; i++) {
		struct frt_level *l =
			&t->level.v[bucket_index(bucket, n, c->v[i].existing_end / every)];

		add_period(l, &c->v[i]);
		for (size_t k = 0; k < t->loss.n; k++)
			if (t->loss.v[k].level == c->v[i].id)
				t->loss.v[k].level = l->id | 0x80000000u;
	}
	for (size_t k = 0; k < t->loss.n; k++)
		t->loss.v[k].level &= 0x7fffffffu;
	free(bucket);
	return err;
}

int loops__write(struct foreign *f)
{
	struct frt_trail *t = f->t;
	const json_t *opts = json_object_get(t->header, "options");
	uint32_t flags = json_integer_value(json_object_get(opts, "freq")) > 0 ? FRT_ROUTER_SAMPLED
									       : 0;
	struct count c = { 0 };
	uint32_t stream = 0;
	int err;

	/* the record's levels are counts */
	f->count.v = t->level.v;
	f->count.n = t->level.n;
	memset(&t->level, 0, sizeof(t->level));
	if (f->count.n)
		qsort(f->count.v, f->count.n, sizeof(*f->count.v), by_begin);
	c.v = f->count.v;
	c.n = f->count.n;
	err = gather_made(f, &c);
	if (f->found.n)
		qsort(f->found.v, f->found.n, sizeof(*f->found.v), by_loop_and_time);
	for (size_t i = 0, k; i < f->found.n && !err; i = k) {
		for (k = i + 1; k < f->found.n && f->found.v[k].loop == f->found.v[i].loop;)
			k++;
		err = write_loop(f, f->found.v + i, k - i, stream++, flags);
	}
	if (!err && t->router.n)
		err = write_levels(f, &c);
	free(c.made);
	return err;
}

static int by_within_and_time(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->within != y->within)
		return x->within < y->within ? -1 : 1;
	return by_loop_and_time(a, b);
}

/* The steps of one command, as far as they lie in its wall. */
static int replace_one(struct foreign *f, const struct frt_stepinst *whole)
{
	size_t lo = 0, hi = f->found.n, before = f->t->step.n;
	int err = 0;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (f->found.v[mid].within < whole->instance)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < f->found.n && f->found.v[lo].within == whole->instance && !err; lo++) {
		struct found *x = &f->found.v[lo];

		if (x->s.t0 < whole->t0)
			x->s.t0 = whole->t0;
		if (x->s.t1 > whole->t1)
			x->s.t1 = whole->t1;
		if (x->s.t1 <= x->s.t0)
			continue;
		x->s.level = whole->level;
		err = put_step(f, x, whole->router);
	}
	if (!err && f->t->step.n == before) {
		struct found as_it_was = { .s = *whole };

		err = put_step(f, &as_it_was, whole->router);
	}
	return err;
}

/* Steps and routers come in nearly the same order: *at is where the last was. */
static void give_creator(struct frt_trail *t, const struct frt_stepinst *s, size_t *at)
{
	for (size_t k = 0; k < t->router.n; k++, *at = (*at + 1) % t->router.n)
		if (t->router.v[*at].id == s->router) {
			t->router.v[*at].creator = s->creator;
			return;
		}
}

int loops__replace(struct foreign *f)
{
	struct frt_trail *t = f->t;
	struct frt_stepinst *old = t->step.v;
	size_t n = t->step.n, at = 0;
	int err = 0;

	memset(&t->step, 0, sizeof(t->step));
	if (f->found.n)
		qsort(f->found.v, f->found.n, sizeof(*f->found.v), by_within_and_time);
	for (size_t i = 0; i < n && !err; i++) {
		struct found same = { .s = old[i] };

		err = old[i].step == FRT_STEPS ? replace_one(f, &old[i])
					       : put_step(f, &same, old[i].router);
		/* what is between its steps is the creator's wait for the command */
		if (old[i].step == FRT_STEPS)
			give_creator(t, &old[i], &at);
	}
	free(old);
	return err;
}
