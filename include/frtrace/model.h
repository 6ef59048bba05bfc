/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The profile: what analysis makes of a trail, and all that reports and
 * exporters read. Nothing right of this file computes a figure.
 *
 * Durations are ns in double (means) unless said. NAN is "unknown": JSON null,
 * "-" in text. Everything belongs to the profile (profile__free).
 */
#ifndef FRTRACE_MODEL_H
#define FRTRACE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t;
struct frt_trail;

enum frt_kind { FRT_KIND_USER, FRT_KIND_KERNEL, FRT_KIND_BLOCKED, FRT_KIND_RUNQ, FRT_KINDS };
extern const char *const frt_kind_names[FRT_KINDS]; /* user kernel blocked runqueue */

/* The distribution of one value per router (or step instance). */
struct frt_dist {
	uint32_t n;
	double mean, sd, sum;
	double lo, hi; /* 95 % interval of the mean; NAN below n = 5 */
	double median, p95, min, max;
	double lag1; /* autocorrelation the interval was widened by; 0: not */
};

struct frt_holder {
	const char *task;
	const char *kind; /* stream | workqueue | outside | unknown */
	double ns;
	const char *stack; /* leaf first, " < " between; NULL */
};

/* Blocked time of one class; sums over the level. */
struct frt_wait {
	const char *class; /* design: rcu:normal, lock:NAME, child, … */
	const char *where; /* self frame, or NULL */
	uint64_t n;
	double ns;
	bool sampled;
	struct frt_holder *holders;
	size_t nholders;
};

/* Kernel time of one action by sampled self frame, scaled to what was
 * measured; per step instance. */
struct frt_frame {
	const char *frame; /* "[not sampled]" for what no sample fell into */
	uint64_t samples;  /* with it on the stack, leaf or not */
	double self_ns, total_ns;
};

/* A probed function below its caller; sums over the level. */
struct frt_fn {
	const char *function;
	uint64_t n;
	double total_ns, self_ns, cpu_ns, blocked_ns;
	struct frt_fn *children;
	size_t nchildren;
};

struct frt_action {
	const char *action;
	uint64_t n;		   /* hits over all measured routers */
	double kind_ns[FRT_KINDS]; /* means per step instance (row) */
	double wall_ns;
	double restarts; /* per step instance */
	double spin_ns;	 /* of kernel: attempts that were restarted (`rtnl spin`) */
	struct frt_fn *functions;
	size_t nfunctions;
	struct frt_frame *frames;
	size_t nframes;
	struct frt_wait *waits;
	size_t nwaits;
};

/* One leaf of a flame graph: self time of a stack below an action; ns are
 * integers that add up to the measured amount exactly. */
enum frt_stackkind { FRT_STACK_CPU, FRT_STACK_OFF };
struct frt_stackrow {
	enum frt_stackkind kind;
	uint32_t action;     /* index in actions */
	const char **frames; /* root first, action excluded; nframes may be 0 */
	size_t nframes;
	const char *tip; /* user | kernel | blocked class | runqueue: annotation of the leaf */
	bool in_kernel, sampled; /* sampled: split by samples; otherwise measured as a whole */
	uint64_t ns;		 /* sum over the level's instances of this step */
	uint64_t n;		 /* samples, or waits */
};

struct frt_steprow {
	const char *step; /* "add" …, "true", "router"; foreign: the rule's name */
	bool creation, control;
	uint32_t n;	    /* routers (instances for foreign) */
	uint64_t instances; /* commands, or calls, that its value is the sum of: over all n */
	struct frt_dist wall;
	bool traced;		   /* kinds come from events */
	bool rusage;		   /* kinds are from rusage: user and kernel only */
	double kind_ns[FRT_KINDS]; /* means; NAN where unknown */
	double unaccounted_ns, parallel_ns, restarts;
	double kernel_in_user_ns; /* sampled share of user that is kernel (faults, interrupts) */
	uint64_t kernel_in_user_samples;
	struct frt_action *actions;
	size_t nactions;
	struct frt_stackrow *stacks;
	size_t nstacks;
	double cpu_total_ns; /* sums over the level: what cpu and off stacks add up to */
	double off_total_ns;
	double *values; /* wall of each router, in order; n of them */
};

struct frt_worst {
	uint32_t router;
	double wall_ns;
	const char *text; /* what it waited for, in one line */
};

/* Namespaces that are dead but not gone, at one moment. */
struct frt_backlog {
	int64_t t_ns; /* since the first measured router began */
	bool deleting;
	uint64_t existing, expected;
};

struct frt_spin {
	const char *where; /* the function that takes the lock */
	uint64_t n;
};

struct frt_levelrow {
	uint32_t id, asked, run, streams;
	bool again;
	uint64_t existing, existing_end;
	uint32_t routers, warmup, noisy; /* noisy: routers with stolen time */
	uint32_t sampled_apart; /* of routers: made under sampling, in no figure but the rate */
	double rate_per_s;
	int64_t memory_per_router; /* bytes; INT64_MIN unknown */
	int64_t slab_per_router;
	int64_t backlog; /* namespaces dead but not gone after creating; INT64_MIN unknown */
	struct frt_backlog *backlogs; /* the same over time, deleting included; none untraced */
	size_t nbacklogs;
	double steal; /* share of CPU time */
	uint64_t fill_ns, filled, fill_threads, settle_ns, free_wait_ns;
	struct frt_steprow *steps; /* creation steps, then router, delete, true */
	size_t nsteps;
	struct frt_dist gap;
	struct frt_worst worst[3];
	size_t nworst;
	uint64_t loss[7]; /* by enum frt_loss_kind */
	uint64_t events, samples;
	uint64_t spins;	     /* contended spinlocks of followed tasks */
	uint64_t unfinished; /* work that they queued and that had not run at the level\'s end */
	uint64_t spins_told; /* of those, with a stack: at most 1,000 a second */
	struct frt_spin spin[5]; /* where those were, the most frequent */
	size_t nspin;
};

struct frt_prediction {
	uint64_t at;
	double ns, lo, hi; /* 95 % */
	bool refused;	   /* beyond five times the highest level */
};

/* A partition of the growth of the router's wall, first to last level. */
struct frt_growthrow {
	/* NULL action and where: the row "rest". step may be "gap". where NULL: all of the
	 * action's kind; "[other frames]", "[not probed]": what the rows above leave of it. */
	const char *step, *action, *where;
	enum frt_kind kind;
	bool sampled;
	uint64_t n;		 /* samples, or routers at the last level */
	double delta_ns, lo, hi; /* per router; 99 % */
	double share;		 /* of the growth of the router; 0..1; NAN when that is no growth */
	double ns_per_existing;
	const char *shape;   /* unknown constant linear superlinear sublinear */
	double fit_a, fit_b; /* a + b * existing */
	double lack_p;	     /* lack of fit; NAN with two levels */
	struct frt_prediction *predicted;
	size_t npredicted;
};

/* Growth of one step's wall (and of the router): always there, untraced too. */
struct frt_stepgrowth {
	const char *step;
	double first_ns, last_ns, ratio, ratio_lo, ratio_hi; /* 95 % of the ratio */
	double delta_ns, lo, hi;			     /* 99 % */
	bool grew, shrank; /* the interval excludes 0, and so does the control's */
	double ns_per_existing;
	const char *shape;
	double fit_a, fit_b, lack_p;
	struct frt_prediction *predicted;
	size_t npredicted;
};

struct frt_deferred {
	const char *step, *function;
	uint64_t n;
	double ns, wait_ns, delay_ns; /* per router */
	/* of cleanup_net: times per router, shared out as ns is; n: calls in all runs that
	 * the step had a share in */
	struct frt_fn *functions;
	size_t nfunctions;
};

struct frt_outsiderow {
	const char *task;
	bool own;
	double cpu_ns, baseline_ns, per_router_ns;
	const char *woken_by;
	const char *frames;   /* sampled, of the level that used most; NULL */
	double frames_cpu_ns; /* of that level */
};

struct frt_drift {
	const char *step;
	double delta_ns, lo, hi; /* again - first; 99 % */
	bool real;
};

struct frt_missing {
	const char *function, *reason;
};

struct frt_profile {
	const char *created, *command, *mode;
	struct json_t *environment; /* object of the header; owned */
	const char *backend;	    /* fentry multi kprobe none untraced */
	uint32_t wanted, attached;
	uint64_t load_ns, attach_ns, detach_ns; /* of the programs; 0: unknown */
	struct frt_missing *missing;
	size_t nmissing;
	uint32_t freq; /* Hz; 0 no sampling */
	bool complete; /* the end line was there */
	int status;    /* exit status of the run that recorded */
	const char **
		notes; /* lines to print under the head: one rung lower, what is not measured in this mode, truncated record */
	size_t nnotes;
	uint64_t loss[7];
	uint64_t events, samples, unknown_lines;
	struct frt_levelrow *levels;
	size_t nlevels;
	struct frt_stepgrowth *stepgrowth;
	size_t nstepgrowth;
	struct frt_growthrow *growth;
	size_t ngrowth;
	double growth_ns, growth_lo, growth_hi; /* of the router's wall; 99 % */
	const char *growth_note;		/* one level only, … ; NULL */
	struct frt_deferred *deferred;
	size_t ndeferred;
	struct frt_outsiderow *outside;
	size_t noutside;
	struct frt_drift *drift;
	size_t ndrift;
	double overhead, overhead_lo, overhead_hi; /* ratio; NAN not asked */
	uint32_t overhead_n;
	const char **finding; /* sentences */
	size_t nfinding;
	const char **advice; /* known causes that the results show, and what helps */
	size_t nadvice;
	void *arena;
};

#endif /* FRTRACE_MODEL_H */
