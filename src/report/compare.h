/* SPDX-License-Identifier: BSD-2-Clause */
/* A comparison as text and JSON. Nothing here computes a figure. */
#ifndef FRTRACE_REPORT_COMPARE_H
#define FRTRACE_REPORT_COMPARE_H

#include "analyze/compare.h"
#include "report/report.h"

/* 0 or -errno. */
int report__compare_text(FILE *f, const struct compare *c, const struct report_opts *o);

/* Rates per row, counts over time, time to reach: the tables of one kind, with
 * ratios. 0 or -errno. */
int report__compare_rates(FILE *f, const struct compare *c, const struct report_opts *o);

/* The fits of all rate columns by letter, and run where there are several. */
int report__compare_fits(FILE *f, const struct compare *c, const struct report_opts *o);

/* schema frtrace-compare/1; the caller owns it. NULL: out of memory. */
struct json_t *report__compare_json(const struct compare *c);

#endif
