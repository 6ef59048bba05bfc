/* SPDX-License-Identifier: BSD-2-Clause */
/* One case of frtrace rate: rows as they arrive, readings over time, stalls. */
#include "cmd/cli.h"
#include "cmd/rate.h"
#include "cmd/recording.h"
#include "report/rate.h"
#include "util/util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void put(struct rate_run *r, enum frt_rec type, const void *item)
{
	int rc = session__put(&r->s, type, item);

	if (rc && !r->put_error)
		r->put_error = rc;
}

/* The row in hand is whole (or cut short): recorded, shown, and the next begun. */
static void end_row(struct rate_run *r, uint64_t elapsed_ns, bool failed)
{
	struct rate_case *c = &r->c;
	struct rate_row shown;

	c->row.elapsed_ns = elapsed_ns;
	c->row.failed = failed;
	if (failed)
		c->row.to = (uint32_t)c->count;
	if (!c->row.n || !elapsed_ns || c->row.to <= c->row.from)
		return;
	put(r, FRT_REC_RATE, &c->row);
	rate__row(&c->row, &shown);
	if (!r->o->json) {
		cli__progress_end();
		report__rate_row(stdout, &shown);
	}
}

static void begin_row(struct rate_run *r, uint64_t from, uint64_t to)
{
	struct rate_case *c = &r->c;

	c->row = (struct frt_raterow){ .from = (uint32_t)from,
				       .to = (uint32_t)to,
				       .streams = c->streams,
				       .mode = c->mode,
				       .sampled = r->o->sample > 0,
				       .level = c->level,
				       .run = c->run };
	memset(c->prev_us, 0, sizeof(c->prev_us));
}

static void put_reading(struct rate_run *r, uint64_t t_ns, bool reached, bool stalled)
{
	struct frt_ratepoint p = { .streams = r->c.streams,
				   .mode = r->c.mode,
				   .run = r->c.run,
				   .reached = reached,
				   .stalled = stalled,
				   .t_ns = t_ns,
				   .count = r->c.count };

	put(r, FRT_REC_POINT, &p);
}

/* The readings due up to t: nothing has changed since the last router, so they
 * are exact although they are written when the next one ends. */
static void put_readings(struct rate_run *r, uint64_t t)
{
	struct rate_case *c = &r->c;
	uint64_t step = r->o->interval * 1000000000ull;

	if (!r->o->over_time || !c->began)
		return;
	for (; c->began + c->next_reading <= t; c->next_reading += step)
		put_reading(r, c->next_reading, false, false);
}

/* A router's share of its stream's time: from the end of the one before. Where
 * the tracer is drained between routers only the router itself counts. */
static uint64_t share_of(struct rate_run *r, const struct frt_router *router)
{
	uint64_t *prev = &r->c.prev_end[router->stream % RATE_STREAMS_MAX];
	uint64_t from = *prev && !r->s.trace ? *prev : router->t0;

	*prev = router->t1;
	return router->t1 - from;
}

static void add_router(struct rate_run *r, const struct frt_router *router,
		       const struct frt_stepinst *steps, unsigned nsteps)
{
	struct rate_case *c = &r->c;
	uint64_t *sums[FRT_STEPS] = { [FRT_STEP_ADD] = &c->row.add_ns,
				      [FRT_STEP_EXEC] = &c->row.exec_ns,
				      [FRT_STEP_SYSCTL] = &c->row.sysctl_ns,
				      [FRT_STEP_VETH] = &c->row.veth_ns };
	uint64_t *prev_us = &c->prev_us[router->stream % RATE_STREAMS_MAX];
	uint64_t wall = share_of(r, router), in_steps = 0, us = (wall + 500) / 1000;

	for (unsigned i = 0; i < nsteps; i++) {
		uint64_t ns = steps[i].t1 - steps[i].t0;

		if (steps[i].step >= FRT_STEPS || !sums[steps[i].step])
			continue;
		*sums[steps[i].step] += ns;
		in_steps += ns;
	}
	c->row.n++;
	c->row.gap_ns += wall > in_steps ? wall - in_steps : 0;
	/* one stream's walls follow one another and add up to the row; the spread of
	 * several streams' says nothing about its mean */
	if (c->streams == 1) {
		c->row.wall_sq_us2 += us * us;
		c->row.wall_lag_us2 += us * *prev_us;
		c->row.wall_ends_us += c->row.n == 1 ? 2 * us
						     : us - *prev_us; /* first + last so far */
	}
	*prev_us = us;
	if (router->t1 > c->ended)
		c->ended = router->t1;
}

static void router_begin(void *ctx, struct frt_router *router)
{
	struct rate_run *r = ctx;

	r->inner.router_begin(r->inner.ctx, router);
	if (r->c.began)
		return;
	r->c.began = r->c.row_began = now_ns();
	atomic_store(&r->c.alive, r->c.began);
}

static int router_end(void *ctx, const struct frt_router *router, const struct frt_stepinst *steps,
		      unsigned nsteps)
{
	struct rate_run *r = ctx;
	struct rate_case *c = &r->c;
	int rc = 0;

	/* routers and steps are for the accounting; without it the rows are all */
	if (r->s.trace)
		rc = r->inner.router_end(r->inner.ctx, router, steps, nsteps);
	atomic_store(&c->alive, now_ns());
	if (router->id > r->last_router)
		r->last_router = router->id;
	for (unsigned i = 0; i < nsteps; i++)
		if (steps[i].instance > r->last_instance)
			r->last_instance = steps[i].instance;
	if (rc || router->flags & (FRT_ROUTER_FAILED | FRT_ROUTER_DELETE))
		return rc;
	put_readings(r, router->t1);
	add_router(r, router, steps, nsteps);
	c->count++;
	if (r->o->over_time) {
		if (c->count == r->o->to)
			put_reading(r, c->ended - c->began, true, false);
		if (c->count == c->row.to) {
			end_row(r, c->ended - c->row_began, false);
			c->row_began = c->ended;
			begin_row(r, c->count, c->count + r->o->every);
		}
	}
	return r->put_error;
}

static volatile uint32_t *creator_begin(void *ctx, unsigned stream, uint32_t *task)
{
	struct rate_run *r = ctx;

	r->c.prev_end[stream % RATE_STREAMS_MAX] = 0;
	return r->inner.creator_begin(r->inner.ctx, stream, task);
}

static void creator_end(void *ctx, unsigned stream)
{
	struct rate_run *r = ctx;

	r->inner.creator_end(r->inner.ctx, stream);
}

static int count_netns(void *ctx, uint64_t *n)
{
	struct rate_run *r = ctx;

	return r->inner.count(r->inner.ctx, n);
}

static void show_progress(void *ctx, const char *what, uint64_t done, uint64_t total)
{
	struct rate_run *r = ctx;

	if (r->o->quiet)
		return;
	if (strcmp(what, "creating") == 0)
		cli__progress(what, r->c.count, r->o->to);
	else
		cli__progress(what, done, total);
}

/* The watch over one call that creates. */
struct watch {
	struct rate_run *r;
	pthread_t thread;
	atomic_bool end;
};

static void report_stall(struct rate_run *r, uint64_t now)
{
	struct workload_busy *busy = calloc(RATE_STREAMS_MAX, sizeof(*busy));
	size_t n = busy ? workload__busy(r->w, busy, RATE_STREAMS_MAX) : 0;
	struct rate_case *c = &r->c;
	size_t said = strlen(r->cause); /* by a case before */

	snprintf(r->cause + said, sizeof(r->cause) - said,
		 "%sstalled: no router finished for %llu s (--stall), %s mode, %u stream%s, "
		 "%llu of %llu made",
		 said ? "; " : "", (unsigned long long)r->o->stall, workload__mode_name(c->mode),
		 c->streams, c->streams == 1 ? "" : "s", (unsigned long long)c->count,
		 (unsigned long long)r->o->to);
	cli__error(CLI_FAILED, "%s; %zu creator%s stuck", r->cause + (said ? said + 2 : 0), n,
		   n == 1 ? " is" : "s are");
	for (size_t i = 0; i < n; i++)
		cli__error(CLI_FAILED, "stuck for %.1f s: `%s`, %s %d%s, waiting in %s",
			   (double)(now - busy[i].since) / 1e9, busy[i].what,
			   busy[i].process ? "PID" : "thread", busy[i].pid,
			   busy[i].process ? " (its last child)" : "",
			   *busy[i].stack ? busy[i].stack
					  : "no kernel stack (it runs, or it may not be read)");
	free(busy);
}

/* Memory of namespaces is nobody's: the kernel would end others for it. */
static void look_at_memory(struct rate_run *r)
{
	size_t said = strlen(r->cause);
	char why[256];

	if (atomic_load(&r->c.starved) || !workload__memory_low(why, sizeof(why)))
		return;
	snprintf(r->cause + said, sizeof(r->cause) - said, "%s%s", said ? "; " : "", why);
	cli__error(CLI_FAILED, "%s", why);
	atomic_store(&r->c.starved, true);
	workload__stop(r->w);
}

static void *watch_main(void *arg)
{
	struct watch *w = arg;
	struct rate_run *r = w->r;
	uint64_t limit = r->o->stall * 1000000000ull;

	while (!atomic_load(&w->end)) {
		struct timespec tick = { .tv_nsec = 100000000 };
		uint64_t now;

		nanosleep(&tick, NULL);
		look_at_memory(r);
		now = now_ns();
		if (atomic_load(&r->c.stalled) || now - atomic_load(&r->c.alive) < limit)
			continue;
		atomic_store(&r->c.stalled, true);
		report_stall(r, now);
		workload__stop(r->w); /* ends the steps that hang, too */
	}
	return NULL;
}

static int create(struct rate_run *r, struct frt_level *l, uint64_t routers)
{
	struct watch watch = { .r = r };
	int rc = session__begin_creating(&r->s);

	if (rc)
		return rc;
	atomic_store(&r->c.alive, now_ns());
	rc = session__cannot(&r->s, "start the thread that looks for stalls",
			     -pthread_create(&watch.thread, NULL, watch_main, &watch));
	if (!rc) {
		rc = workload__create(r->w, l, 0, (uint32_t)routers);
		atomic_store(&watch.end, true);
		pthread_join(watch.thread, NULL);
	}
	session__end_creating(&r->s);
	if (l->id && session__put_level(&r->s, l) && !rc)
		rc = session__error(&r->s);
	return rc;
}

static struct frt_level new_level(struct rate_run *r, uint64_t asked)
{
	struct rate_case *c = &r->c;
	struct frt_level l = {
		.asked = (uint32_t)asked, .run = c->run, .streams = c->streams, .mode = c->mode
	};

	/* levels are what the accounting of traced routers hangs on */
	if (r->s.trace)
		l.id = ++r->levels;
	c->level = l.id;
	return l;
}

static bool wanted(const struct rate_opts *o, uint64_t from)
{
	for (size_t i = 0; i < o->nat; i++)
		if (o->at[i] == from)
			return true;
	return !o->nat;
}

/* One row after another, each by a call of its own: what happens between rows
 * (printing, filling with --sample) is in none. With --sample the measured
 * routers stand in the middle of the row, so that its mean count is theirs. */
static int measure_rows(struct rate_run *r)
{
	const struct rate_opts *o = r->o;
	uint64_t n = o->sample ? o->sample : o->every, made = 0;
	struct rate_case *c = &r->c;
	int rc = 0;

	for (uint64_t from = 0; !rc && from < o->to; from += o->every) {
		struct frt_level l;

		if (!wanted(o, from))
			continue;
		l = new_level(r, from);
		begin_row(r, from, from + o->every);
		c->count = from + (o->every - n) / 2;
		if (o->sample) {
			c->filled = c->count - made;
			rc = workload__fill(r->w, (uint32_t)c->filled, &l);
			if (!rc)
				rc = workload__settle(r->w, &l);
		}
		if (!rc)
			rc = create(r, &l, n);
		end_row(r,
			c->row.add_ns + c->row.exec_ns + c->row.sysctl_ns + c->row.veth_ns +
				c->row.gap_ns,
			rc != 0);
		made += n;
	}
	return rc;
}

/* All in one go, rows and readings by the count. */
static int measure_over_time(struct rate_run *r)
{
	struct rate_case *c = &r->c;
	struct frt_level l = new_level(r, 0);
	int rc;

	begin_row(r, 0, r->o->every);
	rc = create(r, &l, r->o->to);
	if (!rc)
		return 0;
	end_row(r, c->ended > c->row_began ? c->ended - c->row_began : 0, true);
	if (c->began) {
		uint64_t now = now_ns();

		put_readings(r, now);
		put_reading(r, now - c->began, false, atomic_load(&c->stalled));
	}
	return rc;
}

/* Routers that would still fit if no limit had been reached. A command that
 * failed says what the kernel told it, not which limit that was. */
#define ROOM_FOR 16

static void name_cause(struct rate_run *r)
{
	static const char mark[] = "the limit is ";
	const char *error = workload__error(r->w), *name = NULL;
	char limit[96];

	r->err[0] = '\0';
	if (workload__preflight(r->w, r->c.filled + ROOM_FOR, r->err, sizeof(r->err)))
		name = strstr(r->err, mark);
	if (name) {
		name += strlen(mark);
		snprintf(limit, sizeof(limit), "%s%.*s", mark, (int)strcspn(name, ":"), name);
		if (strstr(error, limit)) /* the call that failed has named it already */
			r->err[0] = '\0';
	}
	snprintf(r->cause, sizeof(r->cause), "%s%s%s", error, *r->err ? "; " : "", r->err);
}

/* Why a case ended early; the exit status. */
static int failed(struct rate_run *r, int rc, bool *go_on)
{
	int status = CLI_FAILED;

	if (atomic_load(&r->c.stalled) && !cli__interrupted())
		return status; /* has been said; the next case starts clean */
	*go_on = false;
	if (atomic_load(&r->c.starved) && !cli__interrupted())
		return status; /* has been said, too */
	if (rc == -EINTR || cli__interrupted()) {
		snprintf(r->cause, sizeof(r->cause), "interrupted");
		return CLI_INTERRUPTED;
	}
	if (session__error(&r->s))
		return recording__failed(&r->s);
	name_cause(r);
	return cli__error(status, "%s", r->cause);
}

static int open_workload(struct rate_run *r)
{
	const struct rate_opts *o = r->o;
	struct workload_opts wo = {
		.mode = r->c.mode,
		.fill = FRT_WORK_LEAN,
		.streams = r->c.streams,
		.ip = o->ip,
		.sudo = o->sudo,
		.keep = o->keep,
		.settle_max_s = (unsigned)o->settle,
		.router_base = r->last_router,
		.instance_base = r->last_instance,
		/* a step that hangs is a stall; the watch here ends it */
		.step_timeout_s = 0,
		.hooks = {
			.ctx = r,
			.creator_begin = creator_begin,
			.creator_end = creator_end,
			.router_begin = router_begin,
			.router_end = router_end,
			.count = r->s.trace ? count_netns : NULL,
			.progress = show_progress,
		},
	};
	int rc;

	r->s.streams = r->c.streams;
	r->s.run = r->c.run;
	r->inner = session__hooks(&r->s);
	cli__on_signal(NULL, NULL); /* from here on there is something to clean up */
	rc = workload__open(&wo, &r->w, r->err, sizeof(r->err));
	if (rc)
		return cli__error(CLI_UNABLE, "%s", r->err);
	cli__on_signal((void (*)(void *))workload__stop, r->w);
	rc = workload__preflight(r->w, o->to, r->err, sizeof(r->err));
	return rc ? cli__error(CLI_UNABLE, "%s", r->err) : 0;
}

static void print_case(struct rate_run *r)
{
	const struct rate_opts *o = r->o;
	struct rate_curve curve = { .mode = (int)r->c.mode,
				    .streams = r->c.streams,
				    .run = r->c.run,
				    .sampled = o->sample > 0 };
	struct rate rate = { .kernel = r->kernel, .cpus = r->cpus, .has_streams = o->over_time };
	char label[RATE_LABEL_MAX];

	if (o->json)
		return;
	rate__label(label, sizeof(label), &rate, &curve, o->repeat > 1);
	curve.label = label;
	report__rate_case(stdout, &rate, &curve);
}

int rate__case(struct rate_run *r, enum frt_workmode mode, uint32_t streams, uint32_t run,
	       bool *go_on)
{
	struct frt_level idle = { 0 };
	int status, rc;

	r->c = (struct rate_case){ .mode = mode, .streams = streams, .run = run };
	r->c.next_reading = r->o->interval * 1000000000ull;
	*go_on = true;
	status = open_workload(r);
	if (status) {
		*go_on = false;
		goto out;
	}
	rc = workload__settle(r->w, &idle);
	if (!rc) {
		print_case(r);
		rc = r->o->over_time ? measure_over_time(r) : measure_rows(r);
	}
	cli__progress_end();
	if (rc || r->put_error)
		status = failed(r, rc, go_on);
	rc = r->o->keep && !status ? 0 : workload__remove_all(r->w);
	cli__progress_end();
	if (rc && rc != -EINTR) {
		*go_on = false;
		status = cli__worse(status, cli__error(CLI_FAILED, "%s", workload__error(r->w)));
	}
	/* between two cases, or while the last is removed */
	if (cli__interrupted()) {
		*go_on = false;
		status = CLI_INTERRUPTED;
	}
out:
	cli__on_signal(NULL, NULL);
	if (r->w)
		workload__close(r->w);
	r->w = NULL;
	return status;
}
