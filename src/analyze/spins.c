/* SPDX-License-Identifier: BSD-2-Clause */
/* Contended spinlocks: in which functions, by level. */
#include "analyze/account.h"
#include "analyze/locks.h"
#include "analyze/waits.h"
#include "util/util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct spin_list {
	struct frt_spin *v;
	size_t n, cap;
};

/* The function that takes the spinlock. NULL: not in the stack. */
static const char *taker_in(const char *const *frames, size_t nframes)
{
	static const char *const paths[] = {
		"*queued_spin_lock_slowpath",
		"queued_read_lock_slowpath",
		"queued_write_lock_slowpath",
		"resilient_queued_spin_lock_slowpath",
		"_raw_spin_lock*",
		"__raw_spin_lock*",
		"_raw_spin_trylock*",
		"_raw_read_lock*",
		"_raw_write_lock*",
		"do_raw_spin_lock*",
		"raw_spin_rq_lock_nested",
		"lock_timer_base",
		"lockref_*",
	};

	for (size_t n = nframes; n-- > 0;) {
		bool path = waits__is_probe(frames[n]);

		for (size_t i = 0; i < ARRAY_SIZE(paths) && !path; i++)
			path = waits__fits(paths[i], frames[n]);
		if (!path)
			return frames[n];
	}
	return NULL;
}

/* When the level's first router began; UINT64_MAX: it has none. */
static uint64_t began(const struct analysis *an, const struct level *lv)
{
	uint64_t t = UINT64_MAX;

	for (size_t i = 0; i < an->t->router.n; i++)
		if (an->t->router.v[i].level == lv->l->id && an->t->router.v[i].t0 < t)
			t = an->t->router.v[i].t0;
	return t;
}

/* The level that was measured at t: the last that had begun. `from`: began() of each. */
static size_t level_at(const uint64_t *from, size_t n, uint64_t t)
{
	size_t at = n;

	for (size_t i = 0; i < n; i++)
		if (from[i] <= t && (at == n || from[i] >= from[at]))
			at = i;
	return at;
}

/* "FUNCTION", with the lock's symbol behind it where it has one. NULL: no memory. */
static const char *place(struct analysis *an, struct stacks *stacks, const struct frt_lock *k)
{
	const struct stack *s = stacks__get(stacks, k->stack);
	const char *taker = s ? taker_in(s->frames, s->n) : NULL;
	char buf[WAITS_TEXT_MAX];

	if (!s)
		return NULL;
	taker = taker ? taker : "[unknown]";
	if (!k->name || !k->name[0])
		return intern__get(an->strings, taker);
	snprintf(buf, sizeof(buf), "%s (%s)", taker, k->name);
	return intern__get(an->strings, buf);
}

static int add(struct spin_list *l, const char *where)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i].where, where) == 0) {
			l->v[i].n++;
			return 0;
		}
	if (grow(&l->v, l->n, &l->cap, sizeof(*l->v)))
		return -ENOMEM;
	l->v[l->n++] = (struct frt_spin){ where, 1 };
	return 0;
}

static int by_count(const void *a, const void *b)
{
	const struct frt_spin *x = a, *y = b;

	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return strcmp(x->where, y->where);
}

int spins__fill(struct analysis *an, struct stacks *stacks)
{
	struct spin_list *list = calloc(an->nlevels + 1, sizeof(*list));
	uint64_t *from = calloc(an->nlevels + 1, sizeof(*from));
	int err = list && from ? 0 : -ENOMEM;

	for (size_t i = 0; i < an->nlevels && !err; i++)
		from[i] = began(an, &an->level[i]);
	for (size_t i = 0; i < an->t->lock.n && !err; i++) {
		const struct frt_lock *k = &an->t->lock.v[i];
		const char *where;
		size_t at;

		if (!locks__spins(k))
			continue;
		at = level_at(from, an->nlevels, k->t1);
		if (at == an->nlevels)
			continue;
		where = place(an, stacks, k);
		err = where ? add(&list[at], where) : -ENOMEM;
	}
	for (size_t i = 0; i < an->nlevels && !err; i++) {
		struct frt_levelrow *out = an->level[i].out;

		if (list[i].n)
			qsort(list[i].v, list[i].n, sizeof(*list[i].v), by_count);
		for (size_t k = 0; k < list[i].n; k++) {
			out->spins_told += list[i].v[k].n;
			if (k < ARRAY_SIZE(out->spin))
				out->spin[out->nspin++] = list[i].v[k];
		}
	}
	for (size_t i = 0; list && i < an->nlevels; i++)
		free(list[i].v);
	free(list);
	free(from);
	return err;
}
