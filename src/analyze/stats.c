/* SPDX-License-Identifier: BSD-2-Clause */
#include "analyze/stats.h"

#include "analyze/prob.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double mean_of(const double *v, size_t n, double *sum)
{
	double s = 0, c = 0; /* Kahan: levels of 1e10 ns and thousands of values */

	for (size_t i = 0; i < n; i++) {
		double y = v[i] - c, t = s + y;

		c = (t - s) - y;
		s = t;
	}
	if (sum)
		*sum = s;
	return n ? s / (double)n : NAN;
}

static double variance_of(const double *v, size_t n, double mean)
{
	double s = 0;

	for (size_t i = 0; i < n; i++)
		s += (v[i] - mean) * (v[i] - mean);
	return n > 1 ? s / (double)(n - 1) : NAN;
}

double stats__lag1(const double *v, size_t n, double mean)
{
	double num = 0, den = 0;

	for (size_t i = 0; i < n; i++) {
		den += (v[i] - mean) * (v[i] - mean);
		if (i)
			num += (v[i] - mean) * (v[i - 1] - mean);
	}
	return den > 0 ? num / den : 0;
}

/* At least 2, so that an interval exists however alike neighbours are. */
static double effective_n(size_t n, double r)
{
	double e = (double)n;

	if (r > 0.1)
		e = e * (1 - r) / (1 + r);
	return e < 2 ? 2 : e;
}

struct estimate stats__estimate(const double *v, size_t n)
{
	struct estimate e = { .n = n, .var = NAN, .df = NAN };
	double eff;

	e.mean = mean_of(v, n, NULL);
	if (n < STATS_MIN_N)
		return e;
	eff = effective_n(n, stats__lag1(v, n, e.mean));
	e.var = variance_of(v, n, e.mean) / eff;
	e.df = eff - 1;
	return e;
}

double stats__quantile(const double *sorted, size_t n, double p)
{
	double h;
	size_t i;

	if (!n)
		return NAN;
	h = p * (double)(n - 1);
	i = (size_t)h;
	if (i + 1 >= n)
		return sorted[n - 1];
	return sorted[i] + (h - (double)i) * (sorted[i + 1] - sorted[i]);
}

void stats__dist(const double *v, size_t n, double *scratch, struct frt_dist *out)
{
	struct interval ci;

	*out = (struct frt_dist){ .n = (uint32_t)n,
				  .mean = NAN,
				  .sd = NAN,
				  .lo = NAN,
				  .hi = NAN,
				  .median = NAN,
				  .p95 = NAN,
				  .min = NAN,
				  .max = NAN };
	if (!n)
		return;
	out->mean = mean_of(v, n, &out->sum);
	if (n > 1)
		out->sd = sqrt(variance_of(v, n, out->mean));
	ci = stats__mean(stats__estimate(v, n), 0.95);
	out->lo = ci.lo;
	out->hi = ci.hi;
	if (n >= STATS_MIN_N) {
		double r = stats__lag1(v, n, out->mean);

		out->lag1 = r > 0.1 ? r : 0;
	}
	memcpy(scratch, v, n * sizeof(*v));
	qsort(scratch, n, sizeof(*scratch), compare_doubles);
	out->min = scratch[0];
	out->max = scratch[n - 1];
	out->median = stats__quantile(scratch, n, 0.5);
	out->p95 = stats__quantile(scratch, n, 0.95);
}

static struct interval around(double at, double var, double df, double p)
{
	struct interval i = { .at = at, .lo = NAN, .hi = NAN };
	double half;

	if (isnan(var) || isnan(df))
		return i;
	/* no spread at all leaves the degrees of freedom undefined (0 / 0) */
	half = var > 0 ? prob__t_quantile(0.5 + p / 2, df) * sqrt(var) : 0;
	i.lo = at - half;
	i.hi = at + half;
	return i;
}

struct interval stats__mean(struct estimate a, double p)
{
	return around(a.mean, a.var, a.df, p);
}

struct estimate stats__combine(const struct estimate *e, const double *w, size_t n)
{
	struct estimate s = { .n = n ? e[0].n : 0 };
	double den = 0, least = INFINITY;

	for (size_t i = 0; i < n; i++) {
		double part = w[i] * w[i] * e[i].var;

		s.mean += w[i] * e[i].mean;
		if (w[i] == 0)
			continue;
		s.var += part;
		den += part * part / e[i].df;
		least = fmin(least, e[i].df);
		if (e[i].n < s.n)
			s.n = e[i].n;
	}
	s.df = den > 0 ? s.var * s.var / den : isnan(den) ? NAN : least;
	return s;
}

struct interval stats__difference(struct estimate a, struct estimate b, double p)
{
	struct estimate e[2] = { a, b };
	double w[2] = { -1, 1 };
	struct estimate d = stats__combine(e, w, 2);

	return around(d.mean, d.var, d.df, p);
}

struct interval stats__ratio(struct estimate a, struct estimate b, double p)
{
	struct estimate e[2] = { a, b };
	struct interval r = { .at = b.mean / a.mean, .lo = NAN, .hi = NAN };
	double w[2] = { -r.at, 1 };
	struct estimate d;
	double t, g, half;

	if (isnan(a.var) || isnan(b.var) || !isfinite(r.at))
		return r;
	d = stats__combine(e, w, 2); /* b - ratio * a, whose mean is 0 */
	if (!(d.var > 0)) {
		r.lo = r.hi = r.at;
		return r;
	}
	t = prob__t_quantile(0.5 + p / 2, d.df);
	g = t * t * a.var / (a.mean * a.mean);
	if (!(g < 1))
		return r;
	half = t / fabs(a.mean) * sqrt(d.var - g * b.var);
	r.lo = (r.at - half) / (1 - g);
	r.hi = (r.at + half) / (1 - g);
	return r;
}
