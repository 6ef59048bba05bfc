/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From events to walls (design: What a number means, 1 and 2): every ns of a
 * step instance is given to one task, by walking back from its end. Pure.
 */
#ifndef FRTRACE_ANALYZE_ASSEMBLE_H
#define FRTRACE_ANALYZE_ASSEMBLE_H

#include "analyze/index.h"

enum seg_kind {
	SEG_CPU,     /* the carrier was on the CPU, as far as is known */
	SEG_RUNQ,    /* it was runnable */
	SEG_BLOCKED, /* it waited for something outside the step */
	SEG_MISSING, /* events are missing: nobody knows */
};

/* [a, b) of the wall. */
struct seg {
	enum seg_kind kind;
	const struct task *task;   /* the carrier; NULL: not known */
	const struct frt_off *off; /* of RUNQ and BLOCKED */
	uint64_t a, b;
};

struct wall {
	struct seg *v; /* from t1 back to t0, without gaps */
	size_t n, cap;
};

/* The wall [t0, t1] of an instance; creator is the carrier at its end. Instance
 * 0: time of the creator alone, between steps. v is reused; free it at the end.
 * 0 or -ENOMEM. Marks of the walk are left in the tasks of ix. */
int wall__assemble(struct index *ix, uint64_t t0, uint64_t t1, uint32_t creator, uint32_t instance,
		   struct wall *out);

/* What on-CPU time [a, b) of a task was. */
struct cpu_split {
	uint64_t user;	  /* outside calls */
	uint64_t other;	  /* in calls that were only summed */
	uint64_t calls;	  /* in calls that were sent: the sum of what on_call got */
	uint64_t missing; /* not on the CPU after all: a switch-out was lost */
};

/* Splits [a, b), by what the calls sent say and the cumulative snapshots
 * around; the four sums add up to b - a. on_call (may be NULL) is told each
 * call with its kernel ns. */
struct cpu_split cpu__split(const struct task *t, uint64_t a, uint64_t b,
			    void (*on_call)(void *ctx, const struct frt_call *c, uint64_t ns),
			    void *ctx);

/* Sums of a wall: they add up to t1 - t0. */
struct wall_sums {
	uint64_t user, kernel, blocked, runq, unaccounted;
};
struct wall_sums wall__sums(const struct wall *w);

#endif
