/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kretprobes made through tracefs: the only way to say how many calls of a
 * function are followed at one time. They outlive who made them, so their names
 * say who that was, and `frtrace clean` removes those of the dead.
 */
#ifndef FRTRACE_ENV_KEVENTS_H
#define FRTRACE_ENV_KEVENTS_H

#include <stdbool.h>
#include <stdint.h>

/* A kretprobe at addr, number id, that follows maxactive calls at one time, as a
 * perf event of all CPUs. The descriptor, the caller's to close, or -errno. */
int kevents__open(unsigned id, uint64_t addr, unsigned maxactive);
/* Removes what this process has made; its descriptors are closed by then. */
void kevents__remove(void);
/* Removes what processes that are no longer alive have made; dry: only says so.
 * How many there were, or -errno; 0 without tracefs. */
int kevents__clean(bool dry, void (*say)(void *ctx, const char *line), void *ctx);

#endif
