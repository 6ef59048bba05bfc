/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rate tables as comma-separated text, in the two layouts of data/:
 *
 *   from,to,LABEL,LABEL…    routers/s while the existing went from `from` to `to`
 *   Time,LABEL,LABEL…       cumulative routers after Time seconds
 *
 * Lines that start with # are remarks, an empty field is "no reading", any
 * number of columns. Strict: whatever is not this is an error that names the
 * line, so that a table cannot be half read.
 */
#ifndef FRTRACE_CSV_H
#define FRTRACE_CSV_H

#include <stdbool.h>
#include <stddef.h>

struct arena;

enum csv_layout { CSV_RATES, CSV_STREAMS };

struct csv_table {
	enum csv_layout layout;
	size_t ncols, nrows; /* of readings: without from, to, Time */
	const char **label;  /* one per column */
	double *from, *to;   /* one per row; streams: from is the time in s, to is NAN */
	double *value;	     /* [row * ncols + column]; NAN: no reading */
	struct arena *arena;
};

/* Reads len bytes of text. name is the file's, for errors. On error returns
 * -EINVAL (or -ENOMEM), one line in err, and *out is empty. */
int csv__parse(const char *text, size_t len, const char *name, struct csv_table *out, char *err,
	       size_t errlen);
void csv__free(struct csv_table *t);

#endif
