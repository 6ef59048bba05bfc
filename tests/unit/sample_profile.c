/* SPDX-License-Identifier: BSD-2-Clause */
#include "sample_profile.h"
#include "sample_level.h"

#include <assert.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

static const struct frt_steprow *find_step(const struct frt_profile *p, size_t level,
					   const char *step)
{
	for (size_t i = 0; i < p->levels[level].nsteps; i++)
		if (!strcmp(p->levels[level].steps[i].step, step))
			return &p->levels[level].steps[i];
	assert(false);
	return NULL;
}

static struct frt_prediction *predict(uint64_t at, double ns, double width, bool refused, size_t *n)
{
	struct frt_prediction *v = TAKE(1, struct frt_prediction);

	*v = (struct frt_prediction){ at, refused ? NAN : ns, refused ? NAN : ns - width,
				      refused ? NAN : ns + width, refused };
	*n = 1;
	return v;
}

/* Growth between the levels first and last. */
static void fill_step_growth(struct frt_profile *p, size_t first, size_t last, const char *shape)
{
	double span = (double)(p->levels[last].existing - p->levels[first].existing);

	p->stepgrowth = TAKE(SAMPLE_STEPS, struct frt_stepgrowth);
	for (size_t i = 0; i < SAMPLE_STEPS; i++) {
		const struct frt_dist *a = &find_step(p, first, sample_steps[i].name)->wall;
		const struct frt_dist *b = &find_step(p, last, sample_steps[i].name)->wall;
		struct frt_stepgrowth *g = &p->stepgrowth[p->nstepgrowth++];
		double width = 1.35 * (a->hi - a->mean + b->hi - b->mean), slope;

		*g = (struct frt_stepgrowth){ .step = sample_steps[i].name,
					      .first_ns = a->mean,
					      .last_ns = b->mean,
					      .ratio = b->mean / a->mean,
					      .delta_ns = b->mean - a->mean,
					      .shape = shape };
		g->ratio_lo = g->ratio * (1 - 0.75 * width / b->mean);
		g->ratio_hi = g->ratio * (1 + 0.75 * width / b->mean);
		g->lo = g->delta_ns - width;
		g->hi = g->delta_ns + width;
		g->grew = g->lo > 0 && !sample_steps[i].control;
		g->ns_per_existing = slope = g->delta_ns / span;
		g->fit_b = slope;
		g->fit_a = a->mean - slope * (double)p->levels[first].existing;
		g->lack_p = strcmp(shape, "unknown") ? 0.41 : NAN;
		g->predicted = predict(10000, g->fit_a + slope * 10000, 3 * width, false,
				       &g->npredicted);
	}
}

static double kind_of(const struct frt_steprow *row, const char *action, enum frt_kind kind)
{
	for (size_t i = 0; i < row->nactions; i++)
		if (!strcmp(row->actions[i].action, action))
			return row->actions[i].kind_ns[kind];
	return 0;
}

static void fill_growth(struct frt_profile *p, size_t first, size_t last, const char *shape)
{
	static const struct {
		const char *step, *action, *where;
		enum frt_kind kind;
		int permille; /* of the action's growth in this kind */
		uint64_t samples;
	} rows[] = {
		{ "exec", "unshare(NEWNS)", "clone_mnt", FRT_KIND_KERNEL, 720, 212 },
		{ "sysctl", "unshare(NEWNS)", "clone_mnt", FRT_KIND_KERNEL, 710, 207 },
		{ "exec", "exit", "umount_tree", FRT_KIND_KERNEL, 620, 141 },
		{ "sysctl", "exit", "umount_tree", FRT_KIND_KERNEL, 640, 144 },
		{ "exec", "unshare(NEWNS)", "copy_tree", FRT_KIND_KERNEL, 200, 57 },
		{ "sysctl", "unshare(NEWNS)", "copy_tree", FRT_KIND_KERNEL, 205, 60 },
		{ "exec", "exit", "other", FRT_KIND_BLOCKED, 1000, 0 },
		{ "sysctl", "exit", "other", FRT_KIND_BLOCKED, 1000, 0 },
		{ "add", "mount(shared,rec)", "change_mnt_propagation", FRT_KIND_KERNEL, 1000, 8 },
		{ "veth", "rtnl newlink veth", SAMPLE_EVIL_FRAME, FRT_KIND_KERNEL, 1000, 5 },
	};
	double span = (double)(p->levels[last].existing - p->levels[first].existing), rest;
	const struct frt_stepgrowth *router = NULL;

	for (size_t i = 0; i < p->nstepgrowth; i++)
		if (!strcmp(p->stepgrowth[i].step, "router"))
			router = &p->stepgrowth[i];
	assert(router);
	p->growth_ns = rest = router->delta_ns;
	p->growth_lo = router->lo;
	p->growth_hi = router->hi;
	p->growth = TAKE(ARRAY_SIZE(rows) + 1, struct frt_growthrow);
	for (size_t i = 0; i <= ARRAY_SIZE(rows); i++) {
		struct frt_growthrow *g = &p->growth[p->ngrowth++];
		double width;

		g->shape = shape;
		g->lack_p = strcmp(shape, "unknown") ? 0.37 : NAN;
		g->n = SAMPLE_ROUTERS;
		if (i < ARRAY_SIZE(rows)) {
			const char *action = rows[i].action;

			g->step = rows[i].step;
			g->action = action;
			g->where = rows[i].where;
			g->kind = rows[i].kind;
			g->sampled = rows[i].samples != 0;
			if (g->sampled)
				g->n = rows[i].samples;
			g->delta_ns = (kind_of(find_step(p, last, g->step), action, g->kind) -
				       kind_of(find_step(p, first, g->step), action, g->kind)) *
				      rows[i].permille / 1000;
			rest -= g->delta_ns;
		} else {
			g->delta_ns = rest;
		}
		width = fabs(g->delta_ns) * (g->sampled ? 0.11 : 0.02) + 9000;
		g->lo = g->delta_ns - width;
		g->hi = g->delta_ns + width;
		g->share = g->delta_ns / p->growth_ns;
		g->fit_b = g->ns_per_existing = g->delta_ns / span;
		g->fit_a = 0;
		g->predicted = predict(10000, g->delta_ns * 10000 / span, 2 * width, false,
				       &g->npredicted);
	}
}

static void fill_drift(struct frt_profile *p, size_t first)
{
	p->drift = TAKE(SAMPLE_STEPS, struct frt_drift);
	for (size_t i = 0; i < SAMPLE_STEPS; i++) {
		const struct frt_dist *a = &find_step(p, first, sample_steps[i].name)->wall;
		double width = 2.7 * (a->hi - a->mean);
		bool real = !strcmp(sample_steps[i].name, "delete");
		double delta = real ? 2 * width : width * 0.2;

		p->drift[p->ndrift++] = (struct frt_drift){ sample_steps[i].name, delta,
							    delta - width, delta + width, real };
	}
}

static struct frt_profile *new_profile(const char *command)
{
	struct frt_profile *p;

	sample_arena = arena__new();
	assert(sample_arena);
	p = TAKE(1, struct frt_profile);
	p->arena = sample_arena;
	p->created = "2025-02-03T04:05:06Z";
	p->command = command;
	p->mode = "script";
	p->complete = true;
	p->overhead = p->overhead_lo = p->overhead_hi = NAN;
	p->growth_ns = p->growth_lo = p->growth_hi = NAN;
	p->environment = json_loads(
		"{\"kernel\":\"6.18.5\",\"machine\":\"x86_64\",\"cpus\":2,\"hz\":250,\"preempt\":\"voluntary\","
		"\"rcu\":{\"expedited\":false,\"nocb\":false,\"lazy\":null},\"virt\":\"QEMU\",\"steal\":0.0012,"
		"\"mitigations\":\"spectre_v1 spectre_v2\",\"lsm\":\"lockdown,capability,landlock,apparmor\","
		"\"mounts\":31,\"netns\":3,\"links\":4,\"run_netns_shared\":true,"
		"\"iproute2\":\"ip utility, iproute2-6.1.0\",\"sudo\":null,\"clock\":\"tsc\","
		"\"modules\":[\"veth\",\"bridge\"],\"tunnels_only_init_net\":0,\"other_bpf\":[]}",
		0, NULL);
	assert(p->environment);
	return p;
}

static const char **sentences(size_t n, const char *a, const char *b, const char *c)
{
	const char **v = TAKE(n, const char *), *all[] = { a, b, c };

	for (size_t i = 0; i < n; i++)
		v[i] = all[i];
	return v;
}

static void fill_outside(struct frt_profile *p)
{
	p->deferred = TAKE(2, struct frt_deferred);
	p->ndeferred = 2;
	p->deferred[0] = (struct frt_deferred){ "delete", "cleanup_net", 60,   1.84e6,
						0.61e6,	  9.4e6,	 NULL, 0 };
	p->deferred[1] = (struct frt_deferred){
		"exec", "delayed_mntput", 118, 0.09e6, 0, 4.1e6, NULL, 0
	};
	p->outside = TAKE(3, struct frt_outsiderow);
	p->noutside = 3;
	p->outside[0] = (struct frt_outsiderow){
		"systemd", false, 412e6, 3e6, 6.8e6, "ip", "m_show 7, [user] 3 of 12", 412e6
	};
	p->outside[1] = (struct frt_outsiderow){
		SAMPLE_EVIL_TASK, false, 88e6, NAN, 1.4e6, NULL, NULL, 0
	};
	p->outside[2] = (struct frt_outsiderow){ "frtrace", true, 51e6, 0, 0.85e6, NULL, NULL, 0 };
}

static void fill_probes(struct frt_profile *p)
{
	p->backend = "fentry";
	p->wanted = 43;
	p->attached = 41;
	p->freq = 999;
	p->missing = TAKE(2, struct frt_missing);
	p->nmissing = 2;
	p->missing[0] = (struct frt_missing){ "ops_exit_list", "not in this kernel" };
	p->missing[1] = (struct frt_missing){ "kobject_uevent_env", "denied by the kernel" };
}

struct frt_profile *sample__traced(void)
{
	struct frt_profile *p = new_profile("frtrace --at 0,4000");

	fill_probes(p);
	p->levels = TAKE(3, struct frt_levelrow);
	p->nlevels = 3;
	sample__level(&p->levels[0], 1, 0, 0, true);
	sample__level(&p->levels[1], 2, 4000, 1, true);
	sample__level(&p->levels[2], 3, 0, 0, true);
	p->levels[2].again = true;
	p->events = 60163;
	p->samples = 3144;
	fill_step_growth(p, 0, 1, "unknown");
	fill_growth(p, 0, 1, "unknown");
	fill_drift(p, 0);
	fill_outside(p);
	p->overhead = 1.031;
	p->overhead_lo = 1.012;
	p->overhead_hi = 1.049;
	p->overhead_n = 120;
	p->nfinding = 3;
	p->finding = sentences(
		3,
		"A router takes 34.1 ms at 4,000, 1.96 times the 17.4 ms at 0 (+16.4 ms "
		"to +17.0 ms, 99 %): exec +7.54 ms, sysctl +7.26 ms.",
		"exec costs 7.54 ms more, 39 % of it in clone_mnt of unshare(NEWNS), which "
		"copies the mount table.",
		"At 10,000 expect 59.4 ms per router if linear.");
	return p;
}

struct frt_profile *sample__untraced(void)
{
	struct frt_profile *p = new_profile("frtrace --untraced --at 0,4000");

	p->backend = "untraced";
	p->levels = TAKE(2, struct frt_levelrow);
	p->nlevels = 2;
	sample__level(&p->levels[0], 1, 0, 0, false);
	sample__level(&p->levels[1], 2, 4000, 1, false);
	fill_step_growth(p, 0, 1, "unknown");
	p->growth_ns = p->stepgrowth[4].delta_ns;
	p->growth_lo = p->stepgrowth[4].lo;
	p->growth_hi = p->stepgrowth[4].hi;
	p->growth_note = "untraced: growth is known by step only";
	p->notes = sentences(1, "untraced as asked: walls by the clock, CPU time from rusage", 0,
			     0);
	p->nnotes = 1;
	p->nfinding = 1;
	p->finding = sentences(1, "A router takes 34.1 ms at 4,000, 1.96 times the 17.4 ms at 0.",
			       0, 0);
	return p;
}

struct frt_profile *sample__one_level(void)
{
	struct frt_profile *p = new_profile("frtrace --at 4000");
	static const uint64_t loss[] = { 12, 0, 3, 2, 7, 0 };

	fill_probes(p);
	p->backend = "none";
	p->wanted = p->attached = 0;
	p->nmissing = 0;
	p->levels = TAKE(1, struct frt_levelrow);
	p->nlevels = 1;
	sample__level(&p->levels[0], 1, 4000, 1, true);
	p->levels[0].noisy = 9;
	p->levels[0].steal = 0.062;
	memcpy(p->loss, loss, sizeof(loss));
	memcpy(p->levels[0].loss, loss, sizeof(loss));
	p->events = 20411;
	p->samples = 1402;
	p->status = 4;
	p->growth_note = "one level: no growth to tell; give --at two or more";
	return p;
}

struct frt_profile *sample__three_levels(void)
{
	struct frt_profile *p = new_profile("frtrace --at 0,1000,4000 --repeat 2");

	fill_probes(p);
	p->levels = TAKE(6, struct frt_levelrow);
	p->nlevels = 6;
	for (uint32_t i = 0; i < 6; i++) {
		static const uint32_t at[] = { 0, 1000, 4000 };

		sample__level(&p->levels[i], i + 1, at[i % 3], i % 3 == 2, true);
		p->levels[i].run = i / 3 + 1;
	}
	p->events = 119000;
	p->samples = 6100;
	p->complete = false;
	p->notes = sentences(1, "the record has no end: it was cut short, read as far as it goes",
			     0, 0);
	p->nnotes = 1;
	fill_step_growth(p, 0, 5, "linear");
	fill_growth(p, 0, 5, "linear");
	p->stepgrowth[4].predicted = predict(1000000, 0, 0, true, &p->stepgrowth[4].npredicted);
	return p;
}

struct frt_profile *sample__empty(void)
{
	struct frt_profile *p = new_profile("frtrace --at 0,4000");

	p->backend = "none";
	p->complete = false;
	p->status = 130;
	json_decref(p->environment);
	p->environment = json_object();
	p->growth_note = "nothing was measured";
	return p;
}
