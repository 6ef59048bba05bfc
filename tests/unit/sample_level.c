/* SPDX-License-Identifier: BSD-2-Clause */
/* The levels of the sample profiles, and the memory all of them is in. */
#include "sample_level.h"
#include "sample_specs.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena *sample_arena;

void *sample__take(size_t n, size_t size)
{
	void *v = arena__alloc(sample_arena, n * size + 1);

	assert(v);
	return v;
}

const struct sample_step sample_steps[SAMPLE_STEPS] = {
	{ "add", true, false },	 { "exec", true, false },    { "sysctl", true, false },
	{ "veth", true, false }, { "router", false, false }, { "delete", false, false },
	{ "true", false, true },
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* n values around mean that add up to n * mean; n is even. */
static double *values_around(double mean, uint32_t n, unsigned salt)
{
	double *v = TAKE(n, double);

	for (uint32_t i = 0; i + 1 < n; i += 2) {
		double off = mean * 0.0025 * (1 + (i * 7 + salt) % 13);

		if (i == 30)
			off = mean * 0.3;
		v[i] = mean - off / 2;
		v[i + 1] = mean + off / 2;
	}
	return v;
}

static struct frt_dist dist_of(const double *v, uint32_t n)
{
	struct frt_dist d = { .n = n, .lo = NAN, .hi = NAN };
	double *s = TAKE(n, double), var = 0;

	if (!n)
		return (struct frt_dist){ .mean = NAN,
					  .sd = NAN,
					  .lo = NAN,
					  .hi = NAN,
					  .median = NAN,
					  .p95 = NAN,
					  .min = NAN,
					  .max = NAN };
	memcpy(s, v, n * sizeof(*s));
	qsort(s, n, sizeof(*s), by_value);
	for (uint32_t i = 0; i < n; i++)
		d.sum += v[i];
	d.mean = d.sum / n;
	for (uint32_t i = 0; i < n; i++)
		var += (v[i] - d.mean) * (v[i] - d.mean);
	d.sd = n > 1 ? sqrt(var / (n - 1)) : 0;
	if (n >= 5) {
		d.lo = d.mean - 2.001 * d.sd / sqrt(n); /* t of 59 degrees of freedom */
		d.hi = d.mean + 2.001 * d.sd / sqrt(n);
	}
	d.median = (s[(n - 1) / 2] + s[n / 2]) / 2;
	d.p95 = s[(n - 1) * 95 / 100];
	d.min = s[0];
	d.max = s[n - 1];
	return d;
}

static void add_stack(struct frt_steprow *row, struct frt_stackrow s)
{
	row->stacks[row->nstacks++] = s;
}

/* Adds ns to the frame's entry, making it when it is new. */
static void add_frame(struct frt_action *a, const char *name, double self, double total, uint64_t n)
{
	for (size_t i = 0; i < a->nframes; i++) {
		if (strcmp(a->frames[i].frame, name))
			continue;
		a->frames[i].self_ns += self;
		a->frames[i].total_ns += total;
		a->frames[i].samples += n;
		return;
	}
	a->frames[a->nframes++] = (struct frt_frame){ name, n, self, total };
}

static void add_kernel_stacks(struct frt_steprow *row, struct frt_action *a, uint32_t index,
			      const struct action_spec *spec)
{
	uint64_t all = (uint64_t)spec->us[FRT_KIND_KERNEL] * 1000 * row->n, left = all;
	const char *p = spec->stacks;

	a->frames = TAKE(16, struct frt_frame);
	while (*p) {
		const char *eq = strchr(p, '=');
		char *end;
		uint64_t ns = all / 1000 * strtoul(eq + 1, &end, 10), samples;
		const char **frames = TAKE(16, const char *);
		size_t n = 0;

		/* one router in two is sampled, about every ms; a name may hold a ";" */
		samples = ns / 2000000 + 1;
		while (p < eq) {
			size_t len = strncmp(p, SAMPLE_EVIL_FRAME, strlen(SAMPLE_EVIL_FRAME))
					     ? strcspn(p, ";=")
					     : strlen(SAMPLE_EVIL_FRAME);

			frames[n++] = arena__strndup(sample_arena, p, len);
			p += len + (p[len] == ';');
		}
		for (size_t i = 0; i < n; i++)
			add_frame(a, frames[i], i + 1 == n ? (double)ns / row->n : 0,
				  (double)ns / row->n, i + 1 == n ? samples : 0);
		add_stack(row, (struct frt_stackrow){ FRT_STACK_CPU, index, frames, n, "kernel",
						      true, true, ns, samples });
		left -= ns;
		p = *end == ' ' ? end + 1 : end;
	}
	if (!left)
		return;
	add_frame(a, "[not sampled]", (double)left / row->n, (double)left / row->n, 0);
	add_stack(row, (struct frt_stackrow){ FRT_STACK_CPU, index, NULL, 0, "kernel", true, false,
					      left, 0 });
}

static void add_off_stacks(struct frt_steprow *row, struct frt_action *a, uint32_t index,
			   const struct action_spec *spec)
{
	uint64_t blocked = (uint64_t)spec->us[FRT_KIND_BLOCKED] * 1000 * row->n;
	uint64_t runq = (uint64_t)spec->us[FRT_KIND_RUNQ] * 1000 * row->n;

	if (blocked) {
		const char **frames = TAKE(2, const char *);
		struct frt_wait *w = TAKE(1, struct frt_wait);

		frames[0] = "schedule";
		frames[1] = spec->where;
		*w = (struct frt_wait){ .class = spec->wait,
					.where = spec->where,
					.n = row->n,
					.ns = (double)blocked };
		if (!strcmp(spec->where, "rtnl_lock")) {
			w->holders = TAKE(2, struct frt_holder);
			w->holders[0] = (struct frt_holder){ "kworker/u8:2", "workqueue",
							     (double)blocked * 0.75,
							     "cleanup_net < process_one_work" };
			w->holders[1] = (struct frt_holder){ SAMPLE_EVIL_TASK, "outside",
							     (double)blocked * 0.25, NULL };
			w->nholders = 2;
		}
		a->waits = w;
		a->nwaits = 1;
		add_stack(row, (struct frt_stackrow){ FRT_STACK_OFF, index, frames, 2, spec->wait,
						      true, false, blocked, row->n });
	}
	if (runq)
		add_stack(row, (struct frt_stackrow){ FRT_STACK_OFF, index, NULL, 0, "runqueue",
						      false, false, runq, row->n });
}

/* A tree for the call that copies the mount table. */
static void add_functions(struct frt_action *a, uint32_t n)
{
	double total = a->kind_ns[FRT_KIND_KERNEL] * n, off = a->kind_ns[FRT_KIND_BLOCKED] * n;
	struct frt_fn *clone = TAKE(1, struct frt_fn), *tree = TAKE(1, struct frt_fn);
	struct frt_fn *sync = TAKE(1, struct frt_fn), *top = TAKE(2, struct frt_fn);

	if (strcmp(a->action, "unshare(NEWNS)"))
		return;
	*clone = (struct frt_fn){ "clone_mnt", n * 25, total * 0.7, total * 0.7,
				  total * 0.7, 0,      0,	    0 };
	*tree = (struct frt_fn){
		"copy_tree", n, total * 0.9, total * 0.2, total * 0.2, 0, clone, 1
	};
	*sync = (struct frt_fn){ "synchronize_rcu_expedited", n, off, off, 0, off, 0, 0 };
	top[0] = (struct frt_fn){ "copy_mnt_ns", n, total * 0.95, total * 0.05,
				  total * 0.05,	 0, tree,	  1 };
	top[1] = (struct frt_fn){
		"namespace_unlock", n, off + total * 0.05, total * 0.05, total * 0.05, 0, sync, 1
	};
	a->functions = top;
	a->nfunctions = 2;
}

static void fill_traced(struct frt_steprow *row, int level)
{
	size_t max = ARRAY_SIZE(specs);

	row->actions = TAKE(max, struct frt_action);
	row->stacks = TAKE(max * 6, struct frt_stackrow);
	for (size_t i = 0; i < max; i++) {
		const struct action_spec *spec = &specs[i];
		uint32_t index = (uint32_t)row->nactions;
		struct frt_action *a = &row->actions[index];

		if (spec->level != level || strcmp(spec->step, row->step))
			continue;
		*a = (struct frt_action){ .action = spec->action,
					  .n = (uint64_t)spec->hits * row->n };
		for (int k = 0; k < FRT_KINDS; k++) {
			a->kind_ns[k] = spec->us[k] * 1000.0;
			a->wall_ns += a->kind_ns[k];
			row->kind_ns[k] += a->kind_ns[k];
		}
		if (!strcmp(spec->action, "write /proc/sys"))
			a->restarts = row->restarts = 0.2;
		if (spec->us[FRT_KIND_USER])
			add_stack(row, (struct frt_stackrow){
					       FRT_STACK_CPU, index, NULL, 0, "user", false, false,
					       (uint64_t)spec->us[0] * 1000 * row->n, 0 });
		if (spec->us[FRT_KIND_KERNEL])
			add_kernel_stacks(row, a, index, spec);
		add_off_stacks(row, a, index, spec);
		add_functions(a, row->n);
		row->nactions++;
	}
	row->cpu_total_ns = (row->kind_ns[FRT_KIND_USER] + row->kind_ns[FRT_KIND_KERNEL]) * row->n;
	row->off_total_ns = (row->kind_ns[FRT_KIND_BLOCKED] + row->kind_ns[FRT_KIND_RUNQ]) * row->n;
	row->kernel_in_user_ns = row->kind_ns[FRT_KIND_USER] * 0.38;
	row->kernel_in_user_samples = (uint64_t)(row->kernel_in_user_ns * row->n / 2e6);
	row->parallel_ns = strcmp(row->step, "exec") ? 12000 : 31000;
	row->unaccounted_ns = 400;
	row->traced = true;
}

static void add_up_router(struct frt_levelrow *l, struct frt_steprow *router)
{
	for (size_t s = 0; s < l->nsteps; s++) {
		const struct frt_steprow *row = &l->steps[s];

		if (!row->creation)
			continue;
		for (uint32_t i = 0; i < router->n; i++)
			router->values[i] += row->values[i];
		for (int k = 0; k < FRT_KINDS; k++)
			router->kind_ns[k] += row->kind_ns[k];
		router->parallel_ns += row->parallel_ns;
		router->unaccounted_ns += row->unaccounted_ns;
		router->restarts += row->restarts;
		router->kernel_in_user_ns += row->kernel_in_user_ns;
		router->kernel_in_user_samples += row->kernel_in_user_samples;
		router->cpu_total_ns += row->cpu_total_ns;
		router->off_total_ns += row->off_total_ns;
		router->traced = row->traced;
		router->rusage = row->rusage;
	}
	for (uint32_t i = 0; i < router->n; i++)
		router->values[i] += l->gap.mean;
}

/* level: 0 or 1, whose figures to use. */
static void fill_steps(struct frt_levelrow *l, int level, bool traced)
{
	struct frt_steprow *router = NULL;

	l->steps = TAKE(SAMPLE_STEPS, struct frt_steprow);
	l->nsteps = SAMPLE_STEPS;
	for (size_t s = 0; s < l->nsteps; s++) {
		struct frt_steprow *row = &l->steps[s];
		double mean = 0;

		*row = (struct frt_steprow){ .step = sample_steps[s].name,
					     .creation = sample_steps[s].creation,
					     .control = sample_steps[s].control,
					     .n = l->routers };
		if (!strcmp(row->step, "router")) {
			row->values = TAKE(row->n, double);
			router = row;
			continue;
		}
		fill_traced(row, level);
		for (int k = 0; k < FRT_KINDS; k++)
			mean += row->kind_ns[k];
		row->values = values_around(mean + row->unaccounted_ns, row->n, (unsigned)s);
		row->wall = dist_of(row->values, row->n);
		if (traced)
			continue;
		row->nactions = row->nstacks = 0;
		row->traced = false;
		row->rusage = true;
		row->kind_ns[FRT_KIND_BLOCKED] = row->kind_ns[FRT_KIND_RUNQ] = NAN;
		row->unaccounted_ns = row->parallel_ns = row->restarts = NAN;
		row->kernel_in_user_ns = NAN;
		row->kernel_in_user_samples = 0;
		row->cpu_total_ns = row->off_total_ns = 0;
	}
	add_up_router(l, router);
	router->wall = dist_of(router->values, router->n);
}

/* 63 routers made, then deleted faster than they are freed. */
static struct frt_backlog backlogs[] = {
	{ 300000000, false, 4014, 4013 },  { 900000000, false, 4032, 4032 },
	{ 1700000000, false, 4066, 4066 }, { 2000000000, true, 4063, 4051 },
	{ 2300000000, true, 4062, 4030 },  { 2600000000, true, 4010, 4003 },
	{ 2700000000, true, 4003, 4003 },
};

void sample__level(struct frt_levelrow *l, uint32_t id, uint32_t asked, int level, bool traced)
{
	double gap = 21000;

	*l = (struct frt_levelrow){ .id = id,
				    .asked = asked,
				    .run = 1,
				    .streams = 1,
				    .existing = asked + 3,
				    .existing_end = asked + 66,
				    .routers = SAMPLE_ROUTERS,
				    .warmup = 3,
				    .memory_per_router = INT64_MIN,
				    .slab_per_router = INT64_MIN,
				    .backlog = INT64_MIN,
				    .settle_ns = 1000000000,
				    .free_wait_ns = 410000000 };
	if (asked) {
		l->filled = asked;
		l->fill_threads = 2;
		l->fill_ns = 9100000000;
		l->memory_per_router = 440402;
		l->slab_per_router = 314573;
		l->backlog = l->again ? 7 : 0;
		l->backlogs = traced ? backlogs : NULL;
		l->nbacklogs = traced ? ARRAY_SIZE(backlogs) : 0;
	}
	l->gap = dist_of(values_around(gap, l->routers, 3), l->routers);
	fill_steps(l, level, traced);
	for (size_t i = 0; i < l->nsteps; i++)
		if (!strcmp(l->steps[i].step, "router"))
			l->rate_per_s = 1e9 / (l->steps[i].wall.mean + 60000);
	l->nworst = 1;
	l->worst[0] = (struct frt_worst){
		31, level ? 41.2e6 : 26.0e6,
		traced ? "exec: blocked (other) 9.31 ms in exit, 8.13 more than the mean"
		       : "exec took 14.21 ms, 8.13 more than the mean"
	};
	if (traced) {
		l->events = level ? 20411 : 19876;
		l->samples = level ? 1402 : 871;
	}
}
