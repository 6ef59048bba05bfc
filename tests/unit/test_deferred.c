/* SPDX-License-Identifier: BSD-2-Clause */
/* Work that comes later, the backlog, and what others do meanwhile. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/analyze.h"
#include "build_trail.h"

#include <math.h>
#include <string.h>

#define CREATOR 1

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
	return p;
}

static const struct frt_deferred *row(const struct frt_profile *p, const char *step,
				      const char *function)
{
	for (size_t i = 0; i < p->ndeferred; i++)
		if (!strcmp(p->deferred[i].step, step) &&
		    !strcmp(p->deferred[i].function, function))
			return &p->deferred[i];
	return NULL;
}

/* Two routers (instances 1 to 4: add, delete; add, delete) and one to warm up (5, 6). */
static void build(struct frt_trail *t)
{
	struct frt_level *l;

	memset(t, 0, sizeof(*t));
	trail__creator(t, CREATOR);
	l = trail__level(t, 0, 10);
	for (int i = 0; i < 3; i++) {
		trail__router(t, (uint64_t)(1000 * (i + 1)))->flags = i == 2 ? FRT_ROUTER_WARMUP
									     : 0;
		trail__step(t, FRT_STEP_ADD, 100, CREATOR);
		trail__step(t, FRT_STEP_DELETE, 50, CREATOR);
	}
	l = &t->level.v[0];
	l->routers = 2;
	l->warmup = 1;
	l->existing_end = 17;
}

static struct frt_defer *ran(struct frt_trail *t, const char *function, uint32_t instance,
			     uint64_t queue, uint64_t start, uint64_t end)
{
	struct frt_defer *d = trail_add(t, defer);

	*d = (struct frt_defer){ .instance = instance,
				 .n = 1,
				 .t_queue = queue,
				 .t_start = start,
				 .t_end = end,
				 .wait_ns = (end - start) / 4,
				 .function = function };
	return d;
}

static void unmounts(struct frt_trail *t, uint32_t instance, uint64_t at, const char *path)
{
	struct frt_call *c = trail__call(t, instance, 2, 166, at - 10, at, 5);

	c->detail = FRT_DET_MOUNT;
	c->text = path;
}

static void items(void **state)
{
	const struct frt_deferred *r;
	struct frt_profile *p;
	struct frt_trail t;

	(void)state;
	build(&t);
	ran(&t, "linkwatch_event", 1, 100, 140, 240);
	ran(&t, "linkwatch_event", 3, 100, 120, 160);
	ran(&t, "linkwatch_event", 5, 100, 120, 5000); /* warming up: in no row */
	ran(&t, "other", 77, 100, 120, 5000);	       /* no step of ours */
	p = profile_of(&t);
	assert_int_equal(p->ndeferred, 1);
	r = row(p, "add", "linkwatch_event");
	assert_non_null(r);
	assert_int_equal(r->n, 2);
	near(r->ns, (100 + 40) / 2.0);
	near(r->wait_ns, (25 + 10) / 2.0);
	near(r->delay_ns, (40 + 20) / 2.0);
	near(p->levels[0].backlog, 17 - 10 - 3);
	assert_int_equal(p->levels[0].nbacklogs, 0); /* nobody counted */
	profile__free(p);
	trail__drop(&t);
}

/* One run for four: two deletions of ours, one of them told by its unmount only, one
 * that warmed up, and somebody else's. */
static void shared(void **state)
{
	const struct frt_deferred *r;
	struct frt_profile *p;
	struct frt_trail t;

	(void)state;
	build(&t);
	unmounts(&t, 2, 500, "/run/netns/bar-1"); /* the one that queued it: told as well */
	unmounts(&t, 4, 600, "/run/netns/bar-2");
	unmounts(&t, 6, 610, "/run/netns/bar-3");
	unmounts(&t, 1, 620, "/sys");		    /* not a namespace */
	unmounts(&t, 1, 630, "/run/netns/x\tnsfs"); /* a mount */
	unmounts(&t, 3, 5000, "/run/netns/late");   /* after it had begun */
	ran(&t, "cleanup_net", 2, 510, 700, 1500);
	ran(&t, "cleanup_net", 0, 510, 700, 1500);
	p = profile_of(&t);
	assert_int_equal(p->ndeferred, 1);
	r = row(p, "delete", "cleanup_net");
	assert_non_null(r);
	assert_int_equal(r->n, 2);
	near(r->ns, 2 * 800 / 4.0 / 2);
	near(r->wait_ns, 2 * 200 / 4.0 / 2);
	near(r->delay_ns, 2 * 190 / 2.0);
	profile__free(p);
	trail__drop(&t);
}

static struct frt_func *called(struct frt_trail *t, uint32_t run, uint32_t node, uint32_t parent,
			       const char *function, uint32_t n, uint64_t total, uint64_t child)
{
	struct frt_func *f = trail_add(t, func);

	*f = (struct frt_func){ .seq = run,
				.nr = FRT_NR_WORK,
				.node = node,
				.parent = parent,
				.n = n,
				.total_ns = total,
				.child_ns = child,
				.off_ns = total / 4,
				.function = function };
	return f;
}

/* The functions of two runs of cleanup_net: the first for a deletion of ours and somebody
 * else's, the second for two of ours. Calls count once a run, times by share. */
static void functions(void **state)
{
	const struct frt_fn *top, *ops;
	const struct frt_deferred *r;
	struct frt_profile *p;
	struct frt_trail t;

	(void)state;
	build(&t);
	called(&t, 1, 1, 0, "cleanup_net", 1, 800, 600);
	called(&t, 1, 2, 1, "ops_exit_list[a]", 2, 600, 0);
	called(&t, 2, 1, 0, "cleanup_net", 1, 400, 100);
	called(&t, 2, 2, 1, "ops_exit_list[b]", 2, 100, 0);
	called(&t, 3, 1, 0, "cleanup_net", 1, 5000, 0);		      /* nobody's run */
	called(&t, 2, 3, 0, "copy_net_ns", 1, 9000, 0)->nr = 272;     /* a call's */
	called(&t, 1, 4, 0, "setup_net", 1, 9000, 0)->task = CREATOR; /* a task's */
	ran(&t, "cleanup_net", 2, 510, 700, 1500)->run = 1;
	ran(&t, "cleanup_net", 0, 510, 700, 1500)->run = 1;
	ran(&t, "cleanup_net", 2, 1600, 1700, 2100)->run = 2;
	ran(&t, "cleanup_net", 4, 1600, 1700, 2100)->run = 2;
	p = profile_of(&t);
	assert_int_equal(p->ndeferred, 1);
	r = row(p, "delete", "cleanup_net");
	assert_non_null(r);
	near(r->ns, (800 / 2.0 + 400) / 2);
	assert_int_equal(r->nfunctions, 1);
	top = &r->functions[0];
	assert_string_equal(top->function, "cleanup_net");
	assert_int_equal(top->n, 2);
	near(top->total_ns, (800 / 2.0 + 400) / 2);
	near(top->self_ns, (200 / 2.0 + 300) / 2);
	near(top->blocked_ns, (200 / 2.0 + 100) / 2);
	assert_int_equal(top->nchildren, 2);
	ops = &top->children[0];
	assert_string_equal(ops->function, "ops_exit_list[a]");
	assert_int_equal(ops->n, 2);
	near(ops->total_ns, 600 / 2.0 / 2);
	assert_string_equal(top->children[1].function, "ops_exit_list[b]");
	assert_int_equal(top->children[1].n, 2);
	near(top->children[1].total_ns, 100 / 2.0);
	for (size_t i = 0; i < p->nlevels; i++)
		for (size_t k = 0; k < p->levels[i].nsteps; k++)
			for (size_t a = 0; a < p->levels[i].steps[k].nactions; a++)
				assert_int_equal(p->levels[i].steps[k].actions[a].nfunctions, 0);
	profile__free(p);
	trail__drop(&t);
}

/* A second run takes what was unmounted since, and a share by count. */
static void two_runs(void **state)
{
	const struct frt_deferred *r;
	struct frt_profile *p;
	struct frt_trail t;

	(void)state;
	build(&t);
	unmounts(&t, 2, 500, "/run/netns/bar-1");
	ran(&t, "cleanup_net", 2, 510, 600, 1000);
	unmounts(&t, 4, 650, "/run/netns/bar-2");
	ran(&t, "cleanup_net", 0, 620, 1000, 1900)->n = 2; /* two of others */
	p = profile_of(&t);
	r = row(p, "delete", "cleanup_net");
	assert_non_null(r);
	assert_int_equal(r->n, 2);
	near(r->ns, (400 + 900 / 3.0) / 2);
	profile__free(p);
	trail__drop(&t);
}

static struct frt_outside *uses(struct frt_trail *t, uint32_t level, const char *comm, uint64_t cpu,
				uint64_t base)
{
	struct frt_outside *o = trail_add(t, outside);

	*o = (struct frt_outside){ .level = level,
				   .comm = comm,
				   .cpu_ns = cpu,
				   .over_ns = 4000,
				   .base_cpu_ns = base,
				   .base_over_ns = 2000 };
	return o;
}

static void outside(void **state)
{
	struct frt_profile *p;
	struct frt_trail t;

	(void)state;
	build(&t);
	uses(&t, 1, "udevd", 900, 150)->woken_by = "uevent, by ip";
	uses(&t, 1, "idle", 100, 100);
	uses(&t, 1, "frtrace", 5000, 0)->own = 1;
	uses(&t, 0, "new", 30, 0)->base_over_ns = 0; /* over all levels */
	p = profile_of(&t);
	assert_int_equal(p->noutside, 4);
	assert_string_equal(p->outside[0].task, "udevd");
	near(p->outside[0].baseline_ns, 300);		      /* as long as was measured */
	near(p->outside[0].per_router_ns, (900 - 300) / 3.0); /* the one to warm up, too */
	assert_string_equal(p->outside[0].woken_by, "uevent, by ip");
	assert_string_equal(p->outside[1].task, "new");
	assert_true(isnan(p->outside[1].baseline_ns)); /* none was taken */
	near(p->outside[1].per_router_ns, 10);
	assert_string_equal(p->outside[2].task, "idle");
	near(p->outside[2].per_router_ns, 0); /* never negative */
	assert_true(p->outside[3].own);	      /* last, however much */
	profile__free(p);
	trail__drop(&t);
}

static void none(void **state)
{
	struct frt_profile *p;
	struct frt_trail t;

	(void)state;
	build(&t);
	t.level.v[0].existing_end = 0;
	p = profile_of(&t);
	assert_int_equal(p->ndeferred + p->noutside, 0);
	assert_true(p->levels[0].backlog == INT64_MIN);
	profile__free(p);
	trail__drop(&t);
}

static void counted(struct frt_trail *t, uint32_t level, uint64_t at, uint64_t existing,
		    uint64_t expected, bool deleting)
{
	*trail_add(t, nscount) = (struct frt_nscount){ .level = level,
						       .deleting = deleting,
						       .t = at,
						       .existing = existing,
						       .expected = expected };
}

/* What was counted meanwhile, each in its level; before the first measured router, too. */
static void over_time(void **state)
{
	const struct frt_levelrow *l;
	struct frt_profile *p;
	struct frt_trail t;

	(void)state;
	build(&t);
	trail__level(&t, 7, 7)->t0 = 9000;
	t.level.v[0].t0 = 1000;
	counted(&t, 1, 900, 12, 11, false);
	counted(&t, 1, 1500, 13, 13, false);
	counted(&t, 1, 2500, 15, 11, true);
	counted(&t, 2, 9100, 6, 7, false);  /* one of somebody else's went */
	counted(&t, 77, 9200, 1, 1, false); /* no such level */
	p = profile_of(&t);
	l = &p->levels[0];
	assert_int_equal(l->nbacklogs, 3);
	assert_int_equal(l->backlogs[0].t_ns, -100);
	assert_int_equal(l->backlogs[2].t_ns, 1500);
	assert_int_equal(l->backlogs[2].existing, 15);
	assert_int_equal(l->backlogs[2].expected, 11);
	assert_false(l->backlogs[1].deleting);
	assert_true(l->backlogs[2].deleting);
	l = &p->levels[1];
	assert_int_equal(l->nbacklogs, 1);
	assert_int_equal(l->backlogs[0].t_ns, 100);
	profile__free(p);
	trail__drop(&t);
}

static bool noted(const struct frt_profile *p, const char *text)
{
	for (size_t i = 0; i < p->nnotes; i++)
		if (strstr(p->notes[i], text))
			return true;
	return false;
}

/* What outlives the level is counted, each in its level. */
static void unfinished(void **state)
{
	struct frt_profile *p;
	struct frt_loss *l;
	struct frt_trail t;

	(void)state;
	build(&t);
	l = trail_add(&t, loss);
	l->level = t.level.v[0].id;
	l->unfinished = 3;
	p = profile_of(&t);
	assert_int_equal(p->levels[0].unfinished, 3);
	assert_int_equal(p->loss[0] + p->loss[1], 0); /* nothing was lost */
	profile__free(p);
	trail__drop(&t);
}

/* What the kernel does not tell of is said, not shown as nothing. */
static void not_told(void **state)
{
	struct frt_profile *p;
	struct frt_trail t;

	(void)state;
	build(&t);
	trail__header(&t, "{\"probes\":{\"contention\":true,\"deferred\":true}}");
	p = profile_of(&t);
	assert_false(noted(p, "leave to workqueues"));
	profile__free(p);
	trail__header(&t, "{\"probes\":{\"contention\":false,\"deferred\":false}}");
	p = profile_of(&t);
	assert_true(noted(p, "leave to workqueues is not told"));
	assert_false(noted(p, "stacks and wakings")); /* nobody waited */
	profile__free(p);
	trail__slept(&t, 1, CREATOR, 0, 10, 20, 30, (struct used){ 0 }, 0, (struct used){ 0 });
	p = profile_of(&t);
	assert_true(noted(p, "told by stacks and wakings"));
	profile__free(p);
	trail__drop(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items),     cmocka_unit_test(shared),
		cmocka_unit_test(two_runs),  cmocka_unit_test(outside),
		cmocka_unit_test(over_time), cmocka_unit_test(none),
		cmocka_unit_test(not_told),  cmocka_unit_test(unfinished),
		cmocka_unit_test(functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
