/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the walls of a level's steps were: sums by action, and what samples,
 * waits and functions say of them. Private to the analysis.
 */
#ifndef FRTRACE_ANALYZE_ACCOUNT_H
#define FRTRACE_ANALYZE_ACCOUNT_H

#include "analyze/analysis.h"
#include "analyze/assemble.h"
#include "analyze/decode.h"
#include "analyze/stacks.h"

#define RTNL_SPIN "rtnl spin" /* kernel time of writes below /proc/sys that tried again */

/* A wait, or after merging all waits of one class with one stack. */
struct off_sum {
	const char *class;
	uint32_t stack; /* node */
	uint64_t ns, n;
};

/* Of the waits of one class and stack: how long somebody held the lock. */
struct held_sum {
	const char *class;
	uint32_t stack; /* node, of the waiter */
	const char *task, *kind;
	uint32_t holder_stack; /* of the longest */
	uint64_t ns, longest;
};

/* Samples with one stack. */
struct stack_count {
	uint32_t stack;
	uint64_t n;
};

/* How often a function was the leaf, and on the stack at all. */
struct frame_count {
	const char *frame;
	uint64_t self, total, self_ns, total_ns; /* self, total: samples */
	size_t last;
};

/* A probed function below its caller, summed over calls. */
struct fn_sum {
	const char *function;
	uint64_t n, total_ns, child_ns, off_ns, child_off_ns;
	struct fn_sum *child, *next;
};

struct action_sum {
	const char *name;
	uint64_t kind[FRT_KINDS]; /* ns in walls */
	uint64_t n, restarts;	  /* calls, in walls or not */
	uint64_t spin;		  /* of kernel: attempts begun again */
	FRT_ARRAY(stack_count, sample);
	FRT_ARRAY(off_sum, off);
	FRT_ARRAY(held_sum, held);
	FRT_ARRAY(frame_count, frame); /* from sample; by actions__finish */
	uint64_t samples;
	struct fn_sum *functions; /* in the arena */
};

struct step_account {
	FRT_ARRAY(action_sum, action);
	uint64_t rows;	      /* traced routers that have the step */
	uint64_t unaccounted; /* ns */
	uint64_t parallel;    /* ns on the CPU that are in no wall */
	uint64_t user_samples, user_kernel_samples;
};

/* The sums of an action, made when it is new. name is interned. NULL: no memory. */
struct action_sum *account__action(struct step_account *a, const char *name);

/* The step's account merged into the profile's row. */
int actions__finish(struct analysis *an, struct stacks *stacks, struct step_account *a,
		    struct frt_steprow *out);
void account__free(struct step_account *a);

/* The tree of a call's functions (f, n of them, by node) added to an action's. */
int functions__add(struct arena *arena, struct intern *strings, struct action_sum *a,
		   const struct frt_func *const *f, size_t n);
/* The same as the profile shows it. */
int functions__finish(struct arena *arena, const struct fn_sum *list, struct frt_fn **out,
		      size_t *nout);

/* Where spinlocks were contended, into the rows of the levels. 0 or -ENOMEM. */
int spins__fill(struct analysis *an, struct stacks *stacks);

/* The value i of a figure += ns. 0 or -ENOMEM. */
int cell__add(struct analysis *an, struct level *lv, enum row row, int kind, const char *action,
	      const char *where, size_t i, uint64_t ns);

/* Splits total by weights into whole numbers that add up to it: each gets its share
 * rounded down, the largest remainders get one more (the earlier of equals). All
 * weights 0: the first gets it all. rest is scratch space for 2 n numbers. */
void apportion(uint64_t total, const uint64_t *weight, size_t n, uint64_t *share, uint64_t *rest);

#endif
