/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of src/trace only. */
#ifndef FRTRACE_TRACE_INTERNAL_H
#define FRTRACE_TRACE_INTERNAL_H

#include "trace/functions.h"
#include "trace/trace.h"

#include <frtrace/maps.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct bpf_link;
struct bpf_program;
struct frtrace_bpf;
struct ring_buffer;

/* Stacks as a tree of nodes; numbers begin with 1. */
struct stacks;
struct stacks *stacks__new(void);
void stacks__free(struct stacks *s);
/* The node of a stack (leaf first); nodes not seen before are put into sink
 * first. 0 for an empty stack. Returns 0 or a negative errno. */
int stacks__node(struct stacks *s, const uint64_t *ip, unsigned n, const struct frt_sink *sink,
		 uint32_t *node);
/* How many frames at the leaf of a stack taken at a tracepoint are the tracer's. */
unsigned stacks__skip_tracer(struct stacks *s, const uint64_t *ip, unsigned n);
/* The name of a kernel address; lives as long as the table. */
const char *stacks__frame(struct stacks *s, uint64_t ip);

/* The name of a lock by its address, when it has a data symbol of its own (or is the
 * first member of what has); NULL. */
const char *stacks__lock(struct stacks *s, uint64_t addr);

/* From an event of the ring to record structs in sink. Returns 0, what the
 * sink returned, or -EBADMSG for an event that is shorter than its type. */
int event__put(struct stacks *s, const struct functions *fn, const struct frt_sink *sink,
	       const void *data, size_t size);

#define TRACE_LINKS_MAX 24

/* What is attached; nothing when n and ncpus are 0. */
struct attached {
	struct bpf_link *link[TRACE_LINKS_MAX];
	unsigned n;
	struct bpf_link **sample; /* one of each CPU; their events' descriptors in fd */
	int *sample_fd;
	unsigned ncpus;
};

/* CPU time of a name outside, in the baseline and while measuring. */
struct outside_row {
	const char *name, *woken_by, *frames;
	uint64_t cpu, base_cpu;
};

/* Samples of a name in a function. */
struct outside_place {
	const char *name, *frame;
	uint64_t n;
};

struct outside {
	struct outside_row *v;
	size_t n, cap;
	struct outside_place *place;
	size_t nplaces, capplaces;
	bool baseline; /* that is what is being taken */
	uint64_t from, own_from, over, own, base_over, base_own;
	struct arena *arena;
	struct intern *names;
};
/* Work that followed tasks queued since then, and that still waits or runs. */
uint64_t outside__unfinished(const struct trace *t, uint64_t since);
void outside__free(struct outside *o);

struct trace {
	struct trace_opts opts;
	struct frtrace_bpf *skel;
	struct ring_buffer *ring;
	struct stacks *stacks;
	struct attached at;
	struct functions fn;
	struct outside outside;
	uint64_t garbled; /* events shorter than their type, since the last trace__loss */
	int sink_err;	  /* the sink failed: everything after is dropped */
	bool sampling, paused;
	bool contention;	 /* the kernel tells of contended locks */
	bool preempted;		 /* the kernel may preempt the programs */
	bool deferred;		 /* … and of work that is queued and run */
	uint64_t pernet_list;	 /* the kernel's list of operations on namespaces; 0: unknown */
	char sample_reason[160]; /* why there is no sampling though it was asked for */

	pthread_mutex_t lock; /* creators, pending */
	volatile struct frt_creator *cells;
	uint32_t *creator_task; /* serial by stream; 0 none */
	pid_t *creator_tid;
	struct pending_proc *pending; /* births that no event tells: put by the next drain */
	size_t npending, cappending;

	uint64_t last[FRT_LOSS_KINDS + 3]; /* counters as of the last trace__loss, */
	uint64_t last_at;		   /* at that time */
	uint64_t missed_before; /* by programs that are gone: one for each attachment of fentry */
};

struct pending_proc {
	struct frt_proc p;
	char comm[FRT_COMM_LEN];
};

/* Before loading: which programs are loaded (function probes by rung, later), and what
 * they have to know of the kernel. 0, or -ESRCH without type information. */
struct btf;
/* Does the kernel have this raw tracepoint, with the parameters that our program reads? */
bool programs__fits(const struct btf *btf, const char *tracepoint);
int programs__choose(struct trace *t);
/* Does the kernel's sched_switch tracepoint pass prev_state? -ESRCH: no BTF. */
int programs__prev_state(void);

/* May this kernel preempt a task in the middle of a program? Then it skips that program
 * for the tasks that run on the same CPU meanwhile; with one stream there is hardly one. */
bool programs__preempted(void);
/* Runs of the programs that the kernel skipped, since they were loaded; detaching: the
 * links of functions are about to be closed, and their counts with them. */
uint64_t losses__missed(struct trace *t, bool detaching);
/* What each CPU was running when the links went says nothing any more. 0 or a negative errno. */
int losses__forget_current(struct trace *t);

/* Attaches every program with a place of its own. On failure nothing is
 * attached, and err has a line. */
int attach__all(struct trace *t, char *err, size_t errlen);
void attach__none(struct trace *t);
/* One cpu-clock event per CPU, switched off. Not fatal: the reason in `why`. */
int attach__samples(struct trace *t, unsigned hz, char *why, size_t len);
void attach__enable_samples(struct trace *t, bool on);

/* Why a bpf or perf call failed, in words, and what would help: err is the
 * errno (positive). what names the object. */
void explain__bpf(int err, char *reason, size_t rlen, char *remedy, size_t mlen);
void explain__perf(int err, char *reason, size_t rlen, char *remedy, size_t mlen);
bool explain__capable(int cap);
/* State of a kernel option by its name (CONFIG_…): 'y', 'm', 'n', 0 unknown. */
char explain__config(const char *option);

/* libbpf speaks only when FRTRACE_DEBUG is set; its advice is not ours. */
void quiet_libbpf(void);

#endif
