/* SPDX-License-Identifier: BSD-2-Clause */
/* Timelines of routers: spans nest, keep their order, and lose nothing. */
#include "util/util.h" /* before cmocka, which makes a macro of fail() */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/timeline.h"
#include "build_trail.h"

#include <stdlib.h>
#include <string.h>

#define NR_NANOSLEEP 35
#define NR_UNSHARE 272

/* A router with an exec step [t0, t0 + 1000). */
static struct frt_stepinst *new_router(struct frt_trail *t, uint64_t t0, uint32_t stream)
{
	trail__router(t, t0)->stream = stream;
	return trail__step(t, FRT_STEP_EXEC, 1000, 1);
}

static void new_task(struct frt_trail *t, const struct frt_stepinst *s, uint32_t task,
		     uint64_t from, uint64_t to)
{
	trail__born(t, s->instance, task, 1, from, from + 5, from + 10, (struct used){ 0 });
	trail__dead(t, s->instance, task, to, (struct used){ 0 });
}

static void open_trail(struct frt_trail *t)
{
	memset(t, 0, sizeof(*t));
	trail__header(t, "{\"environment\":{\"machine\":\"x86_64\"}}");
	trail__level(t, 10, 12);
	trail__creator(t, 1);
}

/* The rules of the trace-event format for complete events: per thread ordered by
 * begin, and each inside what is open or behind it. */
static void check_nested(const struct timeline *tl)
{
	const struct span *open[64];
	size_t n = 0;

	for (size_t i = 0; i < tl->nspans; i++) {
		const struct span *s = &tl->spans[i], *before = i ? s - 1 : NULL;

		assert_true(s->t1 > s->t0);
		assert_non_null(s->name);
		if (!before || before->group != s->group || before->track != s->track)
			n = 0;
		else
			assert_true(before->t0 <= s->t0);
		while (n && open[n - 1]->t1 <= s->t0)
			n--;
		if (n)
			assert_true(s->t1 <= open[n - 1]->t1);
		open[n++] = s;
	}
}

static size_t count(const struct timeline *tl, enum span_kind kind, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < tl->nspans; i++)
		n += tl->spans[i].kind == kind && strcmp(tl->spans[i].name, name) == 0;
	return n;
}

static const struct span *find(const struct timeline *tl, enum span_kind kind, const char *name)
{
	for (size_t i = 0; i < tl->nspans; i++)
		if (tl->spans[i].kind == kind && strcmp(tl->spans[i].name, name) == 0)
			return &tl->spans[i];
	fail_msg("no span %s", name);
	return NULL;
}

static void test_only_the_chosen(void **state)
{
	const uint32_t ids[] = { 3, 1, 99 };
	struct frt_trail t;
	struct timeline tl;

	(void)state;
	open_trail(&t);
	for (uint64_t i = 0; i < 4; i++)
		new_router(&t, 10000 + 5000 * i, 0);
	assert_int_equal(timeline__build(&t, ids, ARRAY_SIZE(ids), &tl), 0);
	assert_int_equal(tl.ngroups, 1);
	assert_int_equal(tl.groups[0].asked, 10);
	assert_int_equal(tl.groups[0].t0, 10000);
	assert_int_equal(count(&tl, SPAN_ROUTER, "router"), 2);
	assert_int_equal(count(&tl, SPAN_STEP, "exec"), 2);
	assert_int_equal(tl.spans[0].router, 1);
	check_nested(&tl);
	timeline__free(&tl);
	assert_int_equal(timeline__build(&t, NULL, 0, &tl), 0);
	assert_int_equal(tl.nspans, 0);
	timeline__free(&tl);
	trail__drop(&t);
}

static void test_wait_in_its_call(void **state)
{
	const uint32_t id = 1;
	struct frt_stepinst *s;
	struct frt_trail t;
	struct timeline tl;
	const struct span *w, *r;

	(void)state;
	open_trail(&t);
	s = new_router(&t, 10000, 0);
	new_task(&t, s, 7, 10010, 10900);
	trail__call(&t, s->instance, 7, NR_NANOSLEEP, 10100, 10500, 40);
	trail__slept(&t, s->instance, 7, NR_NANOSLEEP, 10120, 10400, 10450, (struct used){ 0 }, 0,
		     (struct used){ 0 })
		->waker_comm = "swapper/0";
	assert_int_equal(timeline__build(&t, &id, 1, &tl), 0);
	check_nested(&tl);
	w = find(&tl, SPAN_WAIT, "sleep");
	assert_int_equal(w->t0, 10120);
	assert_int_equal(w->t1, 10400);
	assert_string_equal(w->by, "swapper/0");
	assert_int_equal(count(&tl, SPAN_RUNQUEUE, "runqueue"), 2); /* at birth, and here */
	r = w + 1;
	assert_int_equal(r->kind, SPAN_RUNQUEUE);
	assert_int_equal(r->t1, 10450);
	assert_int_equal(find(&tl, SPAN_ACTION, "nanosleep")->t1, 10500);
	timeline__free(&tl);
	trail__drop(&t);
}

/* What cannot be: a wait that outlives its call, a call that outlives its task, a
 * switch-in that was lost. Ends are cut, order is kept. */
static void test_impossible(void **state)
{
	const uint32_t id = 1;
	struct frt_stepinst *s;
	struct frt_trail t;
	struct timeline tl;

	(void)state;
	open_trail(&t);
	s = new_router(&t, 10000, 0);
	new_task(&t, s, 7, 10010, 10300);
	trail__call(&t, s->instance, 7, NR_NANOSLEEP, 10100, 10200, 40);
	trail__call(&t, s->instance, 7, NR_UNSHARE, 10150, 12000, 40);
	trail__slept(&t, s->instance, 7, NR_NANOSLEEP, 10120, 10700, 10750, (struct used){ 0 }, 0,
		     (struct used){ 0 });
	trail__slept(&t, s->instance, 7, NR_NANOSLEEP, 10130, 0, 10140, (struct used){ 0 }, 0,
		     (struct used){ 0 });
	assert_int_equal(timeline__build(&t, &id, 1, &tl), 0);
	check_nested(&tl);
	for (size_t i = 0; i < tl.nspans; i++)
		if (tl.spans[i].track >= 2)
			assert_true(tl.spans[i].t1 <= 10300);
	timeline__free(&tl);
	trail__drop(&t);
}

static void test_tasks_beside_each_other(void **state)
{
	const uint32_t id = 1;
	struct frt_stepinst *s;
	struct frt_trail t;
	struct timeline tl;
	unsigned tracks = 0;

	(void)state;
	open_trail(&t);
	s = new_router(&t, 10000, 0);
	new_task(&t, s, 7, 10010, 10500);
	new_task(&t, s, 8, 10100, 10400); /* beside 7 */
	new_task(&t, s, 9, 10600, 10800); /* where 7 was */
	assert_int_equal(timeline__build(&t, &id, 1, &tl), 0);
	check_nested(&tl);
	assert_int_equal(count(&tl, SPAN_TASK, "task"), 3);
	for (size_t i = 0; i < tl.nspans; i++)
		if (tl.spans[i].kind == SPAN_TASK)
			tracks |= 1u << tl.spans[i].track;
	assert_int_equal(tracks, 1 << 2 | 1 << 4);
	timeline__free(&tl);
	trail__drop(&t);
}

static void add_function(struct frt_trail *t, const struct frt_call *c, uint32_t node,
			 uint32_t parent, uint64_t ns, const char *name)
{
	struct frt_func *f = trail_add(t, func);

	*f = (struct frt_func){ .task = c->task,
				.instance = c->instance,
				.seq = c->seq,
				.nr = c->nr,
				.node = node,
				.parent = parent,
				.n = 1,
				.total_ns = ns,
				.function = name };
}

static void test_functions(void **state)
{
	const uint32_t id = 1;
	struct frt_stepinst *s;
	struct frt_trail t;
	struct timeline tl;
	struct frt_call c;

	(void)state;
	open_trail(&t);
	s = new_router(&t, 10000, 0);
	new_task(&t, s, 7, 10010, 10900);
	c = *trail__call(&t, s->instance, 7, NR_UNSHARE, 10100, 10200, 100);
	add_function(&t, &c, 1, 0, 60, "copy_mnt_ns");
	add_function(&t, &c, 2, 1, 50, "copy_tree");
	add_function(&t, &c, 3, 0, 70, "copy_net_ns"); /* 60 + 70 > 100: cut at the call's end */
	add_function(&t, &c, 4, 9, 10, "orphan");
	add_function(&t, &c, 5000, 0, 10, "beyond");
	assert_int_equal(timeline__build(&t, &id, 1, &tl), 0);
	check_nested(&tl);
	assert_int_equal(find(&tl, SPAN_FUNCTION, "copy_tree")->t0, 10100);
	assert_int_equal(find(&tl, SPAN_FUNCTION, "copy_tree")->t1, 10150);
	assert_int_equal(find(&tl, SPAN_FUNCTION, "copy_net_ns")->t0, 10160);
	assert_int_equal(find(&tl, SPAN_FUNCTION, "copy_net_ns")->t1, 10200);
	assert_int_equal(count(&tl, SPAN_FUNCTION, "orphan"), 0);
	assert_int_equal(count(&tl, SPAN_FUNCTION, "beyond"), 0);
	timeline__free(&tl);
	trail__drop(&t);
}

static void test_streams_are_groups(void **state)
{
	const uint32_t ids[] = { 1, 2 };
	struct frt_trail t;
	struct timeline tl;

	(void)state;
	open_trail(&t);
	new_router(&t, 10000, 0);
	new_router(&t, 10200, 1);
	assert_int_equal(timeline__build(&t, ids, 2, &tl), 0);
	assert_int_equal(tl.ngroups, 2);
	assert_int_equal(tl.groups[1].stream, 1);
	assert_int_equal(tl.groups[1].t0, 10200);
	check_nested(&tl);
	timeline__free(&tl);
	trail__drop(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_the_chosen),
		cmocka_unit_test(test_wait_in_its_call),
		cmocka_unit_test(test_impossible),
		cmocka_unit_test(test_tasks_beside_each_other),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_streams_are_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
