/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fake routers: making them by the script's commands, by the same system
 * calls, or by the shortest way to the same state; filling, deleting, cleaning.
 * Knows nothing of BPF: who wants to follow the creators hooks in.
 */
#ifndef FRTRACE_WORKLOAD_H
#define FRTRACE_WORKLOAD_H

#include <frtrace/steps.h>
#include <frtrace/trail.h>

struct workload;

struct workload_hooks {
	void *ctx;
	/* In the creator's own thread, before its first router. Returns where to
	 * store the instance before each spawn (NULL: nobody listens). */
	volatile uint32_t *(*creator_begin)(void *ctx, unsigned stream, uint32_t *task);
	void (*creator_end)(void *ctx, unsigned stream);
	/* Outside any wall. flags: FRT_ROUTER_*, may be changed before the router. */
	void (*router_begin)(void *ctx, struct frt_router *r);
	/* Outside any wall, after the router: the place to drain. Called by one
	 * thread at a time. Called once more when a router is deleted (without
	 * router_begin): r->flags has FRT_ROUTER_DELETE, t0 and t1 are 0, the one
	 * step is `delete`; the router's line is already written then. */
	int (*router_end)(void *ctx, const struct frt_router *r, const struct frt_stepinst *steps,
			  unsigned nsteps);
	/* Network namespaces besides the first; NULL: counted from /proc. */
	int (*count)(void *ctx, uint64_t *n);
	/* Outside any wall, by one thread at a time: counts the namespaces and keeps what
	 * came out with the rest of c. NULL: nobody wants to know. */
	void (*backlog)(void *ctx, struct frt_nscount *c);
	/* what is going on, for the progress line: done of total */
	void (*progress)(void *ctx, const char *what, uint64_t done, uint64_t total);
};

struct workload_opts {
	enum frt_workmode mode, fill;
	unsigned streams;
	const char *ip;		      /* path or name; NULL "ip" */
	const char *sudo;	      /* NULL: no prefix; otherwise a command, split at blanks */
	const char *create, *destroy; /* --create / --destroy templates; NULL */
	unsigned step_timeout_s;
	unsigned settle_max_s;
	bool keep;    /* leave the routers, say how to remove them */
	bool control; /* run `true` with every router */
	/* Routers and instances are numbered from behind these: a record that holds
	 * several workloads must not use a number twice. */
	uint32_t router_base, instance_base;
	struct workload_hooks hooks;
};

/* Looks up the tools, takes a run id, opens the ledger. On error -errno and one
 * line in err; nothing was created. */
int workload__open(const struct workload_opts *o, struct workload **out, char *err, size_t errlen);

/* Would n routers fit? 0, or -errno and the limit's name, its value and the
 * need in err. */
int workload__preflight(struct workload *w, uint64_t n, char *err, size_t errlen);

/* Is so little memory left, of the machine or of our cgroup, that making more would
 * have the kernel kill for it? Then the cause in why, with the limit's name and value. */
bool workload__memory_low(char *why, size_t size);

/* Fills up to n routers of ours; fills in filled, fill_threads, fill_ns, fill_mem_kb, fill_slab_kb. */
int workload__fill(struct workload *w, uint32_t n, struct frt_level *l);
/* Waits until tasks outside use below 2 % of a CPU for 1 s; settle_ns. */
int workload__settle(struct workload *w, struct frt_level *l);
/* Makes warmup + routers routers and keeps them; l->id, level numbers for the
 * records come from l. Fills in existing, t0, t1, steal. */
int workload__create(struct workload *w, struct frt_level *l, uint32_t warmup, uint32_t routers);
/* Deletes what workload__create made, one after another, as step `delete`, and
 * waits until the kernel has freed them (free_wait_ns). */
int workload__delete_created(struct workload *w, struct frt_level *l);
/* Removes everything of this run and waits until it is gone. */
int workload__remove_all(struct workload *w);
uint64_t workload__count(struct workload *w);
/* From a signal handler: stop at the next safe point; calls return -EINTR. */
void workload__stop(struct workload *w);
/* The failure behind the last error in one line: object, reason, what to do. */
const char *workload__error(const struct workload *w);
/* What a creator is doing at this moment: for whoever sees that none gets on. */
struct workload_busy {
	uint64_t since; /* CLOCK_MONOTONIC ns */
	int pid;	/* the last child of its command, or a thread of ours */
	bool process;
	char what[256];	  /* the step's command */
	char stack[1024]; /* kernel stack, leaf first, " < " between; empty: not to be had */
};
/* Fills up to max; returns how many are in a step. From any thread. */
size_t workload__busy(struct workload *w, struct workload_busy *v, size_t max);
/* script, exact, lean, batch */
const char *workload__mode_name(enum frt_workmode mode);
/* What has no counterpart in this mode, for the report; NULL: all has. */
const char *workload__mode_note(enum frt_workmode mode);
const char *workload__run_id(const struct workload *w);
/* Removes what is left unless keep, closes the ledger. */
int workload__close(struct workload *w);

/* Removes what earlier, dead runs left. say is called with a line per object.
 * Returns the number of objects (to be) removed, or -errno. */
int workload__clean(bool dry_run, void (*say)(void *ctx, const char *line), void *ctx);

#endif
