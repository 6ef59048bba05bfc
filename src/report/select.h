/* SPDX-License-Identifier: BSD-2-Clause */
/* What --at, --diff, --step and --kind mean, the same for every exporter. */
#ifndef FRTRACE_REPORT_SELECT_H
#define FRTRACE_REPORT_SELECT_H

#include "report/flame.h"
#include "report/report.h"

#define SELECT_LEVELS 64 /* different levels looked at, at most */
#define SELECT_EVERY ""	 /* as step: all of them, delete and control too */

/* The rows of one --at: one per run (--repeat). The level measured once more at
 * the end is none of them. */
struct level_pick {
	uint64_t at;	   /* as --at names it */
	uint64_t existing; /* of the first run */
	const struct frt_levelrow **rows;
	size_t nrows;
};

struct level_picks {
	struct level_pick v[SELECT_LEVELS];
	size_t n;
	const struct frt_levelrow **rows; /* room of all picks */
};

/* All levels, in ascending order. Frees with picks__free. 0, -ENOMEM, -ENODATA
 * and a line in err when the record holds none. */
int picks__fill(struct level_picks *p, const struct frt_profile *profile, char *err, size_t errlen);
void picks__free(struct level_picks *p);

/* The level asked for; NULL and a line in err that names the measured ones. */
const struct level_pick *picks__find(const struct level_picks *p, int64_t at, char *err,
				     size_t errlen);

/* Whether s belongs to the selection: the step asked for, or without one (or
 * with "router") what makes up the router; foreign steps: all but the control. */
bool step_selected(const struct frt_profile *p, const struct frt_steprow *s, const char *step);
/* 0, or -EINVAL and a line in err that names the steps there are. */
int check_step(const struct frt_profile *p, const char *step, char *err, size_t errlen);

/* Routers (instances) of the step over the runs of the pick. */
uint32_t pick__routers(const struct level_pick *p, const char *step);
/* The largest n of the selected steps. */
uint32_t pick__n(const struct frt_profile *profile, const struct level_pick *p, const char *step);

struct flame_kind {
	const char *name, *what;
	unsigned kinds; /* FLAME_CPU … */
	bool functions;
};
/* cpu, off, wall, functions; name NULL: wall when fallback is NULL. NULL and a
 * line in err: no such kind. */
const struct flame_kind *find_kind(const char *name, const char *format, char *err, size_t errlen);

/* Puts the selected steps of the pick into column; per_router: each step divided
 * by its routers. 0 or -ENOMEM. */
int pick__flame(struct flame *f, const struct frt_profile *profile, const struct level_pick *p,
		const char *step, const struct flame_kind *kind, unsigned column, bool per_router);

/* -ENODATA with a line in err that says why there are no stacks. */
int no_stacks(const struct frt_profile *p, const struct flame_kind *kind, char *err, size_t errlen);

/* The environment's text under key, or fallback. */
const char *environment_text(const struct frt_profile *p, const char *key, const char *fallback);

#endif
