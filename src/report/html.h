/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of the report page; private to html*.c. */
#ifndef FRTRACE_REPORT_HTML_H
#define FRTRACE_REPORT_HTML_H

#include "report/report.h"
#include "report/select.h"

#include <stdio.h>

/* Cells of a table: the text, and the figure to sort by. */
void html__text_cell(FILE *out, const char *text);
void html__words_cell(FILE *out, const char *text); /* that wrap */
void html__ns_cell(FILE *out, double ns);
/* "+1.2 ms" */
void html__delta_cell(FILE *out, double ns);
/* Half of the interval's width. */
void html__width_cell(FILE *out, double lo, double hi);
void html__count_cell(FILE *out, uint64_t n);
void html__fixed_cell(FILE *out, double v, unsigned decimals, const char *unit);

/* A section with its heading; a note stands under it, NULL: none. */
void html__section(FILE *out, const char *id, const char *title, const char *note);
void html__section_end(FILE *out);
/* Begins a table that scrolls sideways where it must; names: its columns, NULL at
 * the end; a leading "#" marks a column of numbers. sortable by the script. */
void html__table(FILE *out, const char *class, const char *caption, const char *const *names,
		 bool sortable);
void html__table_end(FILE *out);

/* Sections, each nothing when the profile has nothing for it. */
void html__steps(FILE *out, const struct frt_profile *p);
void html__growth(FILE *out, const struct frt_profile *p);
void html__waits(FILE *out, const struct frt_profile *p);
void html__deferred(FILE *out, const struct frt_profile *p);
void html__worst(FILE *out, const struct frt_profile *p);
void html__environment(FILE *out, const struct frt_profile *p);

/* Whether html__waits has anything to show. */
bool html__has_waits(const struct frt_profile *p);

/* The graphs' data, one JSON object. *any: whether there is a graph at all.
 * 0 or -ENOMEM. */
int html__data(FILE *out, const struct frt_profile *p, const struct level_picks *picks, bool *any);

#endif
