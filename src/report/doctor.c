/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/doctor.h"

#include <errno.h>
#include <jansson.h>
#include <libsmartcols/libsmartcols.h>
#include <string.h>

static const struct {
	const char *name;
	double width;
	int flags;
} columns[] = {
	{ "FEATURE", 0.2, 0 },
	{ "HERE", 0.06, 0 },
	{ "WHY", 0.4, SCOLS_FL_WRAP },
	{ "WHAT WOULD HELP", 0.34, SCOLS_FL_WRAP },
};

static const char *state_color(const char *state)
{
	if (strcmp(state, "yes") == 0)
		return "green";
	return strcmp(state, "no") == 0 ? "red" : "brown";
}

int report__doctor_text(FILE *f, const struct doctor_row *v, size_t n, bool color)
{
	struct libscols_table *t = scols_new_table();
	int rc = 0;

	if (!t)
		return -ENOMEM;
	scols_table_set_stream(t, f);
	scols_table_set_termforce(t, SCOLS_TERMFORCE_ALWAYS);
	scols_table_set_termwidth(t, 100);
	scols_table_enable_colors(t, color);
	for (size_t i = 0; !rc && i < sizeof(columns) / sizeof(columns[0]); i++)
		if (!scols_table_new_column(t, columns[i].name, columns[i].width, columns[i].flags))
			rc = -ENOMEM;
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
			rc = scols_line_set_data(l, 2, v[i].reason);
		if (!rc)
			rc = scols_line_set_data(l, 3, v[i].remedy);
		if (color && !rc)
			scols_cell_set_color(scols_line_get_cell(l, 1), state_color(v[i].state));
	}
	if (!rc)
		rc = scols_print_table(t);
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
