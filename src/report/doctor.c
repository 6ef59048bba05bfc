/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/doctor.h"
#include "util/utf8.h"

#include <errno.h>
#include <jansson.h>
#include <libsmartcols/libsmartcols.h>
#include <string.h>

#define WHY_WIDTH 40
#define REMEDY_WIDTH 34

static const struct {
	const char *name;
	double width;
	bool wrapped; /* at the newlines that wrap_words put in */
} columns[] = {
	{ "FEATURE", 0.17, false },
	{ "HERE", 0.06, false },
	{ "WHY", WHY_WIDTH, true },
	{ "WHAT WOULD HELP", REMEDY_WIDTH, true },
};

static const char *state_color(const char *state)
{
	if (strcmp(state, "yes") == 0)
		return "green";
	return strcmp(state, "no") == 0 ? "red" : "brown";
}

/* Newlines instead of blanks, so that lines have at most width bytes where words
 * allow it. The table by itself would break words. */
static void wrap_words(char *text, size_t width)
{
	char *line = text, *blank = NULL;

	for (char *s = text; *s; s++) {
		if (*s == ' ')
			blank = s;
		if ((size_t)(s - line) >= width && blank) {
			*blank = '\n';
			line = blank + 1;
			blank = NULL;
		}
	}
}

static int set_wrapped(struct libscols_line *l, size_t column, const char *text, size_t width)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	if (!utf8__available())
		utf8__to_ascii(copy);
	wrap_words(copy, width);
	return scols_line_refer_data(l, column, copy);
}

static int add_columns(struct libscols_table *t)
{
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		struct libscols_column *c = scols_table_new_column(
			t, columns[i].name, columns[i].width,
			columns[i].wrapped ? SCOLS_FL_WRAP : 0);

		if (!c)
			return -ENOMEM;
		if (columns[i].wrapped) {
			scols_column_set_wrapfunc(c, scols_wrapnl_chunksize, scols_wrapnl_nextchunk,
						  NULL);
			scols_column_set_safechars(c, "\n");
		}
	}
	return 0;
}

int report__doctor_text(FILE *f, const struct doctor_row *v, size_t n, bool color)
{
	struct libscols_table *t = scols_new_table();
	struct utf8 utf8;
	int rc;

	if (!t)
		return -ENOMEM;
	scols_table_set_stream(t, f);
	scols_table_set_termforce(t, SCOLS_TERMFORCE_ALWAYS);
	scols_table_set_termwidth(t, 100);
	scols_table_enable_colors(t, color);
	rc = add_columns(t);
	for (size_t i = 0; !rc && i < n; i++) {
		struct libscols_line *l = scols_table_new_line(t, NULL);

		if (!l) {
			rc = -ENOMEM;
			break;
		}
		rc = scols_line_set_data(l, 0, v[i].name);
		if (!rc)
			rc = scols_line_set_data(l, 1, v[i].state);
		if (!rc)
			rc = set_wrapped(l, 2, v[i].reason, WHY_WIDTH);
		if (!rc)
			rc = set_wrapped(l, 3, v[i].remedy, REMEDY_WIDTH);
		if (color && !rc)
			scols_cell_set_color(scols_line_get_cell(l, 1), state_color(v[i].state));
	}
	if (!rc) {
		utf8__begin(&utf8);
		rc = scols_print_table(t);
		utf8__end(&utf8);
	}
	scols_unref_table(t);
	return rc;
}

struct json_t *report__doctor_json(const struct doctor_row *v, size_t n)
{
	json_t *a = json_array(), *o = json_object();

	for (size_t i = 0; a && i < n; i++)
		json_array_append_new(a, json_pack("{s:s, s:s, s:s*, s:s*}", "name", v[i].name,
						   "state", v[i].state, "reason",
						   *v[i].reason ? v[i].reason : NULL, "remedy",
						   *v[i].remedy ? v[i].remedy : NULL));
	if (!a || !o || json_object_set_new(o, "features", a)) {
		json_decref(o);
		return NULL;
	}
	return o;
}
