/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files that make steps out of a foreign loop's events hand to each
 * other: foreign.c (the order of things, processes, commands), acts.c (what is
 * asked of the kernel), loops.c (loops, routers, buckets). Private to them.
 */
#ifndef FRTRACE_ANALYZE_LOOPS_H
#define FRTRACE_ANALYZE_LOOPS_H

#include "analyze/foreign.h"
#include "analyze/index.h"
#include "analyze/rules.h"
#include "analyze/syscalls.h"
#include "util/util.h"

#define NONE SIZE_MAX
#define NAMES_MAX 64

enum role {
	ROLE_LOOP,    /* itself no step: its steps are its children, or what it asks */
	ROLE_STEP,    /* a command */
	ROLE_WRAPPER, /* starts one command and waits for it */
	ROLE_ACTIONS, /* many steps in one process */
};

/* A task, and what it is to the loop. Same place as in index.task. */
struct member {
	struct task *t;
	size_t parent; /* who forked it; NONE: attached, or lost */
	enum role role;
	unsigned name;	   /* of a step */
	uint64_t from;	   /* a step's beginning: its birth, or its exec behind a wrapper */
	bool wrapped;	   /* a wrapper became this step by exec */
	size_t owner;	   /* whose step or wrapper it is part of; NONE: of the loop */
	uint32_t instance; /* of what it owns */
	/* steps below it */
	uint64_t names;
	unsigned nsteps;
	bool repeats; /* one of them twice: it runs a loop */
	bool asks;    /* somebody below is a step by what it asks */
	size_t inner; /* of a wrapper: the step */
	/* calls */
	bool execs, marked, acts;
	/* loops.c */
	bool bears, apart;
	size_t loop;
	bool aside; /* --create: no part of what the command did */
};

/* A step that was found; becomes a frt_stepinst. */
struct found {
	struct frt_stepinst s;
	unsigned name;
	size_t loop;	 /* who it is a step of: a member */
	size_t by;	 /* who forked it, or whose call it is */
	uint32_t within; /* --create: the instance that it is a part of */
};

struct foreign {
	struct frt_trail *t;
	struct index ix;
	struct syscalls sys;
	struct rules *rules;
	enum foreign_by by;
	uint64_t every;
	struct member *m; /* ix.ntasks of them */
	size_t *order;	  /* by birth */
	const char *name[NAMES_MAX];
	size_t nnames;
	FRT_ARRAY(found, found);
	uint32_t instances;
	uint64_t batches, batched;   /* sends of several messages, and those */
	uint64_t startup_ns;	     /* of loops, before what their first round may take */
	uint64_t cut;		     /* arguments longer than recorded */
	bool actions;		     /* any step is one */
	bool create;		     /* --create: levels and routers are there */
	FRT_ARRAY(frt_level, count); /* what was counted, by t0 */
	struct json_t *notes;
};

/* The number of a step's name; the last one stands for all beyond. */
unsigned foreign__step(struct foreign *f, const char *name);
int foreign__add(struct foreign *f, const struct found *one);

/* acts.c: which calls say something, and the steps they are. */
void acts__look(struct foreign *f, struct member *m);
int acts__find(struct foreign *f, size_t member);
bool acts__creates(const struct foreign *f, const struct frt_call *c);

/* loopnotes.c */
void notes__write(struct foreign *f);

/* loops.c */
int loops__find(struct foreign *f);  /* found.loop */
int loops__write(struct foreign *f); /* routers, levels, steps into the trail */
/* --create: each of its commands becomes the steps that it was made of. */
int loops__replace(struct foreign *f);

#endif
