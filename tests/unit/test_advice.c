/* SPDX-License-Identifier: BSD-2-Clause */
/* Advice: each known cause in a trail that shows it, and none in one that does not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/analyze.h"
#include "build_trail.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NR_WRITE = 1, NR_SENDMSG = 46, NR_EXECVE = 59, NR_UNSHARE = 272 };

#define MS 1000000u

static const struct frt_call newns = { .nr = NR_UNSHARE,
				       .detail = FRT_DET_NS,
				       .flags = 0x20000,
				       .net_before = 1,
				       .net_after = 1,
				       .mnt_before = 2,
				       .mnt_after = 3 };

/* What the routers of a level are made of: one step, exec. */
struct shape {
	struct plan plan;
	void (*change)(struct world *w, struct plan *p); /* after each step */
	uint64_t mounts;
};

static void level(struct world *w, uint32_t asked, const struct shape *s)
{
	struct frt_level *l = trail__level(&w->t, asked, asked);
	uint32_t state = asked + 1;

	l->mode = FRT_WORK_EXACT; /* the script has advice of its own */
	l->mounts = s->mounts;
	l->existing_end = asked + 10;
	for (int i = 0; i < 10; i++) {
		struct plan p = s->plan;

		p.user += (uint64_t)(10000 * (1 + noise(&state)));
		world__pass(w, 1000);
		trail__router(&w->t, w->now);
		world__step(w, FRT_STEP_EXEC, &p);
		if (s->change)
			s->change(w, &p);
	}
}

static uint32_t stack_of(struct world *w, const char *const *root_first, size_t n)
{
	uint32_t node = 0;

	for (size_t i = 0; i < n; i++)
		node = trail__frame(&w->t, node, root_first[i]);
	return node;
}

/* The sentence that holds this text, or NULL. Checks that there are as many as said. */
static const char *said(const struct frt_trail *t, const char *text, size_t all)
{
	static char kept[1024];
	struct analyze_opts o = { 0 };
	struct frt_profile *p = NULL;
	const char *found = NULL;

	assert_int_equal(analyze__profile(t, &o, &p), 0);
	if (p->nadvice != all)
		for (size_t i = 0; i < p->nadvice; i++)
			print_message("%s\n", p->advice[i]);
	assert_int_equal(p->nadvice, all);
	for (size_t i = 0; i < p->nadvice && text; i++)
		if (strstr(p->advice[i], text)) {
			snprintf(kept, sizeof(kept), "%s", p->advice[i]);
			found = kept;
		}
	profile__free(p);
	return found;
}

static void has(const char *sentence, const char *text)
{
	if (!sentence || !strstr(sentence, text))
		print_message("%s\nlacks %s\n", sentence ? sentence : "(nothing)", text);
	assert_true(sentence && strstr(sentence, text));
}

static void nothing(void **state)
{
	struct shape s = { .plan = { .user = MS, .kernel = 50000, .call = newns } };
	struct world w;

	(void)state;
	world__open(&w);
	level(&w, 0, &s);
	level(&w, 1000, &s);
	assert_null(said(&w.t, NULL, 0));
	trail__drop(&w.t);
	/* too few routers for any */
	world__open(&w);
	level(&w, 0, &s);
	w.t.router.n = 4;
	trail__header(&w.t, "{\"mode\":\"script\"}");
	assert_null(said(&w.t, NULL, 0));
	trail__drop(&w.t);
}

static void mount_table(void **state)
{
	struct shape s = { .plan = { .user = MS, .kernel = MS, .call = newns }, .mounts = 30 };
	struct world w;

	(void)state;
	world__open(&w);
	level(&w, 0, &s);
	s.plan.kernel = 4 * MS;
	s.mounts = 1030;
	level(&w, 1000, &s);
	has(said(&w.t, "copies the whole mount table", 1), "(1030 mounts here)");
	has(said(&w.t, "copies the whole mount table", 1), "3.00 ms of the");
	trail__drop(&w.t);
	/* twice as many mounts as namespaces: one more line */
	world__open(&w);
	s.plan.kernel = MS;
	s.mounts = 30;
	level(&w, 0, &s);
	s.plan.kernel = 4 * MS;
	s.mounts = 2030;
	level(&w, 1000, &s);
	has(said(&w.t, "is mounted 2.0 times", 2), "2030 mounts");
	trail__drop(&w.t);
}

static void ip_n(void **state)
{
	struct shape s = { .plan = { .user = MS, .kernel = MS, .call = newns } };
	struct frt_exec *e;
	struct world w;

	(void)state;
	world__open(&w);
	level(&w, 0, &s);
	e = trail_add(&w.t, exec);
	e->task = 2;
	e->args = "/usr/sbin/ip\x1f-n\x1f"
		  "bar\x1flink";
	has(said(&w.t, "`ip -n NAME`", 1), "1.00 ms per router");
	e->args = "/usr/sbin/zip\x1f-n\x1f"
		  "bar";
	assert_null(said(&w.t, NULL, 0));
	trail__drop(&w.t);
}

static void make_move(struct world *w, struct plan *p)
{
	struct frt_call *c = NULL;

	for (size_t i = 0; i < w->t.call.n; i++)
		if (w->t.call.v[i].task == p->task && w->t.call.v[i].nr == NR_SENDMSG)
			c = &w->t.call.v[i];
	c->detail = FRT_DET_NETLINK;
	c->nl_type = 19;
	c->nl_flags = 5;
	c->nl_msgs = 1;
	c->text = "@netns";
}

static void veth_moved(void **state)
{
	static const char *const rcu[] = { "__dev_change_net_namespace", "synchronize_rcu",
					   "__wait_rcu_gp", "schedule" };
	struct shape s = { .plan = { .user = MS, .blocked = 20 * MS, .wait = { .nr = NR_SENDMSG } },
			   .change = make_move };
	struct world w;
	const char *line;

	(void)state;
	world__open(&w);
	s.plan.wait_stack = stack_of(&w, rcu, 4);
	level(&w, 0, &s);
	trail__header(&w.t, "{\"environment\":{\"hz\":250}}");
	line = said(&w.t, "moved into its namespace", 2);
	has(line, "20.0 ms per router, 20.0 ms of it waiting");
	line = said(&w.t, "RCU grace periods", 2);
	has(line, "__dev_change_net_namespace (synchronize_net)");
	has(line, "HZ 250");
	trail__drop(&w.t);
}

static void make_spin(struct world *w, struct plan *p)
{
	for (size_t i = 0; i < w->t.call.n; i++)
		if (w->t.call.v[i].task == p->task && w->t.call.v[i].nr == NR_WRITE) {
			w->t.call.v[i].restarts = 50;
			w->t.call.v[i].again_ns = 2 * MS;
		}
}

static void rtnl_spin(void **state)
{
	struct shape s = { .plan = { .user = MS,
				     .kernel = 3 * MS,
				     .call = { .nr = NR_WRITE, .detail = FRT_DET_WRITE } },
			   .change = make_spin };
	struct analyze_opts o = { 0 };
	struct frt_profile *p = NULL;
	struct world w;
	int rows = 0;

	(void)state;
	world__open(&w);
	level(&w, 0, &s);
	has(said(&w.t, "try again", 1), "50 times and 2.00 ms of CPU time per router");
	trail__drop(&w.t);
	/* what it grew by is a row of its own, apart from the rest of the write */
	world__open(&w);
	s.change = NULL;
	s.plan.kernel = MS;
	level(&w, 0, &s);
	s.change = make_spin;
	s.plan.kernel = 3 * MS;
	level(&w, 1000, &s);
	assert_int_equal(analyze__profile(&w.t, &o, &p), 0);
	for (size_t i = 0; i < p->ngrowth; i++)
		if (p->growth[i].where && strcmp(p->growth[i].where, "rtnl spin") == 0) {
			assert_string_equal(p->growth[i].action, "write /proc/sys");
			assert_int_equal(p->growth[i].kind, FRT_KIND_KERNEL);
			assert_true(fabs(p->growth[i].delta_ns - 2 * MS) < 1);
			rows++;
		}
	assert_int_equal(rows, 1);
	profile__free(p);
	trail__drop(&w.t);
}

/* A lock's waiting, and who is said to hold it. */
static const char *holder_kind;

static void make_held(struct world *w, struct plan *p)
{
	struct frt_lock *k;

	for (size_t i = 0; i < w->t.off.n; i++) {
		const struct frt_off *o = &w->t.off.v[i];

		if (o->task != p->task || o->nr != NR_SENDMSG)
			continue;
		k = trail_add(&w->t, lock);
		*k = (struct frt_lock){ .task = o->task,
					.instance = o->instance,
					.flags = FRT_LCB_MUTEX,
					.t0 = o->out,
					.t1 = o->in,
					.t_owner = o->out,
					.addr = 1,
					.owner_tid = 9,
					.owner_comm = holder_kind,
					.owner_kind = strcmp(holder_kind, "cleanup_net")
							      ? FRT_OWNER_TASK
							      : FRT_OWNER_WORKER,
					.name = "" };
	}
}

static void held(void **state)
{
	static const char *const rtnl[] = { "rtnl_newlink", "__mutex_lock", "schedule" };
	struct shape s = { .plan = { .user = MS,
				     .blocked = 5 * MS,
				     .wait = { .nr = NR_SENDMSG, .detail = FRT_DET_NETLINK } },
			   .change = make_held };
	struct world w;

	(void)state;
	holder_kind = "NetworkManager";
	world__open(&w);
	s.plan.wait_stack = stack_of(&w, rtnl, 3);
	level(&w, 0, &s);
	has(said(&w.t, "not part of this workload", 1), "NetworkManager");
	has(said(&w.t, "not part of this workload", 1), "(rtnl_mutex most of all): 5.00 ms");
	trail__drop(&w.t);
	holder_kind = "cleanup_net";
	world__open(&w);
	s.plan.wait_stack = stack_of(&w, rtnl, 3);
	level(&w, 0, &s);
	has(said(&w.t, "(cleanup_net) holds", 1), "5.00 ms of waiting");
	trail__drop(&w.t);
}

static void storms(void **state)
{
	struct shape s = { .plan = { .user = MS } };
	struct frt_outside *o;
	struct world w;

	(void)state;
	world__open(&w);
	level(&w, 0, &s);
	o = trail_add(&w.t, outside);
	*o = (struct frt_outside){ .level = 1,
				   .comm = "systemd-udevd",
				   .woken_by = "uevent, by ip",
				   .cpu_ns = 80 * MS,
				   .over_ns = 100 * MS,
				   .base_cpu_ns = MS,
				   .base_over_ns = 100 * MS };
	has(said(&w.t, "systemd-udevd answers", 1), "7.90 ms of CPU time (uevent, by ip)");
	o->base_cpu_ns = 70 * MS; /* it always does */
	assert_null(said(&w.t, NULL, 0));
	o->base_cpu_ns = MS;
	o->base_over_ns = 0; /* who knows */
	assert_null(said(&w.t, NULL, 0));
	trail__drop(&w.t);
}

/* unshare(NEWNET) with as many samples as said in the init of a subsystem. */
static const struct frt_call newnet = { .nr = NR_UNSHARE,
					.detail = FRT_DET_NS,
					.flags = 0x40000000,
					.net_before = 1,
					.net_after = 4,
					.mnt_before = 2,
					.mnt_after = 2 };

static struct frt_call *last_call(struct world *w, uint32_t task, int32_t nr)
{
	struct frt_call *c = NULL;

	for (size_t i = 0; i < w->t.call.n; i++)
		if (w->t.call.v[i].task == task && w->t.call.v[i].nr == nr)
			c = &w->t.call.v[i];
	return c;
}

static void sample_tunnel(struct world *w, struct plan *p)
{
	static const char *const init[] = { "copy_net_ns", "setup_net", "ops_init", "ipip_init_net",
					    "ip_tunnel_init_net" };
	const struct frt_call *c = last_call(w, p->task, NR_UNSHARE);

	w->t.router.v[w->t.router.n - 1].flags |= FRT_ROUTER_SAMPLED;
	*trail_add(&w->t, sample) = (struct frt_sample){ .task = p->task,
							 .seq = c->seq,
							 .mode = FRT_MODE_CALL,
							 .in_kernel = 1,
							 .nr = NR_UNSHARE,
							 .t = c->t0 + 10,
							 .stack = stack_of(w, init, 5) };
}

static void tunnels(void **state)
{
	struct shape s = { .plan = { .user = MS, .kernel = 2 * MS, .call = newnet },
			   .change = sample_tunnel };
	struct world w;

	(void)state;
	world__open(&w);
	level(&w, 0, &s);
	trail__header(&w.t, "{\"environment\":{\"tunnels_only_init_net\":0}}");
	has(said(&w.t, "fallback tunnel devices", 1), "fb_tunnels_only_for_init_net=1");
	/* it is so already; nobody knows */
	trail__header(&w.t, "{\"environment\":{\"tunnels_only_init_net\":2}}");
	assert_null(said(&w.t, NULL, 0));
	trail__header(&w.t, "{\"environment\":{}}");
	assert_null(said(&w.t, NULL, 0));
	/* too few samples to speak of */
	trail__header(&w.t, "{\"environment\":{\"tunnels_only_init_net\":0}}");
	w.t.sample.n = 4;
	assert_null(said(&w.t, NULL, 0));
	trail__drop(&w.t);
}

static void make_dump(struct world *w, struct plan *p)
{
	struct frt_call *c = last_call(w, p->task, NR_SENDMSG);

	c->nl_type = 18; /* RTM_GETLINK */
	c->nl_flags = 0x301;
	c->nl_msgs = 1;
}

static void sudo_lists(void **state)
{
	struct shape s = { .plan = { .user = MS,
				     .kernel = MS,
				     .call = { .nr = NR_SENDMSG, .detail = FRT_DET_NETLINK } },
			   .change = make_dump };
	struct world w;
	const char *line;

	(void)state;
	world__open(&w);
	level(&w, 0, &s);
	s.plan.kernel = 4 * MS;
	level(&w, 1000, &s);
	trail__header(&w.t, "{\"options\":{\"sudo\":\"sudo\"}}");
	line = said(&w.t, "sudo lists all interfaces", 1);
	has(line, "4.00 ms per router, 3.00 ms of it growth");
	has(line, "probe_interfaces false");
	trail__header(&w.t, "{\"options\":{}}"); /* the dump is somebody else's */
	assert_null(said(&w.t, NULL, 0));
	trail__drop(&w.t);
}

static uint64_t init_ns[2];

static void probe_inits(struct world *w, struct plan *p)
{
	static const char *const names[] = { "ops_init[big_net_init]", "ops_init[small_init]" };
	const struct frt_call *c = last_call(w, p->task, NR_UNSHARE);

	*trail_add(&w->t, func) = (struct frt_func){ .task = p->task,
						     .instance = c->instance,
						     .seq = c->seq,
						     .nr = NR_UNSHARE,
						     .node = 1,
						     .n = 1,
						     .total_ns = init_ns[0] + init_ns[1],
						     .child_ns = init_ns[0] + init_ns[1],
						     .function = "setup_net" };
	for (uint32_t i = 0; i < 2; i++)
		*trail_add(&w->t, func) = (struct frt_func){ .task = p->task,
							     .instance = c->instance,
							     .seq = c->seq,
							     .nr = NR_UNSHARE,
							     .node = i + 2,
							     .parent = 1,
							     .n = 1,
							     .total_ns = init_ns[i],
							     .function = names[i] };
}

static void one_init(void **state)
{
	struct shape s = { .plan = { .user = MS, .kernel = 4 * MS, .call = newnet },
			   .change = probe_inits };
	struct world w;
	const char *line;

	(void)state;
	init_ns[0] = 2 * MS;
	init_ns[1] = MS;
	world__open(&w);
	level(&w, 0, &s);
	line = said(&w.t, "One subsystem dominates", 1);
	has(line, "ops_init[big_net_init] takes 2.00 ms of the 3.00 ms");
	trail__drop(&w.t);
	/* none of them is half of it */
	init_ns[0] = init_ns[1] = MS;
	init_ns[1]++;
	world__open(&w);
	level(&w, 0, &s);
	for (size_t i = 0; i < w.t.func.n; i += 3)
		*trail_add(&w.t, func) = (struct frt_func){ .task = w.t.func.v[i].task,
							    .instance = w.t.func.v[i].instance,
							    .seq = w.t.func.v[i].seq,
							    .nr = NR_UNSHARE,
							    .node = 4,
							    .parent = 1,
							    .n = 1,
							    .total_ns = MS,
							    .function = "ops_init[third_init]" };
	assert_null(said(&w.t, NULL, 0));
	trail__drop(&w.t);
}

/* What each cause goes by, too small to be worth a line. */
static void too_little(void **state)
{
	struct shape move = {
		.plan = { .user = 10 * MS, .blocked = 50000, .wait = { .nr = NR_SENDMSG } },
		.change = make_move
	};
	struct shape lock = { .plan = { .user = 10 * MS,
					.blocked = 50000,
					.wait = { .nr = NR_SENDMSG, .detail = FRT_DET_NETLINK } },
			      .change = make_held };
	static const char *const rtnl[] = { "rtnl_newlink", "__mutex_lock", "schedule" };
	static const char *const rcu[] = { "__dev_change_net_namespace", "synchronize_rcu",
					   "schedule" };
	struct shape spin = { .plan = { .user = MS,
					.kernel = 3 * MS,
					.call = { .nr = NR_WRITE, .detail = FRT_DET_WRITE } } };
	struct world w;

	(void)state;
	world__open(&w);
	move.plan.wait_stack = stack_of(&w, rcu, 3);
	level(&w, 0, &move);
	assert_null(said(&w.t, NULL, 0));
	trail__drop(&w.t);
	for (int i = 0; i < 2; i++) {
		holder_kind = i ? "NetworkManager" : "cleanup_net";
		world__open(&w);
		lock.plan.wait_stack = stack_of(&w, rtnl, 3);
		level(&w, 0, &lock);
		assert_null(said(&w.t, NULL, 0));
		trail__drop(&w.t);
	}
	world__open(&w);
	level(&w, 0, &spin); /* written, and not once restarted */
	assert_null(said(&w.t, NULL, 0));
	trail__drop(&w.t);
}

static void environment(void **state)
{
	struct shape s = { .plan = { .user = 5 * MS } };
	struct world w;

	(void)state;
	world__open(&w);
	level(&w, 0, &s);
	trail__header(&w.t, "{\"mode\":\"script\",\"environment\":{\"run_netns_mounts\":3}}");
	has(said(&w.t, "mounted on itself 3 times", 2), "umount /run/netns");
	has(said(&w.t, "One process for all", 2), "running 5 commands");
	w.t.level.v[0].filled = 1000;
	w.t.level.v[0].fill_mem_kb = 1000000;
	trail__header(&w.t, "{\"mode\":\"lean\",\"options\":{\"predict\":[10000]},"
			    "\"environment\":{\"memory_available_kb\":8000000}}");
	has(said(&w.t, "memory is the first limit", 1), "10000 routers take");
	w.t.level.v[0].existing_end = 10 + 50;
	trail__header(&w.t, "{}");
	assert_null(said(&w.t, NULL, 0)); /* others may have made them */
	*trail_add(&w.t, outside) = (struct frt_outside){ .level = 1,
							  .comm = "cleanup_net",
							  .cpu_ns = 1 };
	has(said(&w.t, "die faster", 1), "50 were dead but not gone");
	trail__drop(&w.t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing),   cmocka_unit_test(mount_table),
		cmocka_unit_test(ip_n),	     cmocka_unit_test(veth_moved),
		cmocka_unit_test(rtnl_spin), cmocka_unit_test(held),
		cmocka_unit_test(storms),    cmocka_unit_test(environment),
		cmocka_unit_test(tunnels),   cmocka_unit_test(sudo_lists),
		cmocka_unit_test(one_init),  cmocka_unit_test(too_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
