/* SPDX-License-Identifier: BSD-2-Clause */
/* What a task was waiting for (design: Words, wait). */
#ifndef FRTRACE_ANALYZE_WAITS_H
#define FRTRACE_ANALYZE_WAITS_H

#include <frtrace/events.h>
#include <stdbool.h>
#include <stddef.h>

struct wait {
	enum frt_mode mode;
	const char *call; /* the system call's name; NULL outside calls */
	enum frt_detail detail;
	const char *const *frames; /* kernel stack, root first, folded names */
	size_t nframes;		   /* 0: no stack was taken */
};

/* The class of a wait: a string constant, "other" when no rule knows it. */
const char *waits__class(const struct wait *w);

/* A frame of the scheduler itself, which says nothing about the wait. */
bool waits__is_scheduler(const char *frame);

#endif
