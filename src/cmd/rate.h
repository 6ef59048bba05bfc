/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FRTRACE_CMD_RATE_H
#define FRTRACE_CMD_RATE_H

#include "analyze/rate.h"
#include "cmd/session.h"
#include "workload/workload.h"

#include <stdatomic.h>

#define RATE_CASES_MAX 32
#define RATE_STREAMS_MAX 256
#define RATE_AT_MAX 64

struct rate_opts {
	uint64_t to, every, interval, stall, sample, settle, repeat;
	uint64_t streams[RATE_CASES_MAX];
	size_t nstreams;
	bool over_time;		  /* --streams: readings over time, each case by count */
	uint64_t at[RATE_AT_MAX]; /* --sample: the rows that begin there, */
	size_t nat;		  /* or all of them when 0 */
	enum frt_workmode mode[FRT_WORKMODES];
	size_t nmodes;
	uint64_t predict[RATE_PREDICT_MAX];
	size_t npredict;
	const char *ip, *sudo, *csv, *output;
	bool trace, keep, json, strict, quiet;
};

/* Reads the command line; 0, or the exit status + 1000. */
int rate__options(int argc, char **argv, struct rate_opts *o);

/* One mode with one number of streams from a clean start. What the hooks write
 * is written by one thread at a time. */
struct rate_case {
	enum frt_workmode mode;
	uint32_t streams, run;
	uint32_t level;		/* id of the row's or the case's level; 0 untraced */
	uint64_t began;		/* when its first router was begun; 0 not yet */
	uint64_t count;		/* routers that exist and were measured, or filled before them */
	uint64_t filled;	/* of them, by fills */
	uint64_t row_began;	/* when the row in hand was begun */
	uint64_t ended;		/* end of the last router */
	struct frt_raterow row; /* the row in hand */
	uint64_t next_reading;	/* of the readings over time, since began */
	uint64_t prev_end[RATE_STREAMS_MAX], prev_us[RATE_STREAMS_MAX]; /* of each stream */
	atomic_uint_fast64_t alive; /* when a router last ended, for the stall watch */
	atomic_bool stalled, starved;
};

struct rate_run {
	const struct rate_opts *o;
	struct session s;
	struct workload_hooks inner; /* the session's */
	struct workload *w;	     /* the case's */
	struct rate_case c;
	uint32_t levels;		     /* ids given */
	uint32_t last_router, last_instance; /* highest numbers, over all cases */
	char kernel[65], machine[65];
	uint32_t cpus;
	int put_error; /* first error of a row's or reading's line */
	char err[1024], cause[2048];
};

/* Measures one case; the exit status. *go_on: false when the next case cannot
 * be measured either. */
int rate__case(struct rate_run *r, enum frt_workmode mode, uint32_t streams, uint32_t run,
	       bool *go_on);

#endif
