/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report as one page that needs nothing else: words first, then tables that
 * can be read without a script, then graphs the script draws from data in the
 * page. Nothing is fetched, nothing is stored.
 */
#include "report/html.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/asset.h"
#include "report/emit.h"
#include "report/exporters.h"
#include "report/plot.h"
#include "util/util.h"

static const char frame_style[] =
#include "report/flame.css"
	;
static const char plot_style[] =
#include "report/plot.css"
	;
static const char page_style[] =
#include "report/report.css"
	;
static const char flame_script[] =
#include "report/flame.js"
	;
static const char page_script[] =
#include "report/report.js"
	;

static void write_title(FILE *out, const struct frt_profile *p)
{
	const struct frt_levelrow *l = p->levels;

	fputs("<title>frtrace: Linux ", out);
	emit_xml(out, environment_text(p, "kernel", "unknown"));
	if (p->nlevels > 1)
		fprintf(out, ", %llu to %llu namespaces", (unsigned long long)l[0].existing,
			(unsigned long long)l[p->nlevels - 1 - l[p->nlevels - 1].again].existing);
	fputs("</title>\n", out);
}

static void write_head(FILE *out, const struct frt_profile *p)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n"
	      "<link rel=\"icon\" href=\"data:,\">\n",
	      out);
	write_title(out, p);
	fprintf(out, "<style>%s\n", page_style);
	fprintf(out, "%s\n", frame_style);
	fprintf(out, "%s</style>\n</head>\n<body>\n", plot_style);
}

static void write_masthead(FILE *out, const struct frt_profile *p)
{
	fputs("<header>\n<h1>Where creating network namespaces spends its time</h1>\n<p class=\"sub\">Linux ",
	      out);
	emit_xml(out, environment_text(p, "kernel", "unknown"));
	putc(' ', out);
	emit_xml(out, environment_text(p, "machine", ""));
	if (p->mode) {
		fputs(" · ", out);
		emit_xml(out, p->mode);
		fputs(" mode", out);
	}
	if (p->nlevels)
		fprintf(out, " · %u routers per level", p->levels[0].routers);
	if (p->created) {
		fputs(" · ", out);
		emit_xml(out, p->created);
	}
	fputs("</p>\n", out);
}

struct link {
	const char *id, *text;
	bool there;
};

static void write_links(FILE *out, const struct frt_profile *p, bool rate, bool graphs)
{
	const struct link links[] = {
		{ "steps", "Steps", p->nlevels > 0 },
		{ "growth", "Growth", p->ngrowth || p->nstepgrowth || p->growth_note },
		{ "rate", "Rate", rate },
		{ "graphs", "Graphs", graphs },
		{ "waits", "Waits", html__has_waits(p) },
		{ "deferred", "Deferred", p->ndeferred || p->noutside },
		{ "environment", "Environment", true },
	};

	fputs("<nav aria-label=\"Sections\">", out);
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		if (links[i].there)
			fprintf(out, "<a href=\"#%s\">%s</a> ", links[i].id, links[i].text);
	fputs("</nav>\n</header>\n<main>\n", out);
}

static void write_finding(FILE *out, const struct frt_profile *p)
{
	uint64_t lost = 0;
	char text[32];

	for (size_t i = 0; i < ARRAY_SIZE(p->loss); i++)
		lost += p->loss[i];
	fputs("<section id=\"finding\">\n", out);
	for (size_t i = 0; i < p->nfinding; i++) {
		fprintf(out, "<p class=\"%s\">", i ? "more" : "lead");
		emit_xml(out, p->finding[i]);
		fputs("</p>\n", out);
	}
	if (!p->nfinding)
		fputs("<p class=\"lead\">The record allows no finding.</p>\n", out);
	for (size_t i = 0; i < p->nadvice; i++) {
		fputs("<p class=\"more\">Advice: ", out);
		emit_xml(out, p->advice[i]);
		fputs("</p>\n", out);
	}
	for (size_t i = 0; i < p->nnotes; i++) {
		fputs("<p class=\"warn\">Note: ", out);
		emit_xml(out, p->notes[i]);
		fputs("</p>\n", out);
	}
	if (!p->complete && !p->nnotes)
		fputs("<p class=\"warn\">Note: the record has no end; it is read as far as it "
		      "goes.</p>\n",
		      out);
	if (lost)
		fprintf(out,
			"<p class=\"warn\">Lost: %s. The table <a href=\"#environment\">Losses and "
			"noise</a> says what.</p>\n",
			format_count(text, sizeof(text), lost));
	else
		fprintf(out, "<p class=\"note\">%s events and samples, nothing lost.</p>\n",
			format_count(text, sizeof(text), p->events + p->samples));
	fputs("</section>\n", out);
}

static void write_plot(FILE *out, const struct plot *p)
{
	if (!p->nseries)
		return;
	fprintf(out, "<svg class=\"plot\" viewBox=\"0 0 %d %u\" role=\"img\" aria-label=\"%s\">\n",
		PLOT_WIDTH, plot__height(p), p->title);
	plot__write(out, p, 0);
	fputs("</svg>\n", out);
}

static void write_rate(FILE *out, const struct plot *rates, const struct plot *counts)
{
	if (!rates->nseries && !counts->nseries)
		return;
	html__section(out, "rate", "Rate", NULL);
	write_plot(out, rates);
	write_plot(out, counts);
	html__section_end(out);
}

/* The controls are filled by the script; without it only its reason shows. */
static void write_graphs(FILE *out, const char *data, size_t size)
{
	html__section(out, "graphs", "Graphs", NULL);
	fputs("<noscript><p class=\"warn\">The graphs need scripts. <code>frtrace export --format svg"
	      "</code> draws them without.</p></noscript>\n"
	      "<div id=\"graph\"></div>\n<script type=\"application/json\" id=\"data\">",
	      out);
	fwrite(data, 1, size, out);
	fputs("</script>\n", out);
	html__section_end(out);
}

static void write_tail(FILE *out, bool graphs)
{
	fputs("</main>\n<footer>frtrace " FRT_VERSION
	      ". Kernel and user times, waits and runqueue times are measured; frames are sampled "
	      "where it says so.</footer>\n<script>(function () {\n",
	      out);
	fprintf(out, "var flame=%s;\n", flame_script);
	fprintf(out, "var page=%s;\n", page_script);
	fprintf(out, "page(flame,%s);\n})();</script>\n</body>\n</html>\n",
		graphs ? "true" : "false");
}

int html__write(EXPORT_ARGS)
{
	struct plot rates = { 0 }, counts = { 0 };
	struct level_picks picks = { 0 };
	bool graphs = false;
	char *data = NULL;
	size_t size = 0;
	FILE *m = NULL;
	int rc = 0;

	/* A record without a level still has its environment and its notes. */
	if (p->nlevels) {
		rc = picks__fill(&picks, p, err, errlen);
		if (rc == -ENODATA)
			rc = 0;
		if (rc)
			return rc;
	}
	if (picks.n) {
		m = open_memstream(&data, &size);
		rc = m ? html__data(m, p, &picks, &graphs) : -ENOMEM;
		if (m && fclose(m))
			rc = -ENOMEM;
	}
	if (!rc)
		rc = plot__rates(&rates, picks.n > 1 ? p : NULL, o->rates, o->nrates);
	if (!rc)
		rc = plot__counts(&counts, &rates, o->rates, o->nrates);
	if (rc) {
		fail(err, errlen, rc, "html: out of memory; export one format at a time");
		goto out;
	}
	write_head(out, p);
	write_masthead(out, p);
	write_links(out, p, rates.nseries || counts.nseries, graphs);
	write_finding(out, p);
	html__steps(out, p);
	html__growth(out, p);
	write_rate(out, &rates, &counts);
	if (graphs)
		write_graphs(out, data, size);
	html__waits(out, p);
	html__deferred(out, p);
	html__worst(out, p);
	html__environment(out, p);
	write_tail(out, graphs);
out:
	plot__free(&rates);
	plot__free(&counts);
	picks__free(&picks);
	free(data);
	return rc;
}
