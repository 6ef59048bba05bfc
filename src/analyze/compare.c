/* SPDX-License-Identifier: BSD-2-Clause */
/* Columns, their bases, and what an interval allows to be said. */
#include "analyze/compare.h"

#include "util/util.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Differences within this share are none to anybody who creates routers. */
#define SAME_WITHIN 0.05

const char *const compare__verdicts[] = { "unknown", "same", "slower", "faster" };
const char *const compare__sections[COMPARE_SECTIONS] = {
	[COMPARE_ROWS] = "rate",   [COMPARE_COUNTS] = "count",	 [COMPARE_REACHED] = "reached",
	[COMPARE_FIT] = "fit",	   [COMPARE_STEPS] = "step",	 [COMPARE_GROWTH] = "growth",
	[COMPARE_WHERE] = "where", [COMPARE_ACTIONS] = "action", [COMPARE_FUNCTIONS] = "function",
};

int compare__note(struct compare *c, bool loud, const char *fmt, ...)
{
	const char ***v = loud ? &c->loud : &c->notes;
	size_t *n = loud ? &c->nloud : &c->nnotes;
	char *line = NULL;
	va_list ap;
	int len;

	if (grow(v, *n, loud ? &c->caploud : &c->capnotes, sizeof(**v)))
		return -ENOMEM;
	va_start(ap, fmt);
	len = vasprintf(&line, fmt, ap);
	va_end(ap);
	if (len < 0)
		return -ENOMEM;
	(*v)[*n] = arena__printable(c->arena, line);
	free(line);
	if (!(*v)[*n])
		return -ENOMEM;
	(*n)++;
	return 0;
}

static const struct interval nothing = { NAN, NAN, NAN };

struct compare_row *compare__add(struct compare *c, enum compare_section s, const char *unit)
{
	struct compare_row *row;

	if (grow(&c->row, c->nrows, &c->cap, sizeof(*c->row)))
		return NULL;
	row = &c->row[c->nrows];
	*row = (struct compare_row){ .section = s, .unit = unit, .x0 = NAN, .x1 = NAN };
	row->cell = arena__alloc(c->arena, c->ncolumns * sizeof(*row->cell));
	if (!row->cell)
		return NULL;
	for (size_t i = 0; i < c->ncolumns; i++)
		row->cell[i] = (struct compare_cell){ .value = NAN,
						      .own = nothing,
						      .ratio = nothing,
						      .diff = nothing,
						      .share = NAN };
	c->nrows++;
	return row;
}

int compare__pool(struct compare *c, const struct estimate *run, size_t n, struct estimate *out)
{
	double *mean = arena__alloc(c->arena, n * sizeof(*mean));
	double *w = arena__alloc(c->arena, n * sizeof(*w));

	if (!mean || !w)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		w[i] = 1 / (double)n;
		mean[i] = run[i].mean;
	}
	*out = n >= STATS_MIN_N ? stats__estimate(mean, n) : stats__combine(run, w, n);
	return 0;
}

static enum compare_verdict judge_ratio(struct interval r, bool more_is_faster)
{
	if (isnan(r.lo) || isnan(r.hi))
		return COMPARE_UNKNOWN;
	if (r.lo > 1)
		return more_is_faster ? COMPARE_FASTER : COMPARE_SLOWER;
	if (r.hi < 1)
		return more_is_faster ? COMPARE_SLOWER : COMPARE_FASTER;
	if (r.lo > 1 - SAME_WITHIN && r.hi < 1 + SAME_WITHIN)
		return COMPARE_SAME;
	return COMPARE_UNKNOWN;
}

void compare__judge(const struct compare *c, struct compare_row *row, enum compare_kind kind,
		    const struct estimate *e, double p, bool more_is_faster)
{
	for (size_t i = 0; i < c->ncolumns; i++) {
		const struct compare_column *col = &c->column[i];
		struct compare_cell *cell = &row->cell[i];

		if (col->kind != kind || isnan(e[i].mean))
			continue;
		cell->value = e[i].mean;
		cell->n = e[i].n;
		cell->own = stats__mean(e[i], p);
		if (col->base == i || isnan(e[col->base].mean))
			continue;
		cell->ratio = stats__ratio(e[col->base], e[i], p);
		cell->diff = stats__difference(e[col->base], e[i], p);
		if (!col->differs && e[i].mean > 0 && e[col->base].mean > 0)
			cell->verdict = judge_ratio(cell->ratio, more_is_faster);
	}
}

static void name_letter(struct compare_column *col, size_t i)
{
	if (i < 26)
		snprintf(col->letter, sizeof(col->letter), "%c", (char)('A' + i));
	else
		snprintf(col->letter, sizeof(col->letter), "C%zu", (i + 1) % 100000);
}

static struct compare_column *add_column(struct compare *c, const struct compare_input *in)
{
	struct compare_column *col = &c->column[c->ncolumns];

	*col = (struct compare_column){ .file = in->path, .runs = 1, .base = c->ncolumns };
	name_letter(col, c->ncolumns);
	c->ncolumns++;
	return col;
}

static int add_rate(struct compare *c, const struct compare_input *in)
{
	const struct rate *r = in->rate;
	bool *taken = arena__alloc(c->arena, r->ncurves * sizeof(*taken));
	char label[RATE_LABEL_MAX];

	if (!taken)
		return -ENOMEM;
	for (size_t i = 0; i < r->ncurves; i++) {
		const struct rate_curve *first = &r->curves[i], **runs;
		struct compare_column *col;

		if (taken[i])
			continue;
		runs = arena__alloc(c->arena, (r->ncurves - i) * sizeof(*runs));
		if (!runs)
			return -ENOMEM;
		col = add_column(c, in);
		col->kind = COMPARE_RATE;
		col->label = first->label;
		col->mode = first->mode;
		col->streams = first->streams;
		col->curves = runs;
		col->complete = r->complete;
		col->runs = 0;
		for (size_t k = i; k < r->ncurves; k++) {
			const struct rate_curve *other = &r->curves[k];

			if (k != i &&
			    (r->from_table || other->mode != first->mode ||
			     other->streams != first->streams || other->sampled != first->sampled))
				continue;
			taken[k] = true;
			runs[col->runs++] = other;
			for (size_t j = 0; j < other->nrows; j++)
				col->n += other->rows[j].n;
		}
		col->over_runs = col->runs >= STATS_MIN_N;
		if (col->runs > 1) /* the label without the run's number */
			col->label = arena__strdup(
				c->arena, rate__label(label, sizeof(label), r, first, false));
		if (!col->label)
			return -ENOMEM;
	}
	return 0;
}

static int mode_of_name(const char *name)
{
	for (int m = 0; name && m < FRT_WORKMODES; m++)
		if (strcmp(rate__mode_name(m), name) == 0)
			return m;
	return RATE_MODE_UNKNOWN;
}

static int add_profile(struct compare *c, const struct compare_input *in)
{
	const struct frt_profile *p = in->profile;
	const char *kernel = json_string_value(json_object_get(p->environment, "kernel"));
	struct compare_column *col = add_column(c, in);
	char clean[96], mode[96];

	col->kind = COMPARE_PROFILE;
	col->profile = p;
	col->mode = mode_of_name(p->mode);
	col->complete = p->complete;
	for (size_t i = 0; i < p->nlevels; i++) {
		col->streams = p->levels[i].streams;
		if (p->levels[i].run > col->runs)
			col->runs = p->levels[i].run;
		if (i == 0)
			col->n = p->levels[i].routers;
	}
	col->over_runs = col->runs >= STATS_MIN_N;
	col->label = arena__printf(
		c->arena, "%s %s%s", printable(clean, sizeof(clean), kernel ? kernel : "?"),
		printable(mode, sizeof(mode), p->mode ? p->mode : "?"),
		p->backend && strcmp(p->backend, "untraced") == 0 ? " untraced" : "");
	return col->label ? 0 : -ENOMEM;
}

/* Have these anything to be compared by: profiles, rows of rates, or counts
 * over time? */
static bool comparable(const struct compare_column *a, const struct compare_column *b)
{
	const struct rate_curve *x, *y;

	if (a->kind != b->kind || a->kind == COMPARE_PROFILE)
		return a->kind == b->kind;
	x = a->curves[0];
	y = b->curves[0];
	return (x->nrows && !x->rows_of_points && y->nrows && !y->rows_of_points) ||
	       (x->npoints && y->npoints);
}

/* Both known and not the same. */
static bool modes_differ(const struct compare_column *a, const struct compare_column *b)
{
	return a->mode != b->mode && a->mode != RATE_MODE_UNKNOWN && b->mode != RATE_MODE_UNKNOWN;
}

static bool streams_differ(const struct compare_column *a, const struct compare_column *b)
{
	return a->streams != b->streams && a->streams && b->streams;
}

static const char *option_text(const struct json_t *o, const char *name)
{
	const char *s = json_string_value(json_object_get(o, name));

	return s ? s : "";
}

/* In what the work of col differs from its base's, as text; NULL: in nothing known. */
static const char *difference(struct compare *c, const struct compare_column *col,
			      const struct compare_column *base, const struct json_t *a,
			      const struct json_t *b)
{
	static const char *const options[] = { "ip", "sudo", "create", "destroy" };

	if (modes_differ(base, col))
		return arena__printf(c->arena, "mode %s, not %s", rate__mode_name(col->mode),
				     rate__mode_name(base->mode));
	if (streams_differ(base, col))
		return arena__printf(c->arena, "%u stream%s, not %u", col->streams,
				     col->streams == 1 ? "" : "s", base->streams);
	if (!a || !b)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		const char *x = option_text(a, options[i]), *y = option_text(b, options[i]);

		if (strcmp(x, y) != 0)
			return arena__printf(c->arena, "--%s '%s', not '%s'", options[i], y, x);
	}
	return NULL;
}

static const struct json_t *options_of(const struct compare_input *in, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (in[i].path == path)
			return in[i].options;
	return NULL;
}

static int choose_bases(struct compare *c, const struct compare_input *in, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < c->ncolumns && !rc; i++) {
		struct compare_column *col = &c->column[i];
		size_t first = c->ncolumns, same = c->ncolumns;

		for (size_t k = i; k-- > 0;) {
			const struct compare_column *b = &c->column[k];

			if (!comparable(b, col))
				continue;
			first = k;
			if (!modes_differ(b, col) && !streams_differ(b, col))
				same = k;
		}
		if (first == c->ncolumns)
			continue;
		col->base = same < c->ncolumns ? same : first;
		col->differs = difference(c, col, &c->column[col->base],
					  options_of(in, n, c->column[col->base].file),
					  options_of(in, n, col->file));
		if (col->differs)
			rc = compare__note(
				c, true,
				"%s is another workload than %s (%s): its ratios are the workload's; "
				"no verdict",
				col->letter, c->column[col->base].letter, col->differs);
	}
	return rc;
}

/* Letters of the columns that are one run, "A, B" */
static const char *single_runs(struct compare *c, size_t *n)
{
	const char *letters = "";

	for (size_t i = 0; i < c->ncolumns && letters; i++)
		if (c->column[i].runs == 1)
			letters = arena__printf(c->arena, "%s%s%s", letters, (*n)++ ? ", " : "",
						c->column[i].letter);
	return letters;
}

static int note_column(struct compare *c, const struct compare_column *col)
{
	const struct compare_column *base = &c->column[col->base];
	int rc = 0;

	if (!col->complete)
		rc = compare__note(c, true, "%s: the record ends early; compared as far as it goes",
				   col->letter);
	for (uint32_t r = 0; col->kind == COMPARE_RATE && r < col->runs && !rc; r++)
		if (col->curves[r]->stalled)
			rc = compare__note(c, true, "%s: a run stalled; compared as far as it went",
					   col->letter);
	if (!rc && col->runs > 1 && !col->over_runs)
		rc = compare__note(
			c, false,
			"%s is %u runs: means over them, intervals within them (over runs from %d "
			"runs on)",
			col->letter, col->runs, STATS_MIN_N);
	if (!rc && col->profile && base->profile->backend && col->profile->backend &&
	    strcmp(col->profile->backend, base->profile->backend) != 0)
		rc = compare__note(
			c, false, "%s was traced by %s, %s by %s: the cost of looking differs",
			base->letter, base->profile->backend, col->letter, col->profile->backend);
	return rc;
}

static int note_columns(struct compare *c)
{
	size_t single = 0;
	const char *letters = single_runs(c, &single);
	int rc = letters ? 0 : -ENOMEM;

	if (!rc && single)
		rc = compare__note(c, false,
				   "%s: %s (n = 1): no interval holds what differs from run to run",
				   letters, single > 1 ? "one run each" : "one run");
	for (size_t i = 0; i < c->ncolumns && !rc; i++)
		rc = note_column(c, &c->column[i]);
	return rc;
}

static int build(struct compare *c, const struct compare_input *in, size_t n, char *err,
		 size_t errlen)
{
	size_t room = 0, paired = 0;
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		room += in[i].rate ? in[i].rate->ncurves : 1;
	c->column = arena__alloc(c->arena, room * sizeof(*c->column));
	if (!c->column)
		return -ENOMEM;
	for (size_t i = 0; i < n && !rc; i++)
		rc = in[i].rate ? add_rate(c, &in[i]) : add_profile(c, &in[i]);
	if (!rc)
		rc = choose_bases(c, in, n);
	if (rc)
		return rc;
	for (size_t i = 0; i < c->ncolumns; i++)
		paired += c->column[i].base != i;
	if (!paired)
		return fail(
			err, errlen, -EINVAL,
			"nothing to compare: %zu column%s and no two of one kind; give two records "
			"or tables of the same kind",
			c->ncolumns, c->ncolumns == 1 ? "" : "s");
	rc = note_columns(c);
	if (!rc)
		rc = compare__rates(c);
	return rc ? rc : compare__profiles(c);
}

int analyze__compare(const struct compare_input *in, size_t n, struct compare **out, char *err,
		     size_t errlen)
{
	struct compare *c = calloc(1, sizeof(*c));
	int rc = -ENOMEM;

	*out = NULL;
	if (!c)
		return fail(err, errlen, rc, "out of memory");
	c->arena = arena__new();
	if (c->arena)
		rc = build(c, in, n, err, errlen);
	if (rc == -ENOMEM)
		fail(err, errlen, rc, "out of memory");
	if (rc)
		compare__free(c);
	else
		*out = c;
	return rc;
}

void compare__free(struct compare *c)
{
	if (!c)
		return;
	free(c->row);
	free(c->loud);
	free(c->notes);
	arena__free(c->arena);
	free(c);
}
