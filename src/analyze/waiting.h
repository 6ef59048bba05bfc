/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocked time of the accounting: its class, asked once for equal waits, and who held
 * the lock. Private to the analysis. */
#ifndef FRTRACE_ANALYZE_WAITING_H
#define FRTRACE_ANALYZE_WAITING_H

#include "analyze/account.h"
#include "analyze/locks.h"
#include "analyze/waits.h"

struct class_slot;

struct waiting {
	struct locks locks;
	struct stacks *stacks;
	struct intern *strings;
	struct class_slot *cache;
};

/* Keeps pointers to all it is given. 0 or -ENOMEM; waiting__close also after an error. */
int waiting__open(struct waiting *w, const struct frt_trail *t, const struct index *ix,
		  struct stacks *stacks, struct intern *strings);
void waiting__close(struct waiting *w);

/* The class of o; mode, call and detail of wait are filled in by the caller, the rest
 * here. Interned; NULL: no memory. */
const char *waiting__class(struct waiting *w, const struct frt_off *o, struct wait *wait);

/* Adds the wait g, of this class, and the holders of its lock to the action's.
 * 0 or -ENOMEM. */
int waiting__add(struct waiting *w, struct action_sum *a, const char *class, const struct seg *g);

#endif
