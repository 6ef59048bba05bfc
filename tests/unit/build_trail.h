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

/* Repeatable noise: uniform in [-1, 1). */
double noise(uint32_t *state);

#endif
