/* SPDX-License-Identifier: BSD-2-Clause */
#include "analyze/stacks.h"

#include "analyze/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A record may hold a circle of nodes; no kernel stack is this deep. */
#define STACK_DEPTH_MAX 256

int stacks__open(struct stacks *s, const struct frt_trail *t, struct arena *arena,
		 struct intern *strings)
{
	*s = (struct stacks){ .t = t, .arena = arena, .strings = strings };
	s->name = calloc(t->node.n + 1, sizeof(*s->name));
	s->stack = calloc(t->node.n + 1, sizeof(*s->stack));
	return s->name && s->stack ? 0 : -ENOMEM;
}

void stacks__close(struct stacks *s)
{
	free(s->name);
	free(s->stack);
}

static const char *name_of(struct stacks *s, uint32_t node)
{
	char folded[256];

	if (!s->name[node]) {
		symbols__fold(folded, sizeof(folded),
			      s->t->node.v[node - 1].frame ? s->t->node.v[node - 1].frame : "?");
		s->name[node] = intern__get(s->strings, folded);
	}
	return s->name[node];
}

const struct stack *stacks__get(struct stacks *s, uint32_t node)
{
	struct stack *out;
	size_t depth = 0;

	if (node > s->t->node.n)
		node = 0;
	out = &s->stack[node];
	if (!node || out->frames)
		return out;
	for (uint32_t n = node; n && n <= s->t->node.n && depth < STACK_DEPTH_MAX;
	     n = s->t->node.v[n - 1].parent)
		depth++;
	out->frames = arena__alloc(s->arena, depth * sizeof(*out->frames));
	if (!out->frames)
		return NULL;
	out->n = depth;
	for (uint32_t n = node; depth; n = s->t->node.v[n - 1].parent) {
		out->frames[--depth] = name_of(s, n);
		if (!out->frames[depth])
			return NULL;
	}
	return out;
}
