/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/session.h"

#include <errno.h>
#include <frtrace/events.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

void session__init(struct session *s, unsigned streams, unsigned freq)
{
	memset(s, 0, sizeof(*s));
	s->streams = streams;
	s->freq = freq;
	s->run = 1;
	pthread_mutex_init(&s->lock, NULL);
}

/* What goes into the record of somebody else's commands. */
static int put_masked(struct session *s, struct frt_exec e)
{
	char args[FRT_ARGS_MAX + 1];
	const char *whole = e.args ? e.args : "";

	/* one that was cut stays one that was cut */
	if (e.args_total <= strlen(whole) + 1)
		e.args_total = 0;
	e.args = rules__mask(s->mask, whole, args, sizeof(args));
	if (!e.args_total)
		e.args_total = (uint32_t)strlen(args) + 1;
	return record__put(s->rec, FRT_REC_EXEC, &e);
}

/* Under the lock. The first error sticks: what follows could not be read back. */
static int put(void *ctx, enum frt_rec type, const void *item)
{
	struct session *s = ctx;

	if (!s->put_error && type == FRT_REC_EXEC && s->mask)
		s->put_error = put_masked(s, *(const struct frt_exec *)item);
	else if (!s->put_error)
		s->put_error = record__put(s->rec, type, item);
	return s->put_error;
}

/* Under the lock: the first that could not be done sticks. What the sink refused
 * comes back through the tracer, and is the record's. */
static int cannot(struct session *s, const char *doing, int rc)
{
	if (rc && !s->put_error && !s->error) {
		s->error = rc;
		s->doing = doing;
	}
	return rc;
}

int session__cannot(struct session *s, const char *doing, int rc)
{
	pthread_mutex_lock(&s->lock);
	cannot(s, doing, rc);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

int session__error(struct session *s)
{
	int rc;

	pthread_mutex_lock(&s->lock);
	rc = s->put_error ? s->put_error : s->error;
	pthread_mutex_unlock(&s->lock);
	return rc;
}

/* What helps against an error of the tracer or a thread. */
static const char *remedy(int rc)
{
	switch (-rc) {
	case ENOSPC:
	case E2BIG:
	case ERANGE:
		return "no place is left for one more task; follow fewer (--streams)";
	case ENOMEM:
		return "free some memory or ask for less";
	case EAGAIN:
		return "raise kernel.threads-max, or pids.max of the control group";
	case EMFILE:
	case ENFILE:
		return "raise the limit of open files (ulimit -n, fs.file-max)";
	case EBADMSG:
		return "the kernel sent an event that this frtrace does not know; build it anew";
	default:
		return "`frtrace doctor` says what this kernel allows";
	}
}

bool session__why(struct session *s, char *line, size_t size)
{
	const char *path = s->rec ? record__path(s->rec) : NULL;
	bool any = true;

	pthread_mutex_lock(&s->lock);
	if (s->put_error)
		snprintf(line, size, "%s: %s; free some space or give another -o FILE",
			 path ? path : "the record", strerror(-s->put_error));
	else if (s->error)
		snprintf(line, size, "cannot %s: %s; %s", s->doing, strerror(-s->error),
			 remedy(s->error));
	else
		any = false;
	pthread_mutex_unlock(&s->lock);
	return any;
}

struct frt_sink session__sink(struct session *s)
{
	return (struct frt_sink){ .put = put, .ctx = s };
}

int session__put(struct session *s, enum frt_rec type, const void *item)
{
	int rc;

	pthread_mutex_lock(&s->lock);
	rc = put(s, type, item);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

static volatile uint32_t *creator_begin(void *ctx, unsigned stream, uint32_t *task)
{
	struct session *s = ctx;
	volatile uint32_t *cell = NULL;
	int rc;

	*task = 0;
	if (!s->trace)
		return NULL;
	rc = trace__add_creator(s->trace, stream, &cell, task);
	return session__cannot(s, "follow a creator", rc) ? NULL : cell;
}

static void creator_end(void *ctx, unsigned stream)
{
	struct session *s = ctx;

	if (s->trace)
		trace__drop_creator(s->trace, stream);
}

/* Both under the lock. */
static int drain(struct session *s)
{
	return cannot(s, "read what the kernel sent", trace__drain(s->trace));
}

static int flush(struct session *s)
{
	int rc = record__flush(s->rec);

	if (rc && !s->put_error)
		s->put_error = rc;
	return rc;
}

int session__drain(struct session *s)
{
	pthread_mutex_lock(&s->lock);
	drain(s);
	pthread_mutex_unlock(&s->lock);
	return session__error(s);
}

/* Walls, actions and waits come from the routers without sampling, frames from
 * the others: every second measured one. Streams overlap, so there sampling
 * stays on while they run. */
static void router_begin(void *ctx, struct frt_router *r)
{
	struct session *s = ctx;
	bool sample = false;

	pthread_mutex_lock(&s->lock);
	r->flags |= s->router_flags;
	r->block = s->block;
	if (s->trace && s->freq && r->flags & FRT_ROUTER_OVERHEAD)
		sample = !(r->flags & FRT_ROUTER_UNTRACED); /* what it costs at its most */
	else if (s->trace && s->freq && !(r->flags & FRT_ROUTER_WARMUP))
		sample = s->streams > 1 || s->measured++ % 2 == 1;
	if (sample)
		r->flags |= FRT_ROUTER_SAMPLED;
	if (s->trace && s->streams == 1)
		trace__sampling(s->trace, sample);
	pthread_mutex_unlock(&s->lock);
}

static int router_end(void *ctx, const struct frt_router *r, const struct frt_stepinst *steps,
		      unsigned nsteps)
{
	struct session *s = ctx;
	int rc;

	pthread_mutex_lock(&s->lock);
	rc = s->error; /* of another thread, or of this one before its first router */
	if (!rc && !(r->flags & FRT_ROUTER_DELETE))
		rc = put(s, FRT_REC_ROUTER, r);
	for (unsigned i = 0; !rc && i < nsteps; i++)
		rc = put(s, FRT_REC_STEP, &steps[i]);
	if (!rc && s->trace && s->streams == 1)
		rc = drain(s);
	if (!rc && s->streams == 1)
		rc = flush(s);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

static int count(void *ctx, uint64_t *n)
{
	struct session *s = ctx;

	return trace__count_netns(s->trace, n);
}

/* A list that would not hold still is no reading. */
static void backlog(void *ctx, struct frt_nscount *c)
{
	struct session *s = ctx;

	if (!(s->router_flags & FRT_ROUTER_OVERHEAD) && !trace__count_netns(s->trace, &c->existing))
		session__put(s, FRT_REC_NSCOUNT, c);
}

static void progress(void *ctx, const char *what, uint64_t done, uint64_t total)
{
	struct session *s = ctx;

	if (s->progress)
		s->progress(what, done, total);
}

struct workload_hooks session__hooks(struct session *s)
{
	return (struct workload_hooks){
		.ctx = s,
		.creator_begin = creator_begin,
		.creator_end = creator_end,
		.router_begin = router_begin,
		.router_end = router_end,
		.count = s->trace ? count : NULL,
		.backlog = s->trace ? backlog : NULL,
		.progress = progress,
	};
}

static void *drain_loop(void *arg)
{
	struct session *s = arg;
	struct pollfd p = { .fd = trace__fd(s->trace), .events = POLLIN };

	while (!s->drain_stop) {
		poll(&p, 1, 20);
		session__drain(s);
	}
	return NULL;
}

int session__begin_creating(struct session *s)
{
	int rc;

	if (!s->trace || s->streams == 1)
		return 0;
	if (s->freq)
		trace__sampling(s->trace, true);
	s->drain_stop = false;
	rc = -pthread_create(&s->drainer, NULL, drain_loop, s);
	s->draining = !rc;
	return session__cannot(s, "start the thread that reads what the kernel sends", rc);
}

void session__end_creating(struct session *s)
{
	if (s->trace)
		trace__sampling(s->trace, false);
	if (!s->draining)
		return;
	s->drain_stop = true;
	pthread_join(s->drainer, NULL);
	s->draining = false;
}

int session__put_level(struct session *s, const struct frt_level *l)
{
	struct frt_loss loss = { 0 };
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	if (s->trace) {
		rc = drain(s);
		if (!rc)
			rc = cannot(s, "record what else ran", trace__outside_put(s->trace, l->id));
		if (!rc)
			rc = cannot(s, "count what was lost", trace__loss(s->trace, &loss));
		loss.level = l->id;
		if (!rc)
			rc = put(s, FRT_REC_LOSS, &loss);
		s->lost.events += loss.events;
		s->lost.maps_full += loss.maps_full;
		s->lost.samples += loss.samples;
		s->lost.unpaired += loss.unpaired;
		s->lost.undecoded += loss.undecoded;
		s->lost.untagged += loss.untagged;
		s->lost.missed += loss.missed;
		s->lost.sent += loss.sent;
		s->lost.samples_taken += loss.samples_taken;
	}
	if (!rc)
		rc = put(s, FRT_REC_LEVEL, l);
	if (!rc)
		rc = flush(s);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

int session__put_outside(struct session *s)
{
	int rc;

	pthread_mutex_lock(&s->lock);
	rc = cannot(s, "count what else ran", trace__outside_end(s->trace));
	if (!rc)
		rc = cannot(s, "record what else ran", trace__outside_put(s->trace, 0));
	pthread_mutex_unlock(&s->lock);
	return rc;
}

#define REST_TRIES 50
#define REST_TRY_MS 10

int session__drain_rest(struct session *s)
{
	if (!s->trace)
		return session__error(s);
	for (int i = 0; i < REST_TRIES && trace__deferring(s->trace); i++)
		poll(NULL, 0, REST_TRY_MS);
	return session__drain(s);
}

bool session__lost(const struct session *s)
{
	const struct frt_loss *l = &s->lost;

	return l->events || l->maps_full || l->unpaired || l->undecoded || l->untagged ||
	       l->missed || l->samples * 1000 > l->samples_taken;
}

void session__close(struct session *s)
{
	session__end_creating(s);
	if (s->trace)
		trace__close(s->trace);
	s->trace = NULL;
	pthread_mutex_destroy(&s->lock);
}
