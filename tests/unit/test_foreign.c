/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps, routers and buckets out of the events of a loop that is not ours. Times
 * are plain numbers; the loop is task 1.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/analyze.h"
#include "analyze/foreign.h"
#include "build_trail.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define LOOP 1
#define NR_WAIT4 61
#define NR_UNSHARE 272
#define NR_SETNS 308
#define NR_MOUNT 165
#define NR_SENDMSG 46
#define NR_WRITE 1
#define NEWNET 0x40000000u
#define NEWNS 0x00020000u

static const struct used nobody = { 0 };

static void open_trail(struct frt_trail *t, const char *options)
{
	char header[256];

	memset(t, 0, sizeof(*t));
	snprintf(header, sizeof(header),
		 "{\"mode\":\"run\",\"environment\":{\"machine\":\"x86_64\"},\"options\":{%s}}",
		 options);
	trail__header(t, header);
	t->arena = NULL;
}

/* The loop's own process, which took over a shell's script at 0. */
static void add_loop(struct frt_trail *t)
{
	struct frt_proc *p = trail_add(t, proc);
	struct frt_exec *e = trail_add(t, exec);

	*p = (struct frt_proc){ .task = LOOP, .tid = LOOP, .tgid = LOOP, .comm = "sh" };
	*e = (struct frt_exec){ .task = LOOP, .image = 1, .t = 1, .args = "sh\x1floop" };
}

/* A command of parent's from t0 to t1, in which the parent waits; its parent is back
 * at t1 + 5. */
static void add_command(struct frt_trail *t, uint32_t task, uint32_t parent, const char *args,
			uint64_t t0, uint64_t t1)
{
	struct frt_exec *e;
	struct frt_call *c;

	trail__born(t, 0, task, parent, t0, t0 + 1, t0 + 2, nobody);
	if (args) {
		e = trail_add(t, exec);
		*e = (struct frt_exec){ .task = task,
					.image = 1,
					.t = t0 + 3,
					.args = args,
					.args_total = (uint32_t)strlen(args) + 1,
					.comm = "" };
	}
	trail__slept(t, 0, parent, NR_WAIT4, t0 + 4, t1, t1 + 2, nobody, task, nobody);
	c = trail__call(t, 0, parent, NR_WAIT4, t0 + 3, t1 + 5, 4);
	c->blocked_ns = t1 - t0 - 4;
	trail__dead(t, 0, task, t1 + 1, nobody);
}

static void name(struct frt_trail *t, const struct foreign_opts *o)
{
	char err[256] = "";

	assert_true(foreign__is(t));
	if (foreign__name(t, o, err, sizeof(err)))
		fail_msg("%s", err);
	assert_false(foreign__is(t));
}

static const char *step_name(const struct frt_trail *t, const struct frt_stepinst *s)
{
	if (s->step < FRT_STEPS)
		return frt_steps[s->step].name;
	return json_string_value(
		json_array_get(json_object_get(t->header, "steps"), s->step - FRT_STEPS));
}

/* "add:1 exec:1 …": the steps with their routers, in the order of the trail. */
static void assert_steps(const struct frt_trail *t, const char *want)
{
	char got[1024] = "";

	for (size_t i = 0; i < t->step.n; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s:%u", i ? " " : "",
			 step_name(t, &t->step.v[i]), t->step.v[i].router);
	assert_string_equal(got, want);
}

static void test_commands(void **state)
{
	struct frt_trail t;

	(void)state;
	open_trail(&t, "\"every\":100");
	add_loop(&t);
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t at = 1000 + i * 1000;

		add_command(&t, 10 + i * 10, LOOP, "uuidgen", at, at + 50);
		add_command(&t, 11 + i * 10, LOOP,
			    "ip\x1fnetns\x1f"
			    "add\x1fx",
			    at + 100, at + 200);
		add_command(&t, 12 + i * 10, LOOP,
			    "ip\x1fnetns\x1f"
			    "exec\x1fx\x1fsysctl\x1f-w",
			    at + 300, at + 400);
		add_command(&t, 13 + i * 10, LOOP, "iptables\x1f-L", at + 500, at + 600);
	}
	name(&t, NULL);
	assert_steps(&t, "add:1 sysctl:1 iptables:1 add:2 sysctl:2 iptables:2 add:3 sysctl:3 "
			 "iptables:3");
	/* from its birth to its parent's being back from the wait */
	assert_int_equal(t.step.v[0].t0, 1100);
	assert_int_equal(t.step.v[0].t1, 1205);
	assert_int_equal(t.step.v[0].creator, LOOP);
	/* rounds touch one another; the last ends with its last step */
	assert_int_equal(t.router.n, 3);
	assert_int_equal(t.router.v[1].t0, t.router.v[0].t1);
	assert_int_equal(t.router.v[0].t1, 1605);
	assert_int_equal(t.router.v[2].t1, 3605);
	assert_int_equal(t.level.n, 1);
	/* all events of a command carry its number, what is between none of them */
	for (size_t i = 0; i < t.proc.n; i++)
		if (t.proc.v[i].task == 11)
			assert_int_equal(t.proc.v[i].instance, t.step.v[0].instance);
		else if (t.proc.v[i].task == 10)
			for (size_t k = 0; k < t.step.n; k++)
				assert_int_not_equal(t.proc.v[i].instance, t.step.v[k].instance);
	trail__drop(&t);
}

/* 10 ns of sudo, 90 of the command, 20 of sudo again. */
static void test_wrapper(void **state)
{
	struct frt_trail t;

	(void)state;
	open_trail(&t, "");
	add_loop(&t);
	add_command(&t, 10, LOOP,
		    "sudo\x1fip\x1fnetns\x1f"
		    "add\x1fx",
		    1000, 1120);
	add_command(&t, 11, 10,
		    "ip\x1fnetns\x1f"
		    "add\x1fx",
		    1010, 1095);
	name(&t, NULL);
	assert_steps(&t, "wrapper:1 add:1 wrapper:1");
	assert_int_equal(t.step.v[0].t0, 1000);
	assert_int_equal(t.step.v[0].t1, 1010);
	assert_int_equal(t.step.v[1].t1, 1100);
	assert_int_equal(t.step.v[2].t0, 1100);
	assert_int_equal(t.step.v[2].t1, 1125);
	assert_int_equal(t.step.v[0].instance, t.step.v[2].instance);
	assert_int_equal(t.step.v[0].part, 1);
	assert_int_equal(t.step.v[1].creator, 10);
	assert_int_equal(t.step.v[2].creator, LOOP);
	trail__drop(&t);
}

/* `env` becomes the command itself. */
static void test_wrapper_by_exec(void **state)
{
	struct frt_exec *e;
	struct frt_trail t;

	(void)state;
	open_trail(&t, "");
	add_loop(&t);
	add_command(&t, 10, LOOP,
		    "env\x1f"
		    "A=b\x1fip\x1fnetns\x1f"
		    "add\x1fx",
		    1000, 1100);
	e = trail_add(&t, exec);
	*e = (struct frt_exec){ .task = 10, .image = 2, .t = 1040, .comm = "ip" };
	e->args = "ip\x1fnetns\x1f"
		  "add\x1fx";
	name(&t, NULL);
	assert_steps(&t, "wrapper:1 add:1");
	assert_int_equal(t.step.v[0].t1, 1040);
	assert_int_equal(t.step.v[1].t0, 1040);
	assert_int_equal(t.step.v[1].t1, 1105);
	trail__drop(&t);
}

/* Two subshells at the same time are two loops, one after the other it is one. */
static void test_loops(void **state)
{
	for (int parallel = 0; parallel < 2; parallel++) {
		uint64_t second = parallel ? 1500 : 2500;
		struct frt_trail t;

		(void)state;
		open_trail(&t, "");
		add_loop(&t);
		add_command(&t, 10, LOOP, NULL, 1000, 2000);
		add_command(&t, 11, 10, "unshare\x1f-n", 1100, 1200);
		add_command(&t, 12, 10, "unshare\x1f-n", 1300, 1400);
		add_command(&t, 20, LOOP, NULL, second, second + 1000);
		add_command(&t, 21, 20, "unshare\x1f-n", second + 100, second + 200);
		name(&t, NULL);
		assert_int_equal(t.router.n, 3);
		assert_int_equal(t.level.v[0].streams, parallel ? 2 : 1);
		for (size_t i = 0; i < t.router.n; i++)
			assert_int_equal(t.router.v[i].creator == LOOP, !parallel);
		trail__drop(&t);
	}
}

static struct frt_call *add_request(struct frt_trail *t, int32_t nr, uint32_t detail, uint64_t t0)
{
	struct frt_call *c = trail__call(t, 0, LOOP, nr, t0, t0 + 10, 10);

	c->detail = detail;
	c->text = "";
	c->seq = (uint32_t)t->call.n;
	return c;
}

static void add_ns(struct frt_trail *t, int32_t nr, uint64_t flags, uint32_t before, uint32_t after,
		   uint32_t mnt_after, uint64_t t0)
{
	struct frt_call *c = add_request(t, nr, FRT_DET_NS, t0);

	c->flags = flags;
	c->net_before = before;
	c->net_after = after;
	c->mnt_before = 7;
	c->mnt_after = mnt_after;
}

static void test_actions(void **state)
{
	struct foreign_opts by_command = { .by = FOREIGN_COMMAND };
	struct frt_trail t;
	struct frt_call *c;

	(void)state;
	open_trail(&t, "\"by\":\"auto\"");
	add_loop(&t);
	for (uint32_t i = 0; i < 2; i++) {
		uint64_t at = 1000 + i * 1000;

		add_ns(&t, NR_UNSHARE, NEWNET, 1, 2 + i, 7, at);
		add_ns(&t, NR_SETNS, NEWNET, 2 + i, 1, 7, at + 100);
		/* entering, then leaving the mount namespace, then a mount: one step */
		add_ns(&t, NR_SETNS, 0, 1, 2 + i, 7, at + 200);
		add_ns(&t, NR_UNSHARE, NEWNS, 2 + i, 2 + i, 8, at + 300);
		add_request(&t, NR_MOUNT, FRT_DET_MOUNT, at + 350)->text = "/";
		c = add_request(&t, NR_WRITE, FRT_DET_WRITE, at + 400);
		c->text = "net/ipv4/ip_forward";
		c = add_request(&t, NR_SENDMSG, FRT_DET_NETLINK, at + 500);
		c->nl_type = 16;
		c->nl_flags = 0x400;
		c->nl_msgs = 1;
		c->text = "veth";
		c = add_request(&t, NR_SENDMSG, FRT_DET_NETLINK, at + 600);
		c->nl_type = 16;
		c->nl_msgs = 3;
		/* what failed made nothing */
		c = add_request(&t, NR_UNSHARE, FRT_DET_NS, at + 700);
		c->flags = NEWNET;
		c->ret = -1;
	}
	name(&t, NULL);
	assert_steps(&t, "add:1 enter:1 exec:1 sysctl:1 veth:1 rtnl-batch:1 add:2 enter:2 exec:2 "
			 "sysctl:2 veth:2 rtnl-batch:2");
	assert_int_equal(t.step.v[2].t0, 1200);
	assert_int_equal(t.step.v[2].t1, 1360);
	trail__drop(&t);

	open_trail(&t, "\"by\":\"auto\"");
	add_loop(&t);
	add_ns(&t, NR_UNSHARE, NEWNET, 1, 2, 7, 1000);
	name(&t, &by_command);
	assert_int_equal(t.step.n, 0);
	trail__drop(&t);
}

/* What several messages in one send ask, where their function is probed. */
static void test_batch_note(void **state)
{
	static const struct {
		const char *function;
		uint32_t n;
	} v[] = { { "rtnetlink_rcv_msg[rtnl newlink]", 2 },
		  { "rtnetlink_rcv_msg[rtnl newlink veth]", 3 },
		  { "rtnl_newlink", 9 },
		  { "rtnetlink_rcv_msg[rtnl newlink veth]", 1 } };
	json_t *notes, *note;
	struct frt_trail t;
	bool told = false;
	size_t i;

	(void)state;
	open_trail(&t, "");
	add_loop(&t);
	for (i = 0; i < 2; i++) {
		struct frt_call *c = add_request(&t, NR_SENDMSG, FRT_DET_NETLINK, 1000 + i * 1000);

		c->nl_type = 16;
		c->nl_msgs = 3;
	}
	for (i = 0; i < sizeof(v) / sizeof(*v); i++)
		*trail_add(&t, func) = (struct frt_func){
			.task = LOOP, .node = 1, .n = v[i].n, .function = v[i].function
		};
	name(&t, NULL);
	notes = json_object_get(t.header, "notes");
	json_array_foreach(notes, i, note)
		told = told || strcmp(json_string_value(note),
				      "rtnl-batch: 6 messages in 2 sends: rtnl newlink veth ×4, "
				      "rtnl newlink ×2") == 0;
	assert_true(told);
	trail__drop(&t);
}

/* A bucket of few routers at either end is part of its neighbour. */
static void test_few_in_a_bucket(void **state)
{
	/* existing before the loop, routers; buckets of ten: how many, routers of each */
	static const struct {
		uint32_t from, n, buckets, first, last;
	} v[] = {
		{ 0, 21, 2, 10, 11 }, { 0, 25, 3, 10, 5 }, { 8, 22, 2, 12, 10 },
		{ 5, 20, 3, 5, 5 },   { 7, 6, 2, 3, 3 },
	};

	(void)state;
	for (size_t k = 0; k < sizeof(v) / sizeof(*v); k++) {
		struct frt_level *l;
		struct frt_trail t;

		open_trail(&t, "\"every\":10");
		l = trail_add(&t, level);
		*l = (struct frt_level){ .id = 1, .existing = v[k].from, .t0 = 10 };
		add_loop(&t);
		for (uint32_t i = 0; i < v[k].n; i++)
			add_ns(&t, NR_UNSHARE, NEWNET, 1 + i, 2 + i, 7, 1000 + i * 1000);
		name(&t, NULL);
		assert_int_equal(t.level.n, v[k].buckets);
		assert_int_equal(t.level.v[0].routers, v[k].first);
		assert_int_equal(t.level.v[t.level.n - 1].routers, v[k].last);
		assert_int_equal(t.level.v[0].existing, v[k].from);
		trail__drop(&t);
	}
}

/* Counted 100 at the start and 300 in the middle; between counts, creations. */
static void test_buckets(void **state)
{
	struct foreign_opts narrow = { .every = 2 };

	(void)state;
	for (int k = 0; k < 2; k++) {
		struct frt_level *l;
		struct frt_trail t;

		open_trail(&t, "\"every\":100");
		l = trail_add(&t, level);
		*l = (struct frt_level){ .id = 1, .existing = 100, .existing_end = 300 };
		l->t0 = 10;
		l->t1 = 3500;
		l = trail_add(&t, level);
		*l = (struct frt_level){ .id = 2, .existing = 300, .existing_end = 303 };
		l->t0 = 3500;
		l->t1 = 9000;
		*trail_add(&t, loss) = (struct frt_loss){ .level = 2, .events = 5 };
		add_loop(&t);
		for (uint32_t i = 0; i < 6; i++)
			add_ns(&t, NR_UNSHARE, NEWNET, 1 + i, 2 + i, 7, 1000 + i * 1000);
		name(&t, k ? &narrow : NULL);
		assert_int_equal(t.router.n, 6);
		/* two made before the third begins; the fourth begins after it was made at
		 * 3010, at 300 less none: the count at 3500 comes first only for the fifth */
		assert_int_equal(t.router.v[0].existing, 100);
		assert_int_equal(t.router.v[1].existing, 101);
		assert_int_equal(t.router.v[2].existing, 102);
		assert_int_equal(t.router.v[3].existing, 103);
		assert_int_equal(t.router.v[4].existing, 301);
		assert_int_equal(t.router.v[5].existing, 302);
		assert_int_equal(t.level.n, k ? 4 : 2);
		assert_int_equal(t.level.v[0].asked, 100);
		assert_int_equal(t.level.v[0].routers, k ? 2 : 4);
		assert_int_equal(t.loss.v[0].level, t.level.n);
		for (size_t i = 0; i < t.step.n; i++)
			assert_int_equal(t.step.v[i].level,
					 t.router.v[t.step.v[i].router - 1].level);
		trail__drop(&t);
	}
}

static void test_bad_rule(void **state)
{
	const char *bad = "no pattern";
	struct foreign_opts o = { .step = &bad, .nsteps = 1 };
	struct frt_trail t;
	char err[256] = "";

	(void)state;
	open_trail(&t, "");
	assert_int_equal(foreign__name(&t, &o, err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "--step"));
	trail__drop(&t);
}

/* Rows and gaps add up to the loop's wall, and every row to its kinds. */
static void test_report(void **state)
{
	struct analyze_opts ao = { 0 };
	struct frt_profile *p = NULL;
	struct frt_trail t;
	double sum = 0;

	(void)state;
	open_trail(&t, "");
	add_loop(&t);
	for (uint32_t i = 0; i < 6; i++) {
		uint64_t at = 1000 + i * 1000;

		add_command(&t, 10 + i * 10, LOOP,
			    "ip\x1fnetns\x1f"
			    "add\x1fx",
			    at, at + 300);
		add_command(&t, 11 + i * 10, LOOP, "tc\x1fqdisc", at + 400, at + 500);
		add_command(&t, 12 + i * 10, LOOP, "nft\x1f-f", at + 600, at + 700);
	}
	name(&t, NULL);
	assert_int_equal(analyze__profile(&t, &ao, &p), 0);
	assert_int_equal(p->nlevels, 1);
	for (size_t i = 0; i < p->levels[0].nsteps; i++) {
		const struct frt_steprow *s = &p->levels[0].steps[i];

		assert_int_equal(s->n, 6);
		if (strcmp(s->step, "router") == 0)
			sum = s->wall.sum;
		else
			assert_int_equal(s->instances, 6);
	}
	/* from what may be of the first round's lead, here all (below three times the
	 * longest other), to the end of the last step */
	assert_int_equal((int64_t)sum, 6705 - (int64_t)t.router.v[0].t0);
	profile__free(p);
	trail__drop(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commands),	cmocka_unit_test(test_wrapper),
		cmocka_unit_test(test_wrapper_by_exec), cmocka_unit_test(test_loops),
		cmocka_unit_test(test_actions),		cmocka_unit_test(test_buckets),
		cmocka_unit_test(test_few_in_a_bucket), cmocka_unit_test(test_batch_note),
		cmocka_unit_test(test_bad_rule),	cmocka_unit_test(test_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
