/* SPDX-License-Identifier: BSD-2-Clause */
#include "analyze/locks.h"

#include "analyze/waits.h"
#include "util/util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* At ts the lock at addr belonged to somebody: the owner that a waiter read, or
 * (self) the waiter that got it. */
struct lock_seen {
	uint64_t addr, ts;
	const struct frt_lock *by;
	bool self;
};

struct lock_name {
	uint64_t addr;
	const char *symbol, *table, *taker;
};

bool locks__spins(const struct frt_lock *k)
{
	return !(k->flags & (FRT_LOCK_WAKER | FRT_LCB_MUTEX)) && k->flags & FRT_LCB_SPIN;
}

static int by_task_and_end(const void *a, const void *b)
{
	const struct frt_lock *x = *(const struct frt_lock *const *)a;
	const struct frt_lock *y = *(const struct frt_lock *const *)b;

	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	return (x->t1 > y->t1) - (x->t1 < y->t1);
}

static int by_address_and_time(const void *a, const void *b)
{
	const struct lock_seen *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	return (int)x->self - (int)y->self;
}

static int by_address(const void *a, const void *b)
{
	const struct lock_name *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* First of v (by task and t1) with this task that ends at `at` or later. */
static size_t first_from(const struct frt_lock *const *v, size_t n, uint32_t task, uint64_t at)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (v[mid]->task < task || (v[mid]->task == task && v[mid]->t1 < at))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct frt_lock *locks__at(const struct locks *l, uint32_t task, uint64_t at)
{
	size_t i = first_from(l->wait, l->nwait, task, at);

	if (i < l->nwait && l->wait[i]->task == task && l->wait[i]->t0 <= at)
		return l->wait[i];
	return NULL;
}

/* The waking that ended o, when its waker's stack is known. */
static const struct frt_lock *waker_of(const struct locks *l, const struct frt_off *o)
{
	size_t i = first_from(l->waker, l->nwaker, o->task, o->waking);

	if (o->waking && i < l->nwaker && l->waker[i]->task == o->task &&
	    l->waker[i]->t1 == o->waking)
		return l->waker[i];
	return NULL;
}

static struct lock_name *name_at(const struct locks *l, uint64_t addr)
{
	struct lock_name key = { .addr = addr };

	return l->nname ? bsearch(&key, l->name, l->nname, sizeof(key), by_address) : NULL;
}

/* What the stacks that waited for each address say of it. */
static int name_by_stacks(struct locks *l, const struct frt_trail *t)
{
	for (size_t i = 0; i < t->off.n; i++) {
		const struct frt_off *o = &t->off.v[i];
		const struct frt_lock *c;
		const struct stack *s;
		struct lock_name *n;
		const char *taker, *lock;

		if (o->why != FRT_OFF_BLOCKED || !o->stack)
			continue;
		c = locks__at(l, o->task, o->out);
		n = c ? name_at(l, c->addr) : NULL;
		if (!n || n->table)
			continue;
		s = stacks__get(l->stacks, o->stack);
		if (!s)
			return -ENOMEM;
		lock = waits__lock(s->frames, s->n, &taker);
		if (lock)
			n->table = lock;
		else if (!n->taker)
			n->taker = taker;
	}
	return 0;
}

static int make_names(struct locks *l, const struct frt_trail *t)
{
	size_t m = 0;

	l->name = calloc(l->nwait + 1, sizeof(*l->name));
	if (!l->name)
		return -ENOMEM;
	for (size_t i = 0; i < l->nwait; i++) {
		l->name[i].addr = l->wait[i]->addr;
		if (l->wait[i]->name && l->wait[i]->name[0])
			l->name[i].symbol = l->wait[i]->name;
	}
	qsort(l->name, l->nwait, sizeof(*l->name), by_address);
	for (size_t i = 0; i < l->nwait; i++)
		if (!m || l->name[m - 1].addr != l->name[i].addr)
			l->name[m++] = l->name[i];
		else if (!l->name[m - 1].symbol)
			l->name[m - 1].symbol = l->name[i].symbol;
	l->nname = m;
	return name_by_stacks(l, t);
}

int locks__open(struct locks *l, const struct frt_trail *t, const struct index *ix,
		struct stacks *stacks, struct intern *strings)
{
	size_t n = t->lock.n;

	*l = (struct locks){ .ix = ix, .stacks = stacks, .strings = strings };
	if (!n)
		return 0;
	l->wait = calloc(n, sizeof(*l->wait));
	l->waker = calloc(n, sizeof(*l->waker));
	l->seen = calloc(2 * n, sizeof(*l->seen));
	if (!l->wait || !l->waker || !l->seen)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct frt_lock *k = &t->lock.v[i];

		if (locks__spins(k))
			continue;
		if (k->flags & FRT_LOCK_WAKER) {
			l->waker[l->nwaker++] = k;
			continue;
		}
		l->wait[l->nwait++] = k;
		l->seen[l->nseen++] = (struct lock_seen){ k->addr, k->t_owner, k, false };
		/* A reader is not alone in it. */
		if (!(k->flags & (FRT_LCB_READ | FRT_LOCK_AGAIN)))
			l->seen[l->nseen++] = (struct lock_seen){ k->addr, k->t1, k, true };
	}
	qsort(l->wait, l->nwait, sizeof(*l->wait), by_task_and_end);
	qsort(l->waker, l->nwaker, sizeof(*l->waker), by_task_and_end);
	qsort(l->seen, l->nseen, sizeof(*l->seen), by_address_and_time);
	return make_names(l, t);
}

void locks__close(struct locks *l)
{
	free(l->wait);
	free(l->waker);
	free(l->seen);
	free(l->name);
}

const char *locks__name(const struct locks *l, const struct frt_lock *contention)
{
	const struct lock_name *n = contention ? name_at(l, contention->addr) : NULL;
	char buf[WAITS_TEXT_MAX];

	if (!n)
		return NULL;
	/* A member of a structure that has a symbol: the table knows which. */
	if (n->symbol && !(n->table && !strncmp(n->table, n->symbol, strlen(n->symbol))))
		return intern__get(l->strings, n->symbol);
	if (n->table)
		return intern__get(l->strings, n->table);
	if (!n->taker)
		return NULL;
	snprintf(buf, sizeof(buf), "in %.*s", (int)strcspn(n->taker, " "), n->taker);
	return intern__get(l->strings, buf);
}

/* What a followed task is called: its program, or what it was born as. */
static const char *name_of_task(const struct locks *l, uint32_t serial)
{
	const struct task *t = index__task(l->ix, serial);

	if (t && t->nexec && t->exec[t->nexec - 1]->comm)
		return t->exec[t->nexec - 1]->comm;
	return t && t->proc && t->proc->comm ? t->proc->comm : "?";
}

static struct lock_holder unknown(void)
{
	return (struct lock_holder){ .task = "unknown", .kind = "unknown" };
}

/* What a worker executes, by its stack: the function above process_one_work. NULL: not
 * in this stack. Kernels before 5.17 do not tell it otherwise. */
static const char *work_in(const struct locks *l, uint32_t node)
{
	const struct stack *s = node ? stacks__get(l->stacks, node) : NULL;

	size_t i = 0;

	while (s && i < s->n && strcmp(s->frames[i], "process_one_work") != 0)
		i++;
	for (i++; s && i < s->n; i++)
		if (!waits__is_probe(s->frames[i]))
			return s->frames[i];
	return NULL;
}

static struct lock_holder owner_of(const struct locks *l, const struct frt_lock *k)
{
	const char *comm = k->owner_comm ? k->owner_comm : "?", *work;

	if (!k->owner_tid)
		return unknown();
	if (k->owner)
		return (struct lock_holder){ .task = comm, .kind = "stream" };
	if (k->owner_kind == FRT_OWNER_WORKER) {
		work = work_in(l, k->stack);
		return (struct lock_holder){ .task = work ? work : comm, .kind = "workqueue" };
	}
	return (struct lock_holder){ .task = comm, .kind = "outside" };
}

/* Who held the lock by what was seen. A waiter is not its own holder. */
static struct lock_holder holder_by(const struct locks *l, const struct lock_seen *s, uint32_t task,
				    const struct frt_lock *waker)
{
	struct lock_holder h;

	if (s->self) {
		if (s->by->task == task)
			return unknown();
		h = (struct lock_holder){ .task = name_of_task(l, s->by->task), .kind = "stream" };
		if (waker && waker->owner == s->by->task)
			h.stack = waker->stack;
		return h;
	}
	if (s->by->owner && s->by->owner == task)
		return unknown();
	h = owner_of(l, s->by);
	if (waker && h.kind[0] != 'u' && waker->owner_tid == s->by->owner_tid) {
		h.stack = waker->stack;
		/* what it executed then: known better by whoever ran on the CPU */
		h.task = owner_of(l, waker).task;
	}
	return h;
}

/* Index behind the last that was seen of addr at or before ts; *first where addr's begin. */
static size_t seen_until(const struct locks *l, uint64_t addr, uint64_t ts, size_t *first)
{
	size_t lo = 0, hi = l->nseen;
	struct lock_seen from = { .addr = addr }, to = { .addr = addr, .ts = ts, .self = true };

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (by_address_and_time(&l->seen[mid], &from) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	*first = lo;
	hi = l->nseen;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (by_address_and_time(&l->seen[mid], &to) <= 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static const struct frt_lock *unlocker(const struct locks *l, const struct frt_off *o)
{
	const struct frt_lock *k = waker_of(l, o);
	const struct stack *s = k && k->stack ? stacks__get(l->stacks, k->stack) : NULL;

	return s && k->owner_tid && waits__unlocks(s->frames, s->n) ? k : NULL;
}

void locks__held(const struct locks *l, const struct frt_lock *contention, const struct frt_off *o,
		 uint64_t a, uint64_t b,
		 void (*each)(void *ctx, const struct lock_holder *h, uint64_t ns), void *ctx)
{
	const struct frt_lock *waker = unlocker(l, o);
	struct lock_holder h, by_waker = waker ? owner_of(l, waker) : unknown();
	size_t i = 0, first = 0;

	by_waker.stack = waker ? waker->stack : 0;
	if (contention)
		i = seen_until(l, contention->addr, a, &first);
	while (contention && a < b) {
		uint64_t to = b;

		if (i < l->nseen && l->seen[i].addr == contention->addr && l->seen[i].ts < b)
			to = l->seen[i].ts;
		h = i > first ? holder_by(l, &l->seen[i - 1], o->task, waker) : unknown();
		if (h.kind[0] == 'u')
			h = by_waker;
		if (to > a)
			each(ctx, &h, to - a);
		a = to;
		i++;
	}
	if (a < b)
		each(ctx, &by_waker, b - a);
}
