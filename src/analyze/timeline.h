/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Single routers as spans in time: what each of their tasks did, waited for and
 * in which probed functions. Pure.
 *
 * A track is one line of the picture: of a level and stream, the steps (track
 * 0), the creator, the tasks of the steps, their probed functions. On a track
 * spans are ordered by time and either nested or apart.
 */
#ifndef FRTRACE_TIMELINE_H
#define FRTRACE_TIMELINE_H

#include <frtrace/trail.h>

enum span_kind {
	SPAN_ROUTER,
	SPAN_STEP,
	SPAN_TASK,   /* from birth to death */
	SPAN_ACTION, /* a call, start or exit */
	SPAN_WAIT,   /* blocked; name is the class */
	SPAN_RUNQUEUE,
	SPAN_FUNCTION, /* length measured, place within its caller not */
	SPAN_KINDS
};
extern const char *const span_kind_names[SPAN_KINDS];

struct span {
	uint32_t group, track; /* index of a track_group, track within it */
	enum span_kind kind;
	uint64_t t0, t1; /* CLOCK_MONOTONIC ns */
	const char *name;
	const char *by; /* SPAN_WAIT: who ended it, or NULL */
	uint32_t router;
	uint64_t n;	 /* SPAN_FUNCTION: calls */
	int64_t ret;	 /* SPAN_ACTION */
	uint64_t cpu_ns; /* SPAN_ACTION, SPAN_FUNCTION: of its length on the CPU */
};

/* One stream at one level. */
struct track_group {
	uint32_t level, asked, stream, run, again;
	uint64_t t0; /* of its first span; its time 0 */
	unsigned ntracks;
};

struct timeline {
	struct span *spans; /* by group, track, t0, longest first */
	size_t nspans, cap;
	struct track_group *groups;
	size_t ngroups, groups_cap;
	struct arena *arena;
};

/* What a track shows: "steps", "creator", "tasks", "functions". */
const char *track_name(unsigned track);

/* The timeline of the routers (ids, n of them). 0 or -ENOMEM; timeline__free also
 * after an error. */
int timeline__build(const struct frt_trail *t, const uint32_t *routers, size_t n,
		    struct timeline *out);
void timeline__free(struct timeline *tl);

#endif
