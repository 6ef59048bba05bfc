/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Following a loop that is not ours: what `frtrace run` and `frtrace attach`
 * share. Options, the record, the draining, the counts of namespaces, the live
 * view and the report; whom to follow is theirs.
 */
#ifndef FRTRACE_CMD_FOLLOW_H
#define FRTRACE_CMD_FOLLOW_H

#include "analyze/foreign.h"
#include "analyze/rules.h"
#include "cmd/replace.h"
#include "cmd/session.h"

#include <argp.h>
#include <stdio.h>

#define FOLLOW_STEPS_MAX 64
#define FOLLOW_PROBES_MAX 64

struct follow_opts {
	const char *step[FOLLOW_STEPS_MAX];
	unsigned nsteps;
	enum foreign_by by;
	uint64_t every, freq;
	uint64_t predict[8];
	size_t npredict;
	enum trace_backend backend;
	const char *probes[FOLLOW_PROBES_MAX + 1];
	size_t nprobes;
	const char *output, *report;
	bool live, argv, json, strict, quiet;
	/* who is followed, when the kernel is to find out itself */
	const char *comm;
	uint64_t cgroup;
};

/* Options of both, to be a child of the subcommand's parser; input is the
 * struct follow_opts. Usage errors exit. */
extern const struct argp follow__argp;
void follow__defaults(struct follow_opts *o);

struct follow {
	const struct follow_opts *o;
	struct session s;
	struct rules *rules; /* for what is kept of arguments */
	FILE *out;	     /* of the report */
	struct replace file; /* --report: in its place when it is whole */
	struct frt_level period;
	uint64_t steal;
	uint32_t missing; /* functions asked for by name, not attached; after the end */
	bool opened;
	bool held; /* whom it is to follow waits for it: a signal before is the end of both */
	char err[512];
};

/* Attaches everything and begins the record; nobody is followed yet. 0 or the
 * exit status; a line was printed. follow__close in any case. */
int follow__open(struct follow *f, const struct follow_opts *o, const char *mode,
		 const char *command);

/* Reads events for at most ms milliseconds, or until fd (-1: none) is readable:
 * then 1. 0 when the time is over, -errno when the record failed. Counts, and
 * draws the live view, when it is time for it. */
int follow__wait(struct follow *f, int fd, int ms);

/* Ends the record and prints the report. Gives the worse of status and its own. */
int follow__finish(struct follow *f, int status);
void follow__close(struct follow *f);

/* A signal to end it (SIGINT, SIGTERM, SIGHUP) came; its number. SIGPIPE is
 * ignored. from_terminal: everybody in the foreground got it too. */
void follow__signals(void);
int follow__signalled(bool *from_terminal);
/* Says that a signal came before there was anything to follow; the exit status. */
int follow__interrupted(void);

#endif
