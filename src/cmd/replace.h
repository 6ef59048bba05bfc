/* SPDX-License-Identifier: BSD-2-Clause */
/* Output that stands in its place only when it is complete. */
#ifndef FRTRACE_REPLACE_H
#define FRTRACE_REPLACE_H

#include <stdio.h>

struct replace {
	FILE *out;    /* write here */
	char *path;   /* what will be replaced, links followed; NULL: a stream */
	char *temp;   /* the name of the unfinished file; NULL: it has none yet */
	int uid, gid; /* of the new file; -1: leave */
};

/* path NULL or "-": stdout. A device, pipe or socket is written to directly.
 * Until replace__commit a regular file at path stays what it was, and killed at
 * any moment nothing is left behind (where the file system has O_TMPFILE).
 * Returns 0 or -errno. */
int replace__open(struct replace *r, const char *path);
/* Flushes and puts the file in its place. Returns 0 or -errno (-EPIPE when the
 * reader of a pipe has gone); in every case r is done with. */
int replace__commit(struct replace *r);
/* Throws away what was written. */
void replace__abort(struct replace *r);

#endif
