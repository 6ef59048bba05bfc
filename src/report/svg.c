/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flame graphs as one SVG file. Frames are drawn in percents of the width, so
 * the drawing is whole without its script; the script only adds to it.
 */
#include "report/svg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/asset.h"
#include "report/emit.h"
#include "report/exporters.h"
#include "report/select.h"
#include "util/util.h"

#define PANELS_MAX (2 * SELECT_LEVELS)
#define BAR_PX 40 /* where the script puts its search field */

static const char style[] =
#include "report/flame.css"
	;
static const char flame_script[] =
#include "report/flame.js"
	;
static const char svg_script[] =
#include "report/svg.js"
	;
static const char page_style[] =
#include "report/svg.css"
	;

struct drawing {
	const struct frt_profile *p;
	const struct export_opts *o;
	const struct flame_kind *kind;
	struct level_picks picks;
	const struct level_pick *one, *from, *to; /* one level, or two to compare */
	struct svg_panel *panels;
	size_t npanels;
	struct flame *flames[2]; /* stacks, functions */
	char *err;
	size_t errlen;
};

static const struct flame_kind function_kinds[] = {
	{ "cpu", "on-CPU time", FLAME_CPU, true },
	{ "off", "waiting time", FLAME_OFF, true },
	{ "wall", "time", FLAME_WALL, true },
};

/* The same time of the probed functions. */
static const struct flame_kind *functions_like(const struct flame_kind *k)
{
	return &function_kinds[k->kinds == FLAME_CPU ? 0 : k->kinds == FLAME_OFF ? 1 : 2];
}

static int out_of_memory(const struct drawing *d)
{
	return fail(d->err, d->errlen, -ENOMEM, "svg: out of memory; choose one --step");
}

static int choose_levels(struct drawing *d)
{
	int rc = picks__fill(&d->picks, d->p, d->err, d->errlen);

	if (rc)
		return rc;
	if (d->o->diff[0] >= 0) {
		d->from = picks__find(&d->picks, d->o->diff[0], d->err, d->errlen);
		d->to = d->from ? picks__find(&d->picks, d->o->diff[1], d->err, d->errlen) : NULL;
		return d->to ? 0 : -EINVAL;
	}
	if (d->o->at >= 0) {
		d->one = picks__find(&d->picks, d->o->at, d->err, d->errlen);
		return d->one ? 0 : -EINVAL;
	}
	if (d->picks.n == 1)
		d->one = &d->picks.v[0];
	return 0;
}

/* One column per level that is drawn. */
static struct flame *fill_flame(struct drawing *d, const struct flame_kind *kind)
{
	unsigned columns = d->one ? 1 : d->from ? 2 : (unsigned)d->picks.n;
	struct flame *f = flame__new(columns, kind->functions);
	int err = f ? 0 : -ENOMEM;

	for (unsigned c = 0; c < columns && !err; c++) {
		const struct level_pick *l = d->one    ? d->one
					     : d->from ? (c ? d->to : d->from)
						       : &d->picks.v[c];

		err = pick__flame(f, d->p, l, d->o->step, kind, c, !d->one);
	}
	if (!err && !flame__finish(f))
		return f;
	flame__free(f);
	return NULL;
}

static struct svg_panel *add_panel(struct drawing *d, const struct flame *f,
				   const struct flame_kind *kind, unsigned column, double scale)
{
	struct svg_panel *s = &d->panels[d->npanels];

	*s = (struct svg_panel){ .f = f, .width = column, .scale = scale };
	s->off = kind->kinds == FLAME_OFF;
	s->count = kind->functions	      ? SVG_COUNT_CALLS
		   : kind->kinds == FLAME_OFF ? SVG_COUNT_WAITS
		   : kind->kinds == FLAME_CPU ? SVG_COUNT_SAMPLES
					      : SVG_COUNT_ANY;
	if (flame__tree(f, SVG_MIN_SHARE / scale, &s->tree))
		return NULL;
	d->npanels++;
	return s;
}

static const char *what_text(const struct flame_kind *kind)
{
	return kind->functions ? "Functions" : "Stacks";
}

static int add_single(struct drawing *d, const struct flame *f, const struct flame_kind *kind)
{
	struct svg_panel *s = add_panel(d, f, kind, 0, 1);
	char time[32], exact[32];

	if (!s)
		return -ENOMEM;
	snprintf(s->title, sizeof(s->title), "%s: %s (%s ns)", what_text(kind),
		 format_ns(time, sizeof(time), (double)f->total[0]),
		 format_count(exact, sizeof(exact), f->total[0]));
	return 0;
}

static int add_levels(struct drawing *d, const struct flame *f, const struct flame_kind *kind)
{
	uint64_t most = 0;
	char time[32];

	for (unsigned c = 0; c < f->columns; c++)
		most = f->total[c] > most ? f->total[c] : most;
	for (unsigned c = 0; c < f->columns; c++) {
		struct svg_panel *s;

		if (!f->total[c])
			continue;
		s = add_panel(d, f, kind, c, (double)f->total[c] / (double)most);
		if (!s)
			return -ENOMEM;
		snprintf(s->title, sizeof(s->title), "%s at %llu: %s per router", what_text(kind),
			 (unsigned long long)d->picks.v[c].at,
			 format_ns(time, sizeof(time), (double)f->total[c]));
	}
	return 0;
}

/* Twice: the widths of the later level, then of the earlier one, where what
 * vanished has a width. */
static int add_diff(struct drawing *d, const struct flame *f, const struct flame_kind *kind)
{
	for (unsigned later = 2; later-- > 0;) {
		struct svg_panel *s;
		char time[32];

		if (!f->total[later])
			continue;
		s = add_panel(d, f, kind, later, 1);
		if (!s)
			return -ENOMEM;
		s->diff = true;
		s->from = 0;
		s->to = 1;
		s->at_from = d->from->at;
		s->at_to = d->to->at;
		snprintf(s->title, sizeof(s->title), "%s, width at %llu: %s%s", what_text(kind),
			 (unsigned long long)(later ? d->to : d->from)->at,
			 format_ns(time, sizeof(time), (double)f->total[later]),
			 later ? "" : " (what vanished)");
	}
	return 0;
}

static int add_graphs(struct drawing *d, const struct flame_kind *kind, struct flame **slot)
{
	int err;

	*slot = fill_flame(d, kind);
	if (!*slot)
		return out_of_memory(d);
	if (!(*slot)->nleaves)
		return 0;
	err = d->one	? add_single(d, *slot, kind)
	      : d->from ? add_diff(d, *slot, kind)
			: add_levels(d, *slot, kind);
	return err ? out_of_memory(d) : 0;
}

static unsigned write_line(FILE *out, const char *class, unsigned y, const char *text)
{
	fprintf(out, "<text class=\"%s\" x=\"1%%\" y=\"%u\">", class, y);
	emit_xml(out, text);
	fputs("</text>\n", out);
	return y + 17;
}

static void levels_text(const struct drawing *d, char *dst, size_t size)
{
	const struct level_picks *k = &d->picks;

	if (d->from)
		snprintf(dst, size, ": %llu → %llu", (unsigned long long)d->from->at,
			 (unsigned long long)d->to->at);
	else if (d->one)
		snprintf(dst, size, " at %llu", (unsigned long long)d->one->at);
	else
		snprintf(dst, size, " at %llu %s %llu", (unsigned long long)k->v[0].at,
			 k->n > 2 ? "…" : "and", (unsigned long long)k->v[k->n - 1].at);
}

static void unit_text(const struct drawing *d, char *dst, size_t size)
{
	static const char *const what[] = { "", "on-CPU time", "waiting time",
					    "CPU and waiting time" };
	unsigned kinds = d->kind->kinds & 3;
	const struct level_pick *a = d->from ? d->from : &d->picks.v[0];
	const struct level_pick *b = d->from ? d->to : &d->picks.v[d->picks.n - 1];

	if (d->one)
		snprintf(dst, size, "%s in ns, sum over n = %u", what[kinds],
			 pick__n(d->p, d->one, d->o->step));
	else
		snprintf(dst, size, "%s in ns per router, n = %u and %u", what[kinds],
			 pick__n(d->p, a, d->o->step), pick__n(d->p, b, d->o->step));
}

static void source_text(const struct drawing *d, char *dst, size_t size)
{
	uint64_t lost = 0;
	char n[32];
	size_t o = 0;

	for (size_t i = 0; i < ARRAY_SIZE(d->p->loss); i++)
		lost += d->p->loss[i];
	if (d->p->freq)
		o = (size_t)snprintf(dst, size, "frames sampled at %u Hz, ", d->p->freq);
	snprintf(dst + o, size - o, "sums measured, %s lost",
		 lost ? format_count(n, sizeof(n), lost) : "nothing");
}

struct swatch {
	const char *class, *text;
};

static unsigned write_legend(FILE *out, const struct swatch *s, size_t n, unsigned y)
{
	unsigned x = 0;

	fprintf(out, "<svg x=\"1%%\" y=\"%u\" width=\"98%%\" height=\"60\">", y);
	for (size_t i = 0, row = 0; i < n; i++) {
		unsigned w = 30 + 7 * (unsigned)strlen(s[i].text);

		if (x + w > 380 && x) {
			x = 0;
			row++;
			y += 19;
		}
		fprintf(out,
			"<g class=\"f %s\"><rect x=\"%u\" y=\"%zu\" width=\"13\" height=\"13\"/></g>"
			"<text class=\"n\" x=\"%u\" y=\"%zu\">%s</text>\n",
			s[i].class, x + 1, row * 19 + 1, x + 19, row * 19 + 11, s[i].text);
		x += w;
	}
	fputs("</svg>\n", out);
	return y + 24;
}

static unsigned write_legends(FILE *out, const struct drawing *d, unsigned y)
{
	static const struct swatch plain[] = {
		{ "k0", "kernel _[k]" }, { "u0", "user" },	 { "w0", "waiting" },
		{ "q", "runqueue" },	 { "x", "not sampled" }, { "t0", "probed function" }
	};
	static const struct swatch off[] = { { "o0", "kernel, waiting" },
					     { "w0", "what for" },
					     { "q", "runqueue" },
					     { "t0", "probed function" } };
	static const struct swatch diff[] = { { "p5", "▲ grew" },
					      { "p2", "▲ grew little" },
					      { "z0", "no change" },
					      { "m2", "▼ shrank little" },
					      { "m5", "▼ shrank" } };

	if (d->from)
		return write_legend(out, diff, ARRAY_SIZE(diff), y);
	if (d->kind->kinds == FLAME_OFF)
		return write_legend(out, off, ARRAY_SIZE(off), y);
	return write_legend(out, plain, ARRAY_SIZE(plain), y);
}

static unsigned write_head(FILE *out, const struct drawing *d, unsigned y)
{
	char step[64], levels[80], text[256];

	printable(step, sizeof(step), d->o->step ? d->o->step : "router");
	levels_text(d, levels, sizeof(levels));
	snprintf(text, sizeof(text), "%s%s existing namespaces", step, levels);
	y = write_line(out, "H", y, text) + 2;
	snprintf(text, sizeof(text), "Linux %s %s", environment_text(d->p, "kernel", "unknown"),
		 environment_text(d->p, "machine", ""));
	y = write_line(out, "n", y, text);
	unit_text(d, text, sizeof(text));
	y = write_line(out, "n", y, text);
	source_text(d, text, sizeof(text));
	y = write_line(out, "n", y, text);
	return write_legends(out, d, y - 4);
}

static void write_script(FILE *out, const char *name, const char *text)
{
	fprintf(out, "var %s=", name);
	fputs(text, out);
	fputs(";\n", out);
}

static void write_document(FILE *out, const struct drawing *d)
{
	char *head = NULL;
	size_t size = 0;
	FILE *m = open_memstream(&head, &size);
	unsigned y = m ? write_head(m, d, 30) : 30, height;

	if (m)
		fclose(m);
	height = y + BAR_PX + 8;
	for (size_t i = 0; i < d->npanels; i++)
		height += svg_panel__height(&d->panels[i]);
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
		"viewBox=\"0 0 %d %u\" data-bar=\"%u\" data-flip=\"%d\">\n",
		SVG_WIDTH, height, SVG_WIDTH, height, y, d->o->icicle);
	fprintf(out, "<style>%s\n%s</style>\n", style, page_style);
	fprintf(out, "<rect class=\"bg\" width=\"100%%\" height=\"100%%\"/>\n");
	fwrite(head ? head : "", 1, size, out);
	free(head);
	y += BAR_PX;
	for (size_t i = 0; i < d->npanels; i++) {
		svg_panel__write(out, &d->panels[i], y, d->o->icicle);
		y += svg_panel__height(&d->panels[i]);
	}
	fputs("<script><![CDATA[(function () {\n", out);
	write_script(out, "flame", flame_script);
	write_script(out, "start", svg_script);
	fputs("start(flame);\n})();]]></script>\n</svg>\n", out);
}

int svg__write(EXPORT_ARGS)
{
	struct drawing d = { .p = p, .o = o, .err = err, .errlen = errlen };
	int rc;

	if (o->kind && strcmp(o->kind, "rate") == 0)
		return svg__write_rate(out, p, o, err, errlen);
	d.kind = find_kind(o->kind, "svg", err, errlen);
	if (!d.kind)
		return -EINVAL;
	rc = choose_levels(&d);
	if (rc)
		goto out;
	rc = check_step(p, o->step, err, errlen);
	if (rc)
		goto out;
	d.panels = calloc(PANELS_MAX, sizeof(*d.panels));
	rc = d.panels ? 0 : out_of_memory(&d);
	if (!rc && !d.kind->functions)
		rc = add_graphs(&d, d.kind, &d.flames[0]);
	if (!rc)
		rc = add_graphs(&d, functions_like(d.kind), &d.flames[1]);
	if (!rc && !d.npanels)
		rc = no_stacks(p, d.kind, err, errlen);
	if (!rc)
		write_document(out, &d);
out:
	for (size_t i = 0; i < d.npanels; i++)
		flame_tree__free(&d.panels[i].tree);
	free(d.panels);
	flame__free(d.flames[0]);
	flame__free(d.flames[1]);
	picks__free(&d.picks);
	return rc;
}
