/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/flame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The tree while it grows. The leaves come in path order, so the open nodes are
 * one path from the root; a node that closes has all its children behind it,
 * and when it is too small so are they: it is the last one and can be dropped. */
struct builder {
	const struct flame *f;
	struct flame_tree *t;
	size_t cap;
	uint64_t min[FLAME_COLUMNS];
	uint32_t open[FLAME_DEPTH + 8];
	unsigned nopen;
};

static int reserve(struct builder *b)
{
	struct flame_tree *t = b->t;
	size_t cap = b->cap ? b->cap * 2 : 1024;
	void *p;

	if (t->nnodes < b->cap)
		return 0;
	p = reallocarray(t->nodes, cap, sizeof(*t->nodes));
	if (!p)
		return -ENOMEM;
	t->nodes = p;
	p = reallocarray(t->ns, cap * t->columns, sizeof(*t->ns));
	if (!p)
		return -ENOMEM;
	t->ns = p;
	p = reallocarray(t->n, cap * t->columns, sizeof(*t->n));
	if (!p)
		return -ENOMEM;
	t->n = p;
	b->cap = cap;
	return 0;
}

static int open_node(struct builder *b, uint32_t name)
{
	struct flame_tree *t = b->t;

	if (reserve(b))
		return -ENOMEM;
	t->nodes[t->nnodes] = (struct flame_node){ .name = name, .depth = (uint16_t)b->nopen };
	memset(t->ns + t->nnodes * t->columns, 0, t->columns * sizeof(*t->ns));
	memset(t->n + t->nnodes * t->columns, 0, t->columns * sizeof(*t->n));
	b->open[b->nopen++] = (uint32_t)t->nnodes++;
	return 0;
}

static bool wide_enough(const struct builder *b, size_t node)
{
	const uint64_t *ns = b->t->ns + node * b->t->columns;

	for (unsigned c = 0; c < b->t->columns; c++)
		if (ns[c] && ns[c] >= b->min[c])
			return true;
	return false;
}

static void close_node(struct builder *b)
{
	struct flame_tree *t = b->t;
	uint32_t node = b->open[--b->nopen], parent;

	t->nodes[node].next = (uint32_t)t->nnodes;
	if (!b->nopen)
		return;
	parent = b->open[b->nopen - 1];
	for (unsigned c = 0; c < t->columns; c++) {
		t->ns[parent * t->columns + c] += t->ns[node * t->columns + c];
		if (!b->f->functions)
			t->n[parent * t->columns + c] += t->n[node * t->columns + c];
	}
	t->nodes[parent].how |= t->nodes[node].how;
	if (wide_enough(b, node)) {
		if (t->nodes[node].depth > t->depth)
			t->depth = t->nodes[node].depth;
		return;
	}
	t->nnodes--;
	t->pruned++;
}

static int add_leaf(struct builder *b, const struct flame_leaf *l, size_t i)
{
	struct flame_tree *t = b->t;
	const uint32_t *path = b->f->paths + l->first;
	unsigned common = 0;
	uint32_t node;

	while (common < l->depth && common + 1 < b->nopen &&
	       t->nodes[b->open[common + 1]].name == path[common])
		common++;
	while (b->nopen > common + 1)
		close_node(b);
	for (unsigned d = common; d < l->depth; d++)
		if (open_node(b, path[d]))
			return -ENOMEM;
	node = b->open[b->nopen - 1];
	t->nodes[node].how |= l->how;
	for (unsigned c = 0; c < t->columns; c++) {
		t->ns[node * t->columns + c] += b->f->ns[i * t->columns + c];
		t->n[node * t->columns + c] += b->f->n[i * t->columns + c];
	}
	return 0;
}

int flame__tree(const struct flame *f, double min_share, struct flame_tree *out)
{
	struct builder b = { .f = f, .t = out };
	int err;

	memset(out, 0, sizeof(*out));
	out->columns = f->columns;
	for (unsigned c = 0; c < f->columns; c++)
		b.min[c] = (uint64_t)((double)f->total[c] * min_share);
	err = open_node(&b, UINT32_MAX);
	for (size_t i = 0; i < f->nleaves && !err; i++)
		err = add_leaf(&b, &f->leaves[i], i);
	if (err) {
		flame_tree__free(out);
		return err;
	}
	while (b.nopen)
		close_node(&b);
	return 0;
}

void flame_tree__free(struct flame_tree *t)
{
	free(t->nodes);
	free(t->ns);
	free(t->n);
	memset(t, 0, sizeof(*t));
}
