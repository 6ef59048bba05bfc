/* SPDX-License-Identifier: BSD-2-Clause */
#include "analyze/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

#define COMPARE(x, y) ((x) < (y) ? -1 : 1)

static int by_in(const void *a, const void *b)
{
	const struct frt_off *x = *(const struct frt_off *const *)a;
	const struct frt_off *y = *(const struct frt_off *const *)b;

	if (x->in != y->in)
		return COMPARE(x->in, y->in);
	if (x->out != y->out)
		return COMPARE(x->out, y->out);
	return COMPARE(x, y);
}

static int by_start(const void *a, const void *b)
{
	const struct frt_call *x = *(const struct frt_call *const *)a;
	const struct frt_call *y = *(const struct frt_call *const *)b;

	if (x->t0 != y->t0)
		return COMPARE(x->t0, y->t0);
	if (x->t1 != y->t1)
		return COMPARE(x->t1, y->t1);
	return COMPARE(x, y);
}

static int by_exec_time(const void *a, const void *b)
{
	const struct frt_exec *x = *(const struct frt_exec *const *)a;
	const struct frt_exec *y = *(const struct frt_exec *const *)b;

	return x->t != y->t ? COMPARE(x->t, y->t) : COMPARE(x, y);
}

static int by_sample_time(const void *a, const void *b)
{
	const struct frt_sample *x = *(const struct frt_sample *const *)a;
	const struct frt_sample *y = *(const struct frt_sample *const *)b;

	return x->t != y->t ? COMPARE(x->t, y->t) : COMPARE(x, y);
}

static int by_seq(const void *a, const void *b)
{
	const struct frt_func *x = *(const struct frt_func *const *)a;
	const struct frt_func *y = *(const struct frt_func *const *)b;

	if (x->seq != y->seq)
		return COMPARE(x->seq, y->seq);
	if (x->node != y->node)
		return COMPARE(x->node, y->node);
	return COMPARE(x, y);
}

/* Equal times: what was used up less came first (an off's in and the next out). */
static int by_snap(const void *a, const void *b)
{
	const struct snap *x = a, *y = b;

	if (x->t != y->t)
		return COMPARE(x->t, y->t);
	if (x->cpu != y->cpu)
		return COMPARE(x->cpu, y->cpu);
	return (x->user > y->user) - (x->user < y->user);
}

static int by_instance(const void *a, const void *b)
{
	const struct task *x = *(struct task *const *)a, *y = *(struct task *const *)b;

	if (x->instance != y->instance)
		return COMPARE(x->instance, y->instance);
	return (x->serial > y->serial) - (x->serial < y->serial);
}

/* A list is recorded nearly in order: look before sorting. */
static void sort_if_needed(void *v, size_t n, size_t size, int (*cmp)(const void *, const void *))
{
	char *p = v;

	for (size_t i = 1; i < n; i++)
		if (cmp(p + (i - 1) * size, p + i * size) > 0) {
			qsort(v, n, size, cmp);
			return;
		}
}

struct task *index__task(const struct index *ix, uint32_t serial)
{
	size_t lo = 0, hi = ix->ntasks;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (ix->task[mid].serial < serial)
			lo = mid + 1;
		else
			hi = mid;
	}
	return serial && lo < ix->ntasks && ix->task[lo].serial == serial ? &ix->task[lo] : NULL;
}

struct task **index__tasks_of(const struct index *ix, uint32_t instance, size_t *n)
{
	size_t lo = 0, hi = ix->ntasks;

	*n = 0;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (ix->by_instance[mid]->instance < instance)
			lo = mid + 1;
		else
			hi = mid;
	}
	while (instance && lo + *n < ix->ntasks && ix->by_instance[lo + *n]->instance == instance)
		++*n;
	return ix->by_instance + lo;
}

/* Every serial that says something, once. */
static int collect_tasks(struct index *ix, const struct frt_trail *t)
{
	size_t n = 0, m = 0;
	uint32_t *serial = calloc(t->proc.n + t->exec.n + t->dead.n + t->call.n + t->off.n +
					  t->sample.n + t->func.n + t->off.n + t->step.n + 1,
				  sizeof(*serial));
	uint32_t last = 0;

	if (!serial)
		return -ENOMEM;
		/* events of a task come in bunches: only a change is worth keeping */
#define TAKE(list)                             \
	for (size_t i = 0; i < t->list.n; i++) \
		if (t->list.v[i].task != last) \
			serial[n++] = last = t->list.v[i].task;
	TAKE(proc)
	TAKE(exec)
	TAKE(dead)
	TAKE(call)
	TAKE(off)
	TAKE(sample)
	TAKE(func)
#undef TAKE
	for (size_t i = 0; i < t->off.n; i++)
		if (t->off.v[i].waker != last)
			serial[n++] = last = t->off.v[i].waker;
	for (size_t i = 0; i < t->step.n; i++)
		if (t->step.v[i].creator != last)
			serial[n++] = last = t->step.v[i].creator;
	qsort(serial, n, sizeof(*serial), by_number);
	for (size_t i = 0; i < n; i++)
		if (serial[i] && (!m || serial[i] != serial[m - 1]))
			serial[m++] = serial[i];
	ix->task = calloc(m + 1, sizeof(*ix->task));
	ix->by_instance = calloc(m + 1, sizeof(*ix->by_instance));
	ix->ntasks = m;
	for (size_t i = 0; i < m && ix->task && ix->by_instance; i++) {
		ix->task[i].serial = serial[i];
		ix->by_instance[i] = &ix->task[i];
	}
	free(serial);
	return ix->task && ix->by_instance ? 0 : -ENOMEM;
}

/* Deals the items of one type out to their tasks: count, cut, fill, sort. */
#define DEAL(list, cmp)                                                                          \
	do {                                                                                     \
		struct task *tk = NULL;                                                          \
		size_t at = 0;                                                                   \
		ix->list = calloc(t->list.n + 1, sizeof(*ix->list));                             \
		if (!ix->list)                                                                   \
			return -ENOMEM;                                                          \
		for (size_t i = 0; i < t->list.n; i++) {                                         \
			if (!tk || tk->serial != t->list.v[i].task)                              \
				tk = index__task(ix, t->list.v[i].task);                         \
			if (tk)                                                                  \
				tk->n##list++;                                                   \
		}                                                                                \
		for (size_t k = 0; k < ix->ntasks; k++) {                                        \
			ix->task[k].list = ix->list + at;                                        \
			at += ix->task[k].n##list;                                               \
			ix->task[k].n##list = 0;                                                 \
		}                                                                                \
		tk = NULL;                                                                       \
		for (size_t i = 0; i < t->list.n; i++) {                                         \
			if (!tk || tk->serial != t->list.v[i].task)                              \
				tk = index__task(ix, t->list.v[i].task);                         \
			if (!tk)                                                                 \
				continue;                                                        \
			tk->list[tk->n##list++] = &t->list.v[i];                                 \
			if (!tk->creator && !tk->instance)                                       \
				tk->instance = t->list.v[i].instance;                            \
		}                                                                                \
		for (size_t k = 0; k < ix->ntasks; k++)                                          \
			sort_if_needed(ix->task[k].list, ix->task[k].n##list, sizeof(*ix->list), \
				       cmp);                                                     \
	} while (0)

static int deal_events(struct index *ix, const struct frt_trail *t)
{
	struct task *task;

	for (size_t i = 0; i < t->proc.n; i++) {
		task = index__task(ix, t->proc.v[i].task);
		if (!task)
			continue;
		task->proc = &t->proc.v[i];
		task->creator = task->creator || task->proc->is_creator;
		if (!task->creator)
			task->instance = task->proc->instance;
	}
	for (size_t i = 0; i < t->step.n; i++) {
		task = index__task(ix, t->step.v[i].creator);
		if (!task)
			continue;
		task->creator = true;
		/* its instance is the one it spawns next, unless it is part of another */
		if (!task->proc || task->proc->is_creator)
			task->instance = 0;
	}
	for (size_t i = 0; i < t->dead.n; i++) {
		task = index__task(ix, t->dead.v[i].task);
		if (task)
			task->dead = &t->dead.v[i];
	}
	for (size_t i = 0; i < t->off.n; i++) { /* whoever is known as a waker only */
		task = index__task(ix, t->off.v[i].waker);
		if (task && !task->creator && !task->instance)
			task->instance = t->off.v[i].waker_instance;
	}
	DEAL(off, by_in);
	DEAL(call, by_start);
	DEAL(exec, by_exec_time);
	DEAL(sample, by_sample_time);
	DEAL(func, by_seq);
	return 0;
}

static void add_snap(struct task *t, uint64_t at, uint64_t cpu, uint64_t user)
{
	t->snap[t->nsnap++] = (struct snap){ at, cpu, user };
}

static int gather_snaps(struct index *ix, const struct frt_trail *t)
{
	size_t at = 0;

	/* how many can there be of a task? counted in nsnap first */
	for (size_t i = 0; i < ix->ntasks; i++)
		ix->task[i].nsnap = 2 + 2 * ix->task[i].noff + ix->task[i].nexec;
	for (size_t i = 0; i < t->off.n; i++) {
		struct task *w = index__task(ix, t->off.v[i].waker);

		if (w)
			w->nsnap++;
	}
	for (size_t i = 0; i < ix->ntasks; i++)
		at += ix->task[i].nsnap;
	ix->snap = calloc(at + 1, sizeof(*ix->snap));
	if (!ix->snap)
		return -ENOMEM;
	at = 0;
	for (size_t i = 0; i < ix->ntasks; i++) {
		struct task *tk = &ix->task[i];
		size_t room = tk->nsnap;

		tk->snap = ix->snap + at;
		tk->nsnap = 0;
		at += room;
		if (tk->proc && !tk->proc->is_creator && tk->proc->parent)
			add_snap(tk, tk->proc->t, 0, 0);
		for (size_t k = 0; k < tk->noff; k++) {
			add_snap(tk, tk->off[k]->out, tk->off[k]->cpu_ns, tk->off[k]->user_ns);
			add_snap(tk, tk->off[k]->in, tk->off[k]->cpu_ns, tk->off[k]->user_ns);
		}
		for (size_t k = 0; k < tk->nexec; k++)
			add_snap(tk, tk->exec[k]->t, tk->exec[k]->cpu_ns, tk->exec[k]->user_ns);
		if (tk->dead)
			add_snap(tk, tk->dead->t, tk->dead->cpu_ns, tk->dead->user_ns);
	}
	for (size_t i = 0; i < t->off.n; i++) {
		const struct frt_off *o = &t->off.v[i];
		struct task *w = index__task(ix, o->waker);

		/* 0: the tracer does not know; nobody has used up nothing when he wakes */
		if (w && o->waking && o->waker_cpu_ns)
			add_snap(w, o->waking, o->waker_cpu_ns, o->waker_user_ns);
	}
	for (size_t i = 0; i < ix->ntasks; i++)
		sort_if_needed(ix->task[i].snap, ix->task[i].nsnap, sizeof(*ix->snap), by_snap);
	return 0;
}

/* The creator that a task without an instance goes back to. */
static struct task *creator_of(const struct index *ix, const struct task *t)
{
	for (int depth = 0; t && depth < 64; depth++) {
		struct task *up = t->proc ? index__task(ix, t->proc->parent) : NULL;

		if (up && up->creator)
			return up;
		t = up && up != t ? up : NULL;
	}
	return NULL;
}

static int find_servers(struct index *ix)
{
	ix->server = calloc(ix->ntasks + 1, sizeof(*ix->server));
	if (!ix->server)
		return -ENOMEM;
	for (size_t i = 0; i < ix->ntasks; i++) {
		struct task *t = &ix->task[i];

		if (t->creator || t->instance)
			continue;
		t->serves = creator_of(ix, t);
		if (t->serves)
			ix->server[ix->nservers++] = t;
	}
	return 0;
}

int index__build(struct index *ix, const struct frt_trail *t)
{
	int err;

	memset(ix, 0, sizeof(*ix));
	err = collect_tasks(ix, t);
	if (!err)
		err = deal_events(ix, t);
	if (!err)
		err = gather_snaps(ix, t);
	if (!err)
		err = find_servers(ix);
	if (!err)
		qsort(ix->by_instance, ix->ntasks, sizeof(*ix->by_instance), by_instance);
	return err;
}

void index__free(struct index *ix)
{
	free(ix->task);
	free(ix->by_instance);
	free(ix->server);
	free(ix->off);
	free(ix->call);
	free(ix->exec);
	free(ix->sample);
	free(ix->func);
	free(ix->snap);
	memset(ix, 0, sizeof(*ix));
}

const struct frt_call *task__call_at(const struct task *t, uint64_t at)
{
	size_t lo = 0, hi = t->ncall;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->call[mid]->t0 <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && at < t->call[lo - 1]->t1 ? t->call[lo - 1] : NULL;
}

const struct frt_call *task__call_numbered(const struct task *t, uint32_t seq)
{
	size_t lo = 0, hi = t->ncall;

	/* calls are numbered as they begin, so order of time is order of seq */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->call[mid]->seq < seq)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < t->ncall && t->call[lo]->seq == seq ? t->call[lo] : NULL;
}

uint64_t task__cpu(const struct task *t)
{
	return t->nsnap ? t->snap[t->nsnap - 1].cpu : 0;
}
