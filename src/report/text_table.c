/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables that come out the same in a terminal, a pipe and a file. */
#include "report/text.h"
#include "util/utf8.h"

#include <errno.h>
#include <limits.h>
#include <libsmartcols/libsmartcols.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

struct cell {
	const char *text, *color;
};

struct line {
	size_t parent; /* number of the line + 1; 0 none */
	struct libscols_line *scols;
	struct cell cell[TEXT_COLUMNS];
};

struct text_table {
	struct text *t;
	struct text_column column[TEXT_COLUMNS];
	bool dropped[TEXT_COLUMNS];
	unsigned width[TEXT_COLUMNS];
	size_t ncolumns, nlines, cap, at;
	unsigned gap; /* blanks between columns */
	struct line *line;
};

/* Columns of a terminal that s takes. */
static unsigned text_width(const char *s)
{
	mbstate_t state = { 0 };
	unsigned n = 0;
	wchar_t wc;
	size_t len;

	while (*s) {
		len = mbrtowc(&wc, s, MB_LEN_MAX, &state);
		if (len == (size_t)-1 || len == (size_t)-2 || len == 0) {
			memset(&state, 0, sizeof(state));
			len = 1;
			n++;
		} else {
			int w = wcwidth(wc);

			n += w > 0 ? (unsigned)w : 0;
		}
		s += len;
	}
	return n;
}

/* What libsmartcols gets to see of s. */
static const char *shown(struct text *t, const char *s)
{
	char *copy;

	if (utf8__available())
		return s;
	copy = arena__strdup(t->a, s);
	if (copy)
		return utf8__to_ascii(copy);
	t->err = -ENOMEM;
	return "";
}

struct text_table *text_table__new(struct text *t, const struct text_column *columns, size_t n)
{
	struct text_table *tb = arena__alloc(t->a, sizeof(*tb));

	if (!tb || n > TEXT_COLUMNS) {
		t->err = t->err ? t->err : -ENOMEM;
		return NULL;
	}
	tb->t = t;
	tb->ncolumns = n;
	memcpy(tb->column, columns, n * sizeof(*columns));
	for (size_t c = 0; c < n; c++)
		tb->column[c].head = shown(t, columns[c].head);
	return tb;
}

size_t text_table__line(struct text_table *tb, size_t parent)
{
	if (!tb || tb->t->err)
		return 0;
	if (grow(&tb->line, tb->nlines, &tb->cap, sizeof(*tb->line))) {
		tb->t->err = -ENOMEM;
		return 0;
	}
	memset(&tb->line[tb->nlines], 0, sizeof(*tb->line));
	tb->line[tb->nlines].parent = parent;
	tb->at = 0;
	return ++tb->nlines;
}

void text_table__colored(struct text_table *tb, const char *color, const char *s)
{
	if (!tb || tb->t->err || !tb->nlines || tb->at >= tb->ncolumns)
		return;
	tb->line[tb->nlines - 1].cell[tb->at++] = (struct cell){ shown(tb->t, s),
								 *s ? color : NULL };
}

void text_table__cell(struct text_table *tb, const char *s)
{
	text_table__colored(tb, NULL, s);
}

/* How deep a line hangs; a branch takes two columns a level. */
static unsigned line_depth(const struct text_table *tb, size_t i)
{
	unsigned depth = 0;

	while (tb->line[i].parent && depth < 100) {
		i = tb->line[i].parent - 1;
		depth++;
	}
	return depth;
}

static void text_table__measure(struct text_table *tb)
{
	for (size_t c = 0; c < tb->ncolumns; c++) {
		tb->width[c] = text_width(tb->column[c].head);
		for (size_t i = 0; i < tb->nlines; i++) {
			const char *s = tb->line[i].cell[c].text;
			unsigned w = s ? text_width(s) : 0;

			if (tb->column[c].tree)
				w += 2 * line_depth(tb, i);
			if (w > tb->width[c])
				tb->width[c] = w;
		}
	}
}

static unsigned text_table__total(const struct text_table *tb)
{
	unsigned total = 0;

	for (size_t c = 0; c < tb->ncolumns; c++)
		if (!tb->dropped[c])
			total += tb->width[c] + tb->gap;
	return total ? total - tb->gap : 0;
}

#define SHRINK_LEAST 6 /* what is left of a name when nothing else helps */

/* The widest column that may still be made narrower; -1: none. hard: below what
 * it asked for. */
static int text_table__shrinkable(const struct text_table *tb, bool hard)
{
	int best = -1;

	for (size_t c = 0; c < tb->ncolumns; c++) {
		unsigned least = hard ? SHRINK_LEAST : tb->column[c].shrink;

		if (!tb->dropped[c] && tb->column[c].shrink && tb->width[c] > least &&
		    (best < 0 || tb->width[c] > tb->width[best]))
			best = (int)c;
	}
	return best;
}

/* The column to leave out next; -1: none. */
static int text_table__droppable(const struct text_table *tb)
{
	int best = -1;

	for (size_t c = 0; c < tb->ncolumns; c++)
		if (!tb->dropped[c] && tb->column[c].drop &&
		    (best < 0 || tb->column[c].drop < tb->column[best].drop))
			best = (int)c;
	return best;
}

static void text_table__fit(struct text_table *tb)
{
	int c;

	text_table__measure(tb);
	tb->gap = 2;
	if (text_table__total(tb) > tb->t->width)
		tb->gap = 1;
	while (text_table__total(tb) > tb->t->width) {
		c = text_table__shrinkable(tb, false);
		if (c >= 0) {
			tb->width[c]--;
			continue;
		}
		c = text_table__droppable(tb);
		if (c >= 0) {
			tb->dropped[c] = true;
			continue;
		}
		c = text_table__shrinkable(tb, true);
		if (c < 0)
			break;
		tb->width[c]--;
	}
}

/* s cut to width columns, "…" at its end. */
static const char *cut(struct text *t, const char *s, unsigned width)
{
	mbstate_t state = { 0 };
	unsigned n = 0;
	const char *p = s;
	wchar_t wc;
	size_t len;

	if (text_width(s) <= width)
		return s;
	while (*p) {
		len = mbrtowc(&wc, p, MB_LEN_MAX, &state);
		if (len == (size_t)-1 || len == (size_t)-2 || len == 0)
			break;
		if (n + (wcwidth(wc) > 0 ? (unsigned)wcwidth(wc) : 0) + 1 > width)
			break;
		n += wcwidth(wc) > 0 ? (unsigned)wcwidth(wc) : 0;
		p += len;
	}
	return shown(t, text__printf(t, "%.*s…", (int)(p - s), s));
}

/* The column that all lines of a tree hang in, branches included, as scols wants it. */
static int add_columns(struct text_table *tb, struct libscols_table *st)
{
	for (size_t c = 0; c < tb->ncolumns; c++) {
		const struct text_column *col = &tb->column[c];
		int flags = (col->align == TEXT_RIGHT ? SCOLS_FL_RIGHT : 0) |
			    (col->tree ? SCOLS_FL_TREE : 0);
		struct libscols_column *cl;

		if (tb->dropped[c])
			continue;
		cl = scols_table_new_column(st, col->head, tb->width[c], flags);
		if (!cl ||
		    (tb->t->color && scols_cell_set_color(scols_column_get_header(cl), TEXT_BOLD)))
			return -ENOMEM;
	}
	return 0;
}

static int add_line(struct text_table *tb, struct libscols_table *st, size_t i)
{
	struct line *l = &tb->line[i];
	size_t to = 0;

	l->scols = scols_table_new_line(st, l->parent ? tb->line[l->parent - 1].scols : NULL);
	if (!l->scols)
		return -ENOMEM;
	for (size_t c = 0; c < tb->ncolumns; c++) {
		unsigned width = tb->width[c], depth = tb->column[c].tree ? line_depth(tb, i) : 0;
		const char *s = l->cell[c].text ? l->cell[c].text : "";

		if (tb->dropped[c])
			continue;
		if (tb->column[c].shrink)
			s = cut(tb->t, s, width > 2 * depth + 1 ? width - 2 * depth : 1);
		if (scols_line_set_data(l->scols, to, s))
			return -ENOMEM;
		if (l->cell[c].color && tb->t->color &&
		    scols_cell_set_color(scols_line_get_cell(l->scols, to), l->cell[c].color))
			return -ENOMEM;
		to++;
	}
	return 0;
}

/* Without the blanks that padding leaves at the ends of lines. */
static void put_trimmed(FILE *f, const char *s)
{
	while (*s) {
		size_t len = strcspn(s, "\n"), n = len;

		while (n && s[n - 1] == ' ')
			n--;
		fwrite(s, 1, n, f);
		fputc('\n', f);
		s += len + (s[len] == '\n');
	}
}

static int text_table__render(struct text_table *tb)
{
	struct libscols_table *st = scols_new_table();
	char *data = NULL;
	int err = -ENOMEM;

	if (!st)
		return err;
	/* wide enough never to be cut by the library: the fitting is done here */
	scols_table_set_termforce(st, SCOLS_TERMFORCE_ALWAYS);
	scols_table_set_termwidth(st, 4096);
	scols_table_enable_noencoding(st, 1); /* names are made printable already */
	scols_table_enable_colors(st, tb->t->color);
	scols_table_set_column_separator(st, tb->gap == 2 ? "  " : " ");
	err = add_columns(tb, st);
	for (size_t i = 0; !err && i < tb->nlines; i++)
		err = add_line(tb, st, i);
	if (!err && scols_print_table_to_string(st, &data))
		err = -ENOMEM;
	if (!err && data)
		put_trimmed(tb->t->f, data);
	free(data);
	scols_unref_table(st);
	return err;
}

static void say_dropped(struct text_table *tb)
{
	const char *list = NULL;

	for (size_t c = 0; c < tb->ncolumns; c++)
		if (tb->dropped[c])
			list = text__printf(tb->t, "%s%s%s", list ? list : "", list ? ", " : "",
					    tb->column[c].head);
	if (list)
		text__paragraph(tb->t, 0,
				text__printf(tb->t, "(%u columns are too few for: %s)",
					     tb->t->width, list));
}

void text_table__print(struct text_table *tb)
{
	int err;

	if (!tb)
		return;
	if (!tb->t->err && tb->nlines) {
		text_table__fit(tb);
		err = text_table__render(tb);
		if (err)
			tb->t->err = err;
		else
			say_dropped(tb);
	}
	free(tb->line);
	tb->line = NULL;
	tb->nlines = tb->cap = 0;
}
