/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/svg.h"

#include <math.h>
#include <string.h>

#include "report/emit.h"
#include "util/util.h"

#define TITLE_PX 24 /* above the frames */
#define NOTE_PX 20  /* below them */

static const struct flame_name root_name = { "frtrace", FLAME_ROOT };

void frame_class(char *dst, const struct flame_name *name, bool off)
{
	static const char letters[FLAME_TYPES] = {
		[FLAME_ROOT] = 'r',   [FLAME_STEP] = 's',   [FLAME_ACTION] = 'a',
		[FLAME_KERNEL] = 'k', [FLAME_USER] = 'u',   [FLAME_WAIT] = 'w',
		[FLAME_RUNQ] = 'q',   [FLAME_UNSEEN] = 'x', [FLAME_FUNCTION] = 't',
	};
	uint32_t h = 2166136261u;

	dst[0] = off && name->type == FLAME_KERNEL ? 'o' : letters[name->type];
	dst[1] = dst[2] = '\0';
	if (!strchr("kuowt", dst[0]))
		return;
	for (const char *s = name->text; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	dst[1] = (char)('0' + (h ^ h >> 15) % 5);
}

unsigned growth_shade(double delta, double largest)
{
	static const double from[] = { 0.005, 0.03, 0.1, 0.25, 0.5 };
	unsigned shade = 0;

	while (largest > 0 && shade < ARRAY_SIZE(from) && fabs(delta) / largest >= from[shade])
		shade++;
	return shade;
}

static const struct flame_name *node_name(const struct svg_panel *p, size_t i)
{
	uint32_t name = p->tree.nodes[i].name;

	return name == UINT32_MAX ? &root_name : &p->f->names[name];
}

static uint64_t value(const struct svg_panel *p, size_t i, unsigned column)
{
	return p->tree.ns[i * p->tree.columns + column];
}

static double delta(const struct svg_panel *p, size_t i)
{
	return (double)value(p, i, p->to) - (double)value(p, i, p->from);
}

static double largest_delta(const struct svg_panel *p)
{
	double most = 0;

	for (size_t i = 0; p->diff && i < p->tree.nnodes; i++)
		most = fmax(most, fabs(delta(p, i)));
	return most;
}

/* How the value came about and how many there are of it. */
static void write_source(FILE *out, const struct svg_panel *p, size_t i)
{
	static const char *const what[] = { "", " samples", " waits", " calls" };
	static const char *const how[] = { "", "measured", "sampled", "measured and sampled" };
	unsigned source = p->tree.nodes[i].how & 3;
	uint64_t n = p->tree.n[i * p->tree.columns + p->width];
	char count[32];

	fputs(how[source], out);
	if (!n)
		return;
	format_count(count, sizeof(count), n);
	if (source == FLAME_SAMPLED || p->count == SVG_COUNT_WAITS || p->count == SVG_COUNT_CALLS)
		fprintf(out, ", %s%s", count,
			what[source == FLAME_SAMPLED && p->count == SVG_COUNT_ANY
				     ? SVG_COUNT_SAMPLES
				     : p->count]);
	else
		fprintf(out, ", n = %s", count);
}

static void write_time(FILE *out, uint64_t ns)
{
	char time[32], exact[32];

	fprintf(out, "%s (%s ns)", format_ns(time, sizeof(time), (double)ns),
		format_count(exact, sizeof(exact), ns));
}

static void write_hint(FILE *out, const struct svg_panel *p, size_t i)
{
	char text[40];

	fputs("<title>", out);
	emit_xml(out, node_name(p, i)->text);
	putc('\n', out);
	if (!p->diff) {
		write_time(out, value(p, i, p->width));
		fprintf(out, ", %s\n",
			format_share(text, sizeof(text), (double)value(p, i, p->width),
				     (double)value(p, 0, p->width)));
	} else {
		double d = delta(p, i), all = delta(p, 0);

		fprintf(out, "at %llu: ", (unsigned long long)p->at_to);
		write_time(out, value(p, i, p->to));
		fprintf(out, "\nat %llu: ", (unsigned long long)p->at_from);
		write_time(out, value(p, i, p->from));
		fprintf(out, "\n%s by %s",
			d > 0	? "▲ grew"
			: d < 0 ? "▼ shrank"
				: "unchanged",
			format_ns(text, sizeof(text), fabs(d)));
		if (all > 0)
			fprintf(out, ", %s of the growth",
				format_share(text, sizeof(text), d, all));
		putc('\n', out);
	}
	write_source(out, p, i);
	fputs("</title>", out);
}

static void write_frame(FILE *out, const struct svg_panel *p, size_t i, uint64_t x, unsigned y,
			double largest)
{
	double whole = (double)value(p, 0, p->width), w = (double)value(p, i, p->width) / whole;
	const struct flame_name *name = node_name(p, i);
	const char *mark = "";
	char class[8];

	frame_class(class, name, p->off);
	if (p->diff) {
		unsigned shade = growth_shade(delta(p, i), largest);

		class[0] = !shade ? 'z' : delta(p, i) > 0 ? 'p' : 'm';
		class[1] = (char)('0' + shade);
		class[2] = '\0';
		mark = !shade ? "" : delta(p, i) > 0 ? "▲ " : "▼ ";
	}
	fprintf(out, "<svg class=\"f %s\" x=\"", class);
	emit_short(out, 100.0 * (double)x / whole, 5);
	fprintf(out, "%%\" y=\"%u\" width=\"", y);
	emit_short(out, 100.0 * w, 5);
	fprintf(out, "%%\" height=\"%d\"", SVG_ROW - 1);
	if (*mark) {
		fprintf(out, " data-l=\"%s", mark);
		emit_xml(out, name->text);
		putc('"', out);
	}
	putc('>', out);
	write_hint(out, p, i);
	fputs("<rect width=\"100%\" height=\"100%\"/>", out);
	/* About four characters; what does not fit is cut at the frame's edge. */
	if (w * p->scale * SVG_WIDTH >= 34) {
		fprintf(out, "<text x=\"4\" y=\"12.5\">%s", mark);
		emit_xml(out, name->text);
		fputs("</text>", out);
	}
	fputs("</svg>\n", out);
}

unsigned svg_panel__height(const struct svg_panel *p)
{
	return TITLE_PX + (p->tree.depth + 1) * SVG_ROW + NOTE_PX;
}

void svg_panel__write(FILE *out, const struct svg_panel *p, unsigned y, bool icicle)
{
	uint64_t cursor[FLAME_DEPTH + 8] = { 0 };
	unsigned height = (p->tree.depth + 1) * SVG_ROW;
	double largest = largest_delta(p);
	char count[32];

	fprintf(out, "<text class=\"h\" x=\"1%%\" y=\"%u\">", y + 15);
	emit_xml(out, p->title);
	fprintf(out, "</text>\n<svg class=\"p\" x=\"1%%\" y=\"%u\" width=\"", y + TITLE_PX);
	emit_short(out, 98.0 * p->scale, 4);
	fprintf(out, "%%\" height=\"%u\" data-flip=\"%d\" aria-label=\"", height, icicle);
	emit_xml(out, p->title);
	fputs("\">\n", out);
	for (size_t i = 0; i < p->tree.nnodes; i++) {
		const struct flame_node *n = &p->tree.nodes[i];
		uint64_t x = cursor[n->depth], v = value(p, i, p->width);

		if (!v)
			continue;
		cursor[n->depth] += v;
		cursor[n->depth + 1] = x;
		write_frame(out, p, i, x, (icicle ? n->depth : p->tree.depth - n->depth) * SVG_ROW,
			    largest);
	}
	fputs("</svg>\n", out);
	if (p->tree.pruned)
		fprintf(out,
			"<text class=\"n\" x=\"1%%\" y=\"%u\">%s frames below 0.1 px not drawn (time kept "
			"below)</text>\n",
			y + TITLE_PX + height + 13,
			format_count(count, sizeof(count), p->tree.pruned));
}
