/* SPDX-License-Identifier: BSD-2-Clause */
/* Rates: the fit of the 2014 tables against values worked out by hand, shapes,
 * predictions, efficiency over streams, the accounting of traced rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/rate.h"

#ifndef FRT_DATA
#define FRT_DATA "data"
#endif

#define assert_near(is, should, tolerance)                                           \
	do {                                                                         \
		double is_ = (is), should_ = (should);                               \
		if (!(fabs(is_ - should_) <= (tolerance)))                           \
			fail_msg("%s is %.12g, should be %.12g", #is, is_, should_); \
	} while (0)

static struct rate *table_rate(const char *path, const uint64_t *predict, size_t npredict)
{
	static char text[65536];
	struct csv_table t;
	struct rate *r;
	char err[256];
	FILE *f = fopen(path, "r");
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, sizeof(text), f);
	fclose(f);
	assert_int_equal(csv__parse(text, n, path, &t, err, sizeof(err)), 0);
	assert_int_equal(analyze__rate_table(&t, predict, npredict, &r), 0);
	csv__free(&t); /* the curves keep nothing of the table */
	return r;
}

/*
 * By hand, in exact fractions, from the 16 rates of each column: x = 125, 375,
 * … 3875 with equal weights, so mean x = 2000 and
 * Sxx = 250² · 16 (16² − 1) / 12 = 21,250,000. With y = 1 / rate in seconds:
 *
 *            mean y        Sxy          b = Sxy / Sxx     a = mean y − 2000 b
 * 3.5.0    0.2219816041  1101.997361   51.8586993510 µs   118.2642053687 ms
 * 3.12.9   0.2808637723  1362.145904   64.1009837326 µs   152.6618048115 ms
 * 3.13.0   0.4533852904   881.275090   41.4717689517 µs   370.4417524575 ms
 *
 * Standard errors from s² = RSS / 14, se b = s / √Sxx, se a = s √(1/16 +
 * 2000²/Sxx); t(0.975, 14) = 2.1447867 from published tables. F of the
 * quadratic term (made orthogonal: (x − 2000)² less its mean): 37.33, 1.43 and
 * 1.01 with 1 and 13 degrees of freedom; 1 % of F(1, 13) lies at 9.07.
 */
static void test_fit_2014(void **state)
{
	static const struct {
		double a_ms, b_us, se_a_ms, se_b_us, rate0, rate10000, worst;
		const char *shape;
	} want[3] = {
		{ 118.2642053687, 51.8586993510, 3.2217448500, 1.3957381215, 8.4556438432,
		  1.5702255123, 0.0575533271, "superlinear" },
		{ 152.6618048115, 64.1009837326, 3.9744318812, 1.7218204253, 6.5504269469,
		  1.2599669018, 0.1193823286, "linear" },
		{ 370.4417524575, 41.4717689517, 4.5676121887, 1.9788005422, 2.6994797249,
		  1.2736266630, 0.0440096035, "linear" },
	};
	const uint64_t predict[] = { 10000, 20001 };
	struct rate *r = table_rate(FRT_DATA "/rates-2014.csv", predict, 2);

	(void)state;
	assert_int_equal(r->ncurves, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct rate_curve *c = &r->curves[i];
		const struct rate_fit *f = &c->fit;

		assert_int_equal(f->rows, 16);
		assert_near(f->a.mean / 1e6, want[i].a_ms, 1e-9);
		assert_near(f->b.mean / 1e3, want[i].b_us, 1e-9);
		assert_near(sqrt(f->a.var) / 1e6, want[i].se_a_ms, 1e-8);
		assert_near(sqrt(f->b.var) / 1e3, want[i].se_b_us, 1e-8);
		assert_near((f->b95.hi - f->b95.lo) / 2e3, 2.1447867 * want[i].se_b_us, 1e-5);
		assert_near((f->a95.hi - f->a95.lo) / 2e6, 2.1447867 * want[i].se_a_ms, 1e-5);
		assert_string_equal(f->shape, want[i].shape);
		assert_near(f->worst, want[i].worst, 1e-9);
		/* the rate at 0 is 1 / a, its interval that of a turned over */
		assert_near(f->rate0.at, want[i].rate0, 1e-9);
		assert_near(f->rate0.hi, 1e9 / f->a95.lo, 1e-9);
		assert_near(f->rate0.lo, 1e9 / f->a95.hi, 1e-9);
		assert_int_equal(c->npredicted, 2);
		assert_near(c->predicted[0].rate.at, want[i].rate10000, 1e-9);
		assert_false(c->predicted[0].refused);
		assert_true(c->predicted[1].refused); /* beyond 5 · 4000 */
	}
	assert_true(r->curves[0].fit.curve_p < 1e-4);
	assert_true(r->curves[1].fit.curve_p > 0.2 && r->curves[1].fit.curve_p < 0.3);
	/* On the line at the mean of x the variance is s² / 16, se b² Sxx / 16:
	 * 1.3957381215² · 21,250,000 / 16 = 2.58728e6 µs², se 1608.50 µs. */
	assert_near((rate__cost_at(&r->curves[0].fit, 2000).hi -
		     rate__cost_at(&r->curves[0].fit, 2000).lo) /
			    2e3,
		    2.1447867 * 1608.502, 0.1);
	rate__free(r);
}

/* Rows from reading to reading, each weighted with the routers it is of; exact
 * fractions again. The 32 streams' line meets 0 below nothing: no rate there. */
static void test_streams_2014(void **state)
{
	static const struct {
		size_t rows;
		uint32_t streams;
		double a_ms, b_us, last_s;
	} want[5] = {
		{ 13, 4, 36.6064658521, 51.0762602443, 556 },
		{ 12, 4, 54.0355832473, 31.3923744434, 468 },
		{ 10, 8, 18.7335402973, 26.6328583462, 289 },
		{ 8, 16, 2.6171537106, 27.4660212112, 232 },
		{ 9, 32, -1.7786424014, 34.8368171398, 276 },
	};
	struct rate *r = table_rate(FRT_DATA "/streams-2014.csv", NULL, 0);

	(void)state;
	assert_int_equal(r->ncurves, 5);
	for (size_t i = 0; i < 5; i++) {
		const struct rate_curve *c = &r->curves[i];

		assert_int_equal(c->streams, want[i].streams);
		assert_int_equal(c->nrows, want[i].rows);
		assert_near(c->fit.a.mean / 1e6, want[i].a_ms, 1e-8);
		assert_near(c->fit.b.mean / 1e3, want[i].b_us, 1e-8);
		assert_near(c->reached_ns / 1e9, want[i].last_s, 1e-9);
		assert_true(isnan(c->speedup)); /* nobody ran one stream */
	}
	assert_true(isnan(r->curves[4].fit.rate0.at));
	/* 4000 between 540 s: 3945 and 556 s: 4004; across the row without reading */
	assert_near(rate__time_to(&r->curves[0], 4000) / 1e9, 540 + 16 * 55 / 59., 1e-9);
	assert_near(rate__time_to(&r->curves[1], 4000) / 1e9, 420 + 48 * 253 / 257., 1e-9);
	assert_true(isnan(rate__time_to(&r->curves[0], 4005)));
	rate__free(r);
}

/* Three rows of 100, 100 and 200 routers at 50, 150 and 300, costing 10, 12
 * and 16 ms. W = 400, mean x = 200, mean y = 27/2, Sxx = 4.5e6, Sxy = 110000:
 * b = 11/450, a = 155/18; unweighted it would be 0.0242 and 8.63. */
static void test_weights(void **state)
{
	struct rate_row rows[3] = {
		{ .n = 100, .at = 50, .cost_ns = 10e6 },
		{ .n = 100, .at = 150, .cost_ns = 12e6 },
		{ .n = 200, .at = 300, .cost_ns = 16e6 },
	};
	struct rate_fit f;

	(void)state;
	assert_int_equal(rate__fit(rows, 3, &f), 0);
	assert_near(f.b.mean, 11e6 / 450, 1e-3);
	assert_near(f.a.mean, 155e6 / 18, 1e-3);
	/* RSS = 100/9 over one degree of freedom: se b = √(100/9 / 4.5e6) ms, and
	 * t(0.975, 1) = 12.7062047 */
	assert_near((f.b95.hi - f.b95.lo) / 2, 12.7062047 * sqrt(100 / 9. / 4.5e6) * 1e6, 1);
	assert_string_equal(f.shape, "unknown");
	assert_true(isnan(f.curve_p));
}

static const char *shape_of(double a, double b, double c, double noise)
{
	static const double wobble[16] = { 1, -1, -1, 1, 1, 1, -1, -1, 1, -1, 1, 1, -1, -1, 1, -1 };
	struct rate_row rows[16];
	struct rate_fit f;

	for (size_t i = 0; i < 16; i++) {
		double x = 125 + 250. * (double)i;

		rows[i] = (struct rate_row){ .n = 250, .at = x };
		rows[i].cost_ns = a + b * x + c * x * x + noise * wobble[i];
	}
	assert_int_equal(rate__fit(rows, 16, &f), 0);
	return f.shape;
}

static void test_shapes(void **state)
{
	struct rate_fit f;
	struct rate_row one = { .n = 10, .at = 5, .cost_ns = 1e6 };
	struct rate_row same[2] = { one, one };

	(void)state;
	assert_string_equal(shape_of(18e6, 0, 0, 2e5), "constant");
	assert_string_equal(shape_of(18e6, 7e3, 0, 2e5), "linear");
	assert_string_equal(shape_of(18e6, 7e3, 0, 0), "linear");
	assert_string_equal(shape_of(18e6, 2e3, 1, 2e5), "superlinear");
	assert_string_equal(shape_of(18e6, 9e3, -1, 2e5), "sublinear");
	/* −471 ± 1971 ns per existing: up to 9 of 18 ms over the rows is left open */
	assert_string_equal(shape_of(18e6, 0, 0, 4e6), "unknown");
	/* a bend that the noise hides is none */
	assert_string_equal(shape_of(18e6, 7e3, 0.01, 2e6), "linear");
	assert_int_equal(rate__fit(&one, 1, &f), 0);
	assert_int_equal(f.rows, 0);
	assert_int_equal(rate__fit(same, 2, &f), 0);
	assert_int_equal(f.rows, 0);
	assert_int_equal(rate__fit(NULL, 0, &f), 0);
	assert_true(isnan(f.a.mean));
}

static struct frt_raterow row_of(uint32_t streams, uint32_t mode, uint32_t from, uint32_t to,
				 double cost_ns)
{
	return (struct frt_raterow){ .from = from,
				     .to = to,
				     .streams = streams,
				     .mode = mode,
				     .n = to - from,
				     .elapsed_ns = (uint64_t)(cost_ns * (to - from)) };
}

static json_t *header(int cpus)
{
	return json_pack("{s:s,s:s,s:{s:s,s:i}}", "created", "2026-01-01T00:00:00Z", "command",
			 "frtrace rate", "environment", "kernel", "6.1.0", "cpus", cpus);
}

/* 100 routers by one stream take 10 s; by four 4 s, and it goes on to 150. */
static void test_efficiency(void **state)
{
	struct frt_raterow rows[] = { row_of(1, FRT_WORK_SCRIPT, 0, 100, 1e8),
				      row_of(4, FRT_WORK_SCRIPT, 0, 150, 4e7) };
	struct frt_ratepoint points[] = {
		{ .streams = 1, .t_ns = 5000000000, .count = 60 },
		{ .streams = 1, .t_ns = 10000000000, .count = 100, .reached = 1 },
		{ .streams = 4, .t_ns = 2000000000, .count = 50 },
		{ .streams = 4, .t_ns = 6000000000, .count = 150, .stalled = 1 },
	};
	struct frt_trail t = { .header = header(2),
			       .rate = { rows, 2, 2 },
			       .point = { points, 4, 4 } };
	struct rate *r;

	(void)state;
	assert_int_equal(analyze__rate(&t, NULL, NULL, 0, &r), 0);
	assert_int_equal(r->ncurves, 2);
	assert_string_equal(r->curves[0].label, "6.1.0 script 1 stream");
	assert_string_equal(r->curves[1].label, "6.1.0 script 4 streams");
	assert_int_equal(r->curves[0].npoints, 3); /* the clean start is one */
	assert_near(r->curves[0].reached_ns, 10e9, 0);
	assert_true(isnan(r->curves[1].reached_ns) && r->curves[1].stalled);
	assert_int_equal(r->curves[1].common_count, 100);
	/* 100 at 2 s + 4 s · 50/100 = 4 s against 10 s: 2.5 times, over 4 streams
	 * 0.625, over the two CPUs they can have 1.25 */
	assert_near(r->curves[1].speedup, 2.5, 1e-12);
	assert_near(r->curves[1].per_stream, 0.625, 1e-12);
	assert_near(r->curves[1].per_cpu, 1.25, 1e-12);
	assert_near(r->curves[0].per_cpu, 1, 1e-12);
	rate__free(r);
	json_decref(t.header);
}

/* Modes, runs and sampling are cases of their own, in the order they came. */
static void test_cases(void **state)
{
	struct frt_raterow rows[] = {
		row_of(1, FRT_WORK_SCRIPT, 0, 50, 2e7),	  row_of(1, FRT_WORK_LEAN, 0, 50, 2e6),
		row_of(1, FRT_WORK_SCRIPT, 50, 100, 3e7), row_of(1, FRT_WORK_LEAN, 50, 100, 2e6),
		row_of(1, FRT_WORK_SCRIPT, 0, 50, 2e7),
	};
	struct frt_trail t = { .header = header(2), .rate = { rows, 5, 5 }, .truncated = true };
	struct rate *r;

	(void)state;
	rows[4].run = 2;
	rows[4].add_ns = 50 * 3000000ull;
	rows[4].gap_ns = 50 * 1000ull;
	assert_int_equal(analyze__rate(&t, NULL, NULL, 0, &r), 0);
	assert_int_equal(r->ncurves, 3);
	assert_string_equal(r->curves[0].label, "6.1.0 script run 1");
	assert_string_equal(r->curves[1].label, "6.1.0 lean run 1");
	assert_string_equal(r->curves[2].label, "6.1.0 script run 2");
	assert_int_equal(r->curves[0].nrows, 2);
	assert_near(r->curves[0].rows[1].rate, 1e9 / 3e7, 1e-9);
	assert_true(isnan(r->curves[0].rows[0].step_ns[0])); /* no steps recorded */
	assert_near(r->curves[2].rows[0].step_ns[0], 3e6, 1e-9);
	assert_near(r->curves[2].rows[0].gap_ns, 1e3, 1e-9);
	assert_false(r->complete);
	assert_false(r->has_streams);
	rate__free(r);
	t.rate.n = 0;
	assert_int_equal(analyze__rate(&t, NULL, NULL, 0, &r), -ENODATA);
	assert_null(r);
	json_decref(t.header);
}

/* Walls of 2, 5, 1, 4, 3 ms: mean 3, variance 2.5 ms², t(0.975, 4) = 2.7764451,
 * half width 2.7764451 √(2.5/5) = 1.963243; Σ d d' = −2−4−2+0: neighbours are
 * not alike. In the order 1, 2, 3, 4, 5 they are: Σ d d' = 2+0+0+2, r1 = 4/10,
 * and n counts as 5 · 0.6/1.4 = 15/7. */
static void test_row_interval(void **state)
{
	struct frt_raterow row = row_of(1, FRT_WORK_SCRIPT, 0, 5, 3e6);
	struct frt_trail t = { .header = header(2), .rate = { &row, 1, 1 } };
	struct rate *r;

	(void)state;
	row.add_ns = 15000000;
	row.wall_sq_us2 = (1 + 4 + 9 + 16 + 25) * 1000000ull;
	row.wall_lag_us2 = (10 + 5 + 4 + 12) * 1000000ull;
	row.wall_ends_us = 5000;
	assert_int_equal(analyze__rate(&t, NULL, NULL, 0, &r), 0);
	assert_near(r->curves[0].rows[0].cost_ns, 3e6, 1e-6);
	assert_near(r->curves[0].rows[0].hi - 3e6, 1963243, 10);
	assert_near(3e6 - r->curves[0].rows[0].lo, 1963243, 10);
	rate__free(r);
	row.wall_lag_us2 = (2 + 6 + 12 + 20) * 1000000ull;
	row.wall_ends_us = 6000;
	assert_int_equal(analyze__rate(&t, NULL, NULL, 0, &r), 0);
	assert_true(r->curves[0].rows[0].hi - 3e6 > 2 * 1963243);
	rate__free(r);
	row.n = row.to = 4; /* too few for an interval */
	assert_int_equal(analyze__rate(&t, NULL, NULL, 0, &r), 0);
	assert_true(isnan(r->curves[0].rows[0].lo));
	rate__free(r);
	json_decref(t.header);
}

static struct frt_steprow traced_router(uint32_t n, double user, double kernel)
{
	return (struct frt_steprow){
		.step = "router", .n = n, .traced = true, .kind_ns = { user, kernel, 0, 0 }
	};
}

/* One stream: a level per row, each row its own accounting. Four streams: one
 * level for all rows, none of which may claim it; the case as a whole does. */
static void test_accounting(void **state)
{
	struct frt_raterow rows[] = {
		row_of(1, FRT_WORK_SCRIPT, 0, 10, 1e7),
		row_of(1, FRT_WORK_SCRIPT, 10, 40, 1e7),
		row_of(4, FRT_WORK_SCRIPT, 0, 10, 1e7),
		row_of(4, FRT_WORK_SCRIPT, 10, 40, 1e7),
	};
	struct frt_ratepoint points[] = {
		{ .streams = 1, .t_ns = 400000000, .count = 40, .reached = 1 },
		{ .streams = 4, .t_ns = 400000000, .count = 40, .reached = 1 },
	};
	struct frt_steprow steps[3] = { traced_router(10, 1e6, 2e6), traced_router(30, 1e6, 6e6),
					traced_router(40, 2e6, 9e6) };
	struct frt_levelrow levels[3] = {
		{ .id = 1, .steps = &steps[0], .nsteps = 1 },
		{ .id = 2, .steps = &steps[1], .nsteps = 1 },
		{ .id = 3, .steps = &steps[2], .nsteps = 1 },
	};
	struct frt_profile p = { .levels = levels, .nlevels = 3 };
	struct frt_trail t = { .header = header(2),
			       .rate = { rows, 4, 4 },
			       .point = { points, 2, 2 } };
	struct rate *r;

	(void)state;
	rows[0].level = 1;
	rows[1].level = 2;
	rows[2].level = rows[3].level = 3;
	assert_int_equal(analyze__rate(&t, &p, NULL, 0, &r), 0);
	assert_true(r->curves[0].rows[0].accounted && r->curves[0].rows[1].accounted);
	assert_near(r->curves[0].rows[1].kind_ns[FRT_KIND_KERNEL], 6e6, 0);
	assert_false(r->curves[1].rows[0].accounted || r->curves[1].rows[1].accounted);
	assert_true(isnan(r->curves[1].rows[0].kind_ns[FRT_KIND_KERNEL]));
	/* (10 · 2 + 30 · 6) / 40 = 5 ms against 9 */
	assert_near(r->curves[0].kind_ns[FRT_KIND_KERNEL], 5e6, 1e-6);
	assert_near(r->curves[1].added_ns[FRT_KIND_KERNEL], 4e6, 1e-6);
	assert_near(r->curves[1].added_ns[FRT_KIND_USER], 1e6, 1e-6);
	rate__free(r);
	json_decref(t.header);
}

static void test_labels(void **state)
{
	static const char text[] =
		"from,to,6.1 lean 16 streams,batch,a cleaner exact4 thing,script\n"
		"0,250,1,1,1,1\n";
	struct csv_table t;
	struct rate *r;
	char err[256];

	(void)state;
	assert_int_equal(csv__parse(text, strlen(text), "t", &t, err, sizeof(err)), 0);
	assert_int_equal(analyze__rate_table(&t, NULL, 0, &r), 0);
	assert_int_equal(r->curves[0].mode, FRT_WORK_LEAN);
	assert_int_equal(r->curves[0].streams, 16);
	assert_int_equal(r->curves[1].mode, FRT_WORK_BATCH);
	assert_int_equal(r->curves[1].streams, 0);
	assert_int_equal(r->curves[2].mode, RATE_MODE_UNKNOWN);
	assert_int_equal(r->curves[3].mode, FRT_WORK_SCRIPT);
	assert_int_equal(r->curves[0].fit.rows, 0); /* one row has no line */
	rate__free(r);
	csv__free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fit_2014),     cmocka_unit_test(test_streams_2014),
		cmocka_unit_test(test_weights),	     cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_efficiency),   cmocka_unit_test(test_cases),
		cmocka_unit_test(test_row_interval), cmocka_unit_test(test_accounting),
		cmocka_unit_test(test_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
