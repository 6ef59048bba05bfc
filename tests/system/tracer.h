/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tracer, opened for a group of tests, and children run as steps under it.
 * Needs root and BPF; when the tracer cannot be opened the program prints the
 * reason and exits 77.
 */
#ifndef FRT_TEST_TRACER_H
#define FRT_TEST_TRACER_H

#include "collect.h"
#include "trace/trace.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000ULL

static struct trace *tracer;
static volatile uint32_t *cell;
static uint32_t self; /* serial of this thread */

/* What a child tells of itself. */
static struct report {
	uint64_t ns, a, b;
	volatile uint32_t go;
} * told;

struct step {
	pid_t pid;
	int status;
	struct rusage ru;
	const struct frt_proc *proc;
	const struct frt_dead *dead;
};

static inline void no_losses(const char *where)
{
	struct frt_loss l;

	assert_int_equal(trace__loss(tracer, &l), 0);
	if (l.events || l.maps_full || l.samples || l.unpaired || l.undecoded || l.untagged ||
	    l.missed)
		print_error("%s: lost: events %lu maps %lu samples %lu unpaired %lu undecoded %lu "
			    "untagged %lu missed %lu\n",
			    where, l.events, l.maps_full, l.samples, l.unpaired, l.undecoded,
			    l.untagged, l.missed);
	assert_true(!l.events && !l.maps_full && !l.samples && !l.unpaired && !l.undecoded &&
		    !l.untagged && !l.missed);
}

/* Runs body in a child, as a step with this instance, and drains. */
static inline struct step run(uint32_t instance, int (*body)(void *), void *arg)
{
	struct step s = { 0 };

	forget();
	memset(told, 0, sizeof(*told));
	*cell = instance;
	s.pid = fork();
	if (!s.pid)
		_exit(body(arg));
	assert_true(s.pid > 0);
	assert_int_equal(wait4(s.pid, &s.status, 0, &s.ru), s.pid);
	/* It dies a moment after it has woken us. */
	for (int i = 0; i < 200 && !s.dead; i++) {
		assert_int_equal(trace__drain(tracer), 0);
		s.proc = proc_of_tid(s.pid);
		s.dead = s.proc ? dead_of(s.proc->task) : NULL;
		usleep(1000);
	}
	*cell = 0;
	assert_non_null(s.proc);
	assert_non_null(s.dead);
	assert_int_equal(s.proc->instance, instance);
	assert_int_equal(s.dead->instance, instance);
	assert_int_equal(s.dead->code, s.status);
	return s;
}

static inline uint64_t thread_cpu(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static inline bool near(double value, double want, double share, double slack)
{
	return fabs(value - want) <= want * share + slack;
}

#define assert_near(got_ns, want_ns, share, slack)                                          \
	do {                                                                                \
		if (!near(got_ns, want_ns, share, slack))                                   \
			print_error("%s:%d: %.3f ms, wanted %.3f ms\n", __FILE__, __LINE__, \
				    (double)(got_ns) / 1e6, (double)(want_ns) / 1e6);       \
		assert_true(near(got_ns, want_ns, share, slack));                           \
	} while (0)

/* A hypervisor that takes the CPU away adds to what is seen here and not to what a
 * thread's CPU clock says: measurements against that clock may be made again. */
#define ATTEMPTS 10

/* Under software emulation timers come late and interrupts take long. */
static inline bool emulated(void)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	bool tcg = false;
	char line[256];

	while (f && !tcg && fgets(line, sizeof(line), f))
		tcg = strstr(line, "TCG") != NULL;
	if (f)
		fclose(f);
	return tcg;
}

static inline uint64_t rusage_ns(const struct step *s)
{
	return (s->ru.ru_utime.tv_sec + s->ru.ru_stime.tv_sec) * 1000000000ULL +
	       (s->ru.ru_utime.tv_usec + s->ru.ru_stime.tv_usec) * 1000ULL;
}

/* Woken on an idle CPU, a task is charged from its waking on, not from when it
 * runs (the scheduler saves a look at the clock): this much may be in rusage. */
static inline uint64_t runqueue_ns(uint32_t task)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < got.off.n; i++)
		if (got.off.v[i].task == task && got.off.v[i].waking)
			sum += got.off.v[i].in - got.off.v[i].waking;
	return sum;
}

/* What holds for every child: its time from birth to death is on and off the
 * CPU, and the CPU time is not less than the kernel's own account of it (which
 * leaves out what a hypervisor has stolen meanwhile). */
static inline void adds_up(const struct step *s)
{
	uint64_t life = s->dead->t - s->proc->t, ru = rusage_ns(s);
	uint64_t most = s->dead->cpu_ns + runqueue_ns(s->proc->task) + MS / 10;

	assert_near(s->dead->cpu_ns + off_sum(s->proc->task), life, 0.0001, 0);
	if (most < 0.98 * ru)
		print_error(
			"CPU time %.3f ms (%.3f of it user), by rusage %.3f, of %.3f ms in all\n",
			s->dead->cpu_ns / 1e6, s->dead->user_ns / 1e6, ru / 1e6, life / 1e6);
	assert_true(most >= 0.98 * ru);
	assert_true(s->dead->user_ns <= s->dead->cpu_ns);
}

static inline int open_tracer(void **state)
{
	struct trace_opts o = { .backend = TRACE_NONE,
				.freq = 999,
				.streams = 1,
				.waits = true,
				.sink = { collect, NULL } };
	char err[256];
	int rc;

	(void)state;
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (told == MAP_FAILED)
		return -1;
	rc = trace__open(&o, &tracer, err, sizeof(err));
	if (rc) {
		printf("skip: %s\n", err);
		exit(77);
	}
	return trace__add_creator(tracer, 0, &cell, &self);
}

static inline int close_tracer(void **state)
{
	(void)state;
	assert_int_equal(trace__drop_creator(tracer, 0), 0);
	trace__close(tracer);
	collect__free();
	return 0;
}

#endif
