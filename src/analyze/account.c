/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Accounting: every step instance of every traced router is assembled into its
 * wall, and the wall's parts are given to actions.
 */
#include "analyze/account.h"

#include "analyze/waiting.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct collect {
	struct analysis *an;
	struct index ix;
	struct syscalls sys;
	struct stacks stacks;
	struct waiting waiting;
	const char **action; /* by call; NULL: not asked for yet */
	struct wall wall;
	const char *user, *other, *start, *exit, *spin; /* interned names */
	/* the instance at hand */
	struct level *lv;
	size_t router;
	enum row row;
	struct step_account *acc;
	const char *only;	 /* all goes to this action: time between steps */
	const struct task *task; /* of the segment at hand */
	int err;
};

static const char *action_of(struct collect *c, const struct frt_call *call)
{
	const char **name = &c->action[call - c->an->t->call.v];
	char buf[DECODE_MAX];

	if (c->only)
		return c->only;
	if (!*name)
		*name = intern__get(c->an->strings, decode__call(&c->sys, call, buf));
	if (!*name)
		c->err = -ENOMEM;
	return *name;
}

/* ns of the wall at hand were this. */
static struct action_sum *add(struct collect *c, enum frt_kind kind, const char *action,
			      const char *where, uint64_t ns)
{
	struct action_sum *a;

	if (!ns || c->err)
		return NULL;
	if (c->only)
		action = c->only;
	a = account__action(c->acc, action);
	c->err = a ? cell__add(c->an, c->lv, c->row, kind, action, where, c->router, ns) : -ENOMEM;
	if (c->err)
		return NULL;
	a->kind[kind] += ns;
	return a;
}

static void add_missing(struct collect *c, uint64_t ns)
{
	c->acc->unaccounted += ns;
	if (ns && !c->err)
		c->err = cell__add(c->an, c->lv, c->row, KIND_UNACCOUNTED, NULL, NULL, c->router,
				   ns);
}

/* The functions of a call, by node. */
static size_t functions_of(const struct task *t, uint32_t seq, const struct frt_func *const **f)
{
	size_t lo = 0, hi = t->nfunc, n = 0;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->func[mid]->seq < seq)
			lo = mid + 1;
		else
			hi = mid;
	}
	while (lo + n < t->nfunc && t->func[lo + n]->seq == seq)
		n++;
	*f = t->func + lo;
	return n;
}

/* Of ns in a call: attempts that failed and were begun again. A handler below
 * /proc/sys that does not get the RTNL at once has itself restarted: a busy loop. */
static uint64_t spin_of(const struct frt_call *call, uint64_t ns)
{
	uint64_t again = call->detail == FRT_DET_WRITE && call->restarts ? call->again_ns : 0;

	if (call->cpu_ns > ns)
		again = (uint64_t)((double)again * (double)ns / (double)call->cpu_ns);
	return again < ns ? again : ns;
}

/* Kernel time of a call that was sent; of it, what probed functions spent
 * themselves (as far as the call lies in the wall). */
static void on_call(void *ctx, const struct frt_call *call, uint64_t ns)
{
	struct collect *c = ctx;
	const char *action = action_of(c, call);
	const struct frt_func *const *f;
	uint64_t spin = spin_of(call, ns);
	struct action_sum *a;
	size_t n;

	a = add(c, FRT_KIND_KERNEL, action, c->spin, spin);
	if (a)
		a->spin += spin;
	ns -= spin;
	if (!add(c, FRT_KIND_KERNEL, action, NULL, ns))
		return;
	n = functions_of(c->task, call->seq, &f);
	for (size_t i = 0; i < n && !c->err; i++) {
		uint64_t out = f[i]->child_ns + f[i]->off_ns;
		uint64_t all = f[i]->total_ns + f[i]->child_off_ns;
		const char *name = intern__get(c->an->strings, f[i]->function);
		double share = call->cpu_ns > ns ? (double)ns / (double)call->cpu_ns : 1;

		if (!name)
			c->err = -ENOMEM;
		else if (all > out)
			c->err = cell__add(c->an, c->lv, c->row, KIND_FUNCTION, action, name,
					   c->router, (uint64_t)((double)(all - out) * share));
	}
}

/* The action somebody was switched out in, and the call's name for the rules. */
static const char *action_at(struct collect *c, const struct task *t, const struct frt_off *o,
			     struct wait *w)
{
	const struct frt_call *call;
	char buf[DECODE_MAX];
	const char *name;

	switch (o->mode) {
	case FRT_MODE_USER:
		return c->user;
	case FRT_MODE_START:
		return c->start;
	case FRT_MODE_EXIT:
		return c->exit;
	}
	w->call = syscalls__name(&c->sys, o->nr);
	call = task__call_at(t, o->out);
	if (call) {
		w->detail = (enum frt_detail)call->detail;
		return action_of(c, call);
	}
	/* Every call that slept is sent: of one that is not here, the number is
	 * known. One that only lost its CPU is among those summed. */
	if (o->why == FRT_OFF_PREEMPT)
		return c->other;
	name = intern__get(c->an->strings, decode__number(&c->sys, o->nr, buf));
	if (!name)
		c->err = -ENOMEM;
	return name;
}

static void add_off(struct collect *c, const struct seg *g)
{
	struct wait w = { .mode = (enum frt_mode)g->off->mode };
	const char *action = action_at(c, g->task, g->off, &w), *class;
	uint64_t ns = g->b - g->a;
	struct action_sum *a;

	if (c->err)
		return;
	if (g->kind == SEG_RUNQ) {
		add(c, FRT_KIND_RUNQ, action, NULL, ns);
		return;
	}
	class = waiting__class(&c->waiting, g->off, &w);
	if (!class) {
		c->err = -ENOMEM;
		return;
	}
	a = add(c, FRT_KIND_BLOCKED, action, class, ns);
	if (a)
		c->err = waiting__add(&c->waiting, a, class, g);
}

/* Samples of a carrier while it carried. */
static void add_samples(struct collect *c, const struct seg *g)
{
	const struct task *t = g->task;
	size_t lo = 0, hi = t->nsample;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->sample[mid]->t < g->a)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < t->nsample && t->sample[lo]->t < g->b && !c->err; lo++) {
		const struct frt_sample *s = t->sample[lo];
		const struct frt_call *call;
		const char *action = c->other;
		struct action_sum *a;

		if (s->mode == FRT_MODE_USER) {
			c->acc->user_samples++;
			c->acc->user_kernel_samples += s->in_kernel ? 1 : 0;
			continue;
		}
		if (!s->in_kernel)
			continue;
		call = task__call_numbered(t, s->seq);
		if (s->mode == FRT_MODE_START)
			action = c->start;
		else if (s->mode == FRT_MODE_EXIT)
			action = c->exit;
		else if (call)
			action = action_of(c, call);
		if (c->err)
			return;
		a = account__action(c->acc, c->only ? c->only : action);
		if (!a) {
			c->err = -ENOMEM;
			return;
		}
		c->err = grow(&a->sample.v, a->sample.n, &a->sample.cap, sizeof(*a->sample.v));
		if (!c->err)
			a->sample.v[a->sample.n++] = (struct stack_count){ .stack = s->stack,
									   .n = 1 };
	}
}

/* One wall; *carried: measured on-CPU ns of the creator [0] and of others [1]. */
static void account_wall(struct collect *c, uint64_t t0, uint64_t t1, uint32_t creator,
			 uint32_t instance, uint64_t carried[2])
{
	bool sampled = c->lv->router[c->router].r->flags & FRT_ROUTER_SAMPLED;

	c->err = wall__assemble(&c->ix, t0, t1, creator, instance, &c->wall);
	for (size_t i = 0; i < c->wall.n && !c->err; i++) {
		const struct seg *g = &c->wall.v[i];
		struct cpu_split s;

		switch (g->kind) {
		case SEG_CPU:
			c->task = g->task;
			s = cpu__split(g->task, g->a, g->b, on_call, c);
			add(c, FRT_KIND_KERNEL, c->other, NULL, s.other);
			add(c, FRT_KIND_USER, c->user, NULL, s.user);
			add_missing(c, s.missing);
			carried[g->task->serial != creator] += s.user + s.other + s.calls;
			if (sampled)
				add_samples(c, g);
			break;
		case SEG_RUNQ:
		case SEG_BLOCKED:
			add_off(c, g);
			break;
		case SEG_MISSING:
			add_missing(c, g->b - g->a);
		}
	}
}

/* Calls of a task as hits of their actions; [t0, t1) for the creator's. */
static void count_calls(struct collect *c, const struct task *t, uint64_t t0, uint64_t t1)
{
	size_t lo = 0, hi = t->ncall;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->call[mid]->t0 < t0)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < t->ncall && t->call[lo]->t0 < t1 && !c->err; lo++) {
		const char *name = action_of(c, t->call[lo]);
		struct action_sum *a = name ? account__action(c->acc, name) : NULL;
		const struct frt_func *const *f;
		size_t n;

		if (!a) {
			c->err = -ENOMEM;
			return;
		}
		a->n++;
		a->restarts += t->call[lo]->restarts;
		n = functions_of(t, t->call[lo]->seq, &f);
		if (n)
			c->err = functions__add(c->an->arena, c->an->strings, a, f, n);
	}
}

static void count_summed(struct collect *c, uint64_t n)
{
	struct action_sum *a = n && !c->err ? account__action(c->acc, c->other) : NULL;

	if (a)
		a->n += n;
}

/* On-CPU time of a task that lives all the while in [t0, t1], carried or not. */
static uint64_t on_cpu_between(const struct task *t, uint64_t t0, uint64_t t1)
{
	uint64_t on = t1 - t0;
	size_t lo = 0, hi = t->noff;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->off[mid]->in <= t0)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < t->noff && t->off[lo]->out < t1; lo++) {
		uint64_t a = t->off[lo]->out > t0 ? t->off[lo]->out : t0;
		uint64_t b = t->off[lo]->in < t1 ? t->off[lo]->in : t1;

		if (b > a)
			on -= on > b - a ? b - a : on;
	}
	return on;
}

/* A part may begin in the middle of a call: the beginning of that. */
static uint64_t start_of_call_at(const struct task *t, uint64_t at)
{
	const struct frt_call *call = task__call_at(t, at);

	return call ? call->t0 : at;
}

static void account_step(struct collect *c, const struct frt_stepinst *s)
{
	const struct task *creator = index__task(&c->ix, s->creator);
	uint64_t carried[2] = { 0, 0 }, all[2] = { 0, 0 };
	struct task **tasks;
	size_t n;

	if (s->t1 <= s->t0)
		return;
	account_wall(c, s->t0, s->t1, s->creator, s->instance, carried);
	tasks = index__tasks_of(&c->ix, s->instance, &n);
	for (size_t i = 0; i < n && !c->err; i++) {
		const struct task *t = tasks[i];

		if (s->part) {
			count_calls(c, t, start_of_call_at(t, s->t0), s->t1);
			continue;
		}
		count_calls(c, t, 0, UINT64_MAX);
		for (size_t k = 0; k < t->nexec; k++)
			count_summed(c, t->exec[k]->rest_n);
		if (t->dead)
			count_summed(c, t->dead->rest_n);
		all[1] += task__cpu(t);
	}
	if (creator) {
		if (!s->part)
			count_calls(c, creator, s->t0, s->t1);
		else if (creator->instance != s->instance)
			count_calls(c, creator, start_of_call_at(creator, s->t0), s->t1);
		all[0] = s->part ? 0 : on_cpu_between(creator, s->t0, s->t1);
	}
	for (size_t i = 0; i < c->ix.nservers && !c->err; i++) {
		const struct task *t = c->ix.server[i];
		uint64_t from = t->proc && t->proc->t > s->t0 ? t->proc->t : s->t0;
		uint64_t to = t->dead && t->dead->t < s->t1 ? t->dead->t : s->t1;

		if (t->serves != creator || from >= to)
			continue;
		count_calls(c, t, s->t0, s->t1);
		all[1] += on_cpu_between(t, from, to);
	}
	for (int k = 0; k < 2; k++)
		c->acc->parallel += all[k] > carried[k] ? all[k] - carried[k] : 0;
}

static void begin_row(struct collect *c, enum row row)
{
	c->row = row;
	if (!c->lv->account[row])
		c->lv->account[row] = arena__alloc(c->an->arena, sizeof(*c->lv->account[row]));
	c->acc = c->lv->account[row];
	if (!c->acc)
		c->err = -ENOMEM;
}

/* What the creator does between the steps of a router. */
static void account_gaps(struct collect *c, const struct router *r)
{
	uint64_t at = r->r->t0, carried[2] = { 0, 0 };

	begin_row(c, ROW_GAP);
	if (c->err)
		return;
	c->acc->rows++;
	c->only = intern__get(c->an->strings, "between steps");
	for (size_t i = 0; i < r->nsteps && !c->err; i++) {
		const struct frt_stepinst *s = r->step[i];

		if (s->t0 < at || s->t1 > r->r->t1)
			continue;
		if (s->t0 > at)
			account_wall(c, at, s->t0, r->r->creator ? r->r->creator : s->creator, 0,
				     carried);
		at = s->t1;
	}
	c->only = NULL;
}

static void account_router(struct collect *c, size_t i)
{
	const struct router *r = &c->lv->router[i];
	bool seen[ROWS] = { false };

	c->router = i;
	for (size_t k = 0; k < r->nsteps && !c->err; k++) {
		const struct frt_stepinst *s = r->step[k];
		enum row row = row_of(s);

		begin_row(c, row);
		if (c->err)
			return;
		if (!seen[row])
			c->acc->rows++;
		seen[row] = true;
		account_step(c, s);
	}
	if (!c->err && !isnan(c->lv->wall[ROW_ROUTER][i]))
		account_gaps(c, r);
}

/* Of a router made under sampling, where others were not: its samples only. */
static void sample_router(struct collect *c, const struct router *r)
{
	for (size_t k = 0; k < r->nsteps && !c->err; k++) {
		const struct frt_stepinst *s = r->step[k];

		if (s->t1 <= s->t0)
			continue;
		begin_row(c, row_of(s));
		if (!c->err)
			c->err = wall__assemble(&c->ix, s->t0, s->t1, s->creator, s->instance,
						&c->wall);
		for (size_t i = 0; i < c->wall.n && !c->err; i++)
			if (c->wall.v[i].kind == SEG_CPU)
				add_samples(c, &c->wall.v[i]);
	}
}

/* The router's row: the sum of its creation steps and gaps. */
static void fill_router_row(const struct level *lv, struct frt_steprow *out)
{
	const struct step_account *gap = lv->account[ROW_GAP];
	double n = gap ? (double)gap->rows : 0;

	for (int k = 0; k < FRT_KINDS; k++)
		out->kind_ns[k] = 0;
	out->unaccounted_ns = out->parallel_ns = out->restarts = 0;
	for (int row = 0; row <= ROW_GAP && n; row++) {
		const struct step_account *a = lv->account[row];

		if (!a || !(analysis__rows[row].creation || row == ROW_GAP))
			continue;
		for (size_t i = 0; i < a->action.n; i++) {
			for (int k = 0; k < FRT_KINDS; k++)
				out->kind_ns[k] += (double)a->action.v[i].kind[k] / n;
			out->restarts += (double)a->action.v[i].restarts / n;
		}
		out->unaccounted_ns += (double)a->unaccounted / n;
		out->parallel_ns += row == ROW_GAP ? 0 : (double)a->parallel / n;
	}
	out->traced = n > 0;
}

static int finish_level(struct collect *c, struct level *lv)
{
	int err = 0;

	for (size_t i = 0; i < lv->out->nsteps && !err; i++) {
		struct frt_steprow *out = &lv->out->steps[i];
		int row = 0;

		while (row < ROWS && c->an->row_name[row] != out->step)
			row++;
		if (row == ROW_ROUTER)
			fill_router_row(lv, out);
		else if (row < ROWS && lv->account[row])
			err = actions__finish(c->an, &c->stacks, lv->account[row], out);
	}
	return err;
}

static int open_collect(struct collect *c)
{
	struct analysis *an = c->an;
	const char *machine = json_string_value(json_object_get(an->p->environment, "machine"));
	int err;

	err = index__build(&c->ix, an->t);
	if (!err)
		err = syscalls__open(&c->sys, machine);
	if (!err)
		err = stacks__open(&c->stacks, an->t, an->arena, an->strings);
	if (!err)
		err = waiting__open(&c->waiting, an->t, &c->ix, &c->stacks, an->strings);
	c->action = calloc(an->t->call.n + 1, sizeof(*c->action));
	c->user = intern__get(an->strings, ACTION_USER);
	c->other = intern__get(an->strings, ACTION_OTHER);
	c->start = intern__get(an->strings, ACTION_START);
	c->exit = intern__get(an->strings, ACTION_EXIT);
	c->spin = intern__get(an->strings, RTNL_SPIN);
	if (!err && !(c->action && c->user && c->other && c->start && c->exit && c->spin))
		err = -ENOMEM;
	return err;
}

int account__fill(struct analysis *an)
{
	struct collect c = { .an = an };
	bool any = false;

	for (size_t i = 0; i < an->nlevels; i++)
		any = any || an->level[i].traced;
	if (!any)
		return 0;
	c.err = open_collect(&c);
	for (size_t l = 0; l < an->nlevels && !c.err; l++) {
		c.lv = &an->level[l];
		for (size_t i = 0; i < c.lv->nrouters && !c.err; i++)
			if (c.lv->router[i].traced)
				account_router(&c, i);
		for (size_t i = 0; i < c.lv->nsampled && !c.err; i++)
			if (c.lv->sampled[i].traced)
				sample_router(&c, &c.lv->sampled[i]);
		if (!c.err)
			c.err = finish_level(&c, c.lv);
	}
	if (!c.err)
		c.err = spins__fill(an, &c.stacks);
	free(c.action);
	free(c.wall.v);
	waiting__close(&c.waiting);
	stacks__close(&c.stacks);
	syscalls__close(&c.sys);
	index__free(&c.ix);
	return c.err;
}
