/* SPDX-License-Identifier: BSD-2-Clause */
/* One file per output; nothing here computes a figure. */
#ifndef FRTRACE_REPORT_H
#define FRTRACE_REPORT_H

#include <frtrace/model.h>
#include <stdbool.h>
#include <stdio.h>

struct report_opts {
	bool color;	  /* the caller has looked at isatty and NO_COLOR */
	unsigned width;	  /* columns, 100 at most */
	const char *view; /* NULL: the whole report */
};

/* The text report, or one view of it. Returns 0 or -errno (-EINVAL: no such
 * view; report__views lists them). */
int report__text(FILE *f, const struct frt_profile *p, const struct report_opts *o);
extern const char *const report__views[]; /* NULL at the end */

/* schema frtrace-report/1. */
struct json_t *report__json(const struct frt_profile *p);

/* Exporters: one row each in report__exporters. write puts the whole of one
 * output; it returns 0 or -errno and one line in err, which names the object,
 * the reason and what to do: -EINVAL the selection makes no sense (wrong usage),
 * -ENODATA the record does not hold what the format shows. */
struct rate;
struct export_opts {
	const char *step;	 /* NULL: all */
	int64_t at;		 /* level asked; -1: all */
	const char *kind;	 /* cpu | off | wall | functions | rate; NULL: the format's own */
	int64_t diff[2];	 /* levels; -1: none */
	struct frt_trail *trail; /* for timelines */
	bool icicle;		 /* svg: the root on top */
	const struct rate *const *rates; /* analyze/rate.h; for rates, NULL: none */
	size_t nrates;
};
#define EXPORT_STEP 1 /* what an exporter takes */
#define EXPORT_AT 2
#define EXPORT_KIND 4
#define EXPORT_DIFF 8
#define EXPORT_RATE 16	 /* --kind rate */
#define EXPORT_TRAIL 32	 /* opts.trail must be there */
#define EXPORT_BINARY 64 /* nothing for a terminal */
struct exporter {
	const char *format, *suffix, *what;
	unsigned takes; /* EXPORT_* */
	int (*write)(FILE *out, const struct frt_profile *p, const struct export_opts *o, char *err,
		     size_t errlen);
};
extern const struct exporter report__exporters[]; /* format NULL at the end */

#endif
