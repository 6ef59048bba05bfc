/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/emit.h"
#include "util/util.h"

#define LEFT 92 /* room for the numbers of the y axis */
#define RIGHT 904
#define AREA 320 /* px of the y axis */
#define HEAD 40
#define ENTRY 29 /* px of a line of the legend */
#define FOOT 84
#define PER_LINE 2
#define LABEL_MAX 34

/* Scale of one axis: from 0 in whole steps. */
struct axis {
	double max, step;
	unsigned decimals;
};

static struct axis fit_axis(double most, unsigned steps)
{
	static const double nice[] = { 1, 2, 2.5, 5, 10 };
	struct axis a = { 1, 0.2, 1 };
	double raw = most / steps, base;

	if (!(most > 0))
		return a;
	base = pow(10, floor(log10(raw)));
	a.step = 10 * base;
	for (size_t i = ARRAY_SIZE(nice); i-- > 0;)
		if (nice[i] * base >= raw * (1 - 1e-9))
			a.step = nice[i] * base;
	a.max = ceil(most / a.step - 1e-9) * a.step;
	a.decimals = 0;
	for (double s = a.step; a.decimals < 6 && fabs(s - round(s)) > 1e-9; s *= 10)
		a.decimals++;
	return a;
}

static void write_tick_text(FILE *out, const struct axis *a, double v)
{
	char text[40];

	if (a->decimals)
		emit_fixed(out, v, a->decimals);
	else
		fputs(format_count(text, sizeof(text), (uint64_t)llround(v)), out);
}

static double place_x(const struct axis *a, double x)
{
	return LEFT + x / a->max * (RIGHT - LEFT);
}

static double place_y(const struct axis *a, double y, unsigned top)
{
	return top + AREA - y / a->max * AREA;
}

static void write_point(FILE *out, double x, double y)
{
	emit_short(out, x, 1);
	putc(',', out);
	emit_short(out, y, 1);
}

/* A mark around x, y: each style has a shape of its own. */
static void write_marker(FILE *out, unsigned style, double x, double y)
{
	static const char *const shapes[PLOT_STYLES] = {
		"m-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z", /* disc */
		"m-4,-4h8v8h-8z",		       /* square */
		"m0,-5l5,9h-10z",		       /* triangle */
		"m0,-5.5l5.5,5.5l-5.5,5.5l-5.5,-5.5z", /* diamond */
		"m-4,-4l8,8m0,-8l-8,8",		       /* cross */
		"m0,5l5,-9h-10z",		       /* triangle, down */
		"m-5,0h10m-5,-5v10",		       /* plus */
		"m-5,-2h10v4h-10z",		       /* bar */
	};

	fprintf(out, "<path class=\"k\" d=\"M");
	write_point(out, x, y);
	fprintf(out, "%s\"/>", shapes[style]);
}

static void write_axes(FILE *out, const struct plot *p, const struct axis *ax,
		       const struct axis *ay, unsigned top)
{
	/* The last number of each axis and every second before it stay when the
	 * drawing is so small that all would run into each other. */
	for (int i = 0; i * ay->step <= ay->max * (1 + 1e-9); i++) {
		double y = place_y(ay, i * ay->step, top);

		fprintf(out, "<path class=\"g\" d=\"M%d,", LEFT);
		emit_short(out, y, 1);
		fprintf(out, "H%d\"/><text class=\"ty%s\" x=\"%d\" y=\"", RIGHT, i % 2 ? " m" : "",
			LEFT - 10);
		emit_short(out, y + 5, 1);
		fputs("\">", out);
		write_tick_text(out, ay, i * ay->step);
		fputs("</text>\n", out);
	}
	for (int i = 0; i * ax->step <= ax->max * (1 + 1e-9); i++) {
		double x = place_x(ax, i * ax->step);

		fputs("<path class=\"g\" d=\"M", out);
		write_point(out, x, top);
		fprintf(out, "v%d\"/><text class=\"tx%s\" x=\"", AREA, i % 2 ? " m" : "");
		emit_short(out, x, 1);
		fprintf(out, "\" y=\"%u\">", top + AREA + 24);
		write_tick_text(out, ax, i * ax->step);
		fputs("</text>\n", out);
	}
	fprintf(out, "<text class=\"tx n\" x=\"%d\" y=\"%u\">%s</text>\n", (LEFT + RIGHT) / 2,
		top + AREA + 54, p->x_label);
}

static void write_series(FILE *out, const struct plot_series *s, const struct axis *ax,
			 const struct axis *ay, unsigned top)
{
	size_t every = s->npoints / 40 + 1; /* markers do not hide the line */

	fprintf(out, "<g class=\"l%u\"><title>", s->style % PLOT_STYLES);
	emit_xml(out, s->label);
	fputs("</title>\n", out);
	for (size_t i = 0; i < s->npoints; i += every) {
		const struct plot_point *q = &s->points[i];

		if (isnan(q->lo) || isnan(q->hi))
			continue;
		fputs("<path class=\"e\" d=\"M", out);
		write_point(out, place_x(ax, q->x), place_y(ay, fmin(q->hi, ay->max), top));
		putc('V', out);
		emit_short(out, place_y(ay, fmax(q->lo, 0), top), 1);
		fputs("\"/>", out);
	}
	fputs("<polyline points=\"", out);
	for (size_t i = 0; i < s->npoints; i++) {
		write_point(out, place_x(ax, s->points[i].x), place_y(ay, s->points[i].y, top));
		putc(' ', out);
	}
	fputs("\"/>\n", out);
	for (size_t i = 0; i < s->npoints; i += every)
		write_marker(out, s->style % PLOT_STYLES, place_x(ax, s->points[i].x),
			     place_y(ay, s->points[i].y, top));
	fputs("</g>\n", out);
}

static void write_legend(FILE *out, const struct plot *p, unsigned y)
{
	for (size_t i = 0; i < p->nseries; i++) {
		const struct plot_series *s = &p->series[i];
		unsigned x = LEFT + (unsigned)(i % PER_LINE) * (RIGHT - LEFT) / PER_LINE;
		unsigned at = y + (unsigned)(i / PER_LINE) * ENTRY;
		char text[LABEL_MAX + 8];

		printable(text, LABEL_MAX, s->label);
		if (strlen(text) + 5 >= LABEL_MAX && strlen(s->label) > strlen(text))
			strcat(text, "…");
		fprintf(out, "<g class=\"l%u\"><path class=\"d\" d=\"M%u,%uh44\"/>",
			s->style % PLOT_STYLES, x, at - 5);
		write_marker(out, s->style % PLOT_STYLES, x + 22, at - 5);
		fprintf(out, "</g><text class=\"lt\" x=\"%u\" y=\"%u\">", x + 52, at);
		emit_xml(out, text);
		if (s->remark)
			fprintf(out, " (%s)", s->remark);
		fputs("</text>\n", out);
	}
}

static unsigned legend_height(const struct plot *p)
{
	return (unsigned)((p->nseries + PER_LINE - 1) / PER_LINE) * ENTRY;
}

unsigned plot__height(const struct plot *p)
{
	return HEAD + legend_height(p) + ENTRY + AREA + FOOT;
}

void plot__write(FILE *out, const struct plot *p, unsigned y)
{
	unsigned top = y + HEAD + legend_height(p) + ENTRY;
	double x_most = 0, y_most = 0;
	struct axis ax, ay;

	for (size_t i = 0; i < p->nseries; i++) {
		for (size_t k = 0; k < p->series[i].npoints; k++) {
			x_most = fmax(x_most, p->series[i].points[k].x);
			y_most = fmax(y_most, p->series[i].points[k].y);
		}
	}
	ax = fit_axis(x_most, 8);
	ay = fit_axis(y_most, 6);
	fprintf(out, "<text class=\"h\" x=\"%d\" y=\"%u\">%s</text>\n", LEFT, y + 18, p->title);
	write_legend(out, p, y + HEAD + 8);
	fprintf(out, "<text class=\"n yl\" x=\"%d\" y=\"%u\">%s</text>\n", LEFT, top - 11,
		p->y_label);
	write_axes(out, p, &ax, &ay, top);
	for (size_t i = 0; i < p->nseries; i++)
		write_series(out, &p->series[i], &ax, &ay, top);
}

void plot__free(struct plot *p)
{
	for (size_t i = 0; i < p->nseries; i++)
		free(p->series[i].points);
	free(p->series);
	memset(p, 0, sizeof(*p));
}
