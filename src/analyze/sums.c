/* SPDX-License-Identifier: BSD-2-Clause */
/* What the accounting adds to: figures by router, and the sums of actions. */
#include "analyze/account.h"

#include <errno.h>
#include <stdlib.h>

int cell__add(struct analysis *an, struct level *lv, enum row row, int kind, const char *action,
	      const char *where, size_t i, uint64_t ns)
{
	uintptr_t h = (uintptr_t)action / 16 * 31 + (uintptr_t)where / 16;
	struct cell **slot, *c;

	h = (h * 31 + (uintptr_t)row) * 7 + (uintptr_t)kind;
	slot = &lv->bucket[(h ^ h >> 11) % CELL_BUCKETS];
	for (c = *slot; c; c = c->next)
		if (c->row == row && c->kind == kind && c->action == action && c->where == where)
			break;
	if (!c) {
		c = arena__alloc(an->arena, sizeof(*c));
		if (!c || grow(&lv->cell, lv->ncells, &lv->cells_cap, sizeof(*lv->cell)))
			return -ENOMEM;
		c->v = arena__alloc(an->arena, lv->nrouters * sizeof(*c->v));
		if (!c->v)
			return -ENOMEM;
		c->level = lv;
		c->row = (uint8_t)row;
		c->kind = (uint8_t)kind;
		c->action = action;
		c->where = where;
		c->next = *slot;
		*slot = c;
		lv->cell[lv->ncells++] = c;
	}
	c->v[i] += (int64_t)ns;
	return 0;
}

struct action_sum *account__action(struct step_account *a, const char *name)
{
	for (size_t i = 0; i < a->action.n; i++)
		if (a->action.v[i].name == name)
			return &a->action.v[i];
	if (grow(&a->action.v, a->action.n, &a->action.cap, sizeof(*a->action.v)))
		return NULL;
	a->action.v[a->action.n] = (struct action_sum){ .name = name };
	return &a->action.v[a->action.n++];
}

void account__free(struct step_account *a)
{
	for (size_t i = 0; a && i < a->action.n; i++) {
		free(a->action.v[i].sample.v);
		free(a->action.v[i].off.v);
		free(a->action.v[i].held.v);
		free(a->action.v[i].frame.v);
	}
	if (a)
		free(a->action.v);
}
