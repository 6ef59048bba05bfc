/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two plots of 2014 as one SVG file: rate of creation against the routers
 * that exist, and routers against time with several streams. No script: on a
 * narrow screen the style sheet enlarges the text and drops every second number.
 */
#include "report/exporters.h"
#include "report/plot.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/rate.h"
#include "report/asset.h"
#include "report/emit.h"
#include "report/select.h"
#include "util/util.h"

static const char style[] =
#include "report/svg.css"
	;
static const char plot_style[] =
#include "report/plot.css"
	;

static struct plot_series *add_series(struct plot *p, const char *label, size_t npoints)
{
	struct plot_series *v = reallocarray(p->series, p->nseries + 1, sizeof(*v));
	struct plot_series *s;

	if (!v)
		return NULL;
	p->series = v;
	s = &v[p->nseries];
	*s = (struct plot_series){ .label = label, .style = (unsigned)p->nseries };
	s->points = calloc(npoints + 1, sizeof(*s->points));
	if (!s->points)
		return NULL;
	p->nseries++;
	return s;
}

static int add_rate_curve(struct plot *p, const struct rate_curve *c)
{
	struct plot_series *s = add_series(p, c->label, c->nrows);

	if (!s)
		return -ENOMEM;
	s->remark = c->sampled ? "sampled" : c->stalled ? "stalled" : NULL;
	for (size_t i = 0; i < c->nrows; i++) {
		const struct rate_row *r = &c->rows[i];

		if (!isfinite(r->rate))
			continue;
		s->points[s->npoints++] = (struct plot_point){
			.x = isnan(r->at) ? (double)(r->from + r->to) / 2 : r->at,
			.y = r->rate,
			.lo = r->hi > 0 ? 1e9 / r->hi : NAN,
			.hi = r->lo > 0 ? 1e9 / r->lo : NAN,
		};
	}
	return 0;
}

/* Without rows of `frtrace rate` each level of a profile is a point. */
static int add_levels(struct plot *p, const struct frt_profile *profile)
{
	struct plot_series *s = add_series(p, "levels of the profile", profile->nlevels);

	if (!s)
		return -ENOMEM;
	for (size_t i = 0; i < profile->nlevels; i++) {
		const struct frt_levelrow *l = &profile->levels[i];

		if (l->again || !(l->rate_per_s > 0))
			continue;
		s->points[s->npoints++] = (struct plot_point){
			.x = ((double)l->existing + (double)l->existing_end) / 2,
			.y = l->rate_per_s,
			.lo = NAN,
			.hi = NAN,
		};
	}
	if (!s->npoints)
		plot__free(p);
	return 0;
}

int plot__rates(struct plot *p, const struct frt_profile *profile, const struct rate *const *rates,
		size_t nrates)
{
	*p = (struct plot){ .title = "Rate of creation",
			    .x_label = "existing routers",
			    .y_label = "routers per second" };
	for (size_t i = 0; i < nrates; i++)
		for (size_t k = 0; k < rates[i]->ncurves; k++)
			if (rates[i]->curves[k].nrows && add_rate_curve(p, &rates[i]->curves[k]))
				return -ENOMEM;
	return p->nseries || !profile ? 0 : add_levels(p, profile);
}

static unsigned style_like(const struct plot *like, const char *label, unsigned otherwise)
{
	for (size_t i = 0; i < like->nseries; i++)
		if (strcmp(like->series[i].label, label) == 0)
			return like->series[i].style;
	return otherwise;
}

int plot__counts(struct plot *p, const struct plot *like, const struct rate *const *rates,
		 size_t nrates)
{
	*p = (struct plot){ .title = "Routers over time",
			    .x_label = "seconds",
			    .y_label = "routers created" };
	for (size_t i = 0; i < nrates; i++) {
		for (size_t k = 0; k < rates[i]->ncurves; k++) {
			const struct rate_curve *c = &rates[i]->curves[k];
			struct plot_series *s;

			if (!c->npoints)
				continue;
			s = add_series(p, c->label, c->npoints);
			if (!s)
				return -ENOMEM;
			s->style = style_like(like, c->label, (unsigned)like->nseries + s->style);
			s->remark = c->stalled ? "stalled" : NULL;
			for (size_t j = 0; j < c->npoints; j++)
				s->points[s->npoints++] = (struct plot_point){
					c->points[j].t_ns / 1e9, (double)c->points[j].count, NAN,
					NAN
				};
		}
	}
	return 0;
}

int svg__write_rate(EXPORT_ARGS)
{
	struct plot rates = { 0 }, counts = { 0 };
	unsigned height = 16;
	int rc;

	rc = plot__rates(&rates, p, o->rates, o->nrates);
	if (!rc)
		rc = plot__counts(&counts, &rates, o->rates, o->nrates);
	if (rc) {
		fail(err, errlen, rc, "svg: out of memory; give fewer records");
		goto out;
	}
	if (!rates.nseries && !counts.nseries) {
		rc = fail(err, errlen, -ENODATA, "no rates in it; make one with `frtrace rate`");
		goto out;
	}
	height += rates.nseries ? plot__height(&rates) : 0;
	height += counts.nseries ? plot__height(&counts) : 0;
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
		"viewBox=\"0 0 %d %u\" role=\"img\" aria-label=\"Rate of creation\">\n"
		"<style>%s\n%s\n:root{max-width:100%%;height:auto}</style>\n"
		"<rect class=\"bg\" width=\"100%%\" height=\"100%%\"/>\n",
		PLOT_WIDTH, height, PLOT_WIDTH, height, style, plot_style);
	if (rates.nseries)
		plot__write(out, &rates, 16);
	if (counts.nseries)
		plot__write(out, &counts, rates.nseries ? 16 + plot__height(&rates) : 16);
	fputs("</svg>\n", out);
out:
	plot__free(&rates);
	plot__free(&counts);
	return rc;
}
