/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a task was waiting for (design: Words, wait), from what it called, where in
 * the kernel it stopped, and the lock that was seen to be contended.
 */
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
	const char *lock;	   /* name of the lock that was seen; NULL: by the stack */
};

#define WAITS_TEXT_MAX 128 /* enough for a class, and for a place */

/* Is it this function? A '*' in the pattern stands for anything; the " [module]" behind
 * a module's function does not count. */
bool waits__fits(const char *pattern, const char *frame);

/* The class of a wait, "other" when no rule knows it: a constant, or in buf (of
 * WAITS_TEXT_MAX bytes), where it is cut rather than overrun. */
const char *waits__class(const struct wait *w, char *buf);

/* Where a stack waits, for the reader: the leaf, without the scheduler; of a lock
 * the function that takes it, of a grace period the one that asks for it, with
 * "(synchronize_net)" behind it when that is how it asks. NULL: no such frame. A
 * frame of the stack, or in buf (WAITS_TEXT_MAX). */
const char *waits__where(const char *const *frames, size_t nframes, char *buf);

/* The lock that a stack waits for, by the table of takers: "rtnl_mutex". NULL: it
 * waits for none, or nobody knows it. *taker, if not NULL: the function that takes
 * the lock, known or not; NULL when the stack waits for no lock. */
const char *waits__lock(const char *const *frames, size_t nframes, const char **taker);

/* Does this stack (of a waker) let go of a lock? */
bool waits__unlocks(const char *const *frames, size_t nframes);

/* Of a sample's stack: the lock it spins for, "lock:NAME (spinning)", in buf. NULL: it
 * does not spin. A semaphore's spinning is told by no event. */
const char *waits__spinning(const char *const *frames, size_t nframes, char *buf);

/* What a waking was, by the waker's stack: "uevent", "netlink message", "mountinfo
 * poll", …; a constant. NULL: nobody knows. */
const char *waits__waking(const char *const *frames, size_t nframes);

/* A frame that wakes somebody: the way from an unlock to a tracepoint. */
bool waits__wakes(const char *frame);

/* A frame of a probe, which a function's return goes through. */
bool waits__is_probe(const char *frame);

/* A frame of the scheduler itself, which says nothing about the wait. */
bool waits__is_scheduler(const char *frame);

#endif
