/* SPDX-License-Identifier: BSD-2-Clause */
/* Line charts, drawn whole without a script; private to the exporters. */
#ifndef FRTRACE_REPORT_PLOT_H
#define FRTRACE_REPORT_PLOT_H

#include <frtrace/model.h>
#include <stdbool.h>
#include <stdio.h>

#define PLOT_WIDTH 960
#define PLOT_STYLES 8 /* looks a line can have */

struct rate;

struct plot_point {
	double x, y;
	double lo, hi; /* 95 % of y; NAN: none */
};

struct plot_series {
	const char *label, *remark; /* remark: behind the label, or NULL */
	unsigned style;		    /* of look: colour, dash and marker together */
	struct plot_point *points;
	size_t npoints;
};

struct plot {
	const char *title, *x_label, *y_label;
	struct plot_series *series;
	size_t nseries;
};

/* Height in px of the chart with title and legend. */
unsigned plot__height(const struct plot *p);
/* Draws at y px from the top of a drawing PLOT_WIDTH wide. */
void plot__write(FILE *out, const struct plot *p, unsigned y);
void plot__free(struct plot *p);

/* Rate against existing routers: one line per case of all rates; without rates
 * the levels of the profile. No series when there is nothing. 0 or -ENOMEM. */
int plot__rates(struct plot *p, const struct frt_profile *profile, const struct rate *const *rates,
		size_t nrates);
/* Routers against time; a case looks as it does in like. 0 or -ENOMEM. */
int plot__counts(struct plot *p, const struct plot *like, const struct rate *const *rates,
		 size_t nrates);

#endif
