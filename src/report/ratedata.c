/* SPDX-License-Identifier: BSD-2-Clause */
/* Rates and comparisons for programs: JSON and CSV. */
#include "report/compare.h"
#include "report/emit.h"
#include "report/rate.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

/* null where unknown */
static json_t *real(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

/* Durations are whole ns. */
static json_t *whole(double v)
{
	return isfinite(v) && fabs(v) < 9e18 ? json_integer((json_int_t)llround(v)) : json_null();
}

static json_t *pair(struct interval i, json_t *(*number)(double))
{
	if (isnan(i.lo) || isnan(i.hi))
		return json_null();
	return json_pack("[o,o]", number(i.lo), number(i.hi));
}

static json_t *text(const char *s)
{
	return s ? json_string(s) : json_null();
}

static json_t *predicted_json(const struct rate_curve *c)
{
	json_t *o = json_object();

	for (size_t i = 0; o && i < c->npredicted; i++) {
		const struct rate_prediction *p = &c->predicted[i];
		char at[32];

		snprintf(at, sizeof(at), "%llu", (unsigned long long)p->at);
		if (p->refused)
			json_object_set_new(o, at, json_null());
		else
			json_object_set_new(
				o, at,
				json_pack("{s:o, s:o, s:o, s:o}", "cost_ns", whole(p->cost.at),
					  "ci95", pair(p->cost, whole), "rate_per_s",
					  real(p->rate.at), "rate_ci95", pair(p->rate, real)));
	}
	return o;
}

static json_t *fit_json(const struct rate_curve *c)
{
	const struct rate_fit *f = &c->fit;

	if (!f->rows)
		return json_null();
	return json_pack("{s:i, s:{s:o, s:o}, s:{s:o, s:o}, s:s, s:o, s:o, s:{s:o, s:o, s:b}, s:o}",
			 "rows", (int)f->rows, "a_ns", "mean", real(f->a.mean), "ci95",
			 pair(f->a95, real), "b_ns_per_existing", "mean", real(f->b.mean), "ci95",
			 pair(f->b95, real), "shape", f->shape, "curve_p", real(f->curve_p),
			 "worst_off_line", real(f->worst), "rate_at_0", "rate_per_s",
			 real(f->rate0.at), "ci95", pair(f->rate0, real), "extrapolated", 1,
			 "predicted", predicted_json(c));
}

static json_t *kinds_json(const double *ns)
{
	json_t *o = json_object();

	for (unsigned k = 0; o && k < FRT_KINDS; k++)
		json_object_set_new(o, frt_kind_names[k], whole(ns[k]));
	return o;
}

static json_t *row_json(const struct rate_curve *c, size_t index, const struct rate_row *row)
{
	json_t *steps = json_object();
	json_t *o = json_pack(
		"{s:i, s:s, s:s, s:i, s:i, s:b, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:b}",
		"case", (int)index, "label", c->label, "mode", rate__mode_name(c->mode), "streams",
		(int)c->streams, "run", (int)c->run, "sampled", c->sampled, "from",
		(json_int_t)row->from, "to", (json_int_t)row->to, "n", (json_int_t)row->n,
		"elapsed_ns", whole(row->elapsed_ns), "rate_per_s", real(row->rate), "cost_ns",
		whole(row->cost_ns), "cost_ci95",
		pair((struct interval){ row->cost_ns, row->lo, row->hi }, whole), "gap_ns",
		whole(row->gap_ns), "cut_short", row->failed);

	for (unsigned i = 0; steps && i < RATE_STEPS; i++)
		json_object_set_new(steps, rate__step_names[i], whole(row->step_ns[i]));
	json_object_set_new(o, "steps", steps);
	if (row->accounted)
		json_object_set_new(o, "kinds_ns", kinds_json(row->kind_ns));
	return o;
}

static json_t *case_json(const struct rate_curve *c)
{
	return json_pack("{s:s, s:s, s:i, s:i, s:b, s:b, s:o}", "label", c->label, "mode",
			 rate__mode_name(c->mode), "streams", (int)c->streams, "run", (int)c->run,
			 "sampled", c->sampled, "stalled", c->stalled, "fit", fit_json(c));
}

static json_t *stream_json(const struct rate_curve *c)
{
	json_t *points = json_array(), *o;

	for (size_t i = 0; points && i < c->npoints; i++)
		json_array_append_new(points, json_pack("[o, I]", whole(c->points[i].t_ns),
							(json_int_t)c->points[i].count));
	o = json_pack("{s:i, s:s, s:s, s:i, s:o, s:o, s:b, s:o, s:o, s:o, s:I}", "streams",
		      (int)c->streams, "label", c->label, "mode", rate__mode_name(c->mode), "run",
		      (int)c->run, "points", points, "reached_ns", whole(c->reached_ns), "stalled",
		      c->stalled, "speedup", real(c->speedup), "efficiency_per_stream",
		      real(c->per_stream), "efficiency_per_cpu", real(c->per_cpu), "up_to",
		      (json_int_t)c->common_count);
	if (c->accounted)
		json_object_set_new(o, "kinds_ns", kinds_json(c->kind_ns));
	if (!isnan(c->added_ns[0]))
		json_object_set_new(o, "added_ns", kinds_json(c->added_ns));
	return o;
}

json_t *report__rate_json(const struct rate *r)
{
	json_t *rows = json_array(), *cases = json_array(), *streams = json_array(), *o;

	for (size_t i = 0; i < r->ncurves; i++) {
		const struct rate_curve *c = &r->curves[i];

		for (size_t k = 0; k < c->nrows; k++)
			json_array_append_new(rows, row_json(c, i, &c->rows[k]));
		json_array_append_new(cases, case_json(c));
		if (c->npoints)
			json_array_append_new(streams, stream_json(c));
	}
	o = json_pack(
		"{s:s, s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "schema", "frtrace-rate/1", "created",
		text(r->created), "command", text(r->command), "kernel", text(r->kernel), "cpus",
		r->cpus ? json_integer(r->cpus) : json_null(), "complete", r->complete, "status",
		r->status >= 0 ? json_integer(r->status) : json_null(), "cause", text(r->cause));
	json_object_set_new(o, "rows", rows);
	json_object_set_new(o, "fit", r->ncurves ? fit_json(&r->curves[0]) : json_null());
	json_object_set_new(o, "cases", cases);
	json_object_set_new(o, "streams", streams);
	if (r->traced)
		json_object_set_new(o, "loss",
				    json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "events",
					      (json_int_t)r->lost.events, "maps_full",
					      (json_int_t)r->lost.maps_full, "samples",
					      (json_int_t)r->lost.samples, "unpaired",
					      (json_int_t)r->lost.unpaired, "undecoded",
					      (json_int_t)r->lost.undecoded, "untagged",
					      (json_int_t)r->lost.untagged, "missed",
					      (json_int_t)r->lost.missed));
	return o;
}

/* What stands on the left of the layouts: from and to, or a time in ms. */
struct left {
	uint64_t a, b;
};

static int by_left(const void *x, const void *y)
{
	const struct left *p = x, *q = y;

	if (p->a != q->a)
		return p->a < q->a ? -1 : 1;
	return (p->b > q->b) - (p->b < q->b);
}

static uint64_t time_ms(const struct rate_point *p)
{
	return (uint64_t)llround(p->t_ns / 1e6);
}

/* Every left side once, in order. A row that was cut short is not one that
 * others have, and would overlap theirs. */
static size_t collect_left(const struct rate *r, struct left *v)
{
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < r->ncurves; i++) {
		const struct rate_curve *c = &r->curves[i];

		for (size_t k = 0; k < c->npoints && r->has_streams; k++)
			v[n++] = (struct left){ time_ms(&c->points[k]), 0 };
		for (size_t k = 0; k < c->nrows && !r->has_streams; k++)
			if (!c->rows[k].failed || r->ncurves == 1)
				v[n++] = (struct left){ c->rows[k].from, c->rows[k].to };
	}
	if (n)
		qsort(v, n, sizeof(*v), by_left);
	for (size_t i = 0; i < n; i++)
		if (!kept || by_left(&v[kept - 1], &v[i]) != 0)
			v[kept++] = v[i];
	return kept;
}

/* The next cell of a curve; at is where it was left, since both ascend. */
static void write_cell(FILE *f, const struct rate *r, const struct rate_curve *c,
		       const struct left *l, size_t *at)
{
	fputc(',', f);
	if (r->has_streams) {
		while (*at < c->npoints && time_ms(&c->points[*at]) < l->a)
			(*at)++;
		if (*at < c->npoints && time_ms(&c->points[*at]) == l->a)
			fprintf(f, "%llu", (unsigned long long)c->points[*at].count);
		return;
	}
	while (*at < c->nrows && c->rows[*at].from < l->a)
		(*at)++;
	if (*at < c->nrows && c->rows[*at].from == l->a && c->rows[*at].to == l->b)
		emit_fixed(f, c->rows[*at].rate, 3);
}

int report__rate_csv(FILE *f, const struct rate *r)
{
	size_t room = 1, n, *at = calloc(r->ncurves + 1, sizeof(*at));
	struct left *left;

	for (size_t i = 0; i < r->ncurves; i++)
		room += r->curves[i].nrows + r->curves[i].npoints;
	left = calloc(room, sizeof(*left));
	if (!left || !at) {
		free(left);
		free(at);
		return -ENOMEM;
	}
	n = collect_left(r, left);
	fputs(r->has_streams ? "Time" : "from,to", f);
	for (size_t i = 0; i < r->ncurves; i++) {
		fputc(',', f);
		emit_csv(f, r->curves[i].label);
	}
	fputc('\n', f);
	for (size_t k = 0; k < n; k++) {
		if (r->has_streams)
			emit_short(f, (double)left[k].a / 1e3, 3);
		else
			fprintf(f, "%llu,%llu", (unsigned long long)left[k].a,
				(unsigned long long)left[k].b);
		for (size_t i = 0; i < r->ncurves; i++)
			write_cell(f, r, &r->curves[i], &left[k], &at[i]);
		fputc('\n', f);
	}
	free(left);
	free(at);
	return ferror(f) ? -EIO : 0;
}

static json_t *column_json(const struct compare_column *col)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:i, s:I, s:i, s:o, s:b, s:b}", "letter",
			 col->letter, "file", col->file, "label", col->label, "kind",
			 col->kind == COMPARE_RATE ? "rate" : "profile", "mode",
			 rate__mode_name(col->mode), "streams",
			 col->streams ? json_integer(col->streams) : json_null(), "runs",
			 (int)col->runs, "routers", (json_int_t)col->n, "base", (int)col->base,
			 "differs", text(col->differs), "intervals_over_runs", col->over_runs,
			 "complete", col->complete);
}

/* One object per row and compared column. */
static void add_row(json_t *rows, const struct compare *c, const struct compare_row *row)
{
	json_t *values = json_array();

	for (size_t i = 0; i < c->ncolumns; i++)
		json_array_append_new(values, real(row->cell[i].value));
	for (size_t i = 0; i < c->ncolumns; i++) {
		const struct compare_cell *cell = &row->cell[i];
		size_t base = c->column[i].base;

		if (base == i || (isnan(cell->value) && isnan(row->cell[base].value)))
			continue;
		json_array_append_new(
			rows,
			json_pack(
				"{s:s, s:s, s:s, s:i, s:i, s:O, s:o, s:o, s:o, s:o, s:s, s:o, s:I}",
				"key", row->key, "section", compare__sections[row->section], "unit",
				row->unit, "column", (int)i, "base", (int)base, "values", values,
				"ratio", real(cell->ratio.at), "ci95",
				row->section == COMPARE_GROWTH || row->section == COMPARE_WHERE
					? json_null()
					: pair(cell->ratio, real),
				"difference", real(cell->diff.at),
				row->section == COMPARE_GROWTH || row->section == COMPARE_WHERE
					? "difference_ci99"
					: "difference_ci95",
				pair(cell->diff, real), "verdict", compare__verdicts[cell->verdict],
				"share", real(cell->share), "n", (json_int_t)cell->n));
	}
	json_decref(values);
}

static json_t *lines_json(const char *const *v, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(a, json_string(v[i]));
	return a;
}

json_t *report__compare_json(const struct compare *c)
{
	json_t *files = json_array(), *columns = json_array(), *rows = json_array();
	json_t *fits = json_object(), *o;

	for (size_t i = 0; i < c->ncolumns; i++) {
		const struct compare_column *col = &c->column[i];

		if (!i || col->file != c->column[i - 1].file)
			json_array_append_new(files, json_string(col->file));
		json_array_append_new(columns, column_json(col));
		for (uint32_t r = 0; col->kind == COMPARE_RATE && r < col->runs; r++) {
			json_t *of = r ? json_object_get(fits, col->letter) : json_array();

			if (!r)
				json_object_set_new(fits, col->letter, of);
			json_array_append_new(of, fit_json(col->curves[r]));
		}
	}
	for (size_t i = 0; i < c->nrows; i++)
		add_row(rows, c, &c->row[i]);
	o = json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", "frtrace-compare/1",
		      "base", c->column[0].file, "files", files, "columns", columns, "warnings",
		      lines_json(c->loud, c->nloud), "notes", lines_json(c->notes, c->nnotes),
		      "fits", fits, "rows", rows);
	return o;
}
