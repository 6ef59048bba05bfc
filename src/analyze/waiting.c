/* SPDX-License-Identifier: BSD-2-Clause */
#include "analyze/waiting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What the class of a wait depends on. */
struct class_key {
	uint32_t stack, mode, detail;
	int32_t nr;
	const char *lock; /* interned */
};

struct class_slot {
	struct class_key key;
	const char *class; /* interned; NULL: free */
};

#define CLASS_CACHE 1024 /* a power of two */

int waiting__open(struct waiting *w, const struct frt_trail *t, const struct index *ix,
		  struct stacks *stacks, struct intern *strings)
{
	w->stacks = stacks;
	w->strings = strings;
	w->cache = calloc(CLASS_CACHE, sizeof(*w->cache));
	return w->cache ? locks__open(&w->locks, t, ix, stacks, strings) : -ENOMEM;
}

void waiting__close(struct waiting *w)
{
	locks__close(&w->locks);
	free(w->cache);
}

static bool same_key(const struct class_key *a, const struct class_key *b)
{
	return a->stack == b->stack && a->mode == b->mode && a->detail == b->detail &&
	       a->nr == b->nr && a->lock == b->lock;
}

const char *waiting__class(struct waiting *w, const struct frt_off *o, struct wait *wait)
{
	struct class_key key = { o->stack, o->mode, wait->detail, o->nr, NULL };
	const struct stack *stack;
	struct class_slot *slot;
	char buf[WAITS_TEXT_MAX];
	uint32_t h;

	wait->call = wait->call ? wait->call : "";
	wait->lock = key.lock = locks__name(&w->locks, locks__at(&w->locks, o->task, o->out));
	h = (key.stack * 31 + key.mode * 7 + key.detail) * 31 + (uint32_t)key.nr;
	slot = &w->cache[(h ^ h >> 10 ^ (uintptr_t)key.lock >> 4) % CLASS_CACHE];
	if (slot->class && same_key(&slot->key, &key))
		return slot->class;
	stack = stacks__get(w->stacks, o->stack);
	if (!stack)
		return NULL;
	wait->frames = stack->frames;
	wait->nframes = stack->n;
	slot->key = key;
	slot->class = intern__get(w->strings, waits__class(wait, buf));
	return slot->class;
}

/* Where holders go. */
struct held_for {
	struct waiting *w;
	struct action_sum *a;
	const char *class;
	uint32_t stack;
	int err;
};

static void add_held(void *ctx, const struct lock_holder *h, uint64_t ns)
{
	struct held_for *f = ctx;
	struct action_sum *a = f->a;
	const char *task = intern__get(f->w->strings, h->task);
	struct held_sum *s = NULL;

	for (size_t i = 0; i < a->held.n && !s; i++)
		if (a->held.v[i].class == f->class && a->held.v[i].stack == f->stack &&
		    a->held.v[i].task == task && a->held.v[i].kind == h->kind)
			s = &a->held.v[i];
	if (!s) {
		if (!task || grow(&a->held.v, a->held.n, &a->held.cap, sizeof(*a->held.v))) {
			f->err = -ENOMEM;
			return;
		}
		s = &a->held.v[a->held.n++];
		*s = (struct held_sum){ f->class, f->stack, task, h->kind, 0, 0, 0 };
	}
	s->ns += ns;
	if (h->stack && ns >= s->longest) {
		s->longest = ns;
		s->holder_stack = h->stack;
	}
}

int waiting__add(struct waiting *w, struct action_sum *a, const char *class, const struct seg *g)
{
	struct held_for f = { w, a, class, g->off->stack, 0 };

	if (grow(&a->off.v, a->off.n, &a->off.cap, sizeof(*a->off.v)))
		return -ENOMEM;
	a->off.v[a->off.n++] = (struct off_sum){ class, g->off->stack, g->b - g->a, 1 };
	if (strncmp(class, "lock:", 5) == 0)
		locks__held(&w->locks, locks__at(&w->locks, g->off->task, g->off->out), g->off,
			    g->a, g->b, add_held, &f);
	return f.err;
}
