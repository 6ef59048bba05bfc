/* SPDX-License-Identifier: BSD-2-Clause */
/* A comparison as text, at most 100 columns. */
#include "report/compare.h"

#include "report/grid.h"
#include "util/util.h"
#include "report/rate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Compared columns side by side in one block, so that it stays within 100. */
#define BLOCK 3

static const char *verdict_color(enum compare_verdict v)
{
	return v == COMPARE_SLOWER ? "red" : v == COMPARE_FASTER ? "green" : NULL;
}

static void verdict_cell(struct grid *g, enum compare_verdict v)
{
	grid__cell(g, "%s", compare__verdicts[v]);
	if (verdict_color(v))
		grid__color(g, verdict_color(v));
}

static void half_width(struct grid *g, struct interval i, double unit, int decimals)
{
	grid__number(g, (i.hi - i.lo) / 2 / unit, decimals);
}

/* How a row of rates is called, by its section. */
static void row_name(struct grid *g, const struct compare_row *row)
{
	switch (row->section) {
	case COMPARE_ROWS:
		grid__cell(g, "%.0f–%.0f", row->x0, row->x1);
		break;
	case COMPARE_COUNTS:
		grid__cell(g, "%.10g", row->x0);
		break;
	case COMPARE_REACHED:
		grid__cell(g, "%.0f routers", row->x0);
		break;
	default:
		grid__cell(g, "%s", row->what ? row->what : row->key);
	}
}

static double unit_of(const struct compare_row *row)
{
	if (row->section == COMPARE_REACHED)
		return 1e9;
	if (strcmp(row->unit, "ns") == 0)
		return 1e6;
	return strcmp(row->unit, "ns/existing") == 0 ? 1e3 : 1;
}

struct rates_table {
	enum compare_section section;
	const char *title, *head;
	int decimals;
};

static bool has_section(const struct compare *c, enum compare_section s)
{
	for (size_t i = 0; i < c->nrows; i++)
		if (c->row[i].section == s)
			return true;
	return false;
}

/* Rate columns that have anything in this section. */
static size_t columns_in(const struct compare *c, enum compare_section s, size_t *out)
{
	size_t n = 0;

	for (size_t i = 0; i < c->ncolumns; i++) {
		bool any = false;

		for (size_t r = 0; r < c->nrows && !any; r++)
			any = c->row[r].section == s && !isnan(c->row[r].cell[i].value);
		if (any)
			out[n++] = i;
	}
	return n;
}

static int print_block(FILE *f, const struct compare *c, const struct rates_table *t,
		       const size_t *col, size_t n, const struct report_opts *o)
{
	struct grid *g = grid__new(f, o->width, o->color);

	grid__column(g, GRID_LEFT, "%s", t->head);
	for (size_t i = 0; i < n; i++) {
		const struct compare_column *column = &c->column[col[i]];

		grid__column(g, GRID_RIGHT, "%s", column->letter);
		if (column->base != col[i])
			grid__column(g, GRID_LEFT, "%s/%s", column->letter,
				     c->column[column->base].letter);
	}
	for (size_t r = 0; r < c->nrows; r++) {
		const struct compare_row *row = &c->row[r];

		if (row->section != t->section)
			continue;
		grid__row(g);
		row_name(g, row);
		for (size_t i = 0; i < n; i++) {
			const struct compare_cell *cell = &row->cell[col[i]];

			grid__number(g, cell->value / unit_of(row), t->decimals);
			if (c->column[col[i]].base == col[i])
				continue;
			if (isnan(cell->ratio.at))
				grid__cell(g, "-");
			else if (cell->verdict == COMPARE_UNKNOWN)
				grid__cell(g, "%.2f", cell->ratio.at);
			else
				grid__cell(g, "%.2f %s", cell->ratio.at,
					   compare__verdicts[cell->verdict]);
			if (verdict_color(cell->verdict))
				grid__color(g, verdict_color(cell->verdict));
		}
	}
	return grid__print(g);
}

/* The base of a block's columns stands in front of them. */
static int print_rates(FILE *f, const struct compare *c, const struct rates_table *t,
		       const struct report_opts *o)
{
	size_t *col = calloc(2 * c->ncolumns + 1, sizeof(*col)), *block = col + c->ncolumns, n;
	int rc = col ? 0 : -ENOMEM;

	n = rc ? 0 : columns_in(c, t->section, col);
	if (n)
		fprintf(f, "\n%s\n", t->title);
	for (size_t i = 0; i < n && !rc;) {
		size_t k = 0, compared = 0;

		if (i && c->column[col[i]].base != col[i])
			block[k++] = c->column[col[i]].base;
		while (i < n && compared < BLOCK) {
			compared += c->column[col[i]].base != col[i];
			block[k++] = col[i++];
		}
		rc = print_block(f, c, t, block, k, o);
		if (i < n)
			fputc('\n', f);
	}
	free(col);
	return rc;
}

int report__compare_rates(FILE *f, const struct compare *c, const struct report_opts *o)
{
	static const struct rates_table tables[] = {
		{ COMPARE_ROWS, "RATES  routers/s by existing routers", "EXISTING", 2 },
		{ COMPARE_COUNTS, "COUNTS  routers after so many seconds", "SECONDS", 0 },
		{ COMPARE_REACHED,
		  "REACHED  seconds until so many, between readings by straight line", "TO", 1 },
	};
	int rc = 0;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !rc; i++)
		if (has_section(c, tables[i].section))
			rc = print_rates(f, c, &tables[i], o);
	return rc;
}

static void print_columns(FILE *f, const struct compare *c)
{
	for (size_t i = 0; i < c->ncolumns; i++) {
		const struct compare_column *col = &c->column[i];
		char file[400];

		fprintf(f, "%-3s %s · %s · %s", col->letter, col->label,
			col->kind == COMPARE_RATE ? "rate" : "profile",
			printable(file, sizeof(file), col->file));
		if (col->kind == COMPARE_RATE)
			fprintf(f, " · %llu routers", (unsigned long long)col->n);
		else
			fprintf(f, " · %llu routers per level", (unsigned long long)col->n);
		fprintf(f, " · %u run%s\n", col->runs, col->runs == 1 ? "" : "s");
	}
	for (size_t i = 0; i < c->nloud; i++)
		fprintf(f, "!!  %s\n", c->loud[i]);
	for (size_t i = 0; i < c->nnotes; i++)
		fprintf(f, "    %s\n", c->notes[i]);
}

int report__compare_fits(FILE *f, const struct compare *c, const struct report_opts *o)
{
	const struct rate_curve **curves;
	const char **names;
	char(*text)[24];
	size_t n = 0;
	int rc = -ENOMEM;

	for (size_t i = 0; i < c->ncolumns; i++)
		n += c->column[i].kind == COMPARE_RATE ? c->column[i].runs : 0;
	if (!n)
		return 0;
	curves = calloc(n, sizeof(*curves));
	names = calloc(n, sizeof(*names));
	text = calloc(n, sizeof(*text));
	n = 0;
	for (size_t i = 0; curves && names && text && i < c->ncolumns; i++) {
		const struct compare_column *col = &c->column[i];

		for (uint32_t r = 0; col->kind == COMPARE_RATE && r < col->runs; r++, n++) {
			snprintf(text[n], sizeof(text[n]), "%s", col->letter);
			if (col->runs > 1)
				snprintf(text[n], sizeof(text[n]), "%s run %u", col->letter, r + 1);
			names[n] = text[n];
			curves[n] = col->curves[r];
		}
	}
	if (n)
		rc = report__fits(f, curves, names, n, o);
	free(curves);
	free(names);
	free(text);
	return rc;
}

static int print_fits(FILE *f, const struct compare *c, const struct report_opts *o)
{
	static const struct rates_table table = { COMPARE_FIT,
						  "FITTED  a ms, b µs/existing, rate/s", "", 3 };
	int rc = report__compare_fits(f, c, o);

	return rc ? rc : print_rates(f, c, &table, o);
}

/* What a row of a profile is about. */
static void profile_name(struct grid *g, const struct compare_row *row)
{
	grid__cell(g, "%s", row->step);
	if (row->section == COMPARE_GROWTH)
		grid__cell(g, "%.0f → %.0f", row->x0, row->x1);
	else if (row->section != COMPARE_WHERE)
		grid__cell(g, "%.0f", row->x0);
}

static void ms_cell(struct grid *g, const struct compare_cell *cell)
{
	if (isnan(cell->value))
		grid__cell(g, "-");
	else if (isnan(cell->own.lo))
		grid__cell(g, "%.3f", cell->value / 1e6);
	else
		grid__cell(g, "%.3f ±%.3f", cell->value / 1e6, (cell->own.hi - cell->own.lo) / 2e6);
}

static int print_steps(FILE *f, const struct compare *c, size_t col, const struct report_opts *o)
{
	const struct compare_column *me = &c->column[col], *base = &c->column[me->base];
	struct grid *g = grid__new(f, o->width, o->color);

	fprintf(f, "\nSTEPS  %s against %s, wall in ms ±95 %%\n", me->letter, base->letter);
	grid__column(g, GRID_LEFT, "STEP");
	grid__column(g, GRID_RIGHT, "EXISTING");
	grid__column(g, GRID_RIGHT, "%s", base->letter);
	grid__column(g, GRID_RIGHT, "%s", me->letter);
	grid__column(g, GRID_RIGHT, "%s/%s", me->letter, base->letter);
	grid__column(g, GRID_RIGHT, "±95 %%");
	grid__column(g, GRID_LEFT, "VERDICT");
	for (size_t r = 0; r < c->nrows; r++) {
		const struct compare_row *row = &c->row[r];
		const struct compare_cell *cell = &row->cell[col];

		if (row->section != COMPARE_STEPS)
			continue;
		grid__row(g);
		profile_name(g, row);
		ms_cell(g, &row->cell[me->base]);
		ms_cell(g, cell);
		grid__number(g, cell->ratio.at, 3);
		half_width(g, cell->ratio, 1, 3);
		verdict_cell(g, cell->verdict);
	}
	return grid__print(g);
}

static int print_growth(FILE *f, const struct compare *c, size_t col, const struct report_opts *o)
{
	const struct compare_column *me = &c->column[col], *base = &c->column[me->base];
	struct grid *g = grid__new(f, o->width, o->color);

	if (has_section(c, COMPARE_GROWTH))
		fprintf(f, "\nGROWTH  %s against %s, ms per router ±99 %%\n", me->letter,
			base->letter);
	grid__column(g, GRID_LEFT, "STEP");
	grid__column(g, GRID_LEFT, "LEVELS");
	grid__column(g, GRID_RIGHT, "%s", base->letter);
	grid__column(g, GRID_RIGHT, "%s", me->letter);
	grid__column(g, GRID_RIGHT, "DIFFERENCE");
	grid__column(g, GRID_RIGHT, "±99 %%");
	grid__column(g, GRID_LEFT, "VERDICT");
	for (size_t r = 0; r < c->nrows; r++) {
		const struct compare_row *row = &c->row[r];
		const struct compare_cell *cell = &row->cell[col];

		if (row->section != COMPARE_GROWTH)
			continue;
		grid__row(g);
		profile_name(g, row);
		ms_cell(g, &row->cell[me->base]);
		ms_cell(g, cell);
		grid__number(g, cell->diff.at / 1e6, 3);
		half_width(g, cell->diff, 1e6, 3);
		verdict_cell(g, cell->verdict);
	}
	return grid__print(g);
}

/* Growth by action and place: what is real, and how many rows are not. */
static int print_where(FILE *f, const struct compare *c, size_t col, const struct report_opts *o)
{
	const struct compare_column *me = &c->column[col], *base = &c->column[me->base];
	struct grid *g = grid__new(f, o->width, o->color);
	size_t silent = 0, shown = 0;
	int rc;

	grid__column(g, GRID_LEFT, "STEP");
	grid__column(g, GRID_LEFT, "ACTION");
	grid__column(g, GRID_LEFT, "WHERE");
	grid__column(g, GRID_RIGHT, "%s", base->letter);
	grid__column(g, GRID_RIGHT, "%s", me->letter);
	grid__column(g, GRID_RIGHT, "DIFFERENCE");
	grid__column(g, GRID_RIGHT, "±99 %%");
	grid__column(g, GRID_LEFT, "VERDICT");
	for (size_t r = 0; r < c->nrows; r++) {
		const struct compare_row *row = &c->row[r];
		const struct compare_cell *cell = &row->cell[col], *old = &row->cell[me->base];

		if (row->section != COMPARE_WHERE || (isnan(cell->value) && isnan(old->value)))
			continue;
		if (cell->verdict != COMPARE_SLOWER && cell->verdict != COMPARE_FASTER &&
		    !isnan(cell->value) && !isnan(old->value)) {
			silent++;
			continue;
		}
		shown++;
		grid__row(g);
		profile_name(g, row);
		grid__cell(g, "%.28s", row->action);
		grid__cell(g, "%s %.24s", row->what, row->where ? row->where : "");
		grid__number(g, old->value / 1e6, 3);
		grid__number(g, cell->value / 1e6, 3);
		grid__number(g, cell->diff.at / 1e6, 3);
		half_width(g, cell->diff, 1e6, 3);
		verdict_cell(g, cell->verdict);
	}
	if (shown)
		fprintf(f,
			"\nGROWTH BY PLACE  %s against %s, ms per router ±99 %%; - is below 1 %% there\n",
			me->letter, base->letter);
	rc = grid__print(g);
	if (!rc && silent)
		fprintf(f,
			"%zu more row%s of growth, the same within %s interval%s or not certain.\n",
			silent, silent == 1 ? "" : "s", silent == 1 ? "its" : "their",
			silent == 1 ? "" : "s");
	return rc;
}

static int print_explained(FILE *f, const struct compare *c, size_t col, enum compare_section s,
			   const char *title, const struct report_opts *o)
{
	const struct compare_column *me = &c->column[col], *base = &c->column[me->base];
	struct grid *g = grid__new(f, o->width, o->color);
	bool any = false;

	grid__column(g, GRID_LEFT, "STEP");
	grid__column(g, GRID_RIGHT, "EXISTING");
	grid__column(g, GRID_LEFT, "%s", s == COMPARE_FUNCTIONS ? "FUNCTION" : "ACTION");
	grid__column(g, GRID_RIGHT, "%s", base->letter);
	grid__column(g, GRID_RIGHT, "%s", me->letter);
	grid__column(g, GRID_RIGHT, "DIFFERENCE");
	grid__column(g, GRID_RIGHT, "OF THE STEP'S");
	for (size_t r = 0; r < c->nrows; r++) {
		const struct compare_row *row = &c->row[r];
		const struct compare_cell *cell = &row->cell[col];

		if (row->section != s || isnan(cell->share))
			continue;
		any = true;
		grid__row(g);
		profile_name(g, row);
		if (row->where)
			grid__cell(g, "%.40s", row->where);
		else
			grid__cell(g, "%.30s %s", row->action, row->what);
		grid__number(g, row->cell[me->base].value / 1e6, 3);
		grid__number(g, cell->value / 1e6, 3);
		grid__number(g, cell->diff.at / 1e6, 3);
		grid__cell(g, "%.0f %%", cell->share * 100);
	}
	if (any)
		fprintf(f, "\n%s  %s against %s, ms per router, measured; sums, without interval\n",
			title, me->letter, base->letter);
	return grid__print(g);
}

static int print_profile(FILE *f, const struct compare *c, size_t col, const struct report_opts *o)
{
	int rc = print_steps(f, c, col, o);

	if (!rc)
		rc = print_growth(f, c, col, o);
	if (!rc)
		rc = print_where(f, c, col, o);
	if (!rc)
		rc = print_explained(f, c, col, COMPARE_ACTIONS, "EXPLAINED BY ACTIONS", o);
	if (!rc)
		rc = print_explained(f, c, col, COMPARE_FUNCTIONS, "EXPLAINED BY FUNCTIONS (self)",
				     o);
	return rc;
}

int report__compare_text(FILE *f, const struct compare *c, const struct report_opts *o)
{
	int rc;

	print_columns(f, c);
	rc = report__compare_rates(f, c, o);
	if (!rc)
		rc = print_fits(f, c, o);
	for (size_t i = 0; i < c->ncolumns && !rc; i++)
		if (c->column[i].kind == COMPARE_PROFILE && c->column[i].base != i)
			rc = print_profile(f, c, i, o);
	return rc;
}
