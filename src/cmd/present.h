/* SPDX-License-Identifier: BSD-2-Clause */
/* From a trail to the report on stdout: the same for a run and for a record. */
#ifndef FRTRACE_PRESENT_H
#define FRTRACE_PRESENT_H

#include <frtrace/trail.h>
#include <stdio.h>

struct json_t;

struct present_opts {
	bool json;
	const char *view;    /* NULL: the whole report */
	uint64_t predict[8]; /* npredict 0: what the record asked for */
	size_t npredict;
	FILE *out; /* NULL: stdout */
};

/* Analyzes and prints. 0 or -errno (-EINVAL: no such view). A closed pipe is no error. */
int present__trail(const struct frt_trail *t, const struct present_opts *o);

/* The same for what `frtrace rate` recorded; present__trail comes here by itself.
 * rows_done: the rows were printed as they arrived. -EINVAL: rates have no views. */
int present__rate(const struct frt_trail *t, const struct present_opts *o, bool rows_done);

/* Columns to print on stdout, 100 at most. */
unsigned present__width(void);
/* Prints on stdout and takes j (NULL: -ENOMEM). */
int present__json(struct json_t *j);

#endif
