/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trail: what a run leaves behind, one struct for each line type of a
 * record. The left half (workload, trace) puts these into a sink; the record
 * writer is that sink; the reader gives the same structs back as a trail, and
 * everything right of it is a pure function of the trail.
 *
 * Times are CLOCK_MONOTONIC ns, durations ns. Strings passed to a sink belong
 * to the caller and need live only during the call; strings in a trail belong
 * to the trail. 0 is "none" wherever a number identifies something.
 */
#ifndef FRTRACE_TRAIL_H
#define FRTRACE_TRAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t;

enum frt_rec {
	FRT_REC_LEVEL,
	FRT_REC_ROUTER,
	FRT_REC_STEP,
	FRT_REC_PROC,
	FRT_REC_EXEC,
	FRT_REC_DEAD,
	FRT_REC_CALL,
	FRT_REC_OFF,
	FRT_REC_NODE,
	FRT_REC_SAMPLE,
	FRT_REC_FUNC,
	FRT_REC_LOSS,
	FRT_REC_OUTSIDE,
	FRT_REC_DEFER,
	FRT_REC_RATE,
	FRT_REC_POINT,
	FRT_REC_LOCK,
	FRT_REC_NSCOUNT,
	FRT_RECS
};

/* A level, put at its end. */
struct frt_level {
	uint32_t id;	/* 1, 2, … in the order measured */
	uint32_t asked; /* --at */
	uint32_t again; /* 1: the first level once more */
	uint32_t run;	/* --repeat: 1, 2, … */
	uint32_t streams;
	uint32_t mode;		       /* enum frt_workmode */
	uint64_t existing;	       /* counted at its start */
	uint64_t existing_end;	       /* counted after its creating part */
	uint64_t t0, t1;	       /* creating part, measured routers only */
	uint32_t routers, warmup;      /* measured, warm-up */
	uint32_t filled, fill_threads; /* routers the fill made, on how many threads */
	uint64_t fill_ns, settle_ns;
	uint64_t free_wait_ns;		   /* until the kernel had freed the deleted */
	int64_t fill_mem_kb, fill_slab_kb; /* taken by the fill */
	uint64_t steal_ns, cpu_ns;	   /* stolen and total CPU time while measuring */
	uint64_t links, mounts;		   /* in the first namespace at the start */
};

enum frt_workmode {
	FRT_WORK_SCRIPT,
	FRT_WORK_EXACT,
	FRT_WORK_LEAN,
	FRT_WORK_BATCH,
	FRT_WORK_FOREIGN,
	FRT_WORKMODES
};

#define FRT_ROUTER_WARMUP 0x01
#define FRT_ROUTER_SAMPLED 0x02	 /* sampling was on */
#define FRT_ROUTER_UNTRACED 0x04 /* nothing was attached */
#define FRT_ROUTER_OVERHEAD 0x08 /* made to measure the cost of looking only */
#define FRT_ROUTER_STOLEN 0x10	 /* more than 2 % stolen time around it */
#define FRT_ROUTER_FAILED 0x20
#define FRT_ROUTER_DELETE 0x40 /* a hook's call for its deletion: steps only, no router line */

struct frt_router {
	uint32_t id;	/* 1, 2, … */
	uint32_t level; /* frt_level.id */
	uint32_t stream;
	uint32_t flags;	 /* FRT_ROUTER_* */
	uint32_t block;	 /* --overhead: number of its block */
	uint64_t t0, t1; /* first creation step's t0 to the last one's t1 */
	uint64_t existing;
	uint64_t steal_ns, cpu_ns;
	uint32_t creator; /* task whose the time between its steps is; 0: the steps' creator */
};

/* One command (or labelled phase). */
struct frt_stepinst {
	uint32_t instance; /* 1, 2, …; what the creator wrote before spawning */
	uint32_t router;   /* 0: foreign */
	uint32_t level;
	uint32_t step;	  /* enum frt_step; foreign: by rules, later */
	uint32_t creator; /* task serial of the creator; 0 untraced */
	int32_t status;	  /* as waitpid's; in-process: 0 or -errno */
	uint64_t t0, t1;
	uint64_t utime_ns, stime_ns; /* rusage of the child (thread); 0 unknown */
	uint64_t minflt, nvcsw, nivcsw;
	uint32_t part; /* 1: a part of its instance; of that, only what is in [t0, t1] */
};

/* A followed task's birth. */
struct frt_proc {
	uint32_t task, parent; /* serials; parent 0: attached */
	uint32_t instance;
	uint32_t tid, tgid;
	uint32_t is_thread, is_creator;
	uint64_t t;
	const char *comm;
};

struct frt_exec {
	uint32_t task, image, instance;
	uint64_t t;
	uint64_t cpu_ns, user_ns; /* snapshot, see frt_snap */
	uint64_t rest_ns;
	uint32_t rest_n;
	uint32_t old_task;
	uint32_t args_total; /* > stored: cut */
	const char *args;    /* arguments joined by \x1f (unit separator) */
	const char *comm;
};

struct frt_dead {
	uint32_t task, image, instance;
	uint64_t t;
	uint64_t cpu_ns, user_ns;
	uint64_t rest_ns;
	uint32_t rest_n;
	int32_t code;
};

struct frt_call {
	uint32_t task, image, instance;
	uint32_t seq;
	int32_t nr;
	uint32_t detail; /* enum frt_detail */
	uint64_t t0, t1;
	int64_t ret;
	uint32_t restarts;
	uint64_t cpu_ns, blocked_ns, runq_ns;
	uint64_t flags;
	uint64_t again_ns; /* of cpu_ns: in attempts that were restarted */
	uint32_t net_before, net_after, mnt_before, mnt_after;
	uint32_t nl_proto, nl_type, nl_flags, nl_msgs;
	const char *text;
};

struct frt_off {
	uint32_t task, image, instance;
	uint32_t why, mode; /* FRT_OFF_*, enum frt_mode */
	int32_t nr;
	uint64_t out, waking, in;
	uint64_t cpu_ns, user_ns; /* of the task at out */
	uint32_t waker, waker_image, waker_instance;
	uint64_t waker_cpu_ns, waker_user_ns; /* at waking */
	uint32_t state;
	uint32_t stack; /* node of the leaf; 0 none */
	const char *waker_comm;
};

/* A stack is its leaf's node; parent is the caller; parent 0 is the root. */
struct frt_node {
	uint32_t id, parent;
	const char *frame; /* symbol, with [module] behind it for a module's */
};

struct frt_sample {
	uint32_t task, image, instance;
	uint32_t mode, in_kernel;
	int32_t nr;
	uint32_t seq;
	uint64_t t;
	uint32_t stack; /* node; 0 none */
};

/* One node of a call's function tree. */
struct frt_func {
	uint32_t task, image, instance;
	uint32_t seq; /* of the call */
	int32_t nr;
	uint32_t node, parent; /* 1.. within the call; 0: below the call */
	uint32_t variant;
	uint32_t n;
	uint64_t total_ns, child_ns, off_ns, child_off_ns;
	const char *function; /* with [key's symbol] where there is a key */
};

/* Counted since the level before. */
struct frt_loss {
	uint32_t level;
	uint64_t events, maps_full, samples, unpaired, undecoded, untagged;
	uint64_t missed;	      /* programs not run, for any task; of calls: unpaired */
	uint64_t sent, samples_taken; /* what was not lost */
	uint64_t spins;		      /* contended spinlocks of followed tasks: counted only */
	uint64_t unfinished;	      /* work that they queued and nobody had run to its end */
};

/* CPU time of tasks that do not belong to the workload, by name. */
struct frt_outside {
	uint32_t level;			    /* 0: all of them */
	uint32_t own;			    /* 1: frtrace itself */
	uint64_t cpu_ns, over_ns;	    /* while measuring: CPU time, length of it */
	uint64_t base_cpu_ns, base_over_ns; /* baseline taken while settling */
	const char *comm;
	const char *woken_by; /* why and by whom: "uevent, by ip"; or NULL */
	const char *frames;   /* where samples found it most, "m_show 7, [user] 3 of 12"; or NULL */
};

/* Work that a followed task queued; of a shared item one for each instance that is
 * seen to have caused it, with how often (n), and instance 0 for what is not
 * followed. share_ppm 0: all of it, or of cleanup_net by n. run: the seq of its
 * functions (nr FRT_NR_WORK); 0 none. */
struct frt_defer {
	uint32_t level, instance, task, run;
	uint64_t n;
	uint64_t t_queue, t_start, t_end;
	uint64_t wait_ns; /* of t_end - t_start: not on the CPU */
	uint64_t share_ppm;
	const char *function;
};

/* frtrace rate: one row, put as it ends. */
struct frt_raterow {
	uint32_t from, to, streams, mode, sampled;
	uint64_t n, elapsed_ns;
	uint64_t add_ns, exec_ns, sysctl_ns, veth_ns, gap_ns; /* sums over n */
	/* of the routers' walls in us: sum of their squares, of the products of
	 * neighbours, and first + last (for the lag-1 autocorrelation); 0 unknown */
	uint64_t wall_sq_us2, wall_lag_us2, wall_ends_us;
	uint32_t level;	 /* frt_level.id of the same routers (--trace); 0 none */
	uint32_t run;	 /* --repeat: 1, 2, …; 0 is 1 */
	uint32_t failed; /* 1: the row ended early, with the n it had */
};

/* frtrace rate --streams: one reading. */
struct frt_ratepoint {
	uint32_t streams, reached; /* reached 1: --to was reached at t_ns */
	uint64_t t_ns, count;
	uint32_t mode;	  /* enum frt_workmode */
	uint32_t run;	  /* --repeat: 1, 2, …; 0 is 1 */
	uint32_t stalled; /* 1: the case ended here, nobody finished for --stall */
};

/* A followed task waited for a lock: frt_ev_lock. */
struct frt_lock {
	uint32_t task, image, instance;
	uint32_t flags; /* LCB_F_*, FRT_LOCK_WAKER: owner is a waker, t0 the switch-out */
	uint64_t t0, t1, addr;
	uint64_t t_owner;		/* when the owner was read */
	uint32_t owner, owner_instance; /* task serials; 0 unknown or outside */
	uint32_t owner_tid;		/* 0: the lock named nobody */
	uint32_t owner_kind;		/* enum frt_owner_kind */
	uint32_t stack;			/* of the waker; 0 none */
	const char *owner_comm;		/* a worker's: the function it executes */
	const char *name;		/* the lock's data symbol; "" none */
};

/* Network namespaces at one moment of a level, counted in the kernel's own list. What is
 * above the expected is dead and not gone, being made, or somebody else's. */
struct frt_nscount {
	uint32_t level;
	uint32_t deleting; /* 1: creating is over */
	uint64_t t;
	uint64_t existing; /* counted */
	uint64_t expected; /* at the level's start, and made and not deleted since */
};

enum frt_owner_kind { FRT_OWNER_TASK, FRT_OWNER_KTHREAD, FRT_OWNER_WORKER, FRT_OWNER_KINDS };

/* Where the left half puts what it finds. put returns 0 or a negative errno;
 * the caller stops on the first error. Not thread-safe: one thread at a time. */
struct frt_sink {
	int (*put)(void *ctx, enum frt_rec type, const void *item);
	void *ctx;
};

/* One growing array per type. */
#define FRT_ARRAY(type, name)   \
	struct {                \
		struct type *v; \
		size_t n, cap;  \
	} name

struct frt_trail {
	struct json_t *header; /* the record's first line, whole; owned */
	FRT_ARRAY(frt_level, level);
	FRT_ARRAY(frt_router, router);
	FRT_ARRAY(frt_stepinst, step);
	FRT_ARRAY(frt_proc, proc);
	FRT_ARRAY(frt_exec, exec);
	FRT_ARRAY(frt_dead, dead);
	FRT_ARRAY(frt_call, call);
	FRT_ARRAY(frt_off, off);
	FRT_ARRAY(frt_node, node); /* node[i].id == i + 1 */
	FRT_ARRAY(frt_sample, sample);
	FRT_ARRAY(frt_func, func);
	FRT_ARRAY(frt_loss, loss);
	FRT_ARRAY(frt_outside, outside);
	FRT_ARRAY(frt_defer, defer);
	FRT_ARRAY(frt_raterow, rate);
	FRT_ARRAY(frt_ratepoint, point);
	FRT_ARRAY(frt_lock, lock);
	FRT_ARRAY(frt_nscount, nscount);
	uint64_t unknown_lines; /* line types this version does not know */
	bool truncated;		/* no end line */
	struct json_t *end;	/* the end line: status, overhead…; NULL when truncated */
	void *arena;		/* the strings; owned by the reader's code */
};

#endif /* FRTRACE_TRAIL_H */
