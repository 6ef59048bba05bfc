/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks of a trail's node tree as arrays of names, each made once. */
#ifndef FRTRACE_ANALYZE_STACKS_H
#define FRTRACE_ANALYZE_STACKS_H

#include "util/util.h"

#include <frtrace/trail.h>

struct stack {
	const char **frames; /* root first; in the arena */
	size_t n;
};

struct stacks {
	const struct frt_trail *t;
	struct arena *arena;
	struct intern *strings;
	const char **name;   /* folded, by node; NULL: not asked for yet */
	struct stack *stack; /* by node */
};

/* 0 or -ENOMEM. Names come from strings: equal names are equal pointers. */
int stacks__open(struct stacks *s, const struct frt_trail *t, struct arena *arena,
		 struct intern *strings);
void stacks__close(struct stacks *s);

/* The stack whose leaf is node; empty for 0 and for a node that is not there.
 * NULL: no memory. */
const struct stack *stacks__get(struct stacks *s, uint32_t node);

#endif
