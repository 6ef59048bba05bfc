/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The events of a trail by task, each list in order of time. Points into the
 * trail and lives no longer.
 */
#ifndef FRTRACE_ANALYZE_INDEX_H
#define FRTRACE_ANALYZE_INDEX_H

#include <frtrace/events.h>
#include <frtrace/trail.h>

/* What a task had used up at a moment: cumulative ns. */
struct snap {
	uint64_t t, cpu, user;
};

struct task {
	uint32_t serial;
	uint32_t instance; /* 0: a creator, or a loop that is not ours */
	bool creator;
	/* A creator's process of no single step (one that reads commands all the time),
	 * and its children: it is of every step of that creator. NULL: it is not. */
	struct task *serves;
	const struct frt_proc *proc;	  /* NULL: its fork was lost, or it was attached */
	const struct frt_dead *dead;	  /* NULL: alive, or lost */
	const struct frt_off **off;	  /* by in */
	const struct frt_call **call;	  /* by t0 */
	const struct frt_exec **exec;	  /* by t */
	const struct frt_sample **sample; /* by t */
	const struct frt_func **func;	  /* by seq, node */
	struct snap *snap;		  /* by t */
	size_t noff, ncall, nexec, nsample, nfunc, nsnap;
	/* the walk's own (assemble.c) */
	uint64_t walk;
	size_t cursor;
	bool born;
};

struct index {
	struct task *task; /* by serial */
	size_t ntasks;
	struct task **by_instance;
	struct task **server; /* those that serve a creator */
	size_t nservers;
	uint64_t walks;
	/* what the lists are cut from */
	const struct frt_off **off;
	const struct frt_call **call;
	const struct frt_exec **exec;
	const struct frt_sample **sample;
	const struct frt_func **func;
	struct snap *snap;
};

/* 0 or -ENOMEM. index__free also after an error. */
int index__build(struct index *ix, const struct frt_trail *t);
void index__free(struct index *ix);

struct task *index__task(const struct index *ix, uint32_t serial); /* or NULL */
/* The tasks of an instance, *n of them. */
struct task **index__tasks_of(const struct index *ix, uint32_t instance, size_t *n);

/* The call of t that was in progress at `at`, or NULL: it was not sent, or
 * there was none. */
const struct frt_call *task__call_at(const struct task *t, uint64_t at);
const struct frt_call *task__call_numbered(const struct task *t, uint32_t seq);
/* On-CPU ns in all that is known of the task's life. */
uint64_t task__cpu(const struct task *t);

#endif
