/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plain table by libsmartcols, cell by cell. The first error sticks and comes
 * out of grid__print, so that a table reads as a list of cells. Always UTF-8,
 * whatever the locale: the same record gives the same bytes.
 */
#ifndef FRTRACE_REPORT_GRID_H
#define FRTRACE_REPORT_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct grid;

#define GRID_LEFT 0
#define GRID_RIGHT 1

/* NULL when out of memory; every other function takes NULL. */
struct grid *grid__new(FILE *f, unsigned width, bool color);
/* Columns first, all of them. */
void grid__column(struct grid *g, int align, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void grid__row(struct grid *g);
/* The next cell of the row. */
void grid__cell(struct grid *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Colour of the cell written last, as libsmartcols names it; shown when on. */
void grid__color(struct grid *g, const char *color);
/* v with decimals places; NAN is "-". */
void grid__number(struct grid *g, double v, int decimals);
/* Prints (nothing without rows) and frees. 0 or -errno. */
int grid__print(struct grid *g);

#endif
