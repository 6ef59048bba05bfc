/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks of a profile, merged: what every flame-like output is made of.
 *
 * A flame holds paths (step, action, frames, root first) with one value per
 * column; what a column means (a level, a kind, both) is the caller's choice.
 * Values are ns and add up exactly to what was put in; where they are scaled to
 * one router, the largest remainder keeps each step's total (design 3.3).
 */
#ifndef FRTRACE_FLAME_H
#define FRTRACE_FLAME_H

#include <frtrace/model.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLAME_COLUMNS 64 /* columns of one flame at most */
#define FLAME_DEPTH 512	 /* frames of a path at most; deeper ones end in "[deeper]" */

/* What a frame is, for palettes and for readers that want to know. */
enum flame_type {
	FLAME_ROOT,
	FLAME_STEP,
	FLAME_ACTION,
	FLAME_KERNEL,	/* name ends in _[k] */
	FLAME_USER,	/* [user], or a frame that is not the kernel's */
	FLAME_WAIT,	/* [class] */
	FLAME_RUNQ,	/* [runqueue] */
	FLAME_UNSEEN,	/* [not sampled], [unknown] */
	FLAME_FUNCTION, /* a probed function */
	FLAME_TYPES
};

/* Which time: on-CPU, off, or both. */
#define FLAME_CPU 1
#define FLAME_OFF 2
#define FLAME_WALL (FLAME_CPU | FLAME_OFF)

#define FLAME_MEASURED 1 /* bits of how: where the values below come from */
#define FLAME_SAMPLED 2

struct flame_name {
	const char *text;
	enum flame_type type;
};

/* A distinct path with time of its own. */
struct flame_leaf {
	uint32_t first; /* of its frames in paths */
	uint16_t depth;
	uint16_t how;
};

struct flame_row;
struct flame_index;

struct flame {
	unsigned columns;
	bool functions; /* n belongs to the frame alone; otherwise it is summed upwards */
	struct flame_name *names;
	size_t nnames;
	uint32_t *paths; /* indices of names; after flame__finish sorted like the names */
	/* after flame__finish: in path order, no path twice */
	struct flame_leaf *leaves;
	size_t nleaves;
	uint64_t *ns, *n; /* [leaf * columns + column] */
	uint64_t total[FLAME_COLUMNS];
	/* while filling */
	struct arena *arena;
	struct flame_index *index;
	struct flame_row *rows;
	size_t nrows, rows_cap, npaths, paths_cap, names_cap;
};

/* NULL: no memory. functions: the columns are filled by flame__add_functions. */
struct flame *flame__new(unsigned columns, bool functions);
void flame__free(struct flame *f);

/* Puts the stacks of s that are of these kinds into column. routers > 1: divided by it, the
 * total rounded once. 0 or -ENOMEM. */
int flame__add_stacks(struct flame *f, const struct frt_steprow *s, unsigned kinds, unsigned column,
		      uint32_t routers);
/* The same with the trees of probed functions: on-CPU time, or the time inside
 * that was not. */
int flame__add_functions(struct flame *f, const struct frt_steprow *s, unsigned kinds,
			 unsigned column, uint32_t routers);

/* Sorts and merges; nothing can be added after it. 0 or -ENOMEM. */
int flame__finish(struct flame *f);

struct flame_node {
	uint32_t name;	/* UINT32_MAX: the root */
	uint16_t depth; /* 0: the root */
	uint16_t how;
	uint32_t next; /* first node behind its subtree */
};

struct flame_tree {
	unsigned columns;
	struct flame_node *nodes; /* before their children, siblings in path order */
	size_t nnodes;
	uint64_t *ns, *n; /* [node * columns + column], children included */
	uint64_t pruned;  /* frames left out; their parents' values include them */
	unsigned depth;	  /* of the deepest node that was kept */
};

/* The tree without the nodes that are below min_share of the total in every
 * column. Peak memory is the nodes that are kept. 0 or -ENOMEM. */
int flame__tree(const struct flame *f, double min_share, struct flame_tree *out);
void flame_tree__free(struct flame_tree *t);

/* Whether an action's function trees hold any time. */
bool step_has_functions(const struct frt_steprow *s);

#endif
