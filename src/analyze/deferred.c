/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kernel work that a step left for later. An item that a task of the step queued is
 * the step's. cleanup_net is one item for all namespaces that died since it ran last:
 * its time is shared among those who dropped one, by count, also among those who are
 * not followed.
 */
#include "analyze/account.h"
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

/* The functions of a row of the profile. */
struct late {
	struct action_sum sum;
	uint32_t run; /* that was added last */
};

struct deferred {
	const struct frt_func **func; /* of runs of cleanup_net, by run and node */
	size_t nfuncs;
	struct late *late; /* by row */
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

static int by_run(const void *a, const void *b)
{
	const struct frt_func *x = *(const struct frt_func *const *)a;
	const struct frt_func *y = *(const struct frt_func *const *)b;

	if (x->seq != y->seq)
		return x->seq > y->seq ? 1 : -1;
	return (x->node > y->node) - (x->node < y->node);
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
	d->func = calloc(t->func.n + 1, sizeof(const struct frt_func *));
	if (!d->cause || !d->unmount || !d->func)
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
	for (size_t i = 0; i < t->func.n; i++)
		if (!t->func.v[i].task && t->func.v[i].nr == FRT_NR_WORK)
			d->func[d->nfuncs++] = &t->func.v[i];
	qsort(d->func, d->nfuncs, sizeof(*d->func), by_run);
	return 0;
}

/* The functions of a run, a share of their time; a run's calls count once for a row. */
static int add_functions(struct deferred *d, size_t row, uint32_t run, double share)
{
	struct late *l = &d->late[row];
	const struct frt_func **made;
	struct frt_func *v;
	size_t lo = 0, hi = d->nfuncs, n = 0;
	int err = -ENOMEM;

	while (lo < hi) { /* first of the run */
		size_t mid = lo + (hi - lo) / 2;

		if (d->func[mid]->seq < run)
			lo = mid + 1;
		else
			hi = mid;
	}
	while (lo + n < d->nfuncs && d->func[lo + n]->seq == run)
		n++;
	v = calloc(n + 1, sizeof(*v));
	made = calloc(n + 1, sizeof(const struct frt_func *));
	for (size_t i = 0; v && made && i < n; i++) {
		v[i] = *d->func[lo + i];
		v[i].n = l->run == run ? 0 : v[i].n;
		v[i].total_ns = (uint64_t)((double)v[i].total_ns * share);
		v[i].child_ns = (uint64_t)((double)v[i].child_ns * share);
		v[i].off_ns = (uint64_t)((double)v[i].off_ns * share);
		v[i].child_off_ns = (uint64_t)((double)v[i].child_off_ns * share);
		made[i] = &v[i];
	}
	if (v && made)
		err = functions__add(d->an->arena, d->an->strings, &l->sum, made, n);
	l->run = run;
	free(made);
	free(v);
	return err;
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
	return f->run && share > 0 ? add_functions(d, k, f->run, share) : 0;
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

static void per_router(struct frt_fn *v, size_t n, double routers)
{
	for (size_t i = 0; i < n; i++) {
		v[i].total_ns /= routers;
		v[i].self_ns /= routers;
		v[i].cpu_ns /= routers;
		v[i].blocked_ns /= routers;
		per_router(v[i].children, v[i].nchildren, routers);
	}
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
	d->late = calloc(t->defer.n + d->nunmounts + 1, sizeof(*d->late));
	if (!p->deferred || !d->late)
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
	for (size_t k = 0; k < p->ndeferred && d->routers > 0 && !err; k++) {
		struct frt_deferred *r = &p->deferred[k];

		r->ns /= d->routers;
		r->wait_ns /= d->routers;
		r->delay_ns /= d->routers;
		err = functions__finish(d->an->arena, d->late[k].sum.functions, &r->functions,
					&r->nfunctions);
		per_router(r->functions, r->nfunctions, d->routers);
	}
	if (p->ndeferred)
		qsort(p->deferred, p->ndeferred, sizeof(*p->deferred), by_step_and_time);
	return err;
}

/* Dead but not gone: more are alive than were there and were made. Of commands that are
 * not ours nobody knows how many they make. */
static int64_t backlog_after_creating(const struct frt_level *l)
{
	if (!l->existing_end || l->mode == FRT_WORK_FOREIGN)
		return INT64_MIN;
	return (int64_t)l->existing_end - (int64_t)(l->existing + l->warmup + l->routers);
}

static int fill_backlog(struct analysis *an)
{
	const struct frt_nscount *c = an->t->nscount.v;
	size_t n = an->t->nscount.n;

	for (size_t i = 0; i < an->nlevels; i++) {
		const struct frt_level *l = an->level[i].l;
		struct frt_levelrow *out = an->level[i].out;
		size_t from = 0, to;

		out->backlog = backlog_after_creating(l);
		while (from < n && c[from].level != l->id)
			from++;
		for (to = from; to < n && c[to].level == l->id; to++)
			;
		if (to == from)
			continue;
		out->backlogs = arena__alloc(an->arena, (to - from) * sizeof(*out->backlogs));
		if (!out->backlogs)
			return -ENOMEM;
		for (; from < to; from++)
			out->backlogs[out->nbacklogs++] = (struct frt_backlog){
				.t_ns = (int64_t)(c[from].t - l->t0),
				.deleting = c[from].deleting,
				.existing = c[from].existing,
				.expected = c[from].expected
			};
	}
	return 0;
}

int deferred__fill(struct analysis *an)
{
	struct deferred d = { .an = an };
	int err = find_causes(&d);

	if (!err)
		err = fill(&d);
	if (!err)
		err = fill_backlog(an);
	free(d.cause);
	free(d.unmount);
	free(d.func);
	free(d.late);
	return err;
}
