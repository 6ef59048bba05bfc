/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/grid.h"
#include "util/utf8.h"

#include <errno.h>
#include <libsmartcols/libsmartcols.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

struct grid {
	struct libscols_table *t;
	struct libscols_line *line;
	size_t next; /* cell of line */
	bool color;
	int rc;
};

struct grid *grid__new(FILE *f, unsigned width, bool color)
{
	struct grid *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->t = scols_new_table();
	if (!g->t) {
		free(g);
		return NULL;
	}
	g->color = color;
	scols_table_set_stream(g->t, f);
	scols_table_set_termforce(g->t, SCOLS_TERMFORCE_ALWAYS);
	scols_table_set_termwidth(g->t, width ? width : 100);
	scols_table_enable_colors(g->t, color);
	scols_table_set_column_separator(g->t, "  ");
	scols_table_enable_nowrap(g->t, 1);
	return g;
}

static char *text_of(struct grid *g, const char *fmt, va_list ap)
{
	char *s = NULL;

	if (vasprintf(&s, fmt, ap) < 0) {
		g->rc = -ENOMEM;
		return NULL;
	}
	return utf8__available() ? s : utf8__to_ascii(s);
}

void grid__column(struct grid *g, int align, const char *fmt, ...)
{
	va_list ap;
	char *s;

	if (!g || g->rc)
		return;
	va_start(ap, fmt);
	s = text_of(g, fmt, ap);
	va_end(ap);
	if (s && !scols_table_new_column(g->t, s, 0, align == GRID_RIGHT ? SCOLS_FL_RIGHT : 0))
		g->rc = -ENOMEM;
	free(s);
}

void grid__row(struct grid *g)
{
	if (!g || g->rc)
		return;
	g->line = scols_table_new_line(g->t, NULL);
	g->next = 0;
	if (!g->line)
		g->rc = -ENOMEM;
}

void grid__cell(struct grid *g, const char *fmt, ...)
{
	va_list ap;
	char *s;

	if (!g || g->rc)
		return;
	va_start(ap, fmt);
	s = text_of(g, fmt, ap);
	va_end(ap);
	if (!s)
		return;
	g->rc = scols_line_refer_data(g->line, g->next++, s); /* the table's from here */
	if (g->rc)
		free(s);
}

void grid__color(struct grid *g, const char *color)
{
	if (g && !g->rc && g->color && g->next)
		g->rc = scols_cell_set_color(scols_line_get_cell(g->line, g->next - 1), color);
}

void grid__number(struct grid *g, double v, int decimals)
{
	if (isnan(v))
		grid__cell(g, "-");
	else
		grid__cell(g, "%.*f", decimals, v);
}

int grid__print(struct grid *g)
{
	struct utf8 utf8;
	int rc;

	if (!g)
		return -ENOMEM;
	rc = g->rc;
	if (!rc && scols_table_get_nlines(g->t)) {
		/* libsmartcols shows what the locale cannot print as \xNN */
		utf8__begin(&utf8);
		rc = scols_print_table(g->t);
		utf8__end(&utf8);
	}
	scols_unref_table(g->t);
	free(g);
	return rc;
}
