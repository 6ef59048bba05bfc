/* SPDX-License-Identifier: BSD-2-Clause */
/* Curves of rates side by side. */
#include "analyze/compare.h"

#include "util/util.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct edges {
	double *v;
	size_t n, cap;
};

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int edges__add(struct edges *e, double v)
{
	if (grow(&e->v, e->n, &e->cap, sizeof(*e->v)))
		return -ENOMEM;
	e->v[e->n++] = v;
	return 0;
}

static void edges__sort(struct edges *e)
{
	size_t kept = 0;

	if (e->n)
		qsort(e->v, e->n, sizeof(*e->v), compare_doubles);
	for (size_t i = 0; i < e->n; i++)
		if (!kept || e->v[i] != e->v[kept - 1])
			e->v[kept++] = e->v[i];
	e->n = kept;
}

/* Calls fn for every curve of every rate column. */
#define for_each_curve(c, curve)                                                                \
	for (size_t col_ = 0; col_ < (c)->ncolumns; col_++)                                     \
		for (size_t run_ = 0;                                                           \
		     (c)->column[col_].kind == COMPARE_RATE && run_ < (c)->column[col_].runs && \
		     ((curve) = (c)->column[col_].curves[run_]);                                \
		     run_++)

/* The first row that begins at x or later; rows ascend. */
static size_t first_row_from(const struct rate_curve *curve, double x)
{
	size_t lo = 0, hi = curve->nrows;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if ((double)curve->rows[mid].from < x)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool inside_a_row(const struct rate_curve *curve, double x)
{
	size_t i = first_row_from(curve, x);

	return i && x < (double)curve->rows[i - 1].to && !curve->rows[i - 1].failed;
}

/* The edges that cut no curve's row in two: between them every curve has whole
 * rows, so that a table of every 250 compares with one of every 500. */
static int common_edges(const struct compare *c, struct edges *e)
{
	const struct rate_curve *curve;
	size_t kept = 0;

	for_each_curve(c, curve)
	{
		for (size_t i = 0; i < curve->nrows && !curve->rows_of_points; i++)
			if (!curve->rows[i].failed && (edges__add(e, (double)curve->rows[i].from) ||
						       edges__add(e, (double)curve->rows[i].to)))
				return -ENOMEM;
	}
	edges__sort(e);
	for (size_t i = 0; i < e->n; i++) {
		bool cut = false;

		for_each_curve(c, curve)
			cut |= !curve->rows_of_points && inside_a_row(curve, e->v[i]);
		if (!cut)
			e->v[kept++] = e->v[i];
	}
	e->n = kept;
	return 0;
}

/* Cost per router of a curve from x0 to x1: its rows there, each weighted with
 * the routers it stands for. mean NAN: it does not cover the whole way. */
static int cost_between(struct compare *c, const struct rate_curve *curve, double x0, double x1,
			struct estimate *out)
{
	size_t first = first_row_from(curve, x0), n = 0;
	struct estimate *e;
	double *w, covered = 0;
	uint64_t measured = 0;

	*out = (struct estimate){ .mean = NAN, .var = NAN, .df = NAN };
	if (curve->rows_of_points)
		return 0;
	while (first + n < curve->nrows && (double)curve->rows[first + n].to <= x1 &&
	       !curve->rows[first + n].failed)
		n++;
	e = arena__alloc(c->arena, n * sizeof(*e));
	w = arena__alloc(c->arena, n * sizeof(*w));
	if (!e || !w)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct rate_row *row = &curve->rows[first + i];

		covered += (double)(row->to - row->from);
		measured += row->n;
		e[i] = row->cost;
		w[i] = (double)(row->to - row->from) / (x1 - x0);
	}
	if (!n || covered < x1 - x0)
		return 0;
	*out = stats__combine(e, w, n);
	out->n = measured;
	return 0;
}

/* 1 / cost with the error carried over (delta method). */
static struct estimate rate_of(struct estimate cost)
{
	struct estimate r = { .mean = NAN, .var = NAN, .df = cost.df, .n = cost.n };

	if (!(cost.mean > 0))
		return r;
	r.mean = 1e9 / cost.mean;
	r.var = cost.var * r.mean * r.mean / (cost.mean * cost.mean);
	return r;
}

/* One estimate per column out of fn's estimate per curve. */
static int per_column(struct compare *c,
		      int (*fn)(struct compare *c, const struct rate_curve *curve, double x0,
				double x1, struct estimate *out),
		      double x0, double x1, struct estimate *out)
{
	int rc = 0;

	for (size_t i = 0; i < c->ncolumns && !rc; i++) {
		const struct compare_column *col = &c->column[i];
		struct estimate *run;
		uint64_t n = 0;

		out[i] = (struct estimate){ .mean = NAN, .var = NAN, .df = NAN };
		if (col->kind != COMPARE_RATE)
			continue;
		run = arena__alloc(c->arena, col->runs * sizeof(*run));
		if (!run)
			return -ENOMEM;
		for (size_t k = 0; k < col->runs && !rc; k++) {
			rc = fn(c, col->curves[k], x0, x1, &run[k]);
			n += run[k].n;
		}
		if (!rc)
			rc = compare__pool(c, run, col->runs, &out[i]);
		out[i].n = n;
	}
	return rc;
}

static int add_rows(struct compare *c, struct estimate *e)
{
	struct edges edges = { 0 };
	size_t added = 0, curves = 0;
	int rc = common_edges(c, &edges);

	for (size_t i = 0; i < c->ncolumns; i++)
		curves += c->column[i].kind == COMPARE_RATE &&
			  !c->column[i].curves[0]->rows_of_points && c->column[i].curves[0]->nrows;
	for (size_t i = 1; i < edges.n && !rc; i++) {
		struct compare_row *row;
		size_t there = 0;

		rc = per_column(c, cost_between, edges.v[i - 1], edges.v[i], e);
		for (size_t k = 0; k < c->ncolumns && !rc; k++) {
			e[k] = rate_of(e[k]);
			there += !isnan(e[k].mean);
		}
		if (rc || !there)
			continue;
		row = compare__add(c, COMPARE_ROWS, "1/s");
		rc = row ? 0 : -ENOMEM;
		if (rc)
			break;
		row->x0 = edges.v[i - 1];
		row->x1 = edges.v[i];
		row->key = arena__printf(c->arena, "rate/%.0f-%.0f", row->x0, row->x1);
		compare__judge(c, row, COMPARE_RATE, e, 0.95, true);
		added += there > 1;
		rc = row->key ? 0 : -ENOMEM;
	}
	free(edges.v);
	if (!rc && curves > 1 && !added)
		rc = compare__note(
			c, true,
			"no row of rates is common: take the same --every; only the fits compare");
	return rc;
}

/* A reading at exactly this time (to the millisecond the tables are written in). */
static int count_at(struct compare *c, const struct rate_curve *curve, double x0, double x1,
		    struct estimate *out)
{
	(void)c;
	(void)x1;
	*out = (struct estimate){ .mean = NAN, .var = NAN, .df = NAN };
	for (size_t i = 0; i < curve->npoints; i++)
		if (fabs(curve->points[i].t_ns - x0) < 5e5)
			out->mean = (double)curve->points[i].count;
	return 0;
}

static int time_of(struct compare *c, const struct rate_curve *curve, double x0, double x1,
		   struct estimate *out)
{
	(void)c;
	(void)x1;
	*out = (struct estimate){ .mean = rate__time_to(curve, x0), .var = NAN, .df = NAN };
	return 0;
}

static int add_counts(struct compare *c, struct estimate *e)
{
	const struct rate_curve *curve;
	struct edges times = { 0 };
	double least = INFINITY;
	size_t curves = 0;
	int rc = 0;

	for_each_curve(c, curve)
	{
		for (size_t i = 0; i < curve->npoints && !rc; i++)
			rc = edges__add(&times, round(curve->points[i].t_ns / 1e6) * 1e6);
		if (curve->npoints)
			least = fmin(least, (double)curve->points[curve->npoints - 1].count);
		curves += curve->npoints > 0;
	}
	edges__sort(&times);
	for (size_t i = 0; i < times.n && !rc; i++) {
		struct compare_row *row;

		rc = per_column(c, count_at, times.v[i], NAN, e);
		if (rc || times.v[i] == 0)
			continue;
		row = compare__add(c, COMPARE_COUNTS, "routers");
		rc = row ? 0 : -ENOMEM;
		if (rc)
			break;
		row->x0 = times.v[i] / 1e9;
		row->key = arena__printf(c->arena, "count/%.10gs", row->x0);
		compare__judge(c, row, COMPARE_RATE, e, 0.95, true);
		rc = row->key ? 0 : -ENOMEM;
	}
	free(times.v);
	if (!rc && curves > 1 && least > 0) {
		struct compare_row *row = compare__add(c, COMPARE_REACHED, "ns");

		if (!row)
			return -ENOMEM;
		row->x0 = least;
		row->key = arena__printf(c->arena, "reached/%.0f", least);
		rc = row->key ? per_column(c, time_of, least, NAN, e) : -ENOMEM;
		if (!rc)
			compare__judge(c, row, COMPARE_RATE, e, 0.95, false);
	}
	return rc;
}

static int fit_a(struct compare *c, const struct rate_curve *curve, double x0, double x1,
		 struct estimate *out)
{
	(void)c;
	(void)x0;
	(void)x1;
	*out = curve->fit.a;
	return 0;
}

static int fit_b(struct compare *c, const struct rate_curve *curve, double x0, double x1,
		 struct estimate *out)
{
	(void)c;
	(void)x0;
	(void)x1;
	*out = curve->fit.b;
	return 0;
}

static int fit_rate0(struct compare *c, const struct rate_curve *curve, double x0, double x1,
		     struct estimate *out)
{
	(void)c;
	(void)x0;
	(void)x1;
	*out = rate_of(curve->fit.a);
	return 0;
}

static int add_fits(struct compare *c, struct estimate *e)
{
	static const struct {
		const char *what, *key, *unit;
		int (*fn)(struct compare *c, const struct rate_curve *curve, double x0, double x1,
			  struct estimate *out);
		bool more_is_faster;
	} fits[] = {
		{ "a", "fit/a", "ns", fit_a, false },
		{ "b", "fit/b", "ns/existing", fit_b, false },
		{ "rate at 0", "fit/rate0", "1/s", fit_rate0, true },
	};
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(fits) && !rc; i++) {
		struct compare_row *row = compare__add(c, COMPARE_FIT, fits[i].unit);

		if (!row)
			return -ENOMEM;
		row->what = fits[i].what;
		row->key = fits[i].key;
		rc = per_column(c, fits[i].fn, NAN, NAN, e);
		if (!rc)
			compare__judge(c, row, COMPARE_RATE, e, 0.95, fits[i].more_is_faster);
	}
	return rc;
}

int compare__rates(struct compare *c)
{
	struct estimate *e = arena__alloc(c->arena, c->ncolumns * sizeof(*e));
	const struct rate_curve *curve;
	size_t curves = 0;
	int rc;

	if (!e)
		return -ENOMEM;
	for_each_curve(c, curve) curves++;
	if (!curves)
		return 0;
	rc = add_rows(c, e);
	if (!rc)
		rc = add_counts(c, e);
	return rc ? rc : add_fits(c, e);
}
