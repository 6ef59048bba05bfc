/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Means, spreads and intervals (design: What a number means, 4). Everywhere:
 * below STATS_MIN_N values there is no interval (NAN), and where neighbouring
 * values are alike (lag-1 autocorrelation r > 0.1) n counts as n(1-r)/(1+r).
 */
#ifndef FRTRACE_ANALYZE_STATS_H
#define FRTRACE_ANALYZE_STATS_H

#include <frtrace/model.h>

#define STATS_MIN_N 5

/* A mean with its uncertainty. */
struct estimate {
	double mean;
	double var; /* of the mean; NAN: too few values */
	double df;  /* degrees of freedom of var */
	size_t n;
};

/* A figure with its interval; lo and hi NAN: none. */
struct interval {
	double at, lo, hi;
};

/* v in the order measured. Fills everything of out; n = 0: all NAN. scratch
 * has room for n values (or is NULL when n is 0). */
void stats__dist(const double *v, size_t n, double *scratch, struct frt_dist *out);

struct estimate stats__estimate(const double *v, size_t n);
double stats__lag1(const double *v, size_t n, double mean);

/* Of sorted values, by linear interpolation (type 7 of Hyndman and Fan). */
double stats__quantile(const double *sorted, size_t n, double p);

/* Of the mean itself; p: 0.95, 0.99. */
struct interval stats__mean(struct estimate a, double p);

/* b - a, Welch's interval with the Welch-Satterthwaite degrees of freedom. */
struct interval stats__difference(struct estimate a, struct estimate b, double p);

/* b / a by Fieller's theorem; no interval when a is not clearly above 0. */
struct interval stats__ratio(struct estimate a, struct estimate b, double p);

/* Variance and degrees of freedom of the weighted sum of independent
 * estimates (Satterthwaite); NAN when one of them has none. */
struct estimate stats__combine(const struct estimate *e, const double *w, size_t n);

#endif
