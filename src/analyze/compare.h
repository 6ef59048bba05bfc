/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records and tables side by side: kernels, machines, before and after. Pure.
 *
 * A column is one case of one file: a curve of rates (several runs of it are
 * one column) or a profile. It is compared with its base: the first column of
 * the same kind, mode and streams, or, where there is none, the first of its
 * kind; then `differs` says in what, and no verdict is given.
 */
#ifndef FRTRACE_COMPARE_H
#define FRTRACE_COMPARE_H

#include "analyze/rate.h"
#include "analyze/stats.h"

#include <frtrace/model.h>

enum compare_kind { COMPARE_RATE, COMPARE_PROFILE };

/* Of this against base. Rates: faster is more. slower and faster when the
 * interval says so, same when it lies within 5 % of no difference. */
enum compare_verdict { COMPARE_UNKNOWN, COMPARE_SAME, COMPARE_SLOWER, COMPARE_FASTER };
extern const char *const compare__verdicts[];

enum compare_section {
	COMPARE_ROWS,	   /* routers/s from x0 to x1 existing */
	COMPARE_COUNTS,	   /* routers after x0 seconds */
	COMPARE_REACHED,   /* ns until x0 routers */
	COMPARE_FIT,	   /* a (ns), b (ns per existing), rate at 0 (per second) */
	COMPARE_STEPS,	   /* wall of a step at level x0, ns */
	COMPARE_GROWTH,	   /* growth of a step's wall from level x0 to x1, ns per router */
	COMPARE_WHERE,	   /* growth rows: step, action, kind, where; ns per router */
	COMPARE_ACTIONS,   /* time of an action by kind at level x0, ns per router */
	COMPARE_FUNCTIONS, /* self time of a probed function at level x0, ns per router */
	COMPARE_SECTIONS
};
extern const char *const compare__sections[COMPARE_SECTIONS];

struct compare_column {
	const char *file, *label;
	char letter[8]; /* A, B, … for tables */
	enum compare_kind kind;
	int mode;	  /* enum frt_workmode or RATE_MODE_UNKNOWN */
	uint32_t streams; /* 0 unknown */
	uint32_t runs;
	uint64_t n;	     /* routers, all rows or the first level */
	size_t base;	     /* the column it is compared with; itself: nothing */
	const char *differs; /* in what the workload differs from base's; NULL */
	bool over_runs;	     /* intervals are over runs (five or more), otherwise within */
	bool complete;
	const struct rate_curve *const *curves; /* rate: one per run */
	const struct frt_profile *profile;
};

struct compare_cell {
	double value;		     /* NAN: not there */
	struct interval own;	     /* 95 %; growth 99 % */
	uint64_t n;		     /* routers, samples or hits behind it; 0 unknown */
	struct interval ratio, diff; /* this against base; 95 %, growth 99 % */
	enum compare_verdict verdict;
	double share; /* actions, functions: of the step's difference; NAN */
};

struct compare_row {
	enum compare_section section;
	const char *key;  /* unique and stable, for programs */
	const char *unit; /* ns | ns/existing | 1/s | routers */
	const char *step, *action, *where,
		*what; /* NULL where it does not apply; what: a, b, kind */
	double x0, x1;
	struct compare_cell *cell; /* one per column */
};

struct compare {
	struct compare_column *column;
	size_t ncolumns;
	struct compare_row *row;
	size_t nrows, cap;
	const char **loud, **notes; /* lines: what must not be overlooked, what is good to know */
	size_t nloud, nnotes, caploud, capnotes;
	struct arena *arena;
};

struct compare_input {
	const char *path;	 /* for names */
	const struct rate *rate; /* one of both */
	const struct frt_profile *profile;
	const struct json_t *options; /* of the record's header; NULL */
};

/* The inputs must outlive the result. 0, -ENOMEM, or -EINVAL and one line in
 * err: nothing to compare. */
int analyze__compare(const struct compare_input *in, size_t n, struct compare **out, char *err,
		     size_t errlen);
void compare__free(struct compare *c);

/* Shared by the parts. */
struct compare_row *compare__add(struct compare *c, enum compare_section s, const char *unit);
int compare__note(struct compare *c, bool loud, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Fills value, own, ratio, diff and verdict of every column of one kind from
 * its estimate. p: 0.95 or 0.99. more_is_faster: a rate. */
void compare__judge(const struct compare *c, struct compare_row *row, enum compare_kind kind,
		    const struct estimate *e, double p, bool more_is_faster);
/* One estimate out of one per run: over runs from five on, within runs below.
 * 0 or -ENOMEM. */
int compare__pool(struct compare *c, const struct estimate *run, size_t n, struct estimate *out);
int compare__rates(struct compare *c);
int compare__profiles(struct compare *c);

#endif
