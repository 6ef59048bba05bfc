/* SPDX-License-Identifier: BSD-2-Clause */
/* What the two halves of the sample profiles share. */
#ifndef SAMPLE_LEVEL_H
#define SAMPLE_LEVEL_H

#include "util/util.h"

#include <frtrace/model.h>

#define SAMPLE_ROUTERS 60
#define SAMPLE_STEPS 7

struct sample_step {
	const char *name;
	bool creation, control;
};
extern const struct sample_step sample_steps[SAMPLE_STEPS];

/* The memory of the profile that is being made. */
extern struct arena *sample_arena;
void *sample__take(size_t n, size_t size);
#define TAKE(n, type) ((type *)sample__take(n, sizeof(type)))

/* level: 0 or 1, whose figures to use. */
void sample__level(struct frt_levelrow *l, uint32_t id, uint32_t asked, int level, bool traced);

#endif
