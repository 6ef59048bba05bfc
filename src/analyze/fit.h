/* SPDX-License-Identifier: BSD-2-Clause */
/* How a mean grows with the number of existing namespaces. */
#ifndef FRTRACE_ANALYZE_FIT_H
#define FRTRACE_ANALYZE_FIT_H

#include "analyze/stats.h"

#define FIT_MAX_TERMS 3

/* Weighted least squares: y[i] ~ sum of x[i * p + j] * coef[j], weights w (NULL:
 * all 1). cov is the covariance of coef for weights that are 1 / variance
 * (multiply by rss / (n - p) when they are only relative), rss the weighted sum
 * of squared residuals. p <= FIT_MAX_TERMS <= n. Returns 0, -EINVAL (sizes) or
 * -ENOMEM, -EDOM (columns that depend on each other). By modified
 * Gram-Schmidt QR, which keeps the accuracy that normal equations lose. */
int fit__wls(const double *x, const double *y, const double *w, size_t n, size_t p, double *coef,
	     double cov[FIT_MAX_TERMS][FIT_MAX_TERMS], double *rss);

struct fit_point {
	double x;
	struct estimate y;
};

/* The terms behind 1: none, x, x and x², x and sqrt(x), sqrt(x). */
enum fit_model { FIT_CONST, FIT_LINE, FIT_SQUARE, FIT_ROOTLINE, FIT_ROOT };

struct fit {
	const char *shape; /* unknown constant linear superlinear sublinear */
	enum fit_model model;
	double a, b;   /* the straight line; b = 0 when constant */
	double lack_p; /* lack of fit of the model; NAN: no level left to tell */
	/* what predictions need */
	size_t terms;
	double coef[FIT_MAX_TERMS], cov[FIT_MAX_TERMS][FIT_MAX_TERMS];
	double df, widen, xmax, var_last;
};

/* Points ascending in x. Two levels give the line through them and the shape
 * "unknown"; three or more the simplest model that an F test at 1 % does not
 * reject against the next. Weights are 1 / variance of each mean. */
void fit__points(const struct fit_point *v, size_t n, struct fit *out);

/* At x, for the mean of a level measured like the last one: its 95 % interval
 * holds the fit's uncertainty and that of such a mean. Refused beyond five
 * times the highest level. */
void fit__predict(const struct fit *f, double x, double *ns, double *lo, double *hi, bool *refused);

#endif
