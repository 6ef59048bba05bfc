/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System tests of the workload by its interface: each test in a process with
 * mount and network namespaces of its own and an empty /run, so that they see
 * nothing of the machine's other runs, and these nothing of them.
 */
#ifndef FRTRACE_TESTS_WLT_H
#define FRTRACE_TESTS_WLT_H

#include "util/util.h"
#include "workload/workload.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wlt_test {
	const char *name;
	void (*run)(void);
	unsigned timeout_s;
	bool is_long; /* only with FRT_LONG=1 */
};

extern const struct wlt_test tests_state[], tests_steps[], tests_clean[], tests_bad[];

/* End the test, by a line that says why. */
void wlt_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), noreturn));
void wlt_skip(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
#define FAIL(...) wlt_fail(__FILE__, __LINE__, __VA_ARGS__)
#define CHECK(cond)                                \
	do {                                       \
		if (!(cond))                       \
			FAIL("not so: %s", #cond); \
	} while (0)

/* What a command prints, whole; freed by the caller. Fails the test when the
 * command fails. */
char *wlt_output(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int wlt_run(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* its status */

/* Everything a run could leave: links, names, mounts, state files. */
char *wlt_snapshot(void);
/* Waits (deferred work) until the snapshot is before again; fails after 20 s. */
void wlt_same(const char *before, const char *when);

void wlt_diff(const char *a, const char *b);

/* What the hooks were told. */
struct wlt_seen {
	unsigned routers, warmups, failed, deletes, begins, creators, creator_ends;
	unsigned steps[FRT_STEPS + 1];
	uint64_t wall[FRT_STEPS + 1];
	uint64_t router_wall;
	unsigned bad; /* what contradicts itself: overlapping, out of order, doubled */
	uint32_t max_instance;
	unsigned char instance[1 << 16];
	double values[FRT_STEPS + 1][256]; /* of measured routers, summed per router, ns */
	unsigned nvalues[FRT_STEPS + 1];
	unsigned max_streams;
	struct workload *stop; /* stop after `stop_after` routers */
	unsigned stop_after;
};
struct workload_opts wlt_options(enum frt_workmode mode, struct wlt_seen *seen);
struct workload *wlt_open(const struct workload_opts *o);
/* Names of ours below the run directory. */
unsigned wlt_names(void);

#endif
