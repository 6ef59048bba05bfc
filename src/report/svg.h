/* SPDX-License-Identifier: BSD-2-Clause */
/* Drawing one flame graph; private to the SVG exporter and the report page. */
#ifndef FRTRACE_REPORT_SVG_H
#define FRTRACE_REPORT_SVG_H

#include "report/flame.h"

#include <stdio.h>

#define SVG_WIDTH 1200			/* px the drawing is laid out for */
#define SVG_MIN_SHARE (0.1 / SVG_WIDTH) /* narrower frames are not drawn */
#define SVG_ROW 18			/* px of a frame with the gap below it */

/* What the n of a frame counts. */
enum svg_count { SVG_COUNT_ANY, SVG_COUNT_SAMPLES, SVG_COUNT_WAITS, SVG_COUNT_CALLS };

struct svg_panel {
	const struct flame *f;
	struct flame_tree tree; /* freed by the owner of the panel */
	unsigned width;		/* column the widths come from */
	bool diff;		/* coloured by the growth from column `from` to column `to` */
	unsigned from, to;
	uint64_t at_from, at_to; /* their levels */
	double scale;		 /* share of the drawing's width the root takes */
	bool off;		 /* waiting only: kernel frames take the colours of waiting */
	enum svg_count count;
	char title[160];
};

/* Height in px with title and note. */
unsigned svg_panel__height(const struct svg_panel *p);
/* Draws at y px from the top. icicle: the root on top. */
void svg_panel__write(FILE *out, const struct svg_panel *p, unsigned y, bool icicle);

/* The class a frame is coloured by: letter and shade, at most 3 bytes with NUL. */
void frame_class(char *dst, const struct flame_name *name, bool off);
/* 0 (no change) to 5 by the share of the largest growth. */
unsigned growth_shade(double delta, double largest);

#endif
