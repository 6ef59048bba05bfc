/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tracer: loads and attaches the BPF programs, reads the ring, turns
 * events into record structs (stacks into nodes, addresses into symbols) and
 * puts them into a sink. Prints nothing, interprets nothing.
 */
#ifndef FRTRACE_TRACE_H
#define FRTRACE_TRACE_H

#include <frtrace/trail.h>
#include <sys/types.h>

struct trace;

enum trace_backend { TRACE_AUTO, TRACE_NONE, TRACE_FENTRY, TRACE_MULTI, TRACE_KPROBE };

struct trace_opts {
	enum trace_backend backend;
	unsigned freq;		   /* Hz of cpu-clock sampling; 0: none */
	const char *const *probes; /* --probe, NULL at the end; or NULL */
	unsigned streams;
	bool waits;	      /* stacks at switch-out, locks, deferred, outside */
	const char *comm;     /* follow every process of this name, whenever it begins; or NULL */
	uint64_t cgroup;      /* … every process that comes into this control group (id); or 0 */
	struct frt_sink sink; /* where records go; used only inside trace__drain */
};

/* Everything attached, sampling off, nobody followed yet. On error returns
 * -errno and one line in err that names object, reason and what to do. */
int trace__open(const struct trace_opts *o, struct trace **out, char *err, size_t errlen);

/* Follows the calling thread as creator of stream; *cell is where it stores
 * the instance before it spawns, *task its serial. Thread-safe. */
int trace__add_creator(struct trace *t, unsigned stream, volatile uint32_t **cell, uint32_t *task);
int trace__drop_creator(struct trace *t, unsigned stream);

/* Follows a foreign process and all its threads by pidfd: a number may be another's by now.
 * -ESRCH when it has gone, or is not in the control group that is followed. */
int trace__add_process(struct trace *t, int pidfd);

void trace__sampling(struct trace *t, bool on);

/* Reads everything that is in the ring now into the sink. One thread. */
int trace__drain(struct trace *t);
/* A descriptor to poll; drains when readable (more than one stream, foreign). */
int trace__fd(const struct trace *t);

/* Does work that followed tasks queued still run, or wait to? For who wants to
 * drain its end too. False where that is not traced. */
bool trace__deferring(const struct trace *t);

/* CPU time of tasks that are not followed, by name: from begin to end, once as a
 * baseline and then for each level. put gives the sink what was measured last (with
 * the baseline taken last, over 0 when there is none), as of `level`; nothing when
 * nothing was. One thread; 0 or -errno. */
int trace__outside_begin(struct trace *t, bool baseline);
int trace__outside_end(struct trace *t);
int trace__outside_put(struct trace *t, uint32_t level);

/* Detaches everything (links destroyed, perf events closed) and attaches again;
 * for measuring the cost of looking. Tags survive. */
int trace__pause(struct trace *t);
int trace__resume(struct trace *t);

/* Losses since the last call; level is for the caller to fill in. */
int trace__loss(struct trace *t, struct frt_loss *out);

/* Network namespaces alive besides the first, from the kernel's own list. */
int trace__count_netns(struct trace *t, uint64_t *n);

/* {"backend","wanted","attached","missing":[…],"functions":[{…}]} for the header. */
struct json_t *trace__probes(const struct trace *t);
/* Functions asked for by name (--probe) that are not attached. */
uint32_t trace__probes_missing(const struct trace *t);
/* One line for each of those, and one when a pattern matched more than may be
 * attached: put(ctx, is it missing, line). */
void trace__probes_explain(const struct trace *t,
			   void (*put)(void *ctx, bool missing, const char *line), void *ctx);
/* How long it took to attach the functions, and to detach them last (0: attached). */
void trace__probes_times(const struct trace *t, uint64_t *attach_ns, uint64_t *detach_ns);
/* Bytes of all maps. */
uint64_t trace__map_bytes(const struct trace *t);

void trace__close(struct trace *t);

/* What this kernel and these privileges allow, each asked by trying. */
enum trace_state { TRACE_NO, TRACE_PARTLY, TRACE_YES };
struct trace_feature {
	const char *name; /* stable: --has NAME */
	enum trace_state state;
	char reason[160], remedy[160];
};
/* Fills up to max rows, returns how many there are. */
size_t trace__features(struct trace_feature *v, size_t max);

#endif
