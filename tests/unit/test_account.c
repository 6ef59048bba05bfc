/* SPDX-License-Identifier: BSD-2-Clause */
/* From whole trails to the rows of the profile: kinds, actions, counts, frames,
 * waits, functions, what is left out. */
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

/*
 * Seven samples in unshare(NEWNS), 900 ns over three routers: 4 in copy_tree below
 * copy_mnt_ns, 1 in a copy of it (.constprop.0), 2 in clone_mnt below both, one of them
 * through a recursion. 900 by 4:1:1:1 is 514.29 and three times 128.57: rounded down
 * 898, so the first two of the larger remainders get one more: 514 129 129 128.
 */
static void frames(void **state)
{
	uint32_t top, copy, twin, clone, again, task = 0, seq = 0;
	struct frt_profile *p;
	const struct frt_steprow *r;
	const struct frt_action *a;
	uint64_t at = 0, sum = 0;
	struct world w;

	(void)state;
	build(&w);
	for (size_t i = 0; i < w.t.call.n; i++)
		if (w.t.call.v[i].nr == NR_UNSHARE && w.t.call.v[i].instance > 5) {
			task = w.t.call.v[i].task;
			seq = w.t.call.v[i].seq;
			at = w.t.call.v[i].t0;
			break;
		}
	w.t.router.v[1].flags |= FRT_ROUTER_SAMPLED;
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
		assert_true(s->n == 4 ? s->ns == 514 : s->ns == 129 || s->ns == 128);
	}
	assert_int_equal(sum, 900);
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
			t.outside.v[i].comm = t.outside.v[i].woken_by = NULL;
		for (size_t i = 0; i < t.defer.n; i++)
			t.defer.v[i].function = "h";
		profile__free(profile_of(&t));
		trail__drop(&t);
	}
#undef FILL
#undef ROLL
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
		cmocka_unit_test(kinds_and_walls),
		cmocka_unit_test(actions_and_waits),
		cmocka_unit_test(frames),
		cmocka_unit_test(samples_left_out),
		cmocka_unit_test(functions),
		cmocka_unit_test(order_of_lines),
		cmocka_unit_test(untraced),
		cmocka_unit_test(left_out),
		cmocka_unit_test(cost_of_looking),
		cmocka_unit_test(nothing),
		cmocka_unit_test(dice),
		cmocka_unit_test(worst),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
