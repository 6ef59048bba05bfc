/* SPDX-License-Identifier: BSD-2-Clause */
/* Trails written by hand, for tests of the analysis. */
#ifndef FRTRACE_TEST_BUILD_TRAIL_H
#define FRTRACE_TEST_BUILD_TRAIL_H

#include <frtrace/events.h>
#include <frtrace/steps.h>
#include <frtrace/trail.h>

/* Appends a zeroed item to an array of a trail and returns it; fails the test
 * when there is no memory. */
#define trail_add(t, name)                                                                         \
	((__typeof__((t)->name.v))trail__more((void **)&(t)->name.v, &(t)->name.n, &(t)->name.cap, \
					      sizeof(*(t)->name.v)))
void *trail__more(void **v, size_t *n, size_t *cap, size_t size);
void trail__header(struct frt_trail *t, const char *json);
void trail__drop(struct frt_trail *t); /* frees arrays and header */

/* The node of frame below parent, made when it is not there. */
uint32_t trail__frame(struct frt_trail *t, uint32_t parent, const char *frame);

struct frt_level *trail__level(struct frt_trail *t, uint32_t asked, uint64_t existing);
/* A router of the last level, without steps, from t0. */
struct frt_router *trail__router(struct frt_trail *t, uint64_t t0);
/* A step of the last router from its current end on, ns long; the router ends
 * there (creation steps only). Untraced when creator is 0. */
struct frt_stepinst *trail__step(struct frt_trail *t, enum frt_step step, uint64_t ns,
				 uint32_t creator);

/* What a task has used up. */
struct used {
	uint64_t cpu, user;
};

void trail__creator(struct frt_trail *t, uint32_t task);
/* A fork at `fork`, wakeup_new by the parent at `wake` (who had used w by then),
 * first time on a CPU at `in`. */
void trail__born(struct frt_trail *t, uint32_t instance, uint32_t task, uint32_t parent,
		 uint64_t fork, uint64_t wake, uint64_t in, struct used w);
/* Off the CPU in call nr; u used by then; woken by waker (0: nobody of ours),
 * who had used w by then. */
struct frt_off *trail__slept(struct frt_trail *t, uint32_t instance, uint32_t task, int32_t nr,
			     uint64_t out, uint64_t waking, uint64_t in, struct used u,
			     uint32_t waker, struct used w);
/* The CPU taken away in user mode. */
void trail__preempted(struct frt_trail *t, uint32_t instance, uint32_t task, uint64_t out,
		      uint64_t in, struct used u);
struct frt_call *trail__call(struct frt_trail *t, uint32_t instance, uint32_t task, int32_t nr,
			     uint64_t t0, uint64_t t1, uint64_t cpu);
void trail__dead(struct frt_trail *t, uint32_t instance, uint32_t task, uint64_t at, struct used u);

/*
 * Routers made by a creator that runs one command per step, every event in its
 * place. A step's parts, by hand:
 *
 *   creator  10 user, 40 in vfork; its child is born (woken 30 into it)
 *            20 runqueue
 *   child    5 start, user, other (calls only summed), kernel (one call nr),
 *            then, when it blocks: 5, blocked, runq, 5 in the call wait_nr,
 *            50 exit until it wakes the creator (and 30 more to its death)
 *            10 runqueue
 *   creator  5 in waitid, 5 user
 */
struct world {
	struct frt_trail t;
	uint64_t now;
	uint32_t creator, tasks;
	struct used used; /* by the creator */
	uint64_t idle_since;
};

struct plan {
	uint64_t user, other, kernel, blocked, runq;
	struct frt_call call; /* of kernel: nr, detail, … */
	struct frt_call wait; /* of blocked */
	uint32_t wait_stack;
	/* where in it the child's parts were put (out) */
	uint64_t user_at, call_at, wait_at, exit_at;
	uint32_t task;
};

#define PLAN_FIXED_WALL 135 /* of a step that does nothing and does not block */
#define PLAN_FIXED_USER 15
#define PLAN_FIXED_KERNEL 90 /* 30 vfork, 5 start, 50 exit, 5 waitid */
#define PLAN_FIXED_RUNQ 30
#define PLAN_WAIT_KERNEL 10 /* more when it blocks */
#define PLAN_PARALLEL 60    /* in no wall: 30 of the creator, 30 of the dying child */

void world__open(struct world *w);
/* Runs a step of the last router now. */
struct frt_stepinst *world__step(struct world *w, enum frt_step step, struct plan *p);
/* Time of the creator in user mode. */
void world__pass(struct world *w, uint64_t ns);

/* Repeatable noise: uniform in [-1, 1). */
double noise(uint32_t *state);

#endif
