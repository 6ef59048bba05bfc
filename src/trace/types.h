/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's own types. Several things are looked up in them before the first program
 * runs, and to parse them takes as long as to load all programs: once is enough. */
#ifndef FRTRACE_TRACE_TYPES_H
#define FRTRACE_TRACE_TYPES_H

struct btf;

/* Of vmlinux; not the caller's to free. NULL: it cannot be read (errno). Not for several
 * threads at once. */
struct btf *types__kernel(void);
void types__forget(void); /* its megabytes; it can be had again */

#endif
