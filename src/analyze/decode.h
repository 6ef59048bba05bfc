/* SPDX-License-Identifier: BSD-2-Clause */
/* From a system call to the action it stands for (design: Words). */
#ifndef FRTRACE_ANALYZE_DECODE_H
#define FRTRACE_ANALYZE_DECODE_H

#include "analyze/syscalls.h"

#include <frtrace/trail.h>

#define DECODE_MAX 64

/* Actions that are no system call. */
#define ACTION_USER "user code"	   /* on the CPU outside calls; waits in faults */
#define ACTION_OTHER "other calls" /* short calls that were only summed */
#define ACTION_START "start"
#define ACTION_EXIT "exit"
#define ACTION_COMPAT "compat" /* any 32-bit call */

/* The action of a call. Returns buf or a string that lives as long as s. */
const char *decode__call(const struct syscalls *s, const struct frt_call *c, char buf[DECODE_MAX]);

/* The action of a message on a NETLINK_ROUTE socket, by nl_type, nl_flags and text. */
const char *decode__rtnl(const struct frt_call *c, char buf[DECODE_MAX]);

/* The action of a call of which only the number is known. */
const char *decode__number(const struct syscalls *s, int32_t nr, char buf[DECODE_MAX]);

#endif
