/* SPDX-License-Identifier: BSD-2-Clause */
/* Trees of probed functions: one per call as the kernel sent it, summed over the
 * calls of an action. */
#include "analyze/account.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX 4096 /* of one call; the tracer sends far fewer */

static struct fn_sum *function_below(struct arena *arena, struct fn_sum **list, const char *name)
{
	struct fn_sum **at = list;

	while (*at && (*at)->function != name)
		at = &(*at)->next;
	if (!*at) {
		*at = arena__alloc(arena, sizeof(**at));
		if (*at)
			(*at)->function = name;
	}
	return *at;
}

int functions__add(struct arena *arena, struct intern *strings, struct action_sum *a,
		   const struct frt_func *const *f, size_t n)
{
	struct fn_sum **made;
	int err = 0;

	if (n > NODES_MAX)
		n = NODES_MAX;
	made = calloc(n + 1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	for (size_t i = 0; i < n && !err; i++) {
		const char *name = intern__get(strings, f[i]->function ? f[i]->function : "?");
		struct fn_sum *up = NULL, *s;

		/* parents come before their children */
		for (size_t k = 0; k < i && f[i]->parent; k++)
			if (f[k]->node == f[i]->parent)
				up = made[k];
		s = name ? function_below(arena, up ? &up->child : &a->functions, name) : NULL;
		if (!s) {
			err = -ENOMEM;
			break;
		}
		s->n += f[i]->n;
		s->total_ns += f[i]->total_ns;
		s->child_ns += f[i]->child_ns;
		s->off_ns += f[i]->off_ns;
		s->child_off_ns += f[i]->child_off_ns;
		made[i] = s;
	}
	free(made);
	return err;
}

static int by_total(const void *a, const void *b)
{
	const struct frt_fn *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return strcmp(x->function, y->function);
}

static double minus(uint64_t a, uint64_t b)
{
	return a > b ? (double)(a - b) : 0;
}

int functions__finish(struct arena *arena, const struct fn_sum *list, struct frt_fn **out,
		      size_t *nout)
{
	size_t n = 0;

	for (const struct fn_sum *f = list; f; f = f->next)
		n++;
	*nout = 0;
	*out = arena__alloc(arena, (n + 1) * sizeof(**out));
	if (!*out)
		return -ENOMEM;
	for (const struct fn_sum *f = list; f; f = f->next) {
		struct frt_fn *o = &(*out)[(*nout)++];

		*o = (struct frt_fn){ .function = f->function,
				      .n = f->n,
				      .total_ns = (double)f->total_ns,
				      .self_ns = minus(f->total_ns, f->child_ns),
				      .cpu_ns = minus(f->total_ns, f->off_ns),
				      .blocked_ns = (double)f->off_ns };
		if (functions__finish(arena, f->child, &o->children, &o->nchildren))
			return -ENOMEM;
	}
	qsort(*out, *nout, sizeof(**out), by_total);
	return 0;
}
