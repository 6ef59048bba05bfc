/* SPDX-License-Identifier: BSD-2-Clause */
/* Curves of a trail or a table, with their efficiency and accounting. */
#include "analyze/rate.h"

#include "util/util.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const rate__step_names[RATE_STEPS] = { "add", "exec", "sysctl", "veth" };

static const char *const mode_names[FRT_WORKMODES] = {
	[FRT_WORK_SCRIPT] = "script", [FRT_WORK_EXACT] = "exact",     [FRT_WORK_LEAN] = "lean",
	[FRT_WORK_BATCH] = "batch",   [FRT_WORK_FOREIGN] = "foreign",
};

const char *rate__mode_name(int mode)
{
	return mode >= 0 && mode < FRT_WORKMODES ? mode_names[mode] : "unknown";
}

/* What a curve is the curve of. */
struct key {
	uint32_t mode, streams, run;
	bool sampled;
};

static bool same_key(const struct key *a, const struct key *b)
{
	return a->mode == b->mode && a->streams == b->streams && a->run == b->run &&
	       a->sampled == b->sampled;
}

static struct key row_key(const struct frt_raterow *r)
{
	return (struct key){ .mode = r->mode,
			     .streams = r->streams ? r->streams : 1,
			     .run = r->run ? r->run : 1,
			     .sampled = r->sampled };
}

static struct key point_key(const struct frt_ratepoint *p)
{
	return (struct key){ .mode = p->mode,
			     .streams = p->streams ? p->streams : 1,
			     .run = p->run ? p->run : 1 };
}

/* 95 % of a row's cost from the spread of its routers' walls (one stream:
 * there the walls follow one another and add up to the row). */
static void row_interval(const struct frt_raterow *in, struct rate_row *row)
{
	double n = (double)in->n, sum, mean, ss, lag;
	struct estimate e = { .n = in->n };
	struct interval i;

	if (in->streams > 1 || in->n < STATS_MIN_N || !in->wall_sq_us2)
		return;
	sum = (double)(in->add_ns + in->exec_ns + in->sysctl_ns + in->veth_ns + in->gap_ns) / 1e3;
	mean = sum / n;
	ss = (double)in->wall_sq_us2 - sum * mean;
	if (!(ss > 0))
		ss = 0;
	/* sum of (x - m)(x' - m) over neighbours, multiplied out */
	lag = (double)in->wall_lag_us2 - (n + 1) * mean * mean + mean * (double)in->wall_ends_us;
	lag = ss > 0 ? lag / ss : 0;
	if (in->wall_lag_us2 && lag > 0.1)
		e.df = fmax(n * (1 - fmin(lag, 1)) / (1 + lag), 2);
	else
		e.df = n;
	e.mean = row->cost_ns;
	e.var = ss * 1e6 / (n - 1) / e.df;
	e.df -= 1;
	row->cost = e;
	i = stats__mean(e, 0.95);
	row->lo = i.lo;
	row->hi = i.hi;
}

static void row__fill(struct rate_row *row, uint64_t from, uint64_t to, uint64_t n,
		      double elapsed_ns)
{
	*row = (struct rate_row){
		.from = from,
		.to = to,
		.n = n,
		.elapsed_ns = elapsed_ns,
		.rate = (double)n / elapsed_ns * 1e9,
		.cost_ns = elapsed_ns / (double)n,
		.lo = NAN,
		.hi = NAN,
		.at = ((double)from + (double)to) / 2,
		.gap_ns = NAN,
	};
	for (unsigned i = 0; i < RATE_STEPS; i++)
		row->step_ns[i] = NAN;
	row->cost = (struct estimate){ .mean = row->cost_ns, .var = NAN, .df = NAN, .n = n };
	for (unsigned i = 0; i < FRT_KINDS; i++)
		row->kind_ns[i] = NAN;
}

void rate__row(const struct frt_raterow *in, struct rate_row *row)
{
	const uint64_t steps[RATE_STEPS] = { in->add_ns, in->exec_ns, in->sysctl_ns, in->veth_ns };
	double n = (double)in->n;

	row__fill(row, in->from, in->to, in->n, (double)in->elapsed_ns);
	row->level = in->level;
	row->sampled = in->sampled;
	row->failed = in->failed;
	for (unsigned i = 0; i < RATE_STEPS; i++)
		if (steps[i]) {
			row->step_ns[i] = (double)steps[i] / n;
			row->gap_ns = (double)in->gap_ns / n;
		}
	row_interval(in, row);
}

static void curve__init(struct rate_curve *c)
{
	memset(c, 0, sizeof(*c));
	c->mode = RATE_MODE_UNKNOWN;
	c->run = 1;
	c->reached_ns = c->speedup = c->per_stream = c->per_cpu = NAN;
	for (unsigned i = 0; i < FRT_KINDS; i++)
		c->kind_ns[i] = c->added_ns[i] = NAN;
}

/* Rows from reading to reading, for a curve that has readings only. */
static int curve__rows_of_points(struct rate_curve *c, struct arena *arena)
{
	const struct rate_point *prev = c->points;

	if (c->npoints < 2)
		return 0;
	c->rows = arena__alloc(arena, (c->npoints - 1) * sizeof(*c->rows));
	if (!c->rows)
		return -ENOMEM;
	c->rows_of_points = true;
	for (size_t i = 1; i < c->npoints; i++) {
		const struct rate_point *p = &c->points[i];

		if (p->count <= prev->count || p->t_ns <= prev->t_ns)
			continue; /* nothing made: its time belongs to the next row */
		row__fill(&c->rows[c->nrows++], prev->count, p->count, p->count - prev->count,
			  p->t_ns - prev->t_ns);
		prev = p;
	}
	return 0;
}

double rate__time_to(const struct rate_curve *c, double count)
{
	for (size_t i = 1; i < c->npoints; i++) {
		const struct rate_point *p = &c->points[i - 1], *q = &c->points[i];

		if ((double)q->count < count)
			continue;
		if ((double)p->count >= count)
			return p->t_ns;
		return p->t_ns + (q->t_ns - p->t_ns) * (count - (double)p->count) /
					 (double)(q->count - p->count);
	}
	return NAN;
}

static void curve__predict(struct rate_curve *c, const uint64_t *at, size_t n)
{
	double highest = 0;

	for (size_t i = 0; i < c->nrows; i++)
		highest = fmax(highest, (double)c->rows[i].to);
	for (size_t i = 0; i < n && i < RATE_PREDICT_MAX && c->fit.rows; i++) {
		struct rate_prediction *p = &c->predicted[c->npredicted++];

		p->at = at[i];
		p->refused = (double)at[i] > 5 * highest;
		p->cost = rate__cost_at(&c->fit, (double)at[i]);
		p->rate = rate__of_cost(p->cost);
	}
}

/* How much faster than one stream, up to the count that both reached. */
static void curve__against(struct rate_curve *c, const struct rate_curve *one, uint32_t cpus)
{
	double count, s = c->streams;

	if (!c->npoints || !one->npoints)
		return;
	count = fmin((double)c->points[c->npoints - 1].count,
		     (double)one->points[one->npoints - 1].count);
	if (!(count > 0))
		return;
	c->common_count = (uint64_t)count;
	c->speedup = rate__time_to(one, count) / rate__time_to(c, count);
	c->per_stream = c->speedup / s;
	if (cpus)
		c->per_cpu = c->speedup / fmin(s, cpus);
	for (unsigned k = 0; k < FRT_KINDS; k++)
		c->added_ns[k] = c->kind_ns[k] - one->kind_ns[k];
}

static void rate__efficiency(struct rate *r)
{
	for (size_t i = 0; i < r->ncurves; i++)
		for (size_t k = 0; k < r->ncurves; k++) {
			const struct rate_curve *one = &r->curves[k];

			if (one->streams == 1 && one->mode == r->curves[i].mode &&
			    one->run == r->curves[i].run && r->curves[i].streams)
				curve__against(&r->curves[i], one, r->cpus);
		}
}

static const struct frt_steprow *router_of(const struct frt_profile *p, uint32_t level)
{
	for (size_t i = 0; i < p->nlevels; i++) {
		if (p->levels[i].id != level)
			continue;
		for (size_t k = 0; k < p->levels[i].nsteps; k++)
			if (strcmp(p->levels[i].steps[k].step, "router") == 0)
				return &p->levels[i].steps[k];
	}
	return NULL;
}

/* The accounting of traced routers: a row's own where it had a level to
 * itself, and of the whole curve over its levels. */
static void curve__account(struct rate_curve *c, const struct frt_profile *p)
{
	double sum[FRT_KINDS] = { 0 };
	uint32_t last = 0;

	for (size_t i = 0; i < c->nrows; i++) {
		struct rate_row *row = &c->rows[i];
		const struct frt_steprow *s = row->level ? router_of(p, row->level) : NULL;

		if (!s || !s->traced)
			continue;
		row->accounted = row->level != last &&
				 (i + 1 == c->nrows || c->rows[i + 1].level != row->level);
		for (unsigned k = 0; k < FRT_KINDS; k++) {
			if (row->accounted)
				row->kind_ns[k] = s->kind_ns[k];
			if (row->level != last)
				sum[k] += s->kind_ns[k] * s->n;
		}
		if (row->level != last)
			c->kind_n += s->n;
		last = row->level;
	}
	c->accounted = c->kind_n > 0;
	for (unsigned k = 0; k < FRT_KINDS && c->accounted; k++)
		c->kind_ns[k] = sum[k] / c->kind_n;
}

static int curve__finish(struct rate_curve *c, struct rate *r, const struct frt_profile *profile,
			 const uint64_t *predict, size_t npredict)
{
	int rc = c->nrows ? 0 : curve__rows_of_points(c, r->arena);

	if (rc)
		return rc;
	rc = rate__fit(c->rows, c->nrows, &c->fit);
	if (rc)
		return rc;
	curve__predict(c, predict, npredict);
	if (profile)
		curve__account(c, profile);
	return 0;
}

/* More cases than anybody measures; their keys are compared one by one. */
#define CASES_MAX 1000

/* Every key of the trail once, in the order it came. */
static int collect_keys(const struct frt_trail *t, struct key **keys, size_t *nkeys)
{
	size_t cap = 0;

	for (size_t i = 0; i < t->rate.n + t->point.n; i++) {
		struct key k = i < t->rate.n ? row_key(&t->rate.v[i])
					     : point_key(&t->point.v[i - t->rate.n]);
		size_t j = 0;

		while (j < *nkeys && !same_key(&(*keys)[j], &k))
			j++;
		if (j < *nkeys)
			continue;
		if (*nkeys == CASES_MAX)
			return -E2BIG;
		if (grow(keys, *nkeys, &cap, sizeof(**keys)))
			return -ENOMEM;
		(*keys)[(*nkeys)++] = k;
	}
	return 0;
}

static int curve__from_trail(struct rate_curve *c, const struct key *k, const struct frt_trail *t,
			     struct arena *arena)
{
	curve__init(c);
	c->mode = (int)k->mode;
	c->streams = k->streams;
	c->run = k->run;
	c->sampled = k->sampled;
	c->rows = arena__alloc(arena, t->rate.n * sizeof(*c->rows));
	c->points = arena__alloc(arena, (t->point.n + 1) * sizeof(*c->points));
	if (!c->rows || !c->points)
		return -ENOMEM;
	for (size_t i = 0; i < t->rate.n; i++) {
		const struct frt_raterow *row = &t->rate.v[i];
		struct key rk = row_key(row);

		if (!same_key(&rk, k))
			continue;
		/* rows that do not follow one another were not written by us */
		if (!row->n || !row->elapsed_ns || row->from >= row->to ||
		    (c->nrows && row->from < c->rows[c->nrows - 1].to))
			c->refused++;
		else
			rate__row(row, &c->rows[c->nrows++]);
	}
	for (size_t i = 0; i < t->point.n; i++) {
		const struct frt_ratepoint *p = &t->point.v[i];
		struct key pk = point_key(p);

		if (!same_key(&pk, k))
			continue;
		if (!c->npoints && p->t_ns)
			c->npoints++; /* the clean start: nothing at 0, which is what it holds */
		if (c->npoints && ((double)p->t_ns < c->points[c->npoints - 1].t_ns ||
				   p->count < c->points[c->npoints - 1].count)) {
			c->refused++;
			continue;
		}
		c->points[c->npoints++] = (struct rate_point){ (double)p->t_ns, p->count };
		if (p->reached)
			c->reached_ns = (double)p->t_ns;
		c->stalled |= p->stalled != 0;
	}
	return 0;
}

char *rate__label(char *dst, size_t size, const struct rate *r, const struct rate_curve *c,
		  bool several_runs)
{
	char streams[32] = "", run[32] = "";

	if (r->has_streams || c->streams > 1)
		snprintf(streams, sizeof(streams), " %u stream%s", c->streams,
			 c->streams == 1 ? "" : "s");
	if (several_runs)
		snprintf(run, sizeof(run), " run %u", c->run);
	snprintf(dst, size, "%s %s%s%s%s", r->kernel, rate__mode_name(c->mode), streams,
		 c->sampled ? " sampled" : "", run);
	return dst;
}

static int label_curves(struct rate *r)
{
	char label[RATE_LABEL_MAX];
	bool runs = false;

	for (size_t i = 0; i < r->ncurves; i++)
		runs |= r->curves[i].run > 1;
	for (size_t i = 0; i < r->ncurves; i++) {
		struct rate_curve *c = &r->curves[i];

		c->kernel = r->kernel;
		c->label = arena__strdup(r->arena, rate__label(label, sizeof(label), r, c, runs));
		if (!c->label)
			return -ENOMEM;
	}
	return 0;
}

static const char *header_text(const struct json_t *o, const char *name)
{
	return json_string_value(json_object_get(o, name));
}

static int read_header(struct rate *r, const struct frt_trail *t)
{
	const json_t *env = json_object_get(t->header, "environment");
	const char *kernel = header_text(env, "kernel");
	json_int_t cpus = json_integer_value(json_object_get(env, "cpus"));
	char clean[96];

	r->created = arena__strdup(r->arena, header_text(t->header, "created"));
	r->command = arena__strdup(r->arena, header_text(t->header, "command"));
	r->kernel = arena__strdup(r->arena, printable(clean, sizeof(clean), kernel ? kernel : "?"));
	r->cause = arena__printable(r->arena, header_text(t->end, "cause"));
	r->cpus = cpus > 0 && cpus < 1 << 20 ? (uint32_t)cpus : 0;
	r->complete = !t->truncated;
	r->status = t->end ? (int)json_integer_value(json_object_get(t->end, "status")) : -1;
	r->has_streams = t->point.n > 0;
	r->traced = t->loss.n > 0;
	for (size_t i = 0; i < t->loss.n; i++) {
		const struct frt_loss *l = &t->loss.v[i];

		r->lost.events += l->events;
		r->lost.maps_full += l->maps_full;
		r->lost.samples += l->samples;
		r->lost.unpaired += l->unpaired;
		r->lost.undecoded += l->undecoded;
		r->lost.untagged += l->untagged;
		r->lost.missed += l->missed;
		r->lost.sent += l->sent;
	}
	return r->kernel ? 0 : -ENOMEM;
}

static int fill_from_trail(struct rate *r, const struct frt_trail *t,
			   const struct frt_profile *profile, const uint64_t *predict,
			   size_t npredict)
{
	struct key *keys = NULL;
	size_t nkeys = 0;
	int rc = read_header(r, t);

	if (!rc)
		rc = collect_keys(t, &keys, &nkeys);
	if (!rc && !nkeys)
		rc = -ENODATA;
	if (!rc) {
		r->curves = arena__alloc(r->arena, nkeys * sizeof(*r->curves));
		rc = r->curves ? 0 : -ENOMEM;
	}
	for (size_t i = 0; !rc && i < nkeys; i++, r->ncurves++) {
		rc = curve__from_trail(&r->curves[i], &keys[i], t, r->arena);
		if (!rc)
			rc = curve__finish(&r->curves[i], r, profile, predict, npredict);
	}
	free(keys);
	if (rc)
		return rc;
	rate__efficiency(r);
	return label_curves(r);
}

int analyze__rate(const struct frt_trail *t, const struct frt_profile *profile,
		  const uint64_t *predict, size_t npredict, struct rate **out)
{
	struct rate *r = calloc(1, sizeof(*r));
	int rc;

	*out = NULL;
	if (!r)
		return -ENOMEM;
	r->arena = arena__new();
	rc = r->arena ? fill_from_trail(r, t, profile, predict, npredict) : -ENOMEM;
	if (rc)
		rate__free(r);
	else
		*out = r;
	return rc;
}

/* The number in front of "stream" ("4 streams", "4streams"); 0: none. */
static uint32_t streams_in(const char *label)
{
	const char *p = strstr(label, "stream");
	uint32_t v = 0, unit = 1;

	if (!p)
		return 0;
	while (p > label && p[-1] == ' ')
		p--;
	for (; p > label && isdigit((unsigned char)p[-1]) && unit <= 10000; p--, unit *= 10)
		v += (uint32_t)(p[-1] - '0') * unit;
	return v;
}

/* A mode's name as a word of the label. */
static int mode_in(const char *label)
{
	for (int m = 0; m < FRT_WORK_FOREIGN; m++) {
		size_t n = strlen(mode_names[m]);

		for (const char *p = label; (p = strstr(p, mode_names[m])); p += n)
			if ((p == label || !isalnum((unsigned char)p[-1])) &&
			    !isalnum((unsigned char)p[n]))
				return m;
	}
	return RATE_MODE_UNKNOWN;
}

static int curve__from_column(struct rate_curve *c, const struct csv_table *t, size_t col,
			      struct arena *arena)
{
	curve__init(c);
	c->label = arena__printable(arena, t->label[col]);
	if (!c->label)
		return -ENOMEM;
	c->mode = mode_in(c->label);
	c->streams = streams_in(c->label);
	c->sampled = strstr(c->label, "sampled") != NULL;
	c->rows = t->layout == CSV_RATES ? arena__alloc(arena, t->nrows * sizeof(*c->rows)) : NULL;
	c->points = arena__alloc(arena, t->nrows * sizeof(*c->points));
	if (!c->points || (t->layout == CSV_RATES && !c->rows))
		return -ENOMEM;
	for (size_t i = 0; i < t->nrows; i++) {
		double v = t->value[i * t->ncols + col];

		if (isnan(v))
			continue;
		if (t->layout == CSV_STREAMS) {
			c->points[c->npoints++] = (struct rate_point){ t->from[i] * 1e9,
								       (uint64_t)v };
			continue;
		}
		row__fill(&c->rows[c->nrows++], (uint64_t)t->from[i], (uint64_t)t->to[i],
			  (uint64_t)(t->to[i] - t->from[i]), (t->to[i] - t->from[i]) / v * 1e9);
	}
	if (c->npoints)
		c->reached_ns = c->points[c->npoints - 1].t_ns;
	return 0;
}

int analyze__rate_table(const struct csv_table *t, const uint64_t *predict, size_t npredict,
			struct rate **out)
{
	struct rate *r = calloc(1, sizeof(*r));
	int rc = -ENOMEM;

	*out = NULL;
	if (!r)
		return -ENOMEM;
	r->from_table = r->complete = true;
	r->status = -1;
	r->has_streams = t->layout == CSV_STREAMS;
	r->arena = arena__new();
	if (r->arena)
		r->curves = arena__alloc(r->arena, t->ncols * sizeof(*r->curves));
	if (r->curves)
		rc = 0;
	for (size_t i = 0; !rc && i < t->ncols; i++, r->ncurves++) {
		rc = curve__from_column(&r->curves[i], t, i, r->arena);
		if (!rc)
			rc = curve__finish(&r->curves[i], r, NULL, predict, npredict);
	}
	if (rc) {
		rate__free(r);
		return rc;
	}
	rate__efficiency(r);
	*out = r;
	return 0;
}

void rate__free(struct rate *r)
{
	if (!r)
		return;
	arena__free(r->arena);
	free(r);
}
