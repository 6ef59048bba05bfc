/* SPDX-License-Identifier: BSD-2-Clause */
/* The cost per router as a straight line over the existing ones, and whether
 * a straight line is the right shape. */
#include "analyze/fit.h"
#include "analyze/prob.h"
#include "analyze/rate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* A quadratic term is believed when pure chance would show one as large less
 * often than this: rows of one run follow one another and are a little alike. */
#define CURVE_P 0.01

/* One polynomial in x / scale. */
struct poly {
	double coef[FIT_MAX_TERMS], cov[FIT_MAX_TERMS][FIT_MAX_TERMS], rss;
};

static int fit_poly(const struct rate_row *rows, size_t n, double scale, size_t terms,
		    struct poly *out)
{
	double *v = calloc(n * (terms + 2), sizeof(*v)), *y, *w;
	int rc;

	if (!v)
		return -ENOMEM;
	y = v + n * terms;
	w = y + n;
	for (size_t i = 0; i < n; i++) {
		double t = 1;

		for (size_t j = 0; j < terms; j++, t *= rows[i].at / scale)
			v[i * terms + j] = t;
		y[i] = rows[i].cost_ns;
		w[i] = (double)rows[i].n;
	}
	rc = fit__wls(v, y, w, n, terms, out->coef, out->cov, &out->rss);
	free(v);
	return rc;
}

/* F test of the quadratic term against the straight line. */
static double curvature(const struct poly *line, const struct poly *square, size_t n, double size)
{
	double df = (double)n - 3;

	if (line->rss <= 1e-20 * size) /* exactly on the line, but for rounding */
		return 1;
	if (square->rss <= 1e-12 * line->rss) /* exactly a parabola */
		return 0;
	return 1 - prob__f_cdf((line->rss - square->rss) / (square->rss / df), 1, df);
}

/* A slope whose interval holds 0 is no growth only when it is narrow: when what
 * it leaves open is below a tenth of the cost over the rows. */
#define CONSTANT_WITHIN 0.1

static const char *shape_of(const struct rate_fit *f, bool upwards, double span, double cost)
{
	if (isnan(f->curve_p))
		return "unknown";
	if (f->curve_p < CURVE_P)
		return upwards ? "superlinear" : "sublinear";
	if (f->b95.lo > 0 || f->b95.hi < 0)
		return "linear";
	return fmax(f->b95.hi, -f->b95.lo) * span < CONSTANT_WITHIN * cost ? "constant" : "unknown";
}

struct interval rate__of_cost(struct interval cost)
{
	struct interval r = { .at = cost.at > 0 ? 1e9 / cost.at : NAN,
			      .lo = cost.hi > 0 ? 1e9 / cost.hi : NAN,
			      .hi = cost.lo > 0 ? 1e9 / cost.lo : NAN };

	return r;
}

struct interval rate__cost_at(const struct rate_fit *f, double at)
{
	struct estimate e = { .n = f->rows, .df = f->df };

	e.mean = f->a.mean + f->b.mean * at;
	e.var = f->a.var + 2 * at * f->cov_ab + at * at * f->b.var;
	return stats__mean(e, 0.95);
}

int rate__fit(const struct rate_row *rows, size_t n, struct rate_fit *f)
{
	struct poly line, square;
	double scale = 0, size = 0, weight = 0, lowest = INFINITY, s2;
	int rc;

	*f = (struct rate_fit){ .shape = "unknown", .curve_p = NAN, .worst = NAN };
	f->a = f->b = (struct estimate){ .mean = NAN, .var = NAN, .df = NAN };
	f->a95 = f->b95 = f->rate0 = (struct interval){ NAN, NAN, NAN };
	for (size_t i = 0; i < n; i++) {
		scale = fmax(scale, rows[i].at);
		lowest = fmin(lowest, rows[i].at);
		weight += (double)rows[i].n;
		size += (double)rows[i].n * rows[i].cost_ns * rows[i].cost_ns;
	}
	if (n < 2 || !(scale > 0))
		return 0;
	rc = fit_poly(rows, n, scale, 2, &line);
	if (rc)
		return rc == -EDOM ? 0 : rc;	       /* all rows at one count: no line */
	s2 = n > 2 ? line.rss / (double)(n - 2) : NAN; /* weights say how rows compare only */
	f->rows = n;
	f->df = n > 2 ? (double)(n - 2) : NAN;
	f->a = (struct estimate){ line.coef[0], s2 * line.cov[0][0], f->df, n };
	f->b = (struct estimate){ line.coef[1] / scale, s2 * line.cov[1][1] / (scale * scale),
				  f->df, n };
	f->cov_ab = s2 * line.cov[0][1] / scale;
	f->a95 = stats__mean(f->a, 0.95);
	f->b95 = stats__mean(f->b, 0.95);
	f->rate0 = rate__of_cost(f->a95);
	f->worst = 0;
	for (size_t i = 0; i < n; i++) {
		double at = f->a.mean + f->b.mean * rows[i].at;

		if (at > 0)
			f->worst = fmax(f->worst, fabs(rows[i].cost_ns - at) / at);
	}
	if (n < 4)
		return 0;
	rc = fit_poly(rows, n, scale, 3, &square);
	if (rc)
		return rc == -EDOM ? 0 : rc;
	f->curve_p = curvature(&line, &square, n, size);
	f->shape = shape_of(f, square.coef[2] > 0, scale - lowest, sqrt(size / weight));
	return 0;
}
