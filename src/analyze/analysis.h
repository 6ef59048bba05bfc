/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the analysis hand to each other: the trail sorted into
 * levels, routers and steps, and each figure as one value per router. Private
 * to src/analyze.
 *
 * Everything here is freed with the profile's arena, except what analysis__free
 * frees.
 */
#ifndef FRTRACE_ANALYZE_ANALYSIS_H
#define FRTRACE_ANALYZE_ANALYSIS_H

#include "analyze/analyze.h"
#include "analyze/fit.h"
#include "analyze/stats.h"
#include "util/util.h"

#include <frtrace/steps.h>

/* Steps that are not ours, by name: more are taken together in the last. */
#define ROWS_NAMED 32

/* Rows of the steps table: the steps, those of a loop that is not ours (or the
 * user's own command), what lies between the steps of a router, and the router. */
enum row {
	ROW_FOREIGN = FRT_STEPS,
	ROW_GAP = ROW_FOREIGN + ROWS_NAMED,
	ROW_ROUTER,
	ROWS,
};

struct row_def {
	const char *name;
	bool creation, control;
};

/* A measured router (not warm-up, not failed, not for the cost of looking). */
struct router {
	const struct frt_router *r;
	const struct frt_stepinst **step; /* its steps in order of time */
	size_t nsteps;
	bool traced; /* each of its steps has a creator whose events were recorded */
};

/* One figure that growth is made of: integer ns per measured router of a
 * level. Equal strings are equal pointers (analysis.strings). */
struct cell {
	const struct level *level;
	uint8_t row;	    /* enum row; a step or ROW_GAP */
	uint8_t kind;	    /* enum frt_kind, or KIND_UNACCOUNTED */
	const char *action; /* NULL: unaccounted */
	const char *where;  /* wait class, probed function, or NULL */
	int64_t *v;	    /* one per router of the level */
	struct cell *next;  /* same hash */
};
#define KIND_UNACCOUNTED FRT_KINDS
#define KIND_FUNCTION (FRT_KINDS + 1) /* of KERNEL: a probed function's own CPU time */

#define CELL_BUCKETS 1024

struct level {
	const struct frt_level *l;
	struct frt_levelrow *out;
	struct router *router; /* those that figures come from */
	size_t nrouters;
	struct router *sampled; /* those that only samples come from */
	size_t nsampled;
	double existing;	/* mean over its routers */
	double *wall[ROWS];	/* ns per router; NAN where a router lacks the step */
	bool has[ROWS], traced; /* traced: some of its routers are */
	/* filled by account.c */
	struct cell *bucket[CELL_BUCKETS];
	struct cell **cell;
	size_t ncells, cells_cap;
	struct step_account *account[ROWS];
};

/* Levels that asked for the same number, over all runs; `again` is none. */
struct group {
	uint32_t asked;
	struct level **level;
	size_t nlevels, nrouters;
	double existing; /* mean over all its routers */
	bool traced;
};

struct analysis {
	const struct frt_trail *t;
	const struct analyze_opts *o;
	struct frt_profile *p;
	struct arena *arena;
	struct intern *strings;
	struct level *level;
	size_t nlevels;
	struct group *group; /* ascending by what was asked */
	size_t ngroups;
	const struct frt_stepinst **steps; /* all, by router and time */
	double *scratch;
	size_t nscratch;
	uint64_t predict[8];
	size_t npredict;
	struct index *index; /* events by task; NULL untraced */
	const char *row_name[ROWS];
};

/* The row of a step instance. */
static inline enum row row_of(const struct frt_stepinst *s)
{
	return s->step < ROW_GAP ? (enum row)s->step : (enum row)(ROW_GAP - 1);
}

/* Names of foreign rows are the record's: analysis.row_name. */
extern const struct row_def analysis__rows[ROWS];
/* Rows in the order in which reports show them. */
enum row analysis__order(int i);

/* analysis.c */
int analysis__sort(struct analysis *an); /* trail → levels, routers, steps */
/* The level that a record was cut short in; NULL: none. 0 or -ENOMEM. */
int analysis__cut_level(struct analysis *an, const struct frt_level **out);
double *analysis__scratch(struct analysis *an, size_t n); /* valid until the next call */
/* The values of a row of all levels of a group, in order, without the routers
 * that lack it; n values in *n. NULL: no memory. From the scratch space. */
double *group__walls(struct analysis *an, const struct group *g, enum row row, size_t *n);
void analysis__free(struct analysis *an);

/* One concern each; 0 or -ENOMEM. */
int steps__fill(struct analysis *an);	   /* levels and their step rows */
int stepgrowth__fill(struct analysis *an); /* growth of each step, drift */
int growth__fill(struct analysis *an);	   /* the partition of the router's growth */
int account__fill(struct analysis *an);	   /* traced: kinds, actions, frames, stacks */
int overhead__fill(struct analysis *an);
int outside__fill(struct analysis *an);
int deferred__fill(struct analysis *an);
int worst__fill(struct analysis *an);

/* The growth of estimates over the groups: shape, line and predictions. */
struct growth_fit {
	const char *shape;
	double a, b, lack_p;
	struct frt_prediction *predicted;
	size_t npredicted;
};
int growth__fit(struct analysis *an, const struct estimate *e, struct growth_fit *out);

#endif
