/* SPDX-License-Identifier: BSD-2-Clause */
/* Levels, steps, streams: counts are exact and walls in order. */
#include "wlt.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

static const enum frt_workmode modes[] = { FRT_WORK_SCRIPT, FRT_WORK_EXACT, FRT_WORK_LEAN,
					   FRT_WORK_BATCH };

static void check_counts(const struct wlt_seen *s, unsigned warmup, unsigned routers,
			 unsigned streams, const char *mode)
{
	unsigned all = warmup + routers;

	if (s->bad)
		FAIL("%s: %u contradictions in what the hooks were told", mode, s->bad);
	if (s->routers != all || s->warmups != warmup || s->begins != all || s->failed ||
	    s->deletes != all)
		FAIL("%s: %u routers (%u warm-up, %u begun, %u failed, %u deleted), not %u + %u",
		     mode, s->routers, s->warmups, s->begins, s->failed, s->deletes, warmup,
		     routers);
	for (unsigned k = 0; k < FRT_STEPS; k++)
		if (s->steps[k] != all * frt_steps[k].per_router)
			FAIL("%s: %u of step %s, not %u", mode, s->steps[k], frt_steps[k].name,
			     all * frt_steps[k].per_router);
	/* one creator a stream, one more for deleting */
	if (s->creators != streams + 1 || s->creator_ends != s->creators)
		FAIL("%s: %u creators begun, %u ended, not %u", mode, s->creators, s->creator_ends,
		     streams + 1);
	if (s->max_instance != all * 7)
		FAIL("%s: the last instance is %u, not %u", mode, s->max_instance, all * 7);
}

static void one_level(enum frt_workmode mode, unsigned streams, unsigned fill)
{
	static struct wlt_seen s;
	struct workload_opts o = wlt_options(mode, &s);
	struct frt_level l = { .id = 3 };
	const char *name = workload__mode_name(mode);
	char *before = wlt_snapshot();
	struct workload *w;
	uint64_t counted;
	int rc;

	o.streams = streams;
	w = wlt_open(&o);
	counted = workload__count(w);
	rc = workload__fill(w, fill, &l);
	if (rc || l.filled != fill || wlt_names() != fill)
		FAIL("fill: %d, %u made, %u names, not %u: %s", rc, l.filled, wlt_names(), fill,
		     workload__error(w));
	rc = workload__create(w, &l, 2, 6);
	if (rc)
		FAIL("%s: create: %d: %s", name, rc, workload__error(w));
	if (wlt_names() != fill + 8)
		FAIL("%s: %u names, not %u", name, wlt_names(), fill + 8);
	/* foreign namespaces come and go on a machine that others use */
	if (l.existing + 20 < counted + fill || l.existing > counted + fill + 20 ||
	    l.existing_end + 20 < l.existing + 8 || l.existing_end > l.existing + 28)
		FAIL("%s: existing %lu .. %lu, counted %lu at first", name,
		     (unsigned long)l.existing, (unsigned long)l.existing_end,
		     (unsigned long)counted);
	if (l.links != 1 + 2 * fill || l.t1 <= l.t0 || l.streams != streams || l.routers != 6 ||
	    l.warmup != 2 || l.mode != (uint32_t)mode)
		FAIL("%s: level: links %lu, streams %u, routers %u + %u", name,
		     (unsigned long)l.links, l.streams, l.warmup, l.routers);
	rc = workload__delete_created(w, &l);
	if (rc)
		FAIL("%s: delete: %d: %s", name, rc, workload__error(w));
	check_counts(&s, 2, 6, streams, name);
	if (wlt_names() != fill)
		FAIL("%s: %u names after deleting, not %u", name, wlt_names(), fill);
	rc = workload__remove_all(w);
	if (rc || wlt_names())
		FAIL("%s: remove_all: %d, %u names left: %s", name, rc, wlt_names(),
		     workload__error(w));
	rc = workload__close(w);
	if (rc)
		FAIL("%s: close: %d", name, rc);
	wlt_same(before, name);
	free(before);
}

static void every_mode(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		one_level(modes[i], 1, 3);
}

static void streams(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		one_level(modes[i], 4, 0);
}

/* More streams than routers: some have nothing to do. */
static void many_streams(void)
{
	one_level(FRT_WORK_LEAN, 16, 0);
}

static void fill_goes_on(void)
{
	static struct wlt_seen s;
	struct workload_opts o = wlt_options(FRT_WORK_LEAN, &s);
	unsigned at[] = { 0, 5, 5, 40, 20, 41 }, had = 0;
	char *before = wlt_snapshot();
	struct workload *w = wlt_open(&o);

	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		struct frt_level l = { 0 };
		unsigned now = at[i] > had ? at[i] : had;

		CHECK(!workload__fill(w, at[i], &l));
		if (wlt_names() != now || l.filled != now - had)
			FAIL("fill to %u after %u: made %u, %u names", at[i], had, l.filled,
			     wlt_names());
		had = now;
	}
	if (s.routers || s.begins)
		FAIL("a fill called the hooks of measured routers");
	CHECK(!workload__close(w));
	wlt_same(before, "after the fills");
}

/* A fill long enough for its trial, in every mode that can fill. */
static void fill_trial(void)
{
	static const enum frt_workmode fills[] = { FRT_WORK_LEAN, FRT_WORK_EXACT };
	char *before = wlt_snapshot();

	for (size_t i = 0; i < ARRAY_SIZE(fills); i++) {
		struct workload_opts o = wlt_options(FRT_WORK_LEAN, NULL);
		struct frt_level l = { 0 };
		struct workload *w;

		o.fill = fills[i];
		w = wlt_open(&o);
		if (workload__fill(w, 600, &l))
			FAIL("fill: %s", workload__error(w));
		if (wlt_names() != 600 || l.filled != 600 || !l.fill_threads || !l.fill_ns)
			FAIL("%u names, %u filled on %u threads in %lu ns", wlt_names(), l.filled,
			     l.fill_threads, (unsigned long)l.fill_ns);
		CHECK(!workload__close(w));
	}
	wlt_same(before, "after the fills");
}

static void stop_while(enum frt_workmode mode, bool filling)
{
	static struct wlt_seen s;
	struct workload_opts o = wlt_options(mode, &s);
	char *before = wlt_snapshot();
	struct workload *w = wlt_open(&o);
	struct frt_level l = { .id = 1 };
	int rc;

	s.stop = w;
	s.stop_after = 5;
	if (filling)
		workload__stop(w);
	rc = filling ? workload__fill(w, 50, &l) : workload__create(w, &l, 0, 60);
	if (rc != -EINTR)
		FAIL("stopped: %d, not -EINTR: %s", rc, workload__error(w));
	if (!filling && (s.routers < 5 || s.routers > 6))
		FAIL("%u routers though stopped after 5", s.routers);
	CHECK(workload__create(w, &l, 0, 1) == -EINTR);
	CHECK(workload__settle(w, &l) == -EINTR || !o.settle_max_s);
	CHECK(!workload__remove_all(w));
	CHECK(wlt_names() == 0);
	CHECK(!workload__close(w));
	wlt_same(before, "after a stop");
}

static void stop_creating(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		stop_while(modes[i], false);
}

static void stop_filling(void)
{
	stop_while(FRT_WORK_SCRIPT, true);
}

/* A step that hangs must not keep a stop waiting for its timeout. */
static struct workload *to_stop;

static void on_alarm(int sig)
{
	(void)sig;
	workload__stop(to_stop);
}

static void stop_hanging(void)
{
	struct workload_opts o = wlt_options(FRT_WORK_SCRIPT, NULL);
	struct frt_level l = { .id = 1 };
	struct workload *w;
	uint64_t t0;
	int rc;

	CHECK(!wlt_run("printf '#!/bin/sh\\nexec sleep 300\\n' > /run/hang; chmod +x /run/hang"));
	o.ip = "/run/hang";
	w = wlt_open(&o);
	to_stop = w;
	signal(SIGUSR1, on_alarm);
	t0 = now_ns();
	CHECK(!wlt_run("(sleep 0.3; kill -USR1 %d) &", getpid()));
	rc = workload__create(w, &l, 0, 1);
	if (rc != -EINTR || now_ns() - t0 > 10000000000ull)
		FAIL("rc %d after %.1f s: %s", rc, (double)(now_ns() - t0) / 1e9,
		     workload__error(w));
	CHECK(!workload__close(w));
}

static void foreign(void)
{
	static struct wlt_seen s;
	struct workload_opts o = wlt_options(FRT_WORK_SCRIPT, &s);
	char *before;
	struct workload *w;
	struct frt_level l = { .id = 1 };

	CHECK(!wlt_run("mkdir /run/made"));
	before = wlt_snapshot();
	o.create = "test ! -e /run/made/{i} && echo {uuid} > /run/made/{i}";
	o.destroy = "test \"$(cat /run/made/{i})\" = {uuid} && rm /run/made/{i}";
	w = wlt_open(&o);
	if (workload__create(w, &l, 1, 4))
		FAIL("create: %s", workload__error(w));
	CHECK(!wlt_run("test $(ls /run/made | wc -l) = 5"));
	if (s.steps[FRT_STEPS] != 5 || s.bad)
		FAIL("%u create steps, %u contradictions", s.steps[FRT_STEPS], s.bad);
	if (workload__delete_created(w, &l))
		FAIL("delete: %s", workload__error(w));
	CHECK(s.steps[FRT_STEP_DELETE] == 5 && s.deletes == 5);
	CHECK(!wlt_run("test $(ls /run/made | wc -l) = 0"));
	/* and by remove_all */
	CHECK(!workload__create(w, &l, 0, 3));
	CHECK(!workload__remove_all(w));
	CHECK(!wlt_run("test $(ls /run/made | wc -l) = 0"));
	CHECK(!workload__close(w));
	wlt_same(before, "after a foreign loop");
}

/* A command that leaves something behind in the background: its output pipe is
 * not waited for. */
static void background_child(void)
{
	static struct wlt_seen s;
	struct workload_opts o = wlt_options(FRT_WORK_SCRIPT, &s);
	struct workload *w;
	struct frt_level l = { .id = 1 };
	uint64_t t0 = now_ns();

	o.create = "sleep 60 & echo said";
	w = wlt_open(&o);
	CHECK(!workload__create(w, &l, 0, 2));
	CHECK(!workload__close(w));
	CHECK(now_ns() - t0 < 20000000000ull);
}

const struct wlt_test tests_steps[] = { { "every_mode", every_mode, 180, false },
					{ "streams", streams, 180, false },
					{ "many_streams", many_streams, 180, false },
					{ "fill_goes_on", fill_goes_on, 180, false },
					{ "fill_trial", fill_trial, 180, false },
					{ "stop_creating", stop_creating, 180, false },
					{ "stop_filling", stop_filling, 180, false },
					{ "stop_hanging", stop_hanging, 180, false },
					{ "foreign", foreign, 180, false },
					{ "background_child", background_child, 180, false },
					{ 0 } };
