/* SPDX-License-Identifier: BSD-2-Clause */
/* From whole trails to the rows of the profile: kinds, actions, counts, frames,
 * waits, functions. */
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

enum {
	NR_WRITE = 1,
	NR_NANOSLEEP = 35,
	NR_GETPPID = 110,
	NR_UNSHARE = 272,
};

#define NEWNS_CALL                                                                         \
	{                                                                                  \
		.nr = NR_UNSHARE, .detail = FRT_DET_NS, .flags = 0x20000, .net_before = 1, \
		.net_after = 1, .mnt_before = 2, .mnt_after = 3                            \
	}

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

static const struct frt_action *action_of(const struct frt_steprow *r, const char *name)
{
	for (size_t i = 0; i < r->nactions; i++)
		if (strcmp(r->actions[i].action, name) == 0)
			return &r->actions[i];
	return NULL;
}

static void kinds_are(const double *kind, double user, double kernel, double blocked, double runq)
{
	near(kind[FRT_KIND_USER], user);
	near(kind[FRT_KIND_KERNEL], kernel);
	near(kind[FRT_KIND_BLOCKED], blocked);
	near(kind[FRT_KIND_RUNQ], runq);
}

/* The flame graphs' rows and the actions add up to the row, to the ns. */
static void adds_up(const struct frt_steprow *r)
{
	double kind[FRT_KINDS] = { 0 };
	uint64_t cpu = 0, off = 0;

	for (size_t i = 0; i < r->nstacks; i++) {
		assert_true(r->stacks[i].action < r->nactions);
		*(r->stacks[i].kind == FRT_STACK_CPU ? &cpu : &off) += r->stacks[i].ns;
	}
	assert_true((double)cpu == r->cpu_total_ns);
	assert_true((double)off == r->off_total_ns);
	for (size_t i = 0; i < r->nactions; i++)
		for (int k = 0; k < FRT_KINDS; k++)
			kind[k] += r->actions[i].kind_ns[k];
	kinds_are(kind, r->kind_ns[0], r->kind_ns[1], r->kind_ns[2], r->kind_ns[3]);
	near(kind[0] + kind[1] + kind[2] + kind[3] + r->unaccounted_ns, r->wall.mean);
}

/*
 * Three measured routers and one that warms up, the parts of the i-th larger by i:
 * exec: user 1000 + i, other 70, unshare(NEWNS) 300, asleep 500 in nanosleep and 20
 * runnable; veth twice with user 100 each; between all steps 40 of the creator.
 */
static void build(struct world *w)
{
	world__open(w);
	trail__level(&w->t, 0, 0);
	for (int i = -1; i < 3; i++) {
		struct plan exec = { .user = (uint64_t)(1000 + i),
				     .other = 70,
				     .kernel = 300,
				     .blocked = 500,
				     .runq = 20,
				     .call = NEWNS_CALL,
				     .wait = { .nr = NR_NANOSLEEP } };
		struct plan veth = { .user = 100 }, other = { 0 };
		struct frt_router *r;

		world__pass(w, 10000);
		r = trail__router(&w->t, w->now);
		r->flags = i < 0 ? FRT_ROUTER_WARMUP : 0;
		if (i < 0) {
			exec.user = 1000000;
			w->t.level.v[0].routers--;
		}
		world__step(w, FRT_STEP_EXEC, &exec);
		world__pass(w, 40);
		world__step(w, FRT_STEP_VETH, &veth);
		world__pass(w, 40);
		world__step(w, FRT_STEP_VETH, &veth);
		world__pass(w, 500);
		world__step(w, FRT_STEP_CONTROL, &other);
		world__pass(w, 500);
		world__step(w, FRT_STEP_DELETE, &other);
	}
}

static void kinds_and_walls(void **state)
{
	struct frt_profile *p;
	const struct frt_steprow *r;
	struct world w;

	(void)state;
	build(&w);
	p = profile_of(&w.t);
	assert_int_equal(p->nlevels, 1);
	assert_int_equal(p->levels[0].routers, 3);
	assert_string_equal(p->backend, "none");

	r = row_of(p, 0, "exec");
	assert_int_equal(r->n, 3);
	assert_true(r->traced && r->creation && !r->control && !r->rusage);
	near(r->wall.mean, PLAN_FIXED_WALL + 1001 + 70 + 300 + 10 + 500 + 20);
	near(r->values[0], r->wall.mean - 1);
	near(r->values[2], r->wall.mean + 1);
	kinds_are(r->kind_ns, PLAN_FIXED_USER + 1001, PLAN_FIXED_KERNEL + 70 + 300 + 10, 500,
		  PLAN_FIXED_RUNQ + 20);
	near(r->unaccounted_ns, 0);
	near(r->parallel_ns, PLAN_PARALLEL);
	adds_up(r);

	r = row_of(p, 0, "veth"); /* both commands in one value */
	assert_int_equal(r->n, 3);
	near(r->wall.mean, 2 * (PLAN_FIXED_WALL + 100));
	kinds_are(r->kind_ns, 2 * (PLAN_FIXED_USER + 100), 2 * PLAN_FIXED_KERNEL, 0,
		  2 * PLAN_FIXED_RUNQ);
	near(r->parallel_ns, 2 * PLAN_PARALLEL);
	adds_up(r);

	r = row_of(p, 0, "true");
	assert_true(r->control && !r->creation);
	near(r->wall.mean, PLAN_FIXED_WALL);
	adds_up(r);

	/* the router: exec, veth, and twice 40 of the creator in user mode; not delete, not true */
	r = row_of(p, 0, "router");
	near(p->levels[0].gap.mean, 80);
	near(r->wall.mean, row_of(p, 0, "exec")->wall.mean + row_of(p, 0, "veth")->wall.mean + 80);
	kinds_are(r->kind_ns, 3 * PLAN_FIXED_USER + 1001 + 200 + 80, 3 * PLAN_FIXED_KERNEL + 380,
		  500, 3 * PLAN_FIXED_RUNQ + 20);
	near(r->parallel_ns, 3 * PLAN_PARALLEL);
	assert_string_equal(p->levels[0].steps[2].step, "router");
	assert_string_equal(p->levels[0].steps[3].step, "delete");
	profile__free(p);
	trail__drop(&w.t);
}

static void actions_and_waits(void **state)
{
	struct frt_profile *p;
	const struct frt_steprow *r;
	const struct frt_action *a;
	struct world w;
	uint32_t leaf;

	(void)state;
	build(&w);
	leaf = trail__frame(&w.t, 0, "do_syscall_64");
	leaf = trail__frame(&w.t, leaf, "do_nanosleep.part.0");
	leaf = trail__frame(&w.t, leaf, "schedule");
	leaf = trail__frame(&w.t, leaf, "__schedule");
	for (size_t i = 0; i < w.t.off.n; i++)
		if (w.t.off.v[i].nr == NR_NANOSLEEP)
			w.t.off.v[i].stack = leaf;
	for (size_t i = 0; i < w.t.call.n; i++)
		if (w.t.call.v[i].nr == NR_UNSHARE)
			w.t.call.v[i].restarts = 2;
	p = profile_of(&w.t);
	r = row_of(p, 0, "exec");

	a = action_of(r, "unshare(NEWNS)");
	assert_int_equal(a->n, 3);
	kinds_are(a->kind_ns, 0, 300, 0, 0);
	near(a->wall_ns, 300);
	near(a->restarts, 2);
	near(r->restarts, 2);
	assert_int_equal(a->nframes, 1);
	assert_string_equal(a->frames[0].frame, "[not sampled]");
	near(a->frames[0].self_ns, 300);
	assert_int_equal(a->frames[0].samples, 0);

	a = action_of(r, "nanosleep");
	assert_int_equal(a->n, 3);
	kinds_are(a->kind_ns, 0, 10, 500, 20);
	assert_int_equal(a->nwaits, 1);
	assert_string_equal(a->waits[0].class, "sleep");
	assert_string_equal(a->waits[0].where, "do_nanosleep"); /* folded, below the scheduler */
	assert_int_equal(a->waits[0].n, 3);
	near(a->waits[0].ns, 1500); /* a sum over the level */

	a = action_of(r, "user code");
	kinds_are(a->kind_ns, PLAN_FIXED_USER + 1001, 0, 0, 0);
	a = action_of(r, "other calls");
	assert_int_equal(a->n, 9); /* three each, said the dead */
	kinds_are(a->kind_ns, 0, 70, 0, 0);
	a = action_of(r, "start");
	assert_int_equal(a->n, 3);
	kinds_are(a->kind_ns, 0, 5, 0, 20);
	a = action_of(r, "exit");
	assert_int_equal(a->n, 3);
	kinds_are(a->kind_ns, 0, 50, 0, 0); /* 30 more after the wall */
	a = action_of(r, "vfork");
	assert_int_equal(a->n, 3);
	kinds_are(a->kind_ns, 0, 30, 0, 0);
	a = action_of(r, "waitid");
	assert_int_equal(a->n, 3);
	kinds_are(a->kind_ns, 0, 5, 0, 10);
	assert_null(action_of(r, "unshare"));
	assert_int_equal(action_of(row_of(p, 0, "veth"), "exit")->n, 6);

	for (size_t i = 0; i < r->nstacks; i++) {
		const struct frt_stackrow *s = &r->stacks[i];

		if (s->kind != FRT_STACK_OFF || strcmp(s->tip, "sleep") != 0)
			continue;
		assert_int_equal(s->nframes, 2);
		assert_string_equal(s->frames[0], "do_syscall_64");
		assert_string_equal(s->frames[1], "do_nanosleep");
		assert_int_equal(s->ns, 1500);
		assert_int_equal(s->n, 3);
		assert_false(s->sampled);
		leaf = 0;
	}
	assert_int_equal(leaf, 0); /* it was there */
	profile__free(p);
	trail__drop(&w.t);
}

static void sample(struct frt_trail *t, uint32_t task, uint32_t seq, enum frt_mode mode,
		   bool kernel, uint64_t at, uint32_t stack)
{
	struct frt_sample *s = trail_add(t, sample);

	*s = (struct frt_sample){
		.task = task, .seq = seq, .mode = mode, .in_kernel = kernel, .t = at, .stack = stack
	};
}

/* The first call unshare of the second router, which is sampled. */
static const struct frt_call *sampled_call(struct world *w)
{
	w->t.router.v[1].flags |= FRT_ROUTER_SAMPLED;
	for (size_t i = 0; i < w->t.call.n; i++)
		if (w->t.call.v[i].nr == NR_UNSHARE && w->t.call.v[i].instance > 5)
			return &w->t.call.v[i];
	fail();
	return NULL;
}

/* Stacks that could not be walked: counted, their time measured as ever, no function named. */
static void no_stacks(void **state)
{
	const struct frt_call *c;
	const struct frt_action *a;
	struct frt_profile *p;
	struct world w;

	(void)state;
	build(&w);
	c = sampled_call(&w);
	for (unsigned i = 0; i < 5; i++)
		sample(&w.t, c->task, c->seq, FRT_MODE_CALL, true, c->t0 + 10 + i, 0);
	p = profile_of(&w.t);
	a = action_of(row_of(p, 0, "exec"), "unshare(NEWNS)");
	assert_int_equal(a->nframes, 1);
	assert_string_equal(a->frames[0].frame, "[no stack]");
	assert_int_equal(a->frames[0].samples, 5);
	near(a->frames[0].self_ns, 300);
	profile__free(p);
	trail__drop(&w.t);
}

/*
 * Seven samples in unshare(NEWNS), 900 ns over three routers: 4 in copy_tree below
 * copy_mnt_ns, 1 in a copy of it (.constprop.0), 2 in clone_mnt below both, one of them
 * through a recursion. 900 by 4:1:1:1 is 514.29 and three times 128.57: rounded down
 * 898, so the first two of the larger remainders get one more: 514 129 129 128.
 */
static void frames(void **state)
{
	uint32_t top, copy, twin, clone, again, task, seq;
	const struct frt_call *c;
	struct frt_profile *p;
	const struct frt_steprow *r;
	const struct frt_action *a;
	uint64_t at, sum = 0;
	struct world w;

	(void)state;
	build(&w);
	c = sampled_call(&w);
	task = c->task;
	seq = c->seq;
	at = c->t0;
	top = trail__frame(&w.t, 0, "copy_mnt_ns");
	copy = trail__frame(&w.t, top, "copy_tree");
	twin = trail__frame(&w.t, top, "copy_tree.constprop.0");
	clone = trail__frame(&w.t, copy, "clone_mnt");
	again = trail__frame(&w.t, trail__frame(&w.t, copy, "copy_tree"), "clone_mnt");
	for (int i = 0; i < 4; i++)
		sample(&w.t, task, seq, FRT_MODE_CALL, true, at + 10 + (uint64_t)i, copy);
	sample(&w.t, task, seq, FRT_MODE_CALL, true, at + 50, twin);
	sample(&w.t, task, seq, FRT_MODE_CALL, true, at + 60, clone);
	sample(&w.t, task, seq, FRT_MODE_CALL, true, at + 70, again);
	/* user mode: one of four in the kernel; a call that was not sent; one in no wall */
	for (int i = 0; i < 4; i++)
		sample(&w.t, task, 0, FRT_MODE_USER, i == 0, at - 100 + (uint64_t)i, top);
	sample(&w.t, task, 99999, FRT_MODE_CALL, true, at - 50, top);
	sample(&w.t, task, 0, FRT_MODE_EXIT, true, at + 1000000, top);
	sample(&w.t, 1, 0, FRT_MODE_USER, true, at, top); /* the creator, while the child carries */
	p = profile_of(&w.t);
	r = row_of(p, 0, "exec");
	adds_up(r);
	a = action_of(r, "unshare(NEWNS)");
	assert_int_equal(a->nframes, 3);
	assert_string_equal(a->frames[0].frame, "copy_tree");
	assert_int_equal(a->frames[0].samples, 7);
	near(a->frames[0].total_ns, 300);
	assert_string_equal(a->frames[1].frame, "clone_mnt");
	assert_int_equal(a->frames[1].samples, 2);
	near(a->frames[1].self_ns, a->frames[1].total_ns);
	assert_string_equal(a->frames[2].frame, "copy_mnt_ns");
	near(a->frames[2].self_ns, 0);
	near(a->frames[2].total_ns, 300);
	near(a->frames[0].self_ns + a->frames[1].self_ns, 300);
	for (size_t i = 0; i < r->nstacks; i++) {
		const struct frt_stackrow *s = &r->stacks[i];

		if (!s->sampled || strcmp(r->actions[s->action].action, "unshare(NEWNS)") != 0)
			continue;
		sum += s->ns;
		assert_true(s->in_kernel);
		assert_string_equal(s->tip, "kernel");
		assert_string_equal(s->frames[0], "copy_mnt_ns");
		assert_true(s->n == 4 ? s->ns == 343 || s->ns == 342 : s->ns == 86 || s->ns == 85);
	}
	assert_int_equal(sum, 600); /* measured in the two routers without sampling */
	a = action_of(r, "other calls");
	assert_int_equal(a->frames[0].samples, 1);
	assert_string_equal(a->frames[0].frame, "copy_mnt_ns");
	near(a->frames[0].self_ns, 70);
	assert_string_equal(action_of(r, "exit")->frames[0].frame, "[not sampled]");
	assert_int_equal(r->kernel_in_user_samples, 1);
	near(r->kernel_in_user_ns, r->kind_ns[FRT_KIND_USER] / 4);
	profile__free(p);
	trail__drop(&w.t);
}

/* Samples of a router that was not to be sampled, or of one that warms up, count nowhere. */
static void samples_left_out(void **state)
{
	struct frt_profile *p;
	struct world w;

	(void)state;
	build(&w);
	for (size_t i = 0; i < w.t.call.n; i++)
		if (w.t.call.v[i].nr == NR_UNSHARE)
			sample(&w.t, w.t.call.v[i].task, w.t.call.v[i].seq, FRT_MODE_CALL, true,
			       w.t.call.v[i].t0 + 1, trail__frame(&w.t, 0, "copy_tree"));
	w.t.router.v[0].flags |= FRT_ROUTER_SAMPLED; /* warm-up */
	p = profile_of(&w.t);
	assert_string_equal(action_of(row_of(p, 0, "exec"), "unshare(NEWNS)")->frames[0].frame,
			    "[not sampled]");
	profile__free(p);
	trail__drop(&w.t);
}

/* copy_mnt_ns (total 200, of it 150 in copy_tree, of which 30 off the CPU) twice, and
 * once more in another call. */
static void functions(void **state)
{
	const struct frt_action *a;
	struct frt_profile *p;
	struct world w;
	int calls = 0;

	(void)state;
	build(&w);
	for (size_t i = 0; i < w.t.call.n; i++) {
		const struct frt_call *c = &w.t.call.v[i];
		struct frt_func *f;

		if (c->nr != NR_UNSHARE || c->instance <= 5)
			continue;
		f = trail_add(&w.t, func);
		*f = (struct frt_func){ .task = c->task,
					.seq = c->seq,
					.node = 2,
					.parent = 1,
					.n = 4,
					.total_ns = 150,
					.off_ns = 30,
					.function = "copy_tree" };
		f = trail_add(&w.t, func);
		*f = (struct frt_func){ .task = c->task,
					.seq = c->seq,
					.node = 1,
					.n = 1,
					.total_ns = 200,
					.child_ns = 150,
					.off_ns = 30,
					.child_off_ns = 30,
					.function = "copy_mnt_ns" };
		calls++;
	}
	p = profile_of(&w.t);
	a = action_of(row_of(p, 0, "exec"), "unshare(NEWNS)");
	assert_int_equal(calls, 3);
	assert_int_equal(a->nfunctions, 1);
	assert_string_equal(a->functions[0].function, "copy_mnt_ns");
	assert_int_equal(a->functions[0].n, 3);
	near(a->functions[0].total_ns, 600);
	near(a->functions[0].self_ns, 150);
	near(a->functions[0].cpu_ns, 510);
	near(a->functions[0].blocked_ns, 90);
	assert_int_equal(a->functions[0].nchildren, 1);
	assert_string_equal(a->functions[0].children[0].function, "copy_tree");
	assert_int_equal(a->functions[0].children[0].n, 12);
	near(a->functions[0].children[0].total_ns, 450);
	near(a->functions[0].children[0].self_ns, 450);
	profile__free(p);
	trail__drop(&w.t);
}

/* The order of the lines of a record says nothing: the same profile from them
 * upside down. */
static void order_of_lines(void **state)
{
	struct frt_profile *p, *q;
	struct world w;

	(void)state;
	build(&w);
	p = profile_of(&w.t);
#define TURN(list)                                              \
	for (size_t i = 0; i < w.t.list.n / 2; i++) {           \
		__typeof__(*w.t.list.v) x = w.t.list.v[i];      \
		w.t.list.v[i] = w.t.list.v[w.t.list.n - 1 - i]; \
		w.t.list.v[w.t.list.n - 1 - i] = x;             \
	}
	TURN(off)
	TURN(call)
	TURN(proc)
	TURN(dead)
	TURN(step)
	TURN(router)
#undef TURN
	q = profile_of(&w.t);
	for (size_t i = 0; i < p->levels[0].nsteps; i++) {
		const struct frt_steprow *a = &p->levels[0].steps[i], *b = &q->levels[0].steps[i];

		assert_string_equal(a->step, b->step);
		near(a->wall.mean, b->wall.mean);
		assert_int_equal(a->nactions, b->nactions);
		for (size_t k = 0; k < a->nactions; k++) {
			assert_string_equal(a->actions[k].action, b->actions[k].action);
			kinds_are(a->actions[k].kind_ns, b->actions[k].kind_ns[0],
				  b->actions[k].kind_ns[1], b->actions[k].kind_ns[2],
				  b->actions[k].kind_ns[3]);
			assert_int_equal(a->actions[k].n, b->actions[k].n);
		}
	}
	profile__free(p);
	profile__free(q);
	trail__drop(&w.t);
}

/* The slowest router of a level and what made it slow. */
static void worst(void **state)
{
	struct frt_profile *p;
	struct world w;

	(void)state;
	build(&w);
	p = profile_of(&w.t);
	assert_int_equal(p->levels[0].nworst, 3);
	assert_int_equal(p->levels[0].worst[0].router, 4);
	assert_int_equal(p->levels[0].worst[2].router, 2);
	assert_non_null(strstr(p->levels[0].worst[0].text, "exec: user"));
	profile__free(p);
	trail__drop(&w.t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_and_walls),  cmocka_unit_test(actions_and_waits),
		cmocka_unit_test(no_stacks),	    cmocka_unit_test(frames),
		cmocka_unit_test(samples_left_out), cmocka_unit_test(functions),
		cmocka_unit_test(order_of_lines),   cmocka_unit_test(worst),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
