/* SPDX-License-Identifier: BSD-2-Clause */
/* Profiles without events, of what is left out, of nothing, and of anything. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/analyze.h"
#include "build_trail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void near(double got, double want)
{
	if (!(fabs(got - want) <= 1e-9 * fmax(1, fabs(want))))
		print_message("got %.12g, want %.12g\n", got, want);
	assert_true(fabs(got - want) <= 1e-9 * fmax(1, fabs(want)));
}

static struct frt_profile *profile_of(const struct frt_trail *t)
{
	struct analyze_opts o = { 0 };
	struct frt_profile *p = NULL;

	assert_int_equal(analyze__profile(t, &o, &p), 0);
	assert_non_null(p);
	return p;
}

static const struct frt_steprow *row_of(const struct frt_profile *p, size_t level, const char *step)
{
	for (size_t i = 0; i < p->levels[level].nsteps; i++)
		if (strcmp(p->levels[level].steps[i].step, step) == 0)
			return &p->levels[level].steps[i];
	return NULL;
}

/* Walls alone: user and kernel from rusage, the rest unknown. */
static void untraced(void **state)
{
	struct frt_trail t = { 0 };
	struct frt_profile *p;
	const struct frt_steprow *r;

	(void)state;
	trail__level(&t, 0, 5)->filled = 10;
	t.level.v[0].fill_mem_kb = 4000;
	t.level.v[0].fill_slab_kb = 3000;
	t.level.v[0].steal_ns = 60;
	t.level.v[0].cpu_ns = 1000;
	for (int i = 0; i < 6; i++) {
		struct frt_stepinst *s;

		trail__router(&t, (uint64_t)(1000000 * (i + 1)))->flags =
			FRT_ROUTER_UNTRACED | (i == 5 ? FRT_ROUTER_STOLEN : 0);
		s = trail__step(&t, FRT_STEP_ADD, (uint64_t)(1000 + i), 0);
		s->utime_ns = 300;
		s->stime_ns = 500;
	}
	trail__header(&t, "{\"created\":\"2024-01-01T00:00:00Z\",\"command\":\"x\","
			  "\"probes\":{\"backend\":\"untraced\",\"wanted\":3,\"attached\":1,"
			  "\"missing\":[{\"function\":\"f\",\"reason\":\"absent\"},{}]},"
			  "\"options\":{\"freq\":0,\"predict\":[10000]},\"notes\":[\"a note\",7]}");
	t.truncated = true;
	p = profile_of(&t);
	r = row_of(p, 0, "add");
	assert_int_equal(r->n, 6);
	near(r->wall.mean, 1002.5);
	assert_true(r->rusage && !r->traced);
	near(r->kind_ns[FRT_KIND_USER], 300);
	near(r->kind_ns[FRT_KIND_KERNEL], 500);
	assert_true(isnan(r->kind_ns[FRT_KIND_BLOCKED]) && isnan(r->unaccounted_ns));
	assert_int_equal(p->levels[0].memory_per_router, 409600);
	assert_int_equal(p->levels[0].slab_per_router, 307200);
	assert_int_equal(p->levels[0].noisy, 1);
	near(p->levels[0].steal, 0.06);
	/* six routers from the first t0 to the last t1: 5000000 + 1005 ns */
	near(p->levels[0].rate_per_s, 6 / 0.005001005);
	assert_string_equal(p->backend, "untraced");
	assert_int_equal(p->wanted, 3);
	assert_int_equal(p->nmissing, 1);
	assert_string_equal(p->missing[0].reason, "absent");
	assert_false(p->complete);
	assert_int_equal(p->nnotes, 3); /* ours, stolen time, cut short */
	assert_string_equal(p->notes[0], "a note");
	assert_non_null(strstr(p->notes[1], "6 %"));
	profile__free(p);
	trail__drop(&t);
}

/* With a tracer, routers made while nothing was attached are not of the level, nor
 * are failed ones. */
static void left_out(void **state)
{
	struct frt_trail t = { 0 };
	struct frt_profile *p;

	(void)state;
	trail__level(&t, 0, 0);
	for (int i = 0; i < 8; i++) {
		struct frt_router *r = trail__router(&t, (uint64_t)(1000000 * (i + 1)));

		r->flags = i == 0 ? FRT_ROUTER_UNTRACED : i == 1 ? FRT_ROUTER_FAILED : 0;
		trail__step(&t, FRT_STEP_ADD, i < 2 ? 999999 : 1000, 0);
	}
	p = profile_of(&t);
	assert_int_equal(p->levels[0].routers, 6);
	near(row_of(p, 0, "add")->wall.max, 1000);
	assert_non_null(strstr(p->notes[0], "1 router failed"));
	profile__free(p);
	trail__drop(&t);
}

/* Six pairs of blocks in ABBA order, each with a cost of looking of 1.05, while the
 * machine gets slower by 1 % from block to block; one warm-up each. */
static void cost_of_looking(void **state)
{
	static const bool off[4] = { true, false, false, true };
	struct frt_trail t = { 0 };
	struct frt_profile *p;
	double slow = 1;

	(void)state;
	trail__level(&t, 0, 0);
	for (uint32_t b = 0; b < 24; b++, slow *= 1.01)
		for (int i = 0; i < 11; i++) {
			struct frt_router *r = trail__router(&t, 1000000ull * (b * 11 + i + 1));

			r->flags = FRT_ROUTER_OVERHEAD | (off[b % 4] ? FRT_ROUTER_UNTRACED : 0) |
				   (i == 0 ? FRT_ROUTER_WARMUP : 0);
			r->block = b + 1;
			r->t1 = r->t0 + (uint64_t)(10000 * slow * (off[b % 4] ? 1 : 1.05)) *
						(i == 0 ? 9 : 1);
		}
	p = profile_of(&t);
	assert_int_equal(p->levels[0].routers, 0);
	assert_int_equal(p->overhead_n, 12);
	assert_true(fabs(p->overhead - 1.05) < 0.0005);
	assert_true(p->overhead_lo < 1.05 && p->overhead_hi > 1.05);
	assert_true(p->overhead_hi - p->overhead_lo < 0.03);
	profile__free(p);
	trail__drop(&t);
}

/* Nothing at all, and bits that fit to nothing: a profile, empty. */
static void nothing(void **state)
{
	struct frt_trail t = { 0 };
	struct frt_profile *p = profile_of(&t);
	struct frt_loss *l;

	(void)state;
	assert_int_equal(p->nlevels, 0);
	assert_int_equal(p->nfinding, 1);
	profile__free(p);
	trail_add(&t, router)->level = 99;
	trail_add(&t, step)->router = 98;
	trail_add(&t, off)->task = 97;
	trail_add(&t, sample)->stack = 96;
	trail_add(&t, func)->task = 95;
	l = trail_add(&t, loss);
	l->level = 1;
	l->events = 3;
	l->untagged = 2;
	l->sent = 10;
	trail__level(&t, 0, 0)->id = 1;
	p = profile_of(&t);
	assert_int_equal(p->nlevels, 1);
	assert_int_equal(p->levels[0].nsteps, 0);
	assert_int_equal(p->loss[FRT_LOSS_EVENTS], 3);
	assert_int_equal(p->levels[0].loss[FRT_LOSS_UNTAGGED], 2);
	assert_int_equal(p->events, 10);
	profile__free(p);
	trail__drop(&t);
}

/* Trails made of dice: numbers that fit to nothing, circles of nodes and of tasks,
 * figures near the end of their range. Whatever the profile says, it is one. */
static void dice(void **state)
{
	uint32_t s = 4711;

	(void)state;
#define ROLL(n) ((uint32_t)((noise(&s) + 1) / 2 * (n)))
#define FILL(list, max)                                                               \
	for (uint32_t i = ROLL(max); i; i--) {                                        \
		__typeof__(*t.list.v) *x = trail_add(&t, list);                       \
		const char *end = (const char *)(x + 1);                              \
		for (uint32_t *u = (uint32_t *)x; (const char *)(u + 1) <= end; u++)  \
			*u = ROLL(8) ? ROLL(12) : ROLL(8) ? ROLL(2000) : 0xffffffffu; \
	}
	for (int round = 0; round < 300; round++) {
		struct frt_trail t = { 0 };

		FILL(level, 4)
		FILL(router, 12)
		FILL(step, 30)
		FILL(proc, 10)
		FILL(exec, 5)
		FILL(dead, 8)
		FILL(call, 40)
		FILL(off, 40)
		FILL(node, 8)
		FILL(sample, 40)
		FILL(func, 20)
		FILL(loss, 3)
		FILL(outside, 4)
		FILL(defer, 4)
		for (size_t i = 0; i < t.proc.n; i++)
			t.proc.v[i].comm = "x";
		for (size_t i = 0; i < t.exec.n; i++)
			t.exec.v[i].args = t.exec.v[i].comm = NULL;
		for (size_t i = 0; i < t.call.n; i++)
			t.call.v[i].text = ROLL(2) ? "/\tsysfs" : NULL;
		for (size_t i = 0; i < t.off.n; i++)
			t.off.v[i].waker_comm = NULL;
		for (size_t i = 0; i < t.node.n; i++)
			t.node.v[i].frame = ROLL(3) ? "f" : NULL;
		for (size_t i = 0; i < t.func.n; i++)
			t.func.v[i].function = ROLL(3) ? "g" : NULL;
		for (size_t i = 0; i < t.outside.n; i++)
			t.outside.v[i].comm = t.outside.v[i].woken_by = t.outside.v[i].frames =
				NULL;
		for (size_t i = 0; i < t.defer.n; i++)
			t.defer.v[i].function = "h";
		profile__free(profile_of(&t));
		trail__drop(&t);
	}
#undef FILL
#undef ROLL
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(untraced),
		cmocka_unit_test(left_out),
		cmocka_unit_test(cost_of_looking),
		cmocka_unit_test(nothing),
		cmocka_unit_test(dice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
