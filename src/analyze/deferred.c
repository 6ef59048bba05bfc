/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kernel work that a step left for later. An item that a task of the step queued is
 * the step's. cleanup_net is one item for all namespaces that died since it ran last:
 * its time is shared among those who dropped one, by count, also among those who are
 * not followed.
 */
#include "analyze/analysis.h"

#include <errno.h>
#include <frtrace/events.h>
#include <stdlib.h>
#include <string.h>

#define CLEANUP "cleanup_net"
#define NETNS_DIR "netns/"

/* A measured step instance. */
struct cause {
	uint32_t instance;
	const char *step;
};

/* A namespace's name that was unmounted: the kernel tells of no dropper there when
 * cleanup_net is queued already. */
struct unmount {
	uint64_t t;
	uint32_t instance;
};

struct deferred {
	struct analysis *an;
	struct cause *cause; /* by instance */
	size_t ncauses;
	struct unmount *unmount; /* by t */
	size_t nunmounts;
	double routers;
};

static int by_instance(const void *a, const void *b)
{
	const struct cause *x = a, *y = b;

	return (x->instance > y->instance) - (x->instance < y->instance);
}

static int by_time(const void *a, const void *b)
{
	const struct unmount *x = a, *y = b;

	return (x->t > y->t) - (x->t < y->t);
}

static const char *step_of(const struct deferred *d, uint32_t instance)
{
	struct cause key = { .instance = instance }, *at;

	at = d->ncauses ? bsearch(&key, d->cause, d->ncauses, sizeof(key), by_instance) : NULL;
	return at ? at->step : NULL;
}

static void take_causes(struct deferred *d, const struct router *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < r[i].nsteps; k++)
			d->cause[d->ncauses++] = (struct cause){
				r[i].step[k]->instance,
				analysis__rows[row_of(r[i].step[k])].name,
			};
	d->routers += (double)n;
}

static int find_causes(struct deferred *d)
{
	const struct frt_trail *t = d->an->t;

	d->cause = calloc(t->step.n + 1, sizeof(*d->cause));
	d->unmount = calloc(t->call.n + 1, sizeof(*d->unmount));
	if (!d->cause || !d->unmount)
		return -ENOMEM;
	for (size_t i = 0; i < d->an->nlevels; i++) {
		take_causes(d, d->an->level[i].router, d->an->level[i].nrouters);
		take_causes(d, d->an->level[i].sampled, d->an->level[i].nsampled);
	}
	qsort(d->cause, d->ncauses, sizeof(*d->cause), by_instance);
	for (size_t i = 0; i < t->call.n; i++) {
		const struct frt_call *c = &t->call.v[i];

		/* one path, and no type behind it: umount2 */
		if (c->detail == FRT_DET_MOUNT && !c->ret && c->instance && c->text &&
		    strstr(c->text, NETNS_DIR) && !strchr(c->text, '\t'))
			d->unmount[d->nunmounts++] = (struct unmount){ c->t1, c->instance };
	}
	qsort(d->unmount, d->nunmounts, sizeof(*d->unmount), by_time);
	return 0;
}

/* What a run of function cost the step of `instance`, `share` of it; n: droppers. */
static int add(struct deferred *d, const struct frt_defer *f, uint32_t instance, uint64_t n,
	       double share)
{
	struct frt_profile *p = d->an->p;
	const char *step = step_of(d, instance);
	const char *function = intern__get(d->an->strings, f->function ? f->function : "?");
	struct frt_deferred *r;
	size_t k = 0;

	if (!function)
		return -ENOMEM;
	if (!step)
		return 0; /* outside, or not measured */
	while (k < p->ndeferred &&
	       (p->deferred[k].step != step || p->deferred[k].function != function))
		k++;
	r = &p->deferred[k];
	if (k == p->ndeferred) {
		*r = (struct frt_deferred){ .step = step, .function = function };
		p->ndeferred++;
	}
	r->n += n;
	if (f->t_end > f->t_start)
		r->ns += (double)(f->t_end - f->t_start) * share;
	r->wait_ns += (double)f->wait_ns * share;
	if (f->t_start > f->t_queue)
		r->delay_ns += (double)(f->t_start - f->t_queue) * (double)n;
	return 0;
}

static bool is_told(const struct frt_defer *f, size_t n, uint32_t instance)
{
	for (size_t i = 0; i < n; i++)
		if (f[i].instance == instance)
			return true;
	return false;
}

/* One run of cleanup_net: f, n lines of it; *at: the unmounts before are shared out. */
static int share_out(struct deferred *d, const struct frt_defer *f, size_t n, size_t *at)
{
	size_t from = *at, to = from;
	double all = 0;
	int err = 0;

	while (to < d->nunmounts && d->unmount[to].t <= f->t_start)
		to++;
	*at = to;
	for (size_t i = 0; i < n; i++)
		all += (double)f[i].n;
	for (size_t i = from; i < to; i++)
		all += is_told(f, n, d->unmount[i].instance) ? 0 : 1;
	for (size_t i = 0; i < n && !err; i++)
		err = add(d, &f[i], f[i].instance, f[i].n, all > 0 ? (double)f[i].n / all : 0);
	for (size_t i = from; i < to && !err; i++)
		if (!is_told(f, n, d->unmount[i].instance))
			err = add(d, f, d->unmount[i].instance, 1, 1 / all);
	return err;
}

static bool is_cleanup(const struct frt_defer *f)
{
	return f->function && strcmp(f->function, CLEANUP) == 0;
}

static int by_step_and_time(const void *a, const void *b)
{
	const struct frt_deferred *x = a, *y = b;
	int c = strcmp(x->step, y->step);

	if (c)
		return c;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return strcmp(x->function, y->function);
}

static int fill(struct deferred *d)
{
	const struct frt_trail *t = d->an->t;
	struct frt_profile *p = d->an->p;
	size_t at = 0;
	int err = 0;

	/* at most a row for each line and each unmount */
	p->deferred = arena__alloc(d->an->arena,
				   (t->defer.n + d->nunmounts + 1) * sizeof(*p->deferred));
	if (!p->deferred)
		return -ENOMEM;
	for (size_t i = 0, n; i < t->defer.n && !err; i += n) {
		const struct frt_defer *f = &t->defer.v[i];

		n = 1;
		if (!is_cleanup(f) || f->share_ppm) {
			err = add(d, f, f->instance, f->n,
				  f->share_ppm ? (double)f->share_ppm / 1e6 : 1);
			continue;
		}
		while (i + n < t->defer.n && is_cleanup(f + n) && f[n].t_start == f->t_start)
			n++;
		err = share_out(d, f, n, &at);
	}
	for (size_t k = 0; k < p->ndeferred && d->routers > 0; k++) {
		p->deferred[k].ns /= d->routers;
		p->deferred[k].wait_ns /= d->routers;
		p->deferred[k].delay_ns /= d->routers;
	}
	if (p->ndeferred)
		qsort(p->deferred, p->ndeferred, sizeof(*p->deferred), by_step_and_time);
	return err;
}

/* Dead but not gone: more are alive than were there and were made. Of commands that are
 * not ours nobody knows how many they make. */
static void fill_backlog(struct analysis *an)
{
	for (size_t i = 0; i < an->nlevels; i++) {
		const struct frt_level *l = an->level[i].l;
		uint64_t should = l->existing + l->warmup + l->routers;

		an->level[i].out->backlog = l->existing_end && l->mode != FRT_WORK_FOREIGN
						    ? (int64_t)l->existing_end - (int64_t)should
						    : INT64_MIN;
	}
}

int deferred__fill(struct analysis *an)
{
	struct deferred d = { .an = an };
	int err = find_causes(&d);

	if (!err)
		err = fill(&d);
	fill_backlog(an);
	free(d.cause);
	free(d.unmount);
	return err;
}
