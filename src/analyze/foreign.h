/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loops that are not ours. A record of `frtrace run` or `frtrace attach` has
 * events and counts of namespaces, but no routers and no steps: both are made
 * here, from the events, so that an old record can be read with new rules. What
 * comes out is a trail like that of our own loops. Pure.
 */
#ifndef FRTRACE_ANALYZE_FOREIGN_H
#define FRTRACE_ANALYZE_FOREIGN_H

#include <frtrace/trail.h>
#include <stdbool.h>

struct syscalls;

enum foreign_by {
	FOREIGN_AS_RECORDED,
	FOREIGN_AUTO,
	FOREIGN_COMMAND, /* a process is a step */
	FOREIGN_ACTION,	 /* what a thread asks of the kernel is a step */
};

struct foreign_opts {
	enum foreign_by by;
	uint64_t every;		 /* existing namespaces to a bucket; 0: as recorded */
	const char *const *step; /* --step, before those of the record */
	unsigned nsteps;
};

/* The names of enum foreign_by on the command line and in records; NULL ends. */
extern const char *const foreign__by_names[];

/* Is it a record of such a loop (or of --create), still without names? */
bool foreign__is(const struct frt_trail *t);

/*
 * Puts levels (buckets), routers and steps into t, gives each event its instance,
 * and names and notes into its header. Once for a trail. o may be NULL. Returns 0,
 * -EINVAL with a line in err (a rule that cannot be read), or -ENOMEM.
 */
int foreign__name(struct frt_trail *t, const struct foreign_opts *o, char *err, size_t errlen);

/* The step that one call is where calls are steps, or NULL. A constant. */
const char *foreign__action(const struct syscalls *s, const struct frt_call *c);

#endif
