/* SPDX-License-Identifier: BSD-2-Clause */
/* How means grow over the levels: shapes and predictions, the partition of the
 * router's growth, drift, and that noise is not growth. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/analyze.h"
#include "analyze/fit.h"
#include "build_trail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NR_NANOSLEEP = 35, NR_UNSHARE = 272 };

static const struct frt_call newns = { .nr = NR_UNSHARE,
				       .detail = FRT_DET_NS,
				       .flags = 0x20000,
				       .net_before = 1,
				       .net_after = 1,
				       .mnt_before = 2,
				       .mnt_after = 3 };

static void near(double got, double want, double within)
{
	if (!(fabs(got - want) <= within))
		print_message("got %.12g, want %.12g within %g\n", got, want, within);
	assert_true(fabs(got - want) <= within);
}

static struct estimate mean_of(double mean, double se)
{
	return (struct estimate){ .mean = mean, .var = se * se, .df = 59, .n = 60 };
}

static struct fit fit_of(const double *x, const double *y, size_t n, double se)
{
	struct fit_point v[8];
	struct fit f;

	for (size_t i = 0; i < n; i++)
		v[i] = (struct fit_point){ x[i], mean_of(y[i], se) };
	fit__points(v, n, &f);
	return f;
}

static const double levels[5] = { 0, 1000, 2000, 3000, 4000 };

static void shapes(void **state)
{
	struct fit f;

	(void)state;
	f = fit_of(levels, (double[]){ 10, 10.1, 9.9, 10, 10.05 }, 5, 0.1);
	assert_string_equal(f.shape, "constant");
	near(f.a, 10.01, 1e-9);
	near(f.b, 0, 0);
	assert_true(f.lack_p > 0.5);
	f = fit_of(levels, (double[]){ 10, 20.05, 29.95, 40, 50 }, 5, 0.1);
	assert_string_equal(f.shape, "linear");
	near(f.b, 0.01, 1e-4);
	assert_true(f.lack_p > 0.5);
	f = fit_of(levels, (double[]){ 10, 11, 14, 19, 26 }, 5, 0.1); /* 10 + x² / 1e6 */
	assert_string_equal(f.shape, "superlinear");
	near(f.coef[2] / (f.xmax * f.xmax), 1e-6, 1e-10);
	f = fit_of(levels,
		   (double[]){ 10, 10 + sqrt(1000), 10 + sqrt(2000), 10 + sqrt(3000),
			       10 + sqrt(4000) },
		   5, 0.1);
	assert_string_equal(f.shape, "sublinear");
	/* shrinking ever faster is superlinear too: the bend is on the side of the change */
	f = fit_of(levels, (double[]){ 26, 25, 22, 17, 10 }, 5, 0.1);
	assert_string_equal(f.shape, "superlinear");
	/* a jump that no model takes: told by the lack of fit */
	f = fit_of(levels, (double[]){ 10, 10, 30, 10, 10 }, 5, 0.1);
	assert_true(f.lack_p < 0.001);
	assert_true(f.widen > 100);
	/* two levels: a line that nothing can contradict */
	f = fit_of(levels, (double[]){ 10, 20 }, 2, 0.1);
	assert_string_equal(f.shape, "unknown");
	near(f.a, 10, 1e-9);
	near(f.b, 0.01, 1e-12);
	assert_true(isnan(f.lack_p));
	/* one */
	f = fit_of(levels, (double[]){ 10 }, 1, 0.1);
	assert_string_equal(f.shape, "unknown");
	assert_true(isnan(f.b));
	/* no spread at all, and no interval at all */
	f = fit_of(levels, (double[]){ 10, 20, 30 }, 3, 0);
	near(f.b, 0.01, 1e-12);
	f = fit_of(levels, (double[]){ 10, 20, 30 }, 3, NAN);
	near(f.b, 0.01, 1e-12);
	assert_string_equal(f.shape, "unknown");
}

/*
 * 10 ± 0.1 at 0 and 20 ± 0.1 at 1000: at 2000 the line says 30, its variance there is
 * (1 - 2)² 0.01 + 2² 0.01 = 0.05, a level's mean adds 0.01; df 118, t = 1.98027:
 * 30 ± 1.98027 sqrt(0.06) = ± 0.48507. 5000 is the last that is predicted.
 */
static void predictions(void **state)
{
	struct fit f = fit_of(levels, (double[]){ 10, 20 }, 2, 0.1);
	double ns, lo, hi;
	bool refused;

	(void)state;
	fit__predict(&f, 2000, &ns, &lo, &hi, &refused);
	assert_false(refused);
	near(ns, 30, 1e-9);
	near(hi - ns, 0.48507, 1e-4);
	near(ns - lo, 0.48507, 1e-4);
	fit__predict(&f, 5000, &ns, &lo, &hi, &refused);
	assert_false(refused);
	near(ns, 60, 1e-9);
	fit__predict(&f, 5001, &ns, &lo, &hi, &refused);
	assert_true(refused);
	assert_true(isnan(ns) && isnan(lo));
	f = fit_of(levels, (double[]){ 10, 11, 14, 19, 26 }, 5, 0.1);
	fit__predict(&f, 8000, &ns, &lo, &hi, &refused);
	near(ns, 74, 1e-6);
	assert_true(lo < 74 && hi > 74);
	f = fit_of(levels,
		   (double[]){ 10, 10 + sqrt(1000), 10 + sqrt(2000), 10 + sqrt(3000),
			       10 + sqrt(4000) },
		   5, 0.1);
	fit__predict(&f, 8000, &ns, &lo, &hi, &refused);
	near(ns, 10 + sqrt(8000), 0.6);
}

/* What the commands of a level's routers do; ns, with a noise of 10 each. */
struct costs {
	double user, newns, asleep, control, add;
};

static double shaky; /* ns, what the control step's noise is more */

static uint64_t about(double ns, uint32_t *dice)
{
	return ns > 0 ? (uint64_t)(ns + 10 * noise(dice)) : 0;
}

/* A level of n routers: add (user), exec (user, unshare(NEWNS), nanosleep), true.
 * Every second one is sampled: samples[0] in copy_tree, [1] in clone_mnt. */
static void level(struct world *w, uint32_t asked, int n, struct costs c, const int *samples)
{
	static uint32_t dice = 7;
	uint32_t root = trail__frame(&w->t, 0, "do_syscall_64");
	uint32_t leaf[2] = { trail__frame(&w->t, root, "copy_tree"),
			     trail__frame(&w->t, root, "clone_mnt") };

	w->now += 1000000000;
	w->used.cpu += 1000000000;
	w->used.user += 1000000000;
	trail__level(&w->t, asked, asked);
	for (int i = 0; i < n; i++) {
		struct plan add = { .user = about(c.add, &dice) },
			    control = { .user = about(c.control + shaky * noise(&dice), &dice) };
		struct plan exec = { .user = about(c.user, &dice),
				     .kernel = about(c.newns, &dice),
				     .blocked = about(c.asleep, &dice),
				     .call = newns,
				     .wait = { .nr = NR_NANOSLEEP } };
		struct frt_router *r;

		world__pass(w, 10000);
		r = trail__router(&w->t, w->now);
		r->existing = asked + (uint64_t)i;
		world__step(w, FRT_STEP_ADD, &add);
		world__step(w, FRT_STEP_EXEC, &exec);
		world__pass(w, 500);
		world__step(w, FRT_STEP_CONTROL, &control);
		if (i % 2 || !samples)
			continue;
		w->t.router.v[w->t.router.n - 1].flags |= FRT_ROUTER_SAMPLED;
		for (int k = 0; k < 2; k++)
			for (int s = 0; s < samples[k]; s++) {
				struct frt_sample *f = trail_add(&w->t, sample);

				f->task = exec.task;
				f->mode = FRT_MODE_CALL;
				f->in_kernel = 1;
				f->t = exec.call_at + 1 + (uint64_t)s;
				f->stack = leaf[k];
				for (size_t j = 0; j < w->t.call.n; j++)
					if (w->t.call.v[j].task == exec.task &&
					    w->t.call.v[j].nr == NR_UNSHARE)
						f->seq = w->t.call.v[j].seq;
			}
	}
}

static struct frt_profile *profile_of(const struct frt_trail *t, uint64_t predict)
{
	struct analyze_opts o = { .predict = { predict }, .npredict = predict ? 1 : 0 };
	struct frt_profile *p = NULL;

	assert_int_equal(analyze__profile(t, &o, &p), 0);
	return p;
}

static const struct frt_growthrow *growth_of(const struct frt_profile *p, const char *step,
					     const char *action, enum frt_kind kind,
					     const char *where)
{
	for (size_t i = 0; i < p->ngrowth; i++) {
		const struct frt_growthrow *g = &p->growth[i];

		if (strcmp(g->step, step) == 0 && g->action && strcmp(g->action, action) == 0 &&
		    g->kind == kind &&
		    (where ? g->where && strcmp(g->where, where) == 0 : !g->where))
			return g;
	}
	return NULL;
}

static const struct frt_stepgrowth *step_of(const struct frt_profile *p, const char *step)
{
	for (size_t i = 0; i < p->nstepgrowth; i++)
		if (strcmp(p->stepgrowth[i].step, step) == 0)
			return &p->stepgrowth[i];
	return NULL;
}

/* Shares are 100 %, deltas the growth, and the last row is the rest. */
static void adds_up(const struct frt_profile *p)
{
	double delta = 0, share = 0;

	for (size_t i = 0; i < p->ngrowth; i++) {
		delta += p->growth[i].delta_ns;
		share += p->growth[i].share;
		assert_int_equal(i + 1 == p->ngrowth, p->growth[i].action == NULL);
	}
	near(delta, p->growth_ns, 1e-6);
	near(share, 1, 1e-12);
	assert_string_equal(p->growth[p->ngrowth - 1].step, "rest");
	assert_null(p->growth[p->ngrowth - 1].where);
}

/*
 * From 0 to 4000 unshare(NEWNS) takes 3000 more, nanosleep 1000, user code 20 (below
 * 1 %): 4020 in all, 1.005 ns for each existing.
 */
static void measured_partition(void **state)
{
	struct world w;
	struct frt_profile *p;
	const struct frt_growthrow *g;
	const struct frt_stepgrowth *s;

	(void)state;
	world__open(&w);
	level(&w, 0, 40, (struct costs){ 1000, 300, 500, 200, 400 }, NULL);
	level(&w, 4000, 40, (struct costs){ 1020, 3300, 1500, 200, 400 }, NULL);
	p = profile_of(&w.t, 10000);
	adds_up(p);
	assert_int_equal(p->ngrowth, 3);
	near(p->growth_ns, 4020, 12);
	assert_null(p->growth_note);
	g = growth_of(p, "exec", "unshare(NEWNS)", FRT_KIND_KERNEL, NULL);
	assert_ptr_equal(g, &p->growth[0]); /* the largest comes first */
	near(g->delta_ns, 3000, 6);
	near(g->share, 3000.0 / 4020, 0.003);
	near(g->ns_per_existing, 0.75, 0.002);
	assert_true(g->lo < g->delta_ns && g->hi > g->delta_ns && g->hi - g->lo < 20);
	assert_false(g->sampled);
	assert_int_equal(g->n, 40);
	assert_string_equal(g->shape, "unknown");
	near(g->predicted[0].ns, 300 + 0.75 * 10000, 25);
	g = growth_of(p, "exec", "nanosleep", FRT_KIND_BLOCKED, "sleep");
	near(g->delta_ns, 1000, 6);
	near(p->growth[2].delta_ns, 20, 12);

	s = step_of(p, "exec");
	assert_true(s->grew && !s->shrank);
	near(s->delta_ns, 4020, 10);
	near(s->ratio,
	     (PLAN_FIXED_WALL + 10 + 1020 + 3300 + 1500.0) /
		     (PLAN_FIXED_WALL + 10 + 1000 + 300 + 500.0),
	     0.01);
	assert_true(s->ratio_lo < s->ratio && s->ratio < s->ratio_hi);
	assert_false(step_of(p, "add")->grew);
	assert_false(step_of(p, "true")->grew);
	assert_true(step_of(p, "router")->grew);
	near(step_of(p, "router")->predicted[0].ns, 2 * PLAN_FIXED_WALL + 10 + 2200 + 1.005 * 10000,
	     60);
	profile__free(p);
	trail__drop(&w.t);
}

/*
 * 40 samples at 4000, three of four in copy_tree: 0.75 * 3300; at 0 none, so its 300
 * are taken by the same shares: 2250 of 3000, with an error of 3300 sqrt(0.19 / 40).
 */
static void sampled_partition(void **state)
{
	static const int many[2] = { 3, 1 }, more[2] = { 6, 2 };
	const struct frt_growthrow *g;
	struct frt_profile *p;
	double wide;
	struct world w;

	(void)state;
	world__open(&w);
	level(&w, 0, 20, (struct costs){ 1000, 300, 500, 200, 400 }, NULL);
	level(&w, 4000, 20, (struct costs){ 1000, 3300, 500, 200, 400 }, many);
	p = profile_of(&w.t, 0);
	adds_up(p);
	g = growth_of(p, "exec", "unshare(NEWNS)", FRT_KIND_KERNEL, "copy_tree");
	assert_true(g->sampled);
	assert_int_equal(g->n, 30);
	near(g->delta_ns, 2250, 10);
	/* 2.58 to 2.7 standard errors of 3300 sqrt(0.75 * 0.25 / 40), plus 300's own */
	wide = g->hi - g->lo;
	assert_true(wide > 2 * 2.5 * 3300 * sqrt(0.1875 / 40) &&
		    wide < 2 * 3.2 * 3300 * sqrt(0.2 / 40));
	g = growth_of(p, "exec", "unshare(NEWNS)", FRT_KIND_KERNEL, "clone_mnt");
	assert_int_equal(g->n, 10);
	near(g->delta_ns, 750, 10);
	near(p->growth[p->ngrowth - 1].delta_ns, 0, 15);
	profile__free(p);
	trail__drop(&w.t);

	/* samples at both levels, the shares turned round: 3300/4 - 3000 3/4 of copy_tree */
	world__open(&w);
	level(&w, 0, 40, (struct costs){ 1000, 3000, 500, 200, 400 }, more);
	level(&w, 4000, 40, (struct costs){ 1000, 8000, 500, 200, 400 }, (int[]){ 2, 6 });
	p = profile_of(&w.t, 0);
	adds_up(p);
	g = growth_of(p, "exec", "unshare(NEWNS)", FRT_KIND_KERNEL, "clone_mnt");
	near(g->delta_ns, 8000 * 0.75 - 3000 * 0.25, 20);
	/* copy_tree: 2000 - 2250, inside its interval: in the rest */
	assert_null(growth_of(p, "exec", "unshare(NEWNS)", FRT_KIND_KERNEL, "copy_tree"));
	near(p->growth[p->ngrowth - 1].delta_ns, -250, 30);
	profile__free(p);
	trail__drop(&w.t);
}

/* Fewer than five samples: no frame is told apart, the action is measured as a whole. */
static void too_few_samples(void **state)
{
	struct frt_profile *p;
	struct world w;

	(void)state;
	world__open(&w);
	level(&w, 0, 10, (struct costs){ 1000, 300, 500, 200, 400 }, NULL);
	level(&w, 4000, 10, (struct costs){ 1000, 3300, 500, 200, 400 }, (int[]){ 1, 0 });
	w.t.sample.n--; /* of five */
	p = profile_of(&w.t, 0);
	adds_up(p);
	near(growth_of(p, "exec", "unshare(NEWNS)", FRT_KIND_KERNEL, NULL)->delta_ns, 3000, 120);
	profile__free(p);
	trail__drop(&w.t);
}

/* Probed: copy_tree takes 80 % of the call, copy_mnt_ns around it 10 %, 10 % are in no
 * probed function. Measured, whatever the samples say. */
static void probed_partition(void **state)
{
	const struct frt_growthrow *g;
	struct frt_profile *p;
	struct world w;

	(void)state;
	world__open(&w);
	level(&w, 0, 20, (struct costs){ 1000, 300, 500, 200, 400 }, NULL);
	level(&w, 4000, 20, (struct costs){ 1000, 3300, 500, 200, 400 }, (int[]){ 2, 2 });
	for (size_t i = 0; i < w.t.call.n; i++) {
		const struct frt_call *c = &w.t.call.v[i];
		struct frt_func *f;

		if (c->nr != NR_UNSHARE)
			continue;
		f = trail_add(&w.t, func);
		*f = (struct frt_func){ .task = c->task,
					.seq = c->seq,
					.node = 1,
					.n = 1,
					.total_ns = c->cpu_ns * 9 / 10,
					.child_ns = c->cpu_ns * 8 / 10,
					.function = "copy_mnt_ns" };
		f = trail_add(&w.t, func);
		*f = (struct frt_func){ .task = c->task,
					.seq = c->seq,
					.node = 2,
					.parent = 1,
					.n = 1,
					.total_ns = c->cpu_ns * 8 / 10,
					.function = "copy_tree" };
	}
	p = profile_of(&w.t, 0);
	adds_up(p);
	g = growth_of(p, "exec", "unshare(NEWNS)", FRT_KIND_KERNEL, "copy_tree");
	assert_false(g->sampled);
	assert_int_equal(g->n, 10); /* every second one is sampled: no figure from those */
	near(g->delta_ns, 2400, 8);
	near(growth_of(p, "exec", "unshare(NEWNS)", FRT_KIND_KERNEL, "copy_mnt_ns")->delta_ns, 300,
	     5);
	near(growth_of(p, "exec", "unshare(NEWNS)", FRT_KIND_KERNEL, "[not probed]")->delta_ns, 300,
	     5);
	profile__free(p);
	trail__drop(&w.t);
}

/* Nothing grows: no share of nothing, no step that grew; the rows still add up. */
static void no_growth(void **state)
{
	struct frt_profile *p;
	struct world w;
	double delta = 0;

	(void)state;
	world__open(&w);
	level(&w, 0, 30, (struct costs){ 1000, 300, 500, 200, 400 }, NULL);
	level(&w, 4000, 30, (struct costs){ 1000, 300, 500, 200, 400 }, NULL);
	p = profile_of(&w.t, 10000);
	assert_true(p->growth_lo < 0 && p->growth_hi > 0);
	assert_non_null(p->growth_note);
	for (size_t i = 0; i < p->ngrowth; i++) {
		assert_true(isnan(p->growth[i].share));
		delta += p->growth[i].delta_ns;
	}
	near(delta, p->growth_ns, 1e-6);
	for (size_t i = 0; i < p->nstepgrowth; i++)
		assert_false(p->stepgrowth[i].grew || p->stepgrowth[i].shrank);
	profile__free(p);
	trail__drop(&w.t);
}

/* Everything, the control too, takes twice as long: that is the machine. And exec
 * three times: that is exec. */
static void machine_got_slower(void **state)
{
	struct frt_profile *p;
	struct world w;

	(void)state;
	world__open(&w);
	level(&w, 0, 30, (struct costs){ 1000, 1000, 1000, 2000, 2000 }, NULL);
	level(&w, 4000, 30, (struct costs){ 3000, 3000, 3000, 4150, 4100 }, NULL);
	p = profile_of(&w.t, 0);
	assert_true(step_of(p, "add")->lo > 0);
	assert_false(step_of(p, "add")->grew);
	assert_true(step_of(p, "exec")->grew);
	assert_true(step_of(p, "true")->grew);
	profile__free(p);
	trail__drop(&w.t);
}

/* The control step got slower by 30 %, add by 35: more than the machine did when the
 * control says so to within 1 %, not when it does to within 10. Exec doubled: either way. */
static void control_is_unsure(void **state)
{
	struct frt_profile *p;
	struct world w;

	(void)state;
	for (int i = 0; i < 2; i++) {
		shaky = 600 * i;
		world__open(&w);
		level(&w, 0, 30, (struct costs){ 1000, 1000, 1000, 2000, 2000 }, NULL);
		level(&w, 4000, 30, (struct costs){ 2000, 2000, 2000, 2600, 2700 }, NULL);
		p = profile_of(&w.t, 0);
		assert_true(step_of(p, "true")->grew);
		assert_true(step_of(p, "true")->ratio < step_of(p, "add")->ratio);
		assert_int_equal(step_of(p, "add")->grew, !i);
		assert_true(step_of(p, "exec")->grew);
		profile__free(p);
		trail__drop(&w.t);
	}
	shaky = 0;
}

/* Four levels: linear kernel time, quadratic waits; and the first once more, where
 * exec did not come back. */
static void levels_and_drift(void **state)
{
	struct frt_profile *p;
	struct world w;

	(void)state;
	world__open(&w);
	for (int i = 0; i < 4; i++)
		level(&w, (uint32_t)i * 1000, 20,
		      (struct costs){ 1000, 300 + 1000 * i, 500 + 300 * i * i, 200, 400 }, NULL);
	level(&w, 0, 20, (struct costs){ 1000, 600, 500, 200, 400 }, NULL);
	w.t.level.v[4].again = 1;
	p = profile_of(&w.t, 6000);
	adds_up(p);
	assert_string_equal(growth_of(p, "exec", "unshare(NEWNS)", FRT_KIND_KERNEL, NULL)->shape,
			    "linear");
	assert_string_equal(growth_of(p, "exec", "nanosleep", FRT_KIND_BLOCKED, "sleep")->shape,
			    "superlinear");
	assert_string_equal(step_of(p, "add")->shape, "constant");
	assert_string_equal(step_of(p, "exec")->shape, "superlinear");
	near(growth_of(p, "exec", "nanosleep", FRT_KIND_BLOCKED, "sleep")->predicted[0].ns,
	     500 + 300 * 36, 300);
	assert_int_equal(p->ndrift, 4);
	for (size_t i = 0; i < p->ndrift; i++) {
		bool exec = strcmp(p->drift[i].step, "exec") == 0 ||
			    strcmp(p->drift[i].step, "router") == 0;

		assert_int_equal(p->drift[i].real, exec);
		if (exec)
			near(p->drift[i].delta_ns, 300, 20);
	}
	profile__free(p);
	trail__drop(&w.t);
}

/* --repeat: the runs of a level are one group, the levels stay rows of their own. */
static void repeated(void **state)
{
	struct frt_profile *p;
	struct world w;

	(void)state;
	world__open(&w);
	for (int run = 0; run < 2; run++) {
		level(&w, 0, 10, (struct costs){ 1000, 300, 500, 200, 400 }, NULL);
		level(&w, 4000, 10, (struct costs){ 1000, 3300, 500, 200, 400 }, NULL);
		w.t.level.v[2 * run].run = w.t.level.v[2 * run + 1].run = (uint32_t)run + 1;
	}
	p = profile_of(&w.t, 0);
	adds_up(p);
	assert_int_equal(p->nlevels, 4);
	assert_int_equal(p->growth[0].n, 20);
	near(p->growth[0].delta_ns, 3000, 12);
	profile__free(p);
	trail__drop(&w.t);
}

/* Too few for an interval, one level only: said, nothing claimed. */
static void too_little(void **state)
{
	struct frt_profile *p;
	struct world w;

	(void)state;
	world__open(&w);
	level(&w, 0, 4, (struct costs){ 1000, 300, 500, 200, 400 }, NULL);
	p = profile_of(&w.t, 0);
	assert_int_equal(p->ngrowth + p->nstepgrowth, 0);
	assert_non_null(strstr(p->growth_note, "one level"));
	profile__free(p);
	level(&w, 4000, 4, (struct costs){ 9000, 9300, 9500, 200, 400 }, NULL);
	p = profile_of(&w.t, 0);
	assert_non_null(strstr(p->growth_note, "fewer than 5"));
	assert_false(step_of(p, "exec")->grew);
	assert_int_equal(p->ngrowth, 1);
	profile__free(p);
	trail__drop(&w.t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes),
		cmocka_unit_test(predictions),
		cmocka_unit_test(measured_partition),
		cmocka_unit_test(sampled_partition),
		cmocka_unit_test(too_few_samples),
		cmocka_unit_test(probed_partition),
		cmocka_unit_test(no_growth),
		cmocka_unit_test(machine_got_slower),
		cmocka_unit_test(control_is_unsure),
		cmocka_unit_test(levels_and_drift),
		cmocka_unit_test(repeated),
		cmocka_unit_test(too_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
