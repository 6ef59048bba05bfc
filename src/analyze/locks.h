/* SPDX-License-Identifier: BSD-2-Clause */
/* Contended locks: which one a task waited for, what it is called, who held it. */
#ifndef FRTRACE_ANALYZE_LOCKS_H
#define FRTRACE_ANALYZE_LOCKS_H

#include "analyze/index.h"
#include "analyze/stacks.h"

struct lock_holder {
	const char *task; /* interned */
	const char *kind; /* stream | workqueue | outside | unknown; a constant */
	uint32_t stack;	  /* node; 0: not known */
};

struct lock_name;
struct lock_seen;

struct locks {
	const struct index *ix;
	struct stacks *stacks;
	struct intern *strings;
	const struct frt_lock **wait;  /* contention, by task and t1 */
	const struct frt_lock **waker; /* wakings, by task and t1 */
	struct lock_seen *seen;	       /* who was seen to hold, by address and time */
	struct lock_name *name;	       /* by address */
	size_t nwait, nwaker, nseen, nname;
};

/* Is it a spinlock's contention? Nobody sleeps for those: they are no waits. */
bool locks__spins(const struct frt_lock *contention);

/* Sorts the trail's locks and names them: by data symbol, else by the table of takers,
 * asked of every stack that waited for the address, else by a taker. Keeps pointers to
 * all it is given. 0 or -ENOMEM; locks__close also after an error. */
int locks__open(struct locks *l, const struct frt_trail *t, const struct index *ix,
		struct stacks *stacks, struct intern *strings);
void locks__close(struct locks *l);

/* The contention that `task` was in at `at`, or NULL: none, or not told. */
const struct frt_lock *locks__at(const struct locks *l, uint32_t task, uint64_t at);
/* "rtnl_mutex", "in FUNCTION"; interned. NULL: nothing is known of it. */
const char *locks__name(const struct locks *l, const struct frt_lock *contention);

/*
 * Who held the lock while o's task waited for it in [a, b), a part of o: each ns goes
 * to who was last seen to hold it, at or before, by any waiter of the lock (its owner
 * read at a begin; a waiter itself from when it got it). Where nobody could be read it
 * is the waker's, if its stack lets go of a lock, otherwise unknown. contention may be
 * NULL: then only the waker tells.
 */
void locks__held(const struct locks *l, const struct frt_lock *contention, const struct frt_off *o,
		 uint64_t a, uint64_t b,
		 void (*each)(void *ctx, const struct lock_holder *h, uint64_t ns), void *ctx);

#endif
