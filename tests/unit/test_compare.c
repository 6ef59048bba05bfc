/* SPDX-License-Identifier: BSD-2-Clause */
/* Side by side: which column is compared with which, and what the intervals
 * allow to be said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rate_tables.h"

#define assert_near(is, should, tolerance)                                           \
	do {                                                                         \
		double is_ = (is), should_ = (should);                               \
		if (!(fabs(is_ - should_) <= (tolerance)))                           \
			fail_msg("%s is %.12g, should be %.12g", #is, is_, should_); \
	} while (0)

static void test_2014(void **state)
{
	struct rate *rates = rate_of_file(RATES_2014);
	struct rate *streams = rate_of_file(STREAMS_2014);
	struct compare_input in[] = { { .path = "r", .rate = rates },
				      { .path = "s", .rate = streams } };
	struct compare *c = compare_inputs(in, 2);
	const struct compare_row *row;

	(void)state;
	assert_int_equal(c->ncolumns, 8);
	assert_string_equal(c->column[3].letter, "D");
	/* rates are compared with rates, counts over time with counts over time */
	assert_int_equal(c->column[2].base, 0);
	assert_int_equal(c->column[3].base, 3);
	assert_int_equal(c->column[4].base, 3);
	assert_null(c->column[4].differs);
	/* 8 streams are not 4, and that is said */
	assert_int_equal(c->column[5].base, 3);
	assert_string_equal(c->column[5].differs, "8 streams, not 4");
	assert_true(has_line(c->loud, c->nloud, "8 streams, not 4"));
	assert_true(has_line(c->notes, c->nnotes, "n = 1"));
	row = find_row(c, "rate/0-250");
	assert_near(row->cell[0].value, 7.58, 1e-12);
	assert_near(row->cell[1].ratio.at, 5.56 / 7.58, 1e-12);
	assert_near(row->cell[2].ratio.at, 2.55 / 7.58, 1e-12);
	/* a rate without a spread has no interval, so nothing is said of it */
	assert_true(isnan(row->cell[1].ratio.lo));
	assert_int_equal(row->cell[1].verdict, COMPARE_UNKNOWN);
	assert_true(isnan(row->cell[3].value));
	assert_near(find_row(c, "rate/3750-4000")->cell[2].ratio.at, 1.87 / 3.01, 1e-12);
	row = find_row(c, "count/300s");
	assert_near(row->cell[3].value, 2808, 0);
	assert_near(row->cell[4].ratio.at, 2999 / 2808., 1e-12);
	assert_true(isnan(row->cell[5].value));
	/* 4004 is what all five reached: 468 s against 556 s */
	row = find_row(c, "reached/4004");
	assert_near(row->cell[3].value, 556e9, 1);
	assert_near(row->cell[4].ratio.at, 468 / 556., 1e-9);
	/* worked out in test_rate.c */
	row = find_row(c, "fit/a");
	assert_near(row->cell[0].value, 118264205.4, 0.1);
	assert_near(row->cell[1].ratio.at, 152.6618048115 / 118.2642053687, 1e-9);
	assert_int_equal(row->cell[1].verdict, COMPARE_SLOWER);
	row = find_row(c, "fit/b");
	assert_near(row->cell[2].ratio.at, 41.4717689517 / 51.8586993510, 1e-9);
	/* another workload gets a ratio, but no verdict */
	assert_false(isnan(row->cell[5].ratio.lo));
	assert_int_equal(row->cell[5].verdict, COMPARE_UNKNOWN);
	compare__free(c);
	rate__free(rates);
	rate__free(streams);
}

/* A table of every 250 against one of every 500: rows of 500, the first one's
 * from two costs: 2 / (1/4 + 1/2) = 8/3 a second. */
static void test_rows_of_other_sizes(void **state)
{
	static const char fine[] = "from,to,a\n0,250,4\n250,500,2\n500,750,2\n750,1000,2\n";
	static const char coarse[] = "from,to,b\n0,500,1\n500,1000,1\n1000,1500,1\n";
	static const char odd[] = "from,to,c\n0,300,1\n300,600,1\n";
	struct rate *a = rate_of_text(fine, strlen(fine)),
		    *b = rate_of_text(coarse, strlen(coarse));
	struct rate *o = rate_of_text(odd, strlen(odd));
	struct compare_input in[] = { { .path = "a", .rate = a }, { .path = "b", .rate = b } };
	struct compare *c = compare_inputs(in, 2);
	const struct compare_row *row = find_row(c, "rate/0-500");

	(void)state;
	assert_near(row->cell[0].value, 8 / 3., 1e-12);
	assert_near(row->cell[1].ratio.at, 3 / 8., 1e-12);
	assert_int_equal(row->cell[0].n, 500);
	row = find_row(c, "rate/1000-1500"); /* only one goes so far */
	assert_true(isnan(row->cell[0].value) && row->cell[1].value == 1);
	compare__free(c);
	in[1].rate = o;
	c = compare_inputs(in, 2);
	assert_true(has_line(c->loud, c->nloud, "no row of rates is common"));
	compare__free(c);
	rate__free(a);
	rate__free(b);
	rate__free(o);
}

static void test_nothing_to_compare(void **state)
{
	char err[512];
	static const char one[] = "from,to,a\n0,250,4\n";
	static const char over_time[] = "Time,a\n0,0\n30,100\n";
	struct rate *a = rate_of_text(one, strlen(one));
	struct rate *b = rate_of_text(over_time, strlen(over_time));
	struct compare_input in[] = { { .path = "a", .rate = a }, { .path = "b", .rate = b } };
	struct compare *c;

	(void)state;
	assert_int_equal(analyze__compare(in, 1, &c, err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "nothing to compare"));
	assert_int_equal(analyze__compare(in, 2, &c, err, sizeof(err)), -EINVAL);
	assert_null(c);
	rate__free(a);
	rate__free(b);
}

/*
 * Costs of 10 and 11 ms, s = 1 ms: variance 100/99 ms², of each mean 1/99 ms².
 * As rates: 100/s and 1000/11/s with variances (rate / cost)² / 99: relative
 * errors are 0.1/√99 and (1/11)/√99. The ratio 10/11 has the relative error
 * √(0.1² + 0.0909²)/√99 = 0.013582, so the interval is about 0.9091 ± 1.972 ·
 * 0.012347 = ± 0.0244 and excludes 1: slower.
 */
static void test_live_rates(void **state)
{
	struct frt_raterow rows[] = { live_row(FRT_WORK_SCRIPT, 1, 10000, 1000),
				      live_row(FRT_WORK_SCRIPT, 1, 11000, 1000),
				      live_row(FRT_WORK_SCRIPT, 1, 10100, 1000) };
	struct rate *r[3] = { rate_of_rows(&rows[0], 1), rate_of_rows(&rows[1], 1),
			      rate_of_rows(&rows[2], 1) };
	struct compare_input in[] = { { .path = "a", .rate = r[0] },
				      { .path = "b", .rate = r[1] },
				      { .path = "c", .rate = r[2] } };
	struct compare *c = compare_inputs(in, 3);
	const struct compare_row *row = find_row(c, "rate/0-100");

	(void)state;
	assert_near(row->cell[1].ratio.at, 10 / 11., 1e-9);
	assert_near((row->cell[1].ratio.hi - row->cell[1].ratio.lo) / 2, 0.0244, 0.0003);
	assert_int_equal(row->cell[1].verdict, COMPARE_SLOWER);
	/* 1 % apart with ± 2.8 %: within 5 %, so the same */
	assert_int_equal(row->cell[2].verdict, COMPARE_SAME);
	compare__free(c);
	for (size_t i = 0; i < 3; i++)
		rate__free(r[i]);
}

/* Five runs and more: the interval is over runs and holds what differs between
 * them, which the spread within a run does not. */
static void test_runs(void **state)
{
	struct frt_raterow a[5], b[5];
	struct rate *ra, *rb;
	const struct compare_row *row;
	struct compare *c;

	(void)state;
	for (uint32_t i = 0; i < 5; i++) {
		a[i] = live_row(FRT_WORK_SCRIPT, i + 1, 10000, 10);
		b[i] = live_row(FRT_WORK_SCRIPT, i + 1, 9000 + 500 * i, 10); /* 9 … 11 ms */
	}
	ra = rate_of_rows(a, 5);
	rb = rate_of_rows(b, 5);
	c = compare_inputs((struct compare_input[]){ { .path = "a", .rate = ra },
						     { .path = "b", .rate = rb } },
			   2);
	assert_int_equal(c->ncolumns, 2);
	assert_int_equal(c->column[1].runs, 5);
	assert_true(c->column[1].over_runs);
	row = find_row(c, "rate/0-100");
	assert_int_equal(row->cell[1].n, 500);
	assert_int_equal(row->cell[1].verdict, COMPARE_UNKNOWN);
	assert_true(row->cell[1].ratio.hi - row->cell[1].ratio.lo > 0.15);
	compare__free(c);
	rate__free(rb);
	/* three runs: their mean, with the spread within them, and a line saying so */
	rb = rate_of_rows(b, 3);
	c = compare_inputs((struct compare_input[]){ { .path = "a", .rate = ra },
						     { .path = "b", .rate = rb } },
			   2);
	assert_false(c->column[1].over_runs);
	assert_true(has_line(c->notes, c->nnotes, "B is 3 runs"));
	/* pooled as costs: 9, 9.5, 10 ms */
	assert_near(find_row(c, "rate/0-100")->cell[1].value, 1000 / 9.5, 1e-6);
	assert_int_equal(find_row(c, "rate/0-100")->cell[1].verdict, COMPARE_FASTER);
	compare__free(c);
	rate__free(ra);
	rate__free(rb);
}

/* A record with several modes compares mode by mode with another such record,
 * and the modes with each other only loudly. */
static void test_modes(void **state)
{
	struct frt_raterow a[] = { live_row(FRT_WORK_SCRIPT, 1, 10000, 10),
				   live_row(FRT_WORK_LEAN, 1, 1000, 10) };
	struct frt_raterow b[] = { live_row(FRT_WORK_LEAN, 1, 2000, 10) };
	struct rate *ra = rate_of_rows(a, 2), *rb = rate_of_rows(b, 1);
	json_t *with = json_pack("{s:s}", "sudo", "doas"), *without = json_object();
	struct compare_input in[] = { { .path = "a", .rate = ra, .options = without },
				      { .path = "b", .rate = rb, .options = without } };
	struct compare *c = compare_inputs(in, 2);

	(void)state;
	assert_string_equal(c->column[1].differs, "mode lean, not script");
	assert_int_equal(c->column[2].base, 1);
	assert_null(c->column[2].differs);
	assert_int_equal(find_row(c, "rate/0-100")->cell[1].verdict, COMPARE_UNKNOWN);
	assert_int_equal(find_row(c, "rate/0-100")->cell[2].verdict, COMPARE_SLOWER);
	assert_int_equal(c->nloud, 1);
	compare__free(c);
	in[1].options = with;
	c = compare_inputs(in, 2);
	assert_string_equal(c->column[2].differs, "--sudo 'doas', not ''");
	assert_int_equal(find_row(c, "rate/0-100")->cell[2].verdict, COMPARE_UNKNOWN);
	compare__free(c);
	json_decref(with);
	json_decref(without);
	rate__free(ra);
	rate__free(rb);
}

#define N 20

/* Walls of 20 routers, mean ± 1 in turn by pairs so that neighbours are no more
 * alike than by chance: + - - + + - - + … */
static double *walls(double mean)
{
	double *v = calloc(N, sizeof(*v));

	for (int i = 0; i < N; i++)
		v[i] = mean + ((i % 4 == 0 || i % 4 == 3) ? 1e5 : -1e5);
	return v;
}

/* One level with one step "exec" and the router. */
static struct frt_levelrow level_of(uint32_t asked, uint32_t run, double exec, double router)
{
	struct frt_steprow *s = calloc(2, sizeof(*s));

	s[0] = (struct frt_steprow){
		.step = "exec", .creation = true, .n = N, .traced = true, .values = walls(exec)
	};
	s[1] = (struct frt_steprow){
		.step = "router", .n = N, .traced = true, .values = walls(router)
	};
	return (struct frt_levelrow){
		.asked = asked, .run = run, .streams = 1, .routers = N, .steps = s, .nsteps = 2
	};
}

static void free_levels(struct frt_levelrow *l, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < l[i].nsteps; k++)
			free(l[i].steps[k].values);
		free(l[i].steps);
	}
}

static struct frt_fn probed(const char *name, uint64_t n, double self)
{
	return (struct frt_fn){ .function = name, .n = n, .self_ns = self, .total_ns = self };
}

/*
 * A: exec 5 ms at 0 and 10 at 4000; B: 5 and 16, with a function copy_tree that
 * takes 5 ms of the 6 more, put_mnt_ns 0.6 ms.
 */
static void test_profiles(void **state)
{
	struct frt_levelrow la[] = { level_of(0, 1, 5e6, 20e6), level_of(4000, 1, 10e6, 25e6) };
	struct frt_levelrow lb[] = { level_of(0, 1, 5e6, 20e6), level_of(4000, 1, 16e6, 31e6),
				     level_of(8000, 1, 30e6, 50e6) };
	struct frt_fn below_a[] = { probed("copy_tree", 20, 20 * 2e6) };
	struct frt_fn below_b[] = { probed("copy_tree", 20, 20 * 7e6) };
	struct frt_fn fa[] = { probed("copy_mnt_ns", 20, 20 * 1e5),
			       probed("put_mnt_ns", 20, 20 * 1e6) };
	struct frt_fn fb[] = { probed("copy_mnt_ns", 20, 20 * 1e5),
			       probed("put_mnt_ns", 20, 20 * 1.6e6) };
	struct frt_action aa = { .action = "unshare(NEWNS)",
				 .n = 20,
				 .functions = fa,
				 .nfunctions = 2,
				 .kind_ns = { 1e5, 3e6, 2e6, 0 } };
	struct frt_action ab = { .action = "unshare(NEWNS)",
				 .n = 20,
				 .functions = fb,
				 .nfunctions = 2,
				 .kind_ns = { 1e5, 8.6e6, 2e6, 0 } };
	struct frt_growthrow ga = { .step = "exec",
				    .action = "unshare(NEWNS)",
				    .where = "copy_tree",
				    .kind = FRT_KIND_KERNEL,
				    .n = N,
				    .delta_ns = 1e6,
				    .lo = 0.9e6,
				    .hi = 1.1e6 };
	struct frt_growthrow gb[] = { ga,
				      { .step = "exec", .delta_ns = 1 /* rest */ },
				      { .step = "exec",
					.action = "exit",
					.kind = FRT_KIND_BLOCKED,
					.where = "rcu:expedited",
					.n = N,
					.delta_ns = 1e6,
					.lo = 0,
					.hi = 2e6 } };
	struct frt_profile pa = { .mode = "script",
				  .backend = "kprobe",
				  .attached = 40,
				  .complete = true,
				  .levels = la,
				  .nlevels = 2,
				  .growth = &ga,
				  .ngrowth = 1 };
	struct frt_profile pb = { .mode = "script",
				  .backend = "fentry",
				  .attached = 40,
				  .complete = true,
				  .levels = lb,
				  .nlevels = 2,
				  .growth = gb,
				  .ngrowth = 3 };
	struct compare_input in[] = { { .path = "a", .profile = &pa },
				      { .path = "b", .profile = &pb } };
	const struct compare_row *row;
	struct compare *c;

	(void)state;
	fa[0].children = below_a;
	fb[0].children = below_b;
	fa[0].nchildren = fb[0].nchildren = 1;
	la[1].steps[0].actions = &aa;
	lb[1].steps[0].actions = &ab;
	la[1].steps[0].nactions = lb[1].steps[0].nactions = 1;
	gb[0].delta_ns = 6e6;
	gb[0].lo = 5.8e6;
	gb[0].hi = 6.2e6;
	c = compare_inputs(in, 2);
	row = find_row(c, "step/exec@0");
	assert_near(row->cell[1].ratio.at, 1, 1e-12);
	assert_int_equal(row->cell[1].verdict, COMPARE_SAME);
	row = find_row(c, "step/exec@4000");
	assert_near(row->cell[1].ratio.at, 1.6, 1e-12);
	assert_int_equal(row->cell[1].verdict, COMPARE_SLOWER);
	assert_near(row->cell[1].diff.at, 6e6, 1e-3);
	/* Welch on 20 and 20 values of ± 0.1 ms: s² = 20/19 · 0.01, of the difference
	 * 2 s² / 20, 38 degrees of freedom, t = 2.024394: ± 0.06568 ms */
	assert_near((row->cell[1].diff.hi - row->cell[1].diff.lo) / 2e6, 0.065682, 1e-5);
	row = find_row(c, "growth/exec");
	assert_near(row->cell[0].value, 5e6, 1e-3);
	assert_near(row->cell[1].diff.at, 6e6, 1e-3);
	assert_int_equal(row->cell[1].verdict, COMPARE_SLOWER);
	/* a growth row's variance comes back from its 99 % interval: of equal n the
	 * difference's half width is √(0.1² + 0.2²) up to the degrees of freedom */
	row = find_row(c, "where/exec/unshare(NEWNS)/kernel/copy_tree");
	assert_near(row->cell[1].diff.at, 5e6, 1e-3);
	assert_near((row->cell[1].diff.hi - row->cell[1].diff.lo) / 2e6, 0.2236, 0.02);
	assert_int_equal(row->cell[1].verdict, COMPARE_SLOWER);
	/* what is a row there and below 1 % here is not 0 here */
	row = find_row(c, "where/exec/exit/blocked/rcu:expedited");
	assert_true(isnan(row->cell[0].value) && isnan(row->cell[1].diff.at));
	assert_int_equal(row->cell[1].verdict, COMPARE_UNKNOWN);
	/* explained: kernel time of unshare by 5.6 of 6 ms, copy_tree by 5, put by 0.6 */
	row = find_row(c, "action/exec@4000/unshare(NEWNS)/kernel#B");
	assert_near(row->cell[1].share, 5.6 / 6, 1e-9);
	row = find_row(c, "function/exec@4000/copy_tree#B");
	assert_near(row->cell[1].diff.at, 5e6, 1e-3);
	assert_near(row->cell[1].share, 5 / 6., 1e-9);
	assert_near(find_row(c, "function/exec@4000/put_mnt_ns#B")->cell[1].share, 0.1, 1e-9);
	assert_true(has_line(c->notes, c->nnotes, "traced by kprobe, B by fentry"));
	assert_int_equal(c->nloud, 0);
	compare__free(c);

	pb.nlevels = 3; /* to 8000: its growth is another one */
	c = compare_inputs(in, 2);
	assert_true(has_line(c->loud, c->nloud, "take the same --at"));
	for (size_t i = 0; i < c->nrows; i++)
		assert_int_not_equal(c->row[i].section, COMPARE_WHERE);
	compare__free(c);

	pb.mode = "exact";
	pb.nlevels = 2;
	c = compare_inputs(in, 2);
	assert_true(has_line(c->loud, c->nloud, "mode exact, not script"));
	assert_int_equal(find_row(c, "step/exec@4000")->cell[1].verdict, COMPARE_UNKNOWN);
	compare__free(c);
	free_levels(la, 2);
	free_levels(lb, 3);
}

/* When the control step differs, the machine does; said where it cannot be missed. */
static void test_control(void **state)
{
	struct frt_levelrow la = level_of(0, 1, 5e6, 20e6), lb = level_of(0, 1, 6e6, 24e6);
	struct frt_profile pa = { .mode = "script", .complete = true, .levels = &la, .nlevels = 1 };
	struct frt_profile pb = { .mode = "script", .complete = true, .levels = &lb, .nlevels = 1 };
	struct compare_input in[] = { { .path = "a", .profile = &pa },
				      { .path = "b", .profile = &pb } };
	struct compare *c = compare_inputs(in, 2);

	(void)state;
	assert_int_equal(c->nloud, 0);
	compare__free(c);
	la.steps[0].step = lb.steps[0].step = "true";
	c = compare_inputs(in, 2);
	assert_true(
		has_line(c->loud, c->nloud, "the control step is slower too at 0 (1.20 times A)"));
	compare__free(c);
	free_levels(&la, 1);
	free_levels(&lb, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2014),
		cmocka_unit_test(test_rows_of_other_sizes),
		cmocka_unit_test(test_nothing_to_compare),
		cmocka_unit_test(test_live_rates),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_profiles),
		cmocka_unit_test(test_control),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
