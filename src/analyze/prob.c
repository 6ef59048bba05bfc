/* SPDX-License-Identifier: BSD-2-Clause */
#include "analyze/prob.h"

#include <float.h>
#include <math.h>

/* Continued fraction of the incomplete beta function (DLMF 8.17.22), summed
 * by Lentz's method; converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = DBL_MIN * 1e10;
	double c = 1, d = 1 - (a + b) * x / (a + 1), h;

	if (fabs(d) < tiny)
		d = tiny;
	d = 1 / d;
	h = d;
	for (int m = 1; m <= 10000; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		h *= d * c;
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		step = d * c;
		h *= step;
		if (fabs(step - 1) < 1e-15)
			break;
	}
	return h;
}

double prob__beta_inc(double a, double b, double x)
{
	double front;

	if (!(a > 0) || !(b > 0) || isnan(x))
		return NAN;
	if (x <= 0)
		return 0;
	if (x >= 1)
		return 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double prob__gamma_inc(double a, double x)
{
	double front;

	if (!(a > 0) || !(x >= 0))
		return NAN;
	if (x == 0)
		return 0;
	if (isinf(x))
		return 1;
	front = exp(a * log(x) - x - lgamma(a));
	if (x < a + 1) { /* series, DLMF 8.7.1 */
		double term = 1 / a, sum = term;

		for (int n = 1; n <= 100000 && fabs(term) > fabs(sum) * 1e-16; n++) {
			term *= x / (a + n);
			sum += term;
		}
		return front * sum;
	} else { /* continued fraction, DLMF 8.9.2, by Lentz's method */
		const double tiny = DBL_MIN * 1e10;
		double b = x + 1 - a, c = 1 / tiny, d = 1 / b, h = d;

		for (int n = 1; n <= 100000; n++) {
			double an = -n * (n - a), step;

			b += 2;
			d = an * d + b;
			c = b + an / c;
			d = 1 / (fabs(d) < tiny ? tiny : d);
			c = fabs(c) < tiny ? tiny : c;
			step = d * c;
			h *= step;
			if (fabs(step - 1) < 1e-15)
				break;
		}
		return 1 - front * h;
	}
}

double prob__t_cdf(double t, double df)
{
	double tail;

	if (!(df > 0) || isnan(t))
		return NAN;
	if (isinf(t))
		return t > 0 ? 1 : 0;
	tail = prob__beta_inc(df / 2, 0.5, df / (df + t * t)) / 2;
	return t > 0 ? 1 - tail : tail;
}

double prob__f_cdf(double f, double df1, double df2)
{
	if (!(df1 > 0) || !(df2 > 0) || isnan(f))
		return NAN;
	if (f <= 0)
		return 0;
	if (isinf(f))
		return 1;
	return prob__beta_inc(df1 / 2, df2 / 2, df1 * f / (df1 * f + df2));
}

double prob__chi2_cdf(double x, double df)
{
	if (!(df > 0) || isnan(x))
		return NAN;
	return x <= 0 ? 0 : prob__gamma_inc(df / 2, x / 2);
}

double prob__t_quantile(double p, double df)
{
	double lo = 0, hi = 1, q;

	if (!(df > 0) || !(p > 0) || !(p < 1))
		return NAN;
	if (p == 0.5)
		return 0;
	q = p > 0.5 ? p : 1 - p; /* symmetric: look right of 0 only */
	while (prob__t_cdf(hi, df) < q && hi < 1e300)
		hi *= 2;
	for (int i = 0; i < 200 && hi - lo > 1e-14 * hi; i++) {
		double mid = (lo + hi) / 2;

		if (prob__t_cdf(mid, df) < q)
			lo = mid;
		else
			hi = mid;
	}
	return p > 0.5 ? (lo + hi) / 2 : -(lo + hi) / 2;
}
