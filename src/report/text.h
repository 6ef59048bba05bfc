/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The text report's parts and what they are made with. Private to
 * src/report/text*.c and views*.c.
 *
 * Errors (no memory, the stream) stick in text.err, so that printing reads as a
 * list of what is printed; report__text looks at it once, at the end.
 */
#ifndef FRTRACE_REPORT_TEXT_H
#define FRTRACE_REPORT_TEXT_H

#include "report/report.h"
#include "util/util.h"

#include <math.h>

struct text {
	FILE *f;
	const struct frt_profile *p;
	struct arena *a;
	unsigned width;
	bool color;
	int err;
	bool whole;	   /* the whole report: parts keep to what matters most */
	unsigned decimals; /* of ms in this profile */
	/* The ends of the growth; the same row when there is one level, NULL for none. */
	const struct frt_levelrow *first, *last;
};

/* Escape sequences; used only when text.color. */
#define TEXT_BOLD "\033[1m"
#define TEXT_DIM "\033[2m"
#define TEXT_RED "\033[1;31m"
#define TEXT_YELLOW "\033[33m"
#define TEXT_GREEN "\033[32m"
#define TEXT_RESET "\033[0m"

/* Stands for a blank that no line is broken at. (Names cannot hold it:
 * printable() shows control bytes as \xNN.) */
#define TEXT_HARD_BLANK '\x1f'

/* Text for a table or a line, in the report's memory; never NULL (an error
 * gives ""). */
const char *text__printf(struct text *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* A name that came from outside, safe to print, at most a line; NULL: "-". */
const char *text__name(struct text *t, const char *s);
/* ns as ms with this profile's decimals; NAN: "-". plus: with its sign. */
const char *text__ms(struct text *t, double ns);
const char *text__ms_plus(struct text *t, double ns);
/* ns as ms with three significant digits and the unit, for sentences. */
const char *text__ms_unit(struct text *t, double ns);
/* 12345 as "12,345". */
const char *text__count(struct text *t, uint64_t n);
/* "3", "4,003", with "again" and the run's number where there are several. */
const char *text__existing(struct text *t, const struct frt_levelrow *l);

/* A heading in capitals and what is said beside it. */
void text__heading(struct text *t, const char *heading, const char *beside);
/* A line "label  text", wrapped below the text; color NULL: none. */
void text__item(struct text *t, const char *label, const char *color, const char *text);
/* A paragraph with an indent, wrapped. */
void text__paragraph(struct text *t, unsigned indent, const char *text);
/* The rest of a line whose first at columns are printed. */
void text__wrapped(struct text *t, unsigned at, const char *text);
void text__blank(struct text *t);

const struct frt_steprow *text__step(const struct frt_levelrow *l, const char *step);
const struct frt_action *text__action(const struct frt_steprow *s, const char *action);

struct text_column {
	const char *head;
	enum { TEXT_LEFT, TEXT_RIGHT } align;
	unsigned shrink; /* may get this narrow, its text cut with "…", narrower when
			  * there is nothing left to leave out; 0: never */
	unsigned drop;	 /* left out when the table is too wide, 1 first; 0: never */
	bool tree;	 /* lines hang below their parents here */
};

struct text_table;
#define TEXT_COLUMNS 16

struct text_table *text_table__new(struct text *t, const struct text_column *columns, size_t n);
/* A new line below parent (as text_table__line gave it; 0: none); the cells that
 * follow are its. */
size_t text_table__line(struct text_table *tb, size_t parent);
/* The next cell of the line, and the next with a color. s must live as long as
 * the table. */
void text_table__cell(struct text_table *tb, const char *s);
void text_table__colored(struct text_table *tb, const char *color, const char *s);
/* Prints it, unless it has no lines, and says which columns did not fit. */
void text_table__print(struct text_table *tb);

/* The parts, in the order of the report. */
void text__head(struct text *t);
void text__steps(struct text *t);
void text__growth(struct text *t);
void text__waits(struct text *t);
void text__deferred(struct text *t);
void text__trust(struct text *t); /* losses, noise, drift, the cost of looking */
void text__worst(struct text *t);
void text__finding(struct text *t);
/* Views only. */
void text__environment(struct text *t);
void text__actions(struct text *t);
void text__functions(struct text *t);

#endif
