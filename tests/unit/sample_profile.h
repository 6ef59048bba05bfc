/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Profiles made by hand, for the tests of reports and exporters. The figures
 * are invented but consistent: an action's kinds add up to its step's, stacks to
 * the step's on-CPU and off-CPU sums (exactly), growth rows to the router's
 * growth. The same at every call. Free with profile__free.
 */
#ifndef SAMPLE_PROFILE_H
#define SAMPLE_PROFILE_H

#include <frtrace/model.h>

/* Two levels (3 and 4003 existing namespaces, asked 0 and 4000) and the first
 * one again; 60 routers each, kernel stacks sampled, function trees, waits with
 * holders, deferred, outside, drift, overhead, predictions. One frame and one
 * task have names that every output has to escape. */
struct frt_profile *sample__traced(void);
/* The same two levels untraced: walls, user and kernel from rusage. */
struct frt_profile *sample__untraced(void);
/* One level, traced, no growth, things lost. */
struct frt_profile *sample__one_level(void);
/* Three levels, two runs, a truncated record. */
struct frt_profile *sample__three_levels(void);
/* A record that ended before anything was measured. */
struct frt_profile *sample__empty(void);

#define SAMPLE_EVIL_FRAME "evil;<frame> \"&'\\\x1b[31m\xff\xc3\xa4"
#define SAMPLE_EVIL_TASK "evil\n<b>\xff"

#endif
