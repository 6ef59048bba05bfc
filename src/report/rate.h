/* SPDX-License-Identifier: BSD-2-Clause */
/* Rates as text, JSON and CSV. Nothing here computes a figure. */
#ifndef FRTRACE_REPORT_RATE_H
#define FRTRACE_REPORT_RATE_H

#include "analyze/compare.h"
#include "analyze/rate.h"
#include "report/report.h"

/* Pieces for printing while rows arrive: what a case is with its column heads, a row. */
void report__rate_case(FILE *f, const struct rate *r, const struct rate_curve *c);
void report__rate_row(FILE *f, const struct rate_row *row);
/* What stands below the rows: accounting, cases side by side (sides: their
 * comparison, NULL with one case), streams, fit. 0 or -errno. */
int report__rate_summary(FILE *f, const struct rate *r, const struct compare *sides,
			 const struct report_opts *o);

/* Rows and summary. 0 or -errno. */
int report__rate_text(FILE *f, const struct rate *r, const struct compare *sides,
		      const struct report_opts *o);

/* schema frtrace-rate/1; the caller owns it. NULL: out of memory. */
struct json_t *report__rate_json(const struct rate *r);

/* The layouts of data/: count over time where readings were recorded, otherwise
 * rates. No remarks, so that any reader of CSV takes it. 0 or -errno. */
int report__rate_csv(FILE *f, const struct rate *r);

/* The fits of curves as a table, with what they cannot say; names one per
 * curve, or NULL for their labels. */
int report__fits(FILE *f, const struct rate_curve *const *curves, const char *const *names,
		 size_t n, const struct report_opts *o);

#endif
