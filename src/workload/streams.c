/* SPDX-License-Identifier: BSD-2-Clause */
/* Measured routers: concurrent creators, one after another deleted. */
#include "workload/internal.h"
#include "workload/procfs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct group {
	struct workload *w;
	int (*fn)(struct workload *w, unsigned i, void *arg);
	void *arg;
	unsigned running, go; /* under w->lock; go: 1 run, 2 do not */
	int rc;
	struct member {
		struct group *g;
		unsigned i;
		pthread_t id;
	} v[];
};

static void *member_main(void *arg)
{
	struct member *me = arg;
	struct group *g = me->g;
	struct workload *w = g->w;
	int rc;

	pthread_mutex_lock(&w->lock);
	while (!g->go)
		pthread_cond_wait(&w->cond, &w->lock);
	rc = g->go == 1 ? 0 : -ECANCELED;
	pthread_mutex_unlock(&w->lock);
	if (!rc)
		rc = g->fn(w, me->i, g->arg);
	pthread_mutex_lock(&w->lock);
	if (rc && (!g->rc || g->rc == -EINTR))
		g->rc = rc;
	g->running--;
	pthread_cond_broadcast(&w->cond);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* *begun: fn was let run. */
static int run_threads(struct workload *w, unsigned n,
		       int (*fn)(struct workload *w, unsigned i, void *arg), void *arg, bool *begun)
{
	struct group *g = calloc(1, sizeof(*g) + n * sizeof(g->v[0]));
	sigset_t all, old;
	unsigned made = 0;
	int rc = 0;
	bool lost;

	if (!g)
		return wl__fail(w, -ENOMEM, "out of memory");
	g->w = w;
	g->fn = fn;
	g->arg = arg;
	g->running = n;
	/* signals are for the caller's threads: a creator waits undisturbed */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (; made < n; made++) {
		g->v[made].g = g;
		g->v[made].i = made;
		rc = -pthread_create(&g->v[made].id, NULL, member_main, &g->v[made]);
		if (rc)
			break;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc) {
		char hint[256];

		wl__fail(w, rc, "cannot start thread %u of %u: %s%s", made + 1, n, strerror(-rc),
			 limit__hint(hint, sizeof(hint), "pthread_create", rc));
	}
	pthread_mutex_lock(&w->lock);
	g->running -= n - made;
	g->go = rc ? 2 : 1;
	*begun = !rc;
	pthread_cond_broadcast(&w->cond);
	while (g->running && !w->abandoned)
		pthread_cond_wait(&w->cond, &w->lock);
	lost = g->running;
	if (!rc)
		rc = g->rc;
	pthread_mutex_unlock(&w->lock);
	if (lost) /* stuck in the kernel: it may still come back and use g */
		return rc ? rc : -ETIMEDOUT;
	for (unsigned i = 0; i < made; i++)
		pthread_join(g->v[i].id, NULL);
	free(g);
	return rc;
}

int wl__threads(struct workload *w, unsigned n,
		int (*fn)(struct workload *w, unsigned i, void *arg), void *arg)
{
	bool begun = false;

	return run_threads(w, n, fn, arg, &begun);
}

int wl__threads_or_self(struct workload *w, unsigned n,
			int (*fn)(struct workload *w, unsigned i, void *arg), void *arg)
{
	bool begun = false;
	int rc = run_threads(w, n, fn, arg, &begun);

	if (begun || rc != -EAGAIN)
		return rc;
	wl__clear(w);
	return fn(w, 0, arg);
}

/* One call of workload__create. Lives in the arena. */
struct create {
	uint32_t level, warmup, routers;
	unsigned streams;
	atomic_uint warm_ticket, ticket;
	atomic_uint made;
	uint64_t existing;
	unsigned ncpu;
	/* under w->hooks */
	uint64_t t0, t1;
	/* under w->lock */
	unsigned arrived;
	atomic_bool failed;
	uint64_t steal0;
};

/* All streams have done their warm-up before the first is measured. */
static void wait_for_all(struct workload *w, struct create *c)
{
	pthread_mutex_lock(&w->lock);
	if (++c->arrived == c->streams) {
		c->steal0 = steal_ns();
		pthread_cond_broadcast(&w->cond);
	}
	while (c->arrived < c->streams)
		pthread_cond_wait(&w->cond, &w->lock);
	pthread_mutex_unlock(&w->lock);
}

static int keep_router(struct workload *w, const struct wrouter *wr)
{
	int rc;

	pthread_mutex_lock(&w->lock);
	rc = grow(&w->made.v, w->made.n, &w->made.cap, sizeof(*w->made.v));
	if (!rc)
		w->made.v[w->made.n++] = *wr;
	pthread_mutex_unlock(&w->lock);
	return rc ? wl__fail(w, rc, "out of memory") : 0;
}

#define STEAL_FRESH_NS 1000000	 /* between two routers: nothing is stolen that matters */
#define STEAL_NEVER_NS 100000000 /* where nothing ever was: looked at so often */

/* /proc/stat takes longer to read than a step's call. Where nothing was stolen since
 * boot, as on real hardware, nothing will be: asked now and then, in case. */
static uint64_t steal_now(struct maker *m)
{
	uint64_t now = now_ns();

	if (!m->steal_at || m->steal || now - m->steal_at >= STEAL_NEVER_NS) {
		m->steal = steal_ns();
		m->steal_at = now;
	}
	return m->steal;
}

/* What was stolen until now: where a router follows at once, what ended the last one
 * begins it. */
static uint64_t steal_before(struct maker *m)
{
	return m->steal_at && now_ns() - m->steal_at < STEAL_FRESH_NS ? m->steal : steal_now(m);
}

static int one_router(struct maker *m, struct create *c, bool warmup)
{
	static const struct wrouter none;
	struct workload *w = m->w;
	const struct workload_hooks *h = &w->o.hooks;
	struct frt_stepinst inst[WL_STEPS_MAX];
	struct frt_router r = { .level = c->level,
				.stream = m->stream,
				.flags = warmup ? FRT_ROUTER_WARMUP : 0 };
	struct wrouter wr = none;
	unsigned n = 0;
	uint64_t steal;
	int rc, hook_rc = 0;

	r.id = atomic_fetch_add(&w->next_router, 1) + 1;
	r.existing = c->existing + atomic_load(&c->made);
	if (h->router_begin) {
		pthread_mutex_lock(&w->hooks);
		h->router_begin(h->ctx, &r);
		pthread_mutex_unlock(&w->hooks);
	}
	steal = steal_before(m);
	rc = maker__router(m, &wr, &r, inst, &n, w->o.control);
	r.steal_ns = steal_now(m) - steal;
	r.cpu_ns = (r.t1 - r.t0) * c->ncpu;
	if (r.steal_ns * 50 > r.cpu_ns)
		r.flags |= FRT_ROUTER_STOLEN;
	if (rc)
		r.flags |= FRT_ROUTER_FAILED;
	wr.id = r.id;
	wr.flags = r.flags & (FRT_ROUTER_WARMUP | FRT_ROUTER_UNTRACED | FRT_ROUTER_OVERHEAD);
	if (memcmp(wr.uuid, none.uuid, sizeof(wr.uuid))) {
		int e = keep_router(w, &wr);

		rc = rc ? rc : e;
	}
	if (!rc)
		atomic_fetch_add(&c->made, 1);
	pthread_mutex_lock(&w->hooks);
	if (!rc && !warmup) {
		if (!c->t0 || r.t0 < c->t0)
			c->t0 = r.t0;
		if (r.t1 > c->t1)
			c->t1 = r.t1;
	}
	if (h->router_end && n)
		hook_rc = h->router_end(h->ctx, &r, inst, n);
	backlog__look(w, c->existing + atomic_load(&c->made));
	pthread_mutex_unlock(&w->hooks);
	if (hook_rc && !rc)
		rc = wl__fail(w, hook_rc, "recording router %u: %s", r.id, strerror(-hook_rc));
	wl__progress(w, "creating", atomic_load(&c->made), (uint64_t)c->warmup + c->routers);
	return rc;
}

static int some_routers(struct maker *m, struct create *c, atomic_uint *ticket, uint32_t total,
			bool warmup)
{
	int rc = 0;

	while (!rc && !c->failed && atomic_fetch_add(ticket, 1) < total) {
		if (wl__stopping(m->w))
			rc = wl__fail(m->w, -EINTR, "interrupted");
		else
			rc = one_router(m, c, warmup);
	}
	if (rc)
		c->failed = true;
	return rc;
}

static int create_main(struct workload *w, unsigned i, void *arg)
{
	struct create *c = arg;
	struct maker m;
	int rc;

	rc = maker__open(&m, w, i, w->o.mode, true);
	if (!rc)
		rc = some_routers(&m, c, &c->warm_ticket, c->warmup, true);
	else
		c->failed = true;
	wait_for_all(w, c);
	if (!rc)
		rc = some_routers(&m, c, &c->ticket, c->routers, false);
	maker__close(&m);
	return rc;
}

int workload__create(struct workload *w, struct frt_level *l, uint32_t warmup, uint32_t routers)
{
	struct create *c;
	int rc;

	wl__clear(w);
	if (wl__stopping(w))
		return wl__fail(w, -EINTR, "interrupted");
	c = arena__alloc(w->arena, sizeof(*c));
	if (!c)
		return wl__fail(w, -ENOMEM, "out of memory");
	rc = rundir__prepare(w);
	if (rc)
		return rc;
	l->streams = w->o.streams;
	l->mode = w->o.mode;
	l->warmup = warmup;
	l->routers = routers;
	l->existing = workload__count(w);
	l->mounts = count_lines("/proc/thread-self/mountinfo");
	l->links = count_lines("/proc/thread-self/net/dev");
	l->links -= l->links < 2 ? l->links : 2; /* two lines of heading */
	c->level = l->id;
	c->warmup = warmup;
	c->routers = routers;
	c->streams = w->o.streams;
	c->existing = l->existing;
	c->ncpu = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	c->steal0 = steal_ns();
	w->made_next = 0;
	backlog__begin(w, l->id, false);
	rc = wl__threads(w, w->o.streams, create_main, c);
	l->t0 = c->t0;
	l->t1 = c->t1;
	l->steal_ns = steal_ns() - c->steal0;
	l->cpu_ns = (l->t1 - l->t0) * c->ncpu;
	l->existing_end = workload__count(w);
	backlog__end(w, c->existing + atomic_load(&c->made));
	return rc;
}

/* One call of workload__delete_created. Lives in the arena. */
struct deletion {
	uint32_t level;
	uint64_t existing; /* when all are deleted */
};

static int delete_main(struct workload *w, unsigned i, void *arg)
{
	const struct workload_hooks *h = &w->o.hooks;
	const struct deletion *d = arg;
	struct maker m;
	int rc;

	rc = maker__open(&m, w, i, w->o.mode, true);
	for (; !rc && w->made_next < w->made.n; w->made_next++) {
		struct wrouter *wr = &w->made.v[w->made_next];
		struct frt_stepinst inst = { .router = wr->id, .level = d->level };
		struct frt_router r = { .id = wr->id,
					.level = d->level,
					.flags = wr->flags | FRT_ROUTER_DELETE };

		if (wl__stopping(w)) {
			rc = wl__fail(w, -EINTR, "interrupted");
			break;
		}
		rc = maker__delete(&m, wr, &inst);
		/* without --destroy nothing was run */
		if (!rc && h->router_end && inst.instance) {
			pthread_mutex_lock(&w->hooks);
			rc = h->router_end(h->ctx, &r, &inst, 1);
			pthread_mutex_unlock(&w->hooks);
			if (rc)
				wl__fail(w, rc, "recording: %s", strerror(-rc));
		}
		backlog__look(w, d->existing + w->made.n - w->made_next - 1);
		wl__progress(w, "deleting", w->made_next + 1, w->made.n);
	}
	maker__close(&m);
	return rc;
}

int workload__delete_created(struct workload *w, struct frt_level *l)
{
	struct deletion *d;
	uint64_t t0;
	int rc;

	wl__clear(w);
	if (wl__stopping(w))
		return wl__fail(w, -EINTR, "interrupted");
	d = arena__alloc(w->arena, sizeof(*d));
	if (!d)
		return wl__fail(w, -ENOMEM, "out of memory");
	d->level = l->id;
	d->existing = l->existing;
	backlog__begin(w, l->id, true);
	rc = wl__threads(w, 1, delete_main, d);
	if (rc) {
		w->backlog.level = 0;
		return rc; /* the rest stays on the list for remove_all */
	}
	t0 = now_ns();
	rc = freed__wait(w, w->made.v, w->made.n, l->existing,
			 l->existing_end < l->existing + w->made.n);
	l->free_wait_ns = now_ns() - t0;
	backlog__end(w, l->existing);
	w->made.n = w->made_next = 0;
	return rc;
}
