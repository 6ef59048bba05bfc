/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FRTRACE_CMD_PROFILE_H
#define FRTRACE_CMD_PROFILE_H

#include "trace/trace.h"
#include "workload/workload.h"

#define PROFILE_LEVELS_MAX 32
#define PROFILE_PROBES_MAX 64
#define PROFILE_PREDICT_MAX 8

struct profile_opts {
	uint64_t at[PROFILE_LEVELS_MAX];
	size_t nat;
	uint64_t routers, warmup, streams, settle, freq, repeat, timeline, step_timeout;
	uint64_t predict[PROFILE_PREDICT_MAX];
	size_t npredict;
	enum frt_workmode mode, fill;
	enum trace_backend backend;
	const char *probes[PROFILE_PROBES_MAX + 1];
	size_t nprobes;
	const char *ip, *sudo, *create, *destroy, *output;
	bool argv; /* --create: whole arguments in the record */
	bool overhead, untraced, core, keep, json, strict, quiet;
};

/* Reads the command line; 0, or the exit status + 1000. */
int profile__options(int argc, char **argv, struct profile_opts *o);

#endif
