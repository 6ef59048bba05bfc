/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rate of creation as the number of existing routers grows: what
 * `frtrace rate` recorded, or a table somebody wrote in 2014, as curves with
 * their fit. Pure: from a trail or a table to figures.
 *
 * A case is one mode with one number of streams, from a clean start; several
 * runs of it (--repeat) are several curves. Durations are ns; NAN is "unknown".
 */
#ifndef FRTRACE_RATE_H
#define FRTRACE_RATE_H

#include "analyze/csv.h"
#include "analyze/stats.h"

#include <frtrace/model.h>
#include <frtrace/trail.h>

#define RATE_STEPS 4 /* add, exec, sysctl, veth */
#define RATE_PREDICT_MAX 8
#define RATE_MODE_UNKNOWN (-1)

struct rate_row {
	uint64_t from, to;    /* existing routers */
	uint64_t n;	      /* routers measured: to - from, fewer when sampled or failed */
	double elapsed_ns;    /* of these n */
	double rate;	      /* per second */
	double cost_ns;	      /* elapsed per router */
	double lo, hi;	      /* 95 % of the cost; NAN: unknown */
	struct estimate cost; /* with its variance from the routers' walls where known */
	double at;	      /* mean count of existing routers while they were made */
	double step_ns[RATE_STEPS], gap_ns; /* means; NAN unknown */
	uint32_t level;			    /* frt_level.id; 0 none */
	bool sampled, failed;
	bool accounted;		   /* --trace: kind_ns is this row's alone */
	double kind_ns[FRT_KINDS]; /* means per router */
};

struct rate_point {
	double t_ns;
	uint64_t count;
};

/* Of cost = a + b * existing; ns and ns per existing. */
struct rate_fit {
	size_t rows; /* 0: no fit (fewer than two rows) */
	double df;   /* rows - 2; NAN: none, no intervals */
	struct estimate a, b;
	struct interval a95, b95; /* NAN below three rows */
	double cov_ab;		  /* covariance of a and b */
	const char *shape;	  /* unknown constant linear superlinear sublinear */
	double curve_p;	       /* of the quadratic term against none; NAN: fewer than four rows */
	double worst;	       /* largest distance of a row from the line, as share of the line */
	struct interval rate0; /* rate at 0, extrapolated: 1 / a */
};

struct rate_prediction {
	uint64_t at;
	struct interval cost, rate; /* 95 % */
	bool refused;		    /* beyond five times the highest row */
};

struct rate_curve {
	const char *label;  /* kernel and case: "6.1.0 script 4 streams", or the column's name */
	const char *kernel; /* NULL for tables */
	int mode;	    /* enum frt_workmode or RATE_MODE_UNKNOWN */
	uint32_t streams;   /* 0 unknown */
	uint32_t run;
	bool sampled;
	struct rate_row *rows;
	size_t nrows;
	size_t refused;	     /* rows and readings of the record that make no sense */
	bool rows_of_points; /* rows go from reading to reading: their edges are nobody's choice */
	struct rate_point *points; /* ascending, the first at 0 */
	size_t npoints;
	double reached_ns; /* when --to was; NAN: not */
	bool stalled;
	bool accounted;			   /* kind_ns: per router over the whole curve */
	double kind_ns[FRT_KINDS], kind_n; /* kind_n: routers they are means of */
	struct rate_fit fit;
	struct rate_prediction predicted[RATE_PREDICT_MAX];
	size_t npredicted;
	/* against one stream of the same mode and run, up to common_count routers */
	double speedup, per_stream, per_cpu; /* NAN: no such case; per_cpu: over min(S, CPUs) */
	uint64_t common_count;
	/* with --trace: time per router more than with one stream, by kind */
	double added_ns[FRT_KINDS];
};

struct rate {
	const char *created, *command, *kernel;
	uint32_t cpus; /* 0 unknown */
	bool from_table, complete;
	int status;	   /* exit status of the run that recorded; -1 unknown */
	const char *cause; /* why it ended early; NULL */
	bool has_streams;  /* readings over time were recorded */
	bool traced;
	struct frt_loss lost; /* summed over all levels; traced only */
	struct rate_curve *curves;
	size_t ncurves;
	struct arena *arena;
};

/* From a record. predict: existing counts, npredict at most RATE_PREDICT_MAX.
 * profile, when not NULL, is the same trail's and gives the accounting of
 * traced rows. 0 or -ENOMEM; -ENODATA: no rate rows and no readings; -E2BIG:
 * more than 1,000 cases. */
int analyze__rate(const struct frt_trail *t, const struct frt_profile *profile,
		  const uint64_t *predict, size_t npredict, struct rate **out);

/* From a table: a curve per column. Readings over time become rows from
 * reading to reading. Mode and streams are read from words of the label. */
int analyze__rate_table(const struct csv_table *t, const uint64_t *predict, size_t npredict,
			struct rate **out);
void rate__free(struct rate *r);

extern const char *const rate__step_names[RATE_STEPS];
const char *rate__mode_name(int mode); /* "unknown" too */

/* "6.1.0 script 4 streams": what a curve of this record is called; several
 * runs are numbered. Returns dst. */
#define RATE_LABEL_MAX 160
char *rate__label(char *dst, size_t size, const struct rate *r, const struct rate_curve *c,
		  bool several_runs);

/* One row of a record, as analyze__rate makes it; for printing rows as they arrive. */
void rate__row(const struct frt_raterow *in, struct rate_row *row);

/* Weighted least squares over the rows: each counts with the number of routers
 * it is the mean of, at the mean count of existing ones while they were made.
 * 0 or -ENOMEM. */
int rate__fit(const struct rate_row *rows, size_t n, struct rate_fit *out);

/* Cost at `at` on the fitted line, 95 %. */
struct interval rate__cost_at(const struct rate_fit *f, double at);

/* Routers per second of a cost in ns. A bound that is no rate is NAN. */
struct interval rate__of_cost(struct interval cost);

/* Time at which count routers were reached, between readings by straight line;
 * NAN when they never were. */
double rate__time_to(const struct rate_curve *c, double count);

#endif
