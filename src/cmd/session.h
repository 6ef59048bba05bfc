/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A measuring session: joins the workload's hooks, the tracer and the record.
 * It only passes on; what is measured is decided by the subcommand.
 */
#ifndef FRTRACE_SESSION_H
#define FRTRACE_SESSION_H

#include "analyze/rules.h"
#include "record/record.h"
#include "trace/trace.h"
#include "workload/workload.h"

#include <pthread.h>
#include <stdatomic.h>

struct session {
	struct trace *trace; /* NULL: untraced */
	struct record_writer *rec;
	const struct rules *mask; /* of arguments only what these ask for is kept; NULL: all */
	unsigned streams;
	unsigned freq;
	int put_error;	       /* first error of the record; 0 */
	int error;	       /* first error of anything else: the tracer, a thread; 0 */
	const char *doing;     /* what could not be done then */
	bool said;	       /* that, or what became of the record */
	uint32_t router_flags; /* or-ed to every router that begins */
	uint32_t block;	       /* of --overhead */
	uint32_t run;	       /* of --repeat */
	uint64_t measured;     /* measured routers begun, for sampling every second one */
	struct frt_loss lost;  /* summed over all levels */
	pthread_mutex_t lock;  /* guards rec, trace__drain and the sums */
	pthread_t drainer;
	bool draining;
	atomic_bool drain_stop;
	void (*progress)(const char *what, uint64_t done, uint64_t total);
};

void session__init(struct session *s, unsigned streams, unsigned freq);
/* The sink for the tracer, to be used inside session__drain only. */
struct frt_sink session__sink(struct session *s);
struct workload_hooks session__hooks(struct session *s);

/* With more than one stream a thread drains the ring while they run. 0 or -errno. */
int session__begin_creating(struct session *s);
void session__end_creating(struct session *s);

/* Drains, then puts the level and what was lost in it. 0 or -errno. */
int session__put_level(struct session *s, const struct frt_level *l);
int session__put(struct session *s, enum frt_rec type, const void *item);

/* Reads what is in the ring into the record. 0, or the session's first error. */
int session__drain(struct session *s);

/* Ends the count of what else runs and puts it, as of no level. 0 or -errno. */
int session__put_outside(struct session *s);

/* Notes that something beside the record could not be done (rc 0: it could). doing
 * completes "cannot …" and must stay. Returns rc. */
int session__cannot(struct session *s, const char *doing, int rc);
/* The first error of record, tracer or threads; 0. */
int session__error(struct session *s);
/* The same in one line: object, reason, what to do. False: there was none. */
bool session__why(struct session *s, char *line, size_t size);

/* Before the record ends: waits a moment for the end of deferred work, and drains.
 * 0 or -errno. */
int session__drain_rest(struct session *s);

/* Was data lost over all levels, as --strict means it? Of samples one in 1000 may be. */
bool session__lost(const struct session *s);

/* Closes the tracer. The record stays. */
void session__close(struct session *s);

#endif
