/* SPDX-License-Identifier: BSD-2-Clause */
/* Rates as text, at most 100 columns. */
#include "report/rate.h"

#include "report/compare.h"
#include "report/grid.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "0–250" has a dash of three bytes: widths are counted by hand. */
static void print_range(FILE *f, uint64_t from, uint64_t to, int width)
{
	int n = fprintf(f, "%llu–%llu", (unsigned long long)from, (unsigned long long)to) - 2;

	fprintf(f, "%*s", n < width ? width - n : 0, "");
}

static void print_fixed(FILE *f, double v, int width, int decimals)
{
	if (isnan(v))
		fprintf(f, " %*s", width, "-");
	else
		fprintf(f, " %*.*f", width, decimals, v);
}

void report__rate_case(FILE *f, const struct rate *r, const struct rate_curve *c)
{
	fputs(c->label, f);
	if (c->streams == 1 && !r->has_streams)
		fputs(" · one stream", f);
	if (r->cpus)
		fprintf(f, " · %u CPU%s", r->cpus, r->cpus == 1 ? "" : "s");
	fprintf(f, " · %s\n",
		c->sampled ? "filled by lean, N measured amid each row" : "every router measured");
	fprintf(f, "%-15s %6s %10s %9s %8s", "EXISTING", "N", "ROUTERS/s", "MS EACH", "±95 %");
	for (unsigned i = 0; i < RATE_STEPS; i++)
		fprintf(f, " %7s", rate__step_names[i]);
	fprintf(f, " %7s\n", "gap");
}

void report__rate_row(FILE *f, const struct rate_row *row)
{
	print_range(f, row->from, row->to, 15);
	fprintf(f, " %6llu", (unsigned long long)row->n);
	print_fixed(f, row->rate, 10, 2);
	print_fixed(f, row->cost_ns / 1e6, 9, 2);
	print_fixed(f, (row->hi - row->lo) / 2e6, 7, 2);
	for (unsigned i = 0; i < RATE_STEPS; i++)
		print_fixed(f, row->step_ns[i] / 1e6, 7, 2);
	print_fixed(f, row->gap_ns / 1e6, 7, 2);
	fputs(row->failed ? "  cut short\n" : "\n", f);
	fflush(f); /* rows are shown as they arrive */
}

/* A figure and half of its interval's width, in a unit. */
static void plus_minus(struct grid *g, struct interval i, double unit, int decimals)
{
	if (isnan(i.at))
		grid__cell(g, "-");
	else if (isnan(i.lo) || isnan(i.hi))
		grid__cell(g, "%.*f", decimals, i.at / unit);
	else
		grid__cell(g, "%.*f ±%.*f", decimals, i.at / unit, decimals,
			   (i.hi - i.lo) / 2 / unit);
}

static void rate_range(struct grid *g, struct interval i)
{
	if (isnan(i.at))
		grid__cell(g, "-");
	else if (isnan(i.lo) || isnan(i.hi))
		grid__cell(g, "%.2f", i.at);
	else
		grid__cell(g, "%.2f (%.2f–%.2f)", i.at, i.lo, i.hi);
}

/* What there is to say about a fit beside its row; 0: nothing. */
enum fit_remark { FIT_FINE, FIT_NO_LINE, FIT_FEW, FIT_NOISY, FIT_FASTER, FIT_SLOWER, FIT_REMARKS };

static enum fit_remark fit_remark(const struct rate_fit *f)
{
	if (!f->rows)
		return FIT_NO_LINE;
	if (isnan(f->curve_p))
		return FIT_FEW;
	if (strcmp(f->shape, "unknown") == 0)
		return FIT_NOISY;
	if (strcmp(f->shape, "superlinear") == 0)
		return FIT_FASTER;
	return strcmp(f->shape, "sublinear") == 0 ? FIT_SLOWER : FIT_FINE;
}

/* Names before a remark, with line breaks between them. */
struct name_list {
	size_t n, column;
};

static void name_one(FILE *f, struct name_list *l, const char *name)
{
	size_t len = strlen(name);

	if (l->n++) {
		fputs(l->column + len > 90 ? ",\n    " : ", ", f);
		l->column = l->column + len > 90 ? 4 : l->column + 2;
	}
	fputs(name, f);
	l->column += len;
}

/* One line per remark, after the names it is true of. */
static void fit_notes(FILE *f, const struct rate_curve *const *curves, const char *const *names,
		      size_t n)
{
	static const char *const text[FIT_REMARKS] = {
		[FIT_NO_LINE] = "fewer than two rows, no line can be laid through them",
		[FIT_FEW] = "fewer than four rows cannot say whether a straight line is right",
		[FIT_NOISY] = "too noisy to tell growth from none: the slope's interval holds 0",
		[FIT_FASTER] =
			"a straight line is not right (p < 0.01): the cost grows faster than "
			"it;\n    what is read off the line holds only if linear",
		[FIT_SLOWER] =
			"a straight line is not right (p < 0.01): the cost grows slower than "
			"it;\n    what is read off the line holds only if linear",
	};

	for (int r = FIT_NO_LINE; r < FIT_REMARKS; r++) {
		struct name_list named = { 0 };

		for (size_t i = 0; i < n; i++)
			if ((int)fit_remark(&curves[i]->fit) == r)
				name_one(f, &named, names ? names[i] : curves[i]->label);
		if (named.n)
			fprintf(f, "%s%s.\n", named.column > 24 ? ":\n    " : ": ", text[r]);
	}
	for (size_t k = 0; n && k < RATE_PREDICT_MAX; k++) {
		struct name_list named = { 0 };
		uint64_t at = 0;

		for (size_t i = 0; i < n; i++)
			if (k < curves[i]->npredicted && curves[i]->predicted[k].refused) {
				at = curves[i]->predicted[k].at;
				name_one(f, &named, names ? names[i] : curves[i]->label);
			}
		if (named.n)
			fprintf(f, "%sno prediction at %llu, beyond five times the highest row.\n",
				named.column > 24 ? ":\n    " : ": ", (unsigned long long)at);
	}
}

static int print_predictions(FILE *f, const struct rate_curve *const *curves,
			     const char *const *names, size_t n, const struct report_opts *o)
{
	struct grid *g = grid__new(f, o->width, o->color);

	grid__column(g, GRID_LEFT, "PREDICTED");
	grid__column(g, GRID_RIGHT, "AT");
	grid__column(g, GRID_RIGHT, "ms EACH");
	grid__column(g, GRID_RIGHT, "ROUTERS/s");
	grid__column(g, GRID_LEFT, "%s", "");
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < curves[i]->npredicted; k++) {
			const struct rate_prediction *p = &curves[i]->predicted[k];

			if (p->refused)
				continue;
			grid__row(g);
			grid__cell(g, "%s", names ? names[i] : curves[i]->label);
			grid__cell(g, "%llu", (unsigned long long)p->at);
			plus_minus(g, p->cost, 1e6, 2);
			rate_range(g, p->rate);
			grid__cell(g, "%s",
				   strcmp(curves[i]->fit.shape, "linear") == 0 ||
						   strcmp(curves[i]->fit.shape, "constant") == 0
					   ? ""
					   : "if linear");
		}
	return grid__print(g);
}

int report__fits(FILE *f, const struct rate_curve *const *curves, const char *const *names,
		 size_t n, const struct report_opts *o)
{
	struct grid *g = grid__new(f, o->width, o->color);
	int rc;

	fputs("\nFIT  cost per router = a + b · existing: least squares on 1/rate at each row's mean "
	      "count, rows\n     weighted by their routers; ±95 %; the rate at 0 is extrapolated\n",
	      f);
	grid__column(g, GRID_LEFT, "CASE");
	grid__column(g, GRID_RIGHT, "ROWS");
	grid__column(g, GRID_RIGHT, "a ms");
	grid__column(g, GRID_RIGHT, "b µs/existing");
	grid__column(g, GRID_LEFT, "SHAPE");
	grid__column(g, GRID_RIGHT, "OFF %%");
	grid__column(g, GRID_RIGHT, "RATE AT 0");
	for (size_t i = 0; i < n; i++) {
		const struct rate_fit *t = &curves[i]->fit;

		grid__row(g);
		grid__cell(g, "%s", names ? names[i] : curves[i]->label);
		grid__cell(g, "%zu", t->rows);
		plus_minus(g, t->a95, 1e6, 2);
		plus_minus(g, t->b95, 1e3, 3);
		grid__cell(g, "%s", t->shape);
		grid__number(g, t->worst * 100, 1);
		rate_range(g, t->rate0);
	}
	rc = grid__print(g);
	if (!rc)
		rc = print_predictions(f, curves, names, n, o);
	if (!rc)
		fit_notes(f, curves, names, n);
	return rc;
}

static void print_losses(FILE *f, const struct rate *r)
{
	const struct frt_loss *l = &r->lost;
	const struct {
		const char *what;
		uint64_t n;
	} lost[] = {
		{ "events", l->events },	   { "full maps", l->maps_full },
		{ "unpaired", l->unpaired },	   { "undecoded", l->undecoded },
		{ "untagged", l->untagged },	   { "samples", l->samples },
		{ "skipped programs", l->missed },
	};
	bool any = false;

	fprintf(f, "%llu events, ", (unsigned long long)l->sent);
	for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++) {
		if (!lost[i].n)
			continue;
		fprintf(f, "%s%s %llu", any ? ", " : "LOST: ", lost[i].what,
			(unsigned long long)lost[i].n);
		any = true;
	}
	fputs(any ? ".\n" : "nothing lost.\n", f);
}

/* --trace: where the time of a row's routers went. */
static int print_accounts(FILE *f, const struct rate *r, const struct report_opts *o)
{
	struct grid *g = grid__new(f, o->width, o->color);
	bool any = false;
	int rc;

	grid__column(g, GRID_LEFT, "EXISTING");
	grid__column(g, GRID_RIGHT, "N");
	for (unsigned k = 0; k < FRT_KINDS; k++)
		grid__column(g, GRID_RIGHT, "%s", frt_kind_names[k]);
	grid__column(g, GRID_LEFT, "CASE");
	for (size_t i = 0; i < r->ncurves; i++) {
		const struct rate_curve *c = &r->curves[i];

		for (size_t j = 0; j <= c->nrows && c->accounted; j++) {
			const struct rate_row *row = j < c->nrows ? &c->rows[j] : NULL;

			if (row && !row->accounted)
				continue;
			any = true;
			grid__row(g);
			if (row)
				grid__cell(g, "%llu–%llu", (unsigned long long)row->from,
					   (unsigned long long)row->to);
			else
				grid__cell(g, "all rows");
			grid__cell(g, "%.0f", row ? (double)row->n : c->kind_n);
			for (unsigned k = 0; k < FRT_KINDS; k++)
				grid__number(g, (row ? row->kind_ns[k] : c->kind_ns[k]) / 1e6, 2);
			grid__cell(g, "%s", c->label);
		}
	}
	if (any)
		fputs("\nACCOUNTING  ms per router, measured; the cost of looking is in it\n", f);
	rc = grid__print(g);
	if (!rc && r->traced)
		print_losses(f, r);
	return rc;
}

/* --trace: what a router takes longer for with more streams. */
static int print_added(FILE *f, const struct rate *r, const struct report_opts *o)
{
	struct grid *g = grid__new(f, o->width, o->color);
	bool any = false;

	grid__column(g, GRID_LEFT, "CASE");
	for (unsigned k = 0; k < FRT_KINDS; k++)
		grid__column(g, GRID_RIGHT, "%s", frt_kind_names[k]);
	for (size_t i = 0; i < r->ncurves; i++) {
		const struct rate_curve *c = &r->curves[i];

		if (c->streams < 2 || isnan(c->added_ns[0]))
			continue;
		any = true;
		grid__row(g);
		grid__cell(g, "%s", c->label);
		for (unsigned k = 0; k < FRT_KINDS; k++)
			grid__cell(g, "%+.2f", c->added_ns[k] / 1e6);
	}
	if (any)
		fputs("\nADDED  ms per router more than with one stream, measured\n", f);
	return grid__print(g);
}

static int print_streams(FILE *f, const struct rate *r, const struct report_opts *o)
{
	struct grid *g;
	bool one = false;
	int rc;

	if (!r->has_streams)
		return 0;
	fputs("\nSTREAMS  against one stream of the same mode, up to the count both reached\n", f);
	g = grid__new(f, o->width, o->color);
	grid__column(g, GRID_LEFT, "CASE");
	grid__column(g, GRID_RIGHT, "TO");
	grid__column(g, GRID_RIGHT, "AFTER s");
	grid__column(g, GRID_RIGHT, "× ONE");
	grid__column(g, GRID_RIGHT, "PER STREAM");
	grid__column(g, GRID_RIGHT, "PER min(S,CPUs)");
	for (size_t i = 0; i < r->ncurves; i++) {
		const struct rate_curve *c = &r->curves[i];

		one |= c->streams == 1;
		if (!c->npoints)
			continue;
		grid__row(g);
		grid__cell(g, "%s%s", c->label, c->stalled ? " STALLED" : "");
		grid__cell(g, "%llu", (unsigned long long)c->points[c->npoints - 1].count);
		grid__number(g, c->points[c->npoints - 1].t_ns / 1e9, 2);
		grid__number(g, c->speedup, 2);
		grid__number(g, c->per_stream, 2);
		grid__number(g, c->per_cpu, 2);
	}
	rc = grid__print(g);
	if (!rc && !one)
		fputs("No case of one stream: the efficiency is unknown; add 1 to --streams.\n", f);
	return rc ? rc : print_added(f, r, o);
}

/* By the letters of the legend where there is one. */
static int print_fits(FILE *f, const struct rate *r, const struct compare *sides,
		      const struct report_opts *o)
{
	const struct rate_curve **curves;
	int rc = -ENOMEM;

	if (sides)
		return report__compare_fits(f, sides, o);
	curves = calloc(r->ncurves + 1, sizeof(*curves));
	if (curves) {
		for (size_t i = 0; i < r->ncurves; i++)
			curves[i] = &r->curves[i];
		rc = report__fits(f, curves, NULL, r->ncurves, o);
	}
	free(curves);
	return rc;
}

int report__rate_summary(FILE *f, const struct rate *r, const struct compare *sides,
			 const struct report_opts *o)
{
	int rc = print_accounts(f, r, o);

	if (!rc && sides) {
		fputc('\n', f);
		for (size_t i = 0; i < sides->ncolumns; i++)
			fprintf(f, "%-3s %s\n", sides->column[i].letter, sides->column[i].label);
		rc = report__compare_rates(f, sides, o);
	}
	if (!rc)
		rc = print_streams(f, r, o);
	if (!rc)
		rc = print_fits(f, r, sides, o);
	for (size_t i = 0; i < r->ncurves && !rc; i++)
		if (r->curves[i].refused)
			fprintf(f,
				"\n%s: %zu rows or readings of the record make no sense and were left out.\n",
				r->curves[i].label, r->curves[i].refused);
	if (!rc && r->cause)
		fprintf(f, "\nEnded early: %s\n", r->cause);
	if (!rc && !r->complete)
		fputs("\nThe record has no end line: the run was cut off; this is as far as it goes.\n",
		      f);
	return rc;
}

int report__rate_text(FILE *f, const struct rate *r, const struct compare *sides,
		      const struct report_opts *o)
{
	for (size_t i = 0; i < r->ncurves; i++) {
		if (i)
			fputc('\n', f);
		report__rate_case(f, r, &r->curves[i]);
		for (size_t k = 0; k < r->curves[i].nrows; k++)
			report__rate_row(f, &r->curves[i].rows[k]);
	}
	return report__rate_summary(f, r, sides, o);
}
