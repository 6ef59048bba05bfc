/* SPDX-License-Identifier: BSD-2-Clause */
/* Distributions against published tables, means and fits against NIST's certified
 * values (StRD), intervals against worked examples. */
#include "analyze/account.h" /* first: its fail is not cmocka's */
#include "analyze/fit.h"
#include "analyze/prob.h"
#include "analyze/stats.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void close_to(double got, double want, double within)
{
	if (!(fabs(got - want) <= within))
		print_message("got %.15g, want %.15g within %g\n", got, want, within);
	assert_true(fabs(got - want) <= within);
}

/* Relative: NIST gives 15 digits. */
static void digits(double got, double want, double n)
{
	close_to(got, want, fabs(want) * pow(10, -n));
}

/* Any table of Student's t, three decimals. */
static void t_table(void **state)
{
	static const struct {
		double p, df, t;
	} rows[] = {
		{ 0.975, 1, 12.706 },  { 0.975, 2, 4.303 },  { 0.975, 5, 2.571 },
		{ 0.975, 10, 2.228 },  { 0.975, 20, 2.086 }, { 0.975, 30, 2.042 },
		{ 0.975, 60, 2.000 },  { 0.95, 120, 1.658 }, { 0.995, 4, 4.604 },
		{ 0.995, 10, 3.169 },  { 0.995, 59, 2.662 }, { 0.999, 3, 10.215 },
		{ 0.9995, 2, 31.599 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		close_to(prob__t_quantile(rows[i].p, rows[i].df), rows[i].t, 0.00051);
		close_to(prob__t_quantile(1 - rows[i].p, rows[i].df), -rows[i].t, 0.00051);
		close_to(prob__t_cdf(rows[i].t, rows[i].df), rows[i].p, 0.0001);
	}
	close_to(prob__t_quantile(0.975, 1e7), 1.959964, 1e-5);
	close_to(prob__t_quantile(0.75, 1), 1, 1e-9); /* Cauchy: tan(pi / 4) */
	close_to(prob__t_cdf(0, 7), 0.5, 1e-15);
	assert_true(isnan(prob__t_quantile(0.975, 0)));
	assert_true(isnan(prob__t_quantile(1, 5)));
}

static void chi2_and_f_tables(void **state)
{
	(void)state;
	close_to(prob__chi2_cdf(3.841, 1), 0.95, 2e-5);
	close_to(prob__chi2_cdf(18.307, 10), 0.95, 2e-5);
	close_to(prob__chi2_cdf(23.209, 10), 0.99, 2e-5);
	close_to(prob__chi2_cdf(124.342, 100), 0.95, 2e-5);
	close_to(prob__chi2_cdf(2.558, 10), 0.01, 2e-5);
	close_to(prob__f_cdf(3.326, 5, 10), 0.95, 2e-5);
	close_to(prob__f_cdf(4.735, 10, 5), 0.95, 2e-5);
	close_to(prob__f_cdf(10.044, 1, 10), 0.99, 2e-5);
	close_to(prob__f_cdf(4.977, 2, 60), 0.99, 2e-5);
	/* t² is F(1, df) */
	close_to(prob__f_cdf(2.5 * 2.5, 1, 17), 2 * prob__t_cdf(2.5, 17) - 1, 1e-13);
	/* closed forms: I_0.4(2, 3) = 0.5248 (binomial), P(1, x) = 1 - exp(-x) */
	close_to(prob__beta_inc(2, 3, 0.4), 0.5248, 1e-14);
	close_to(prob__gamma_inc(1, 0.5), 1 - exp(-0.5), 1e-14);
	close_to(prob__gamma_inc(1, 9), 1 - exp(-9), 1e-14);
	close_to(prob__beta_inc(0.5, 0.5, 0.5), 0.5, 1e-14);
}

/* NIST StRD NumAcc1, NumAcc2, NumAcc3: mean, deviation and lag-1 autocorrelation
 * are exact by construction. */
static void certified_univariate(void **state)
{
	double one[3] = { 10000001, 10000003, 10000002 }, v[1001], scratch[1001];
	struct frt_dist d;

	(void)state;
	stats__dist(one, 3, scratch, &d);
	digits(d.mean, 10000002, 15);
	digits(d.sd, 1, 14);
	digits(stats__lag1(one, 3, d.mean), -0.5, 14);
	for (int base = 0; base < 2; base++) {
		double at = base ? 1000000 : 1;

		v[0] = at + 0.2;
		for (int i = 1; i < 1001; i += 2) {
			v[i] = at + 0.1;
			v[i + 1] = at + 0.3;
		}
		stats__dist(v, 1001, scratch, &d);
		digits(d.mean, at + 0.2, 14);
		digits(d.sd, 0.1, base ? 8 : 13);
		digits(stats__lag1(v, 1001, d.mean), -0.999, base ? 8 : 13);
	}
}

/* NIST StRD Norris: linear, 36 observations. */
static const double norris[36][2] = {
	{ 0.1, 0.2 },	  { 338.8, 337.4 }, { 118.1, 118.2 }, { 888.0, 884.6 }, { 9.2, 10.1 },
	{ 228.1, 226.5 }, { 668.5, 666.3 }, { 998.5, 996.3 }, { 449.1, 448.6 }, { 778.9, 777.0 },
	{ 559.2, 558.2 }, { 0.3, 0.4 },	    { 0.1, 0.6 },     { 778.1, 775.5 }, { 668.8, 666.9 },
	{ 339.3, 338.0 }, { 448.9, 447.5 }, { 10.8, 11.6 },   { 557.7, 556.0 }, { 228.3, 228.1 },
	{ 998.0, 995.8 }, { 888.8, 887.6 }, { 119.6, 120.2 }, { 0.3, 0.3 },	{ 0.6, 0.3 },
	{ 557.6, 556.8 }, { 339.3, 339.1 }, { 888.0, 887.2 }, { 998.5, 999.0 }, { 778.9, 779.0 },
	{ 10.2, 11.1 },	  { 117.6, 118.3 }, { 228.9, 229.2 }, { 668.4, 669.1 }, { 449.2, 448.9 },
	{ 0.2, 0.5 },
};

static void certified_line(void **state)
{
	double x[72], y[36], b[FIT_MAX_TERMS], cov[FIT_MAX_TERMS][FIT_MAX_TERMS], rss, s2;

	(void)state;
	for (int i = 0; i < 36; i++) {
		y[i] = norris[i][0];
		x[2 * i] = 1;
		x[2 * i + 1] = norris[i][1];
	}
	assert_int_equal(fit__wls(x, y, NULL, 36, 2, b, cov, &rss), 0);
	s2 = rss / 34;
	digits(b[0], -0.262323073774029, 12);
	digits(b[1], 1.00211681802045, 13);
	digits(sqrt(s2), 0.884796396144373, 12);
	digits(sqrt(s2 * cov[0][0]), 0.232818234301152, 12);
	digits(sqrt(s2 * cov[1][1]), 0.429796848199937e-3, 12);
}

/* NIST StRD Pontius: quadratic, x up to 3 000 000. */
static void certified_quadratic(void **state)
{
	static const double load[40] = {
		.11019,	 .21956,  .32949,  .43899,  .54803,  .65694,  .76562,  .87487,
		.98292,	 1.09146, 1.20001, 1.30822, 1.41599, 1.52399, 1.63194, 1.73947,
		1.84646, 1.95392, 2.06128, 2.16844, .11052,  .22018,  .32939,  .43886,
		.54798,	 .65739,  .76596,  .87474,  .98300,  1.09150, 1.20004, 1.30818,
		1.41613, 1.52408, 1.63159, 1.73965, 1.84696, 1.95445, 2.06177, 2.16829,
	};
	double x[120], b[FIT_MAX_TERMS], cov[FIT_MAX_TERMS][FIT_MAX_TERMS], rss, s2;

	(void)state;
	for (int i = 0; i < 40; i++) {
		double at = 150000.0 * (i % 20 + 1);

		x[3 * i] = 1;
		x[3 * i + 1] = at;
		x[3 * i + 2] = at * at;
	}
	assert_int_equal(fit__wls(x, load, NULL, 40, 3, b, cov, &rss), 0);
	s2 = rss / 37;
	digits(b[0], 0.673565789473684e-3, 9);
	digits(b[1], 0.732059160401003e-6, 10);
	digits(b[2], -0.316081871345029e-14, 9);
	digits(sqrt(s2), 0.205177424076185e-3, 9);
	digits(sqrt(s2 * cov[1][1]), 0.157817399981659e-9, 9);
}

/* Points of the same weight twice are one point of twice the weight. */
static void weights(void **state)
{
	double twice_x[8] = { 1, 0, 1, 10, 1, 10, 1, 20 }, twice_y[4] = { 1, 5, 5, 6 };
	double once_x[6] = { 1, 0, 1, 10, 1, 20 }, once_y[3] = { 1, 5, 6 }, w[3] = { 1, 2, 1 };
	double a[FIT_MAX_TERMS], b[FIT_MAX_TERMS], cov[FIT_MAX_TERMS][FIT_MAX_TERMS], ra, rb;
	double same[4] = { 1, 3, 1, 3 };

	(void)state;
	assert_int_equal(fit__wls(twice_x, twice_y, NULL, 4, 2, a, cov, &ra), 0);
	assert_int_equal(fit__wls(once_x, once_y, w, 3, 2, b, cov, &rb), 0);
	close_to(a[0], b[0], 1e-12);
	close_to(a[1], b[1], 1e-12);
	close_to(ra, rb, 1e-12);
	close_to(b[1], 0.25, 1e-12); /* by hand: sum (x - 10)(y - mean) / 200 = 50 / 200 */
	assert_int_equal(fit__wls(same, once_y, NULL, 2, 2, a, cov, &ra), -EDOM);
	assert_int_equal(fit__wls(once_x, once_y, NULL, 1, 2, a, cov, &ra), -EINVAL);
}

/* 1 1 2 2 1 1 2 2: mean 1.5, sum of squares 2, products 4 - 3 quarters: r = 1/8;
 * n counts as 8 (7/8) / (9/8) = 56/9; variance of the mean (2/7) / (56/9); df 47/9;
 * t(0.975, 47/9) = 2.53803 (numerical integration of the density). */
static void autocorrelation_widens(void **state)
{
	double v[8] = { 1, 1, 2, 2, 1, 1, 2, 2 }, scratch[8];
	struct estimate e = stats__estimate(v, 8);
	struct frt_dist d;

	(void)state;
	close_to(e.var, 2.0 / 7 / (56.0 / 9), 1e-15);
	close_to(e.df, 47.0 / 9, 1e-12);
	stats__dist(v, 8, scratch, &d);
	close_to(d.lag1, 0.125, 1e-15);
	close_to(d.hi - d.mean, 2.5380267 * sqrt(e.var), 1e-4);
	/* 3 1 5 2 4: r = -0.7, nothing is widened (nor narrowed) */
	e = stats__estimate((double[]){ 3, 1, 5, 2, 4 }, 5);
	close_to(e.var, 0.5, 1e-15);
	close_to(e.df, 4, 1e-15);
}

/* 3 1 5 2 4 and 6 2 10 4 8: variances of the means 0.5 and 2, difference 3, df
 * 2.5² / (0.5²/4 + 2²/4) = 5.88235, t = 2.45882 (numerical integration). */
static void welch(void **state)
{
	double a[5] = { 3, 1, 5, 2, 4 }, b[5] = { 6, 2, 10, 4, 8 };
	struct interval d = stats__difference(stats__estimate(a, 5), stats__estimate(b, 5), 0.95);

	(void)state;
	close_to(d.at, 3, 1e-15);
	close_to(d.hi, 3 + 2.4588237 * sqrt(2.5), 1e-4);
	close_to(d.lo, 3 - 2.4588237 * sqrt(2.5), 1e-4);
	d = stats__difference(stats__estimate(a, 4), stats__estimate(b, 5), 0.95);
	assert_true(isnan(d.lo) && isnan(d.hi)); /* n < 5 */
	close_to(d.at, 6 - 2.75, 1e-15);
}

/* 20 ± 1 over 10 ± 0.5, 10 df each: t(0.975, 20) = 2.086, g = 0.010878,
 * half = 0.2086 sqrt(2 - g) = 0.29421: (2 ± 0.29421) / (1 - g). */
static void fieller(void **state)
{
	struct estimate a = { .mean = 10, .var = 0.25, .df = 10, .n = 11 };
	struct estimate b = { .mean = 20, .var = 1, .df = 10, .n = 11 };
	struct interval r = stats__ratio(a, b, 0.95);

	(void)state;
	close_to(r.at, 2, 1e-15);
	close_to(r.lo, (2 - 0.29421) / (1 - 0.010878), 2e-4);
	close_to(r.hi, (2 + 0.29421) / (1 - 0.010878), 2e-4);
	a.var = 100; /* the denominator may be 0: no interval */
	r = stats__ratio(a, b, 0.95);
	assert_true(isnan(r.lo) && isnan(r.hi));
}

static void quantiles(void **state)
{
	double v[10] = { 10, 9, 8, 7, 6, 5, 4, 3, 2, 1 }, scratch[10];
	struct frt_dist d;

	(void)state;
	stats__dist(v, 10, scratch, &d);
	close_to(d.median, 5.5, 1e-15);
	close_to(d.p95, 9.55, 1e-12); /* 1 + 0.95 * 9 */
	close_to(d.min, 1, 0);
	close_to(d.max, 10, 0);
	close_to(d.sum, 55, 0);
	assert_int_equal(v[0], 10); /* the values stay as they were */
	stats__dist(v, 1, scratch, &d);
	close_to(d.median, 10, 0);
	assert_true(isnan(d.sd) && isnan(d.lo));
	stats__dist(NULL, 0, NULL, &d);
	assert_true(isnan(d.mean) && d.n == 0);
	stats__dist((double[]){ 4, 4, 4, 4, 4 }, 5, scratch, &d);
	close_to(d.lo, 4, 0); /* no spread: a point */
	close_to(d.hi, 4, 0);
}

/* 10 by 1:1:1 is 4 3 3; 100 by 1:2:4 is 14.28 28.57 57.14: 14 29 57. */
static void largest_remainder(void **state)
{
	uint64_t share[3], rest[6], w[1000], s[1000], r[2000], sum = 0;

	(void)state;
	apportion(10, (uint64_t[]){ 1, 1, 1 }, 3, share, rest);
	assert_true(share[0] == 4 && share[1] == 3 && share[2] == 3);
	apportion(100, (uint64_t[]){ 1, 2, 4 }, 3, share, rest);
	assert_true(share[0] == 14 && share[1] == 29 && share[2] == 57);
	apportion(7, (uint64_t[]){ 0, 0, 0 }, 3, share, rest);
	assert_true(share[0] == 7 && share[1] == 0 && share[2] == 0);
	apportion(0, (uint64_t[]){ 3, 1, 2 }, 3, share, rest);
	assert_true(share[0] + share[1] + share[2] == 0);
	for (int i = 0; i < 1000; i++)
		w[i] = (uint64_t)(i * 7919 % 101);
	apportion(12345678901234567ull, w, 1000, s, r);
	for (int i = 0; i < 1000; i++) {
		sum += s[i];
		assert_true(w[i] || !s[i]);
	}
	assert_true(sum == 12345678901234567ull);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_table),
		cmocka_unit_test(chi2_and_f_tables),
		cmocka_unit_test(certified_univariate),
		cmocka_unit_test(certified_line),
		cmocka_unit_test(certified_quadratic),
		cmocka_unit_test(weights),
		cmocka_unit_test(autocorrelation_widens),
		cmocka_unit_test(welch),
		cmocka_unit_test(fieller),
		cmocka_unit_test(quantiles),
		cmocka_unit_test(largest_remainder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
