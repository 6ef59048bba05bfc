/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of the report page: steps as stacked bars, growth, waits. */
#include "report/html.h"

#include <math.h>
#include <string.h>

#include "report/emit.h"
#include "util/util.h"

void html__text_cell(FILE *out, const char *text)
{
	fputs("<td>", out);
	emit_xml(out, text ? text : "");
	fputs("</td>", out);
}

void html__words_cell(FILE *out, const char *text)
{
	fputs("<td class=\"words\">", out);
	emit_xml(out, text ? text : "");
	fputs("</td>", out);
}

static void begin_number(FILE *out, double v)
{
	fputs("<td class=\"num\" data-v=\"", out);
	if (!isnan(v))
		emit_short(out, v, 6);
	fputs("\">", out);
}

void html__ns_cell(FILE *out, double ns)
{
	char text[48];

	begin_number(out, ns);
	fputs(isnan(ns) ? "–" : format_ns(text, sizeof(text), ns), out);
	fputs("</td>", out);
}

void html__delta_cell(FILE *out, double ns)
{
	char text[48];

	begin_number(out, ns);
	if (isnan(ns))
		fputs("–", out);
	else
		fprintf(out, "%s%s", ns > 0 ? "+" : "", format_ns(text, sizeof(text), ns));
	fputs("</td>", out);
}

void html__width_cell(FILE *out, double lo, double hi)
{
	char text[48];
	double w = (hi - lo) / 2;

	begin_number(out, w);
	if (isnan(w))
		fputs("–", out);
	else
		fprintf(out, "±%s", format_ns(text, sizeof(text), w));
	fputs("</td>", out);
}

void html__count_cell(FILE *out, uint64_t n)
{
	char text[32];

	begin_number(out, (double)n);
	fprintf(out, "%s</td>", format_count(text, sizeof(text), n));
}

void html__fixed_cell(FILE *out, double v, unsigned decimals, const char *unit)
{
	begin_number(out, v);
	if (isnan(v))
		fputs("–", out);
	else
		emit_fixed(out, v, decimals);
	fprintf(out, "%s</td>", isnan(v) ? "" : unit);
}

void html__section(FILE *out, const char *id, const char *title, const char *note)
{
	fprintf(out, "<section id=\"%s\">\n<h2>%s</h2>\n", id, title);
	if (note)
		fprintf(out, "<p class=\"note\">%s</p>\n", note);
}

void html__section_end(FILE *out)
{
	fputs("</section>\n", out);
}

void html__table(FILE *out, const char *class, const char *caption, const char *const *names,
		 bool sortable)
{
	fprintf(out, "<div class=\"wide\"><table class=\"%s%s\">", class,
		sortable ? " sortable" : "");
	if (caption)
		fprintf(out, "<caption>%s</caption>", caption);
	fputs("<thead><tr>", out);
	for (; *names; names++) {
		bool number = **names == '#';

		fprintf(out, "<th scope=\"col\"%s>%s</th>", number ? " class=\"num\"" : "",
			*names + number);
	}
	fputs("</tr></thead>\n<tbody>\n", out);
}

void html__table_end(FILE *out)
{
	fputs("</tbody></table></div>\n", out);
}

static const struct frt_steprow *step_of(const struct frt_levelrow *l, const char *step)
{
	for (size_t i = 0; i < l->nsteps; i++)
		if (strcmp(l->steps[i].step, step) == 0)
			return &l->steps[i];
	return NULL;
}

/* The longest bar that shares a scale: the router's are longer than all others,
 * so they have a scale of their own. */
static double longest(const struct frt_profile *p, bool router)
{
	double most = 0;

	for (size_t i = 0; i < p->nlevels; i++)
		for (size_t k = 0; k < p->levels[i].nsteps; k++) {
			const struct frt_steprow *s = &p->levels[i].steps[k];

			if ((strcmp(s->step, "router") == 0) == router && s->wall.mean > most)
				most = s->wall.mean;
		}
	return most;
}

static void write_part(FILE *out, const char *class, double ns, double scale)
{
	char text[48];

	if (!(ns > 0) || !(scale > 0))
		return;
	fprintf(out, "<i class=\"%s\" style=\"width:", class);
	emit_short(out, 100 * ns / scale, 3);
	fprintf(out, "%%\" title=\"%s %s\">%s</i>", class, format_ns(text, sizeof(text), ns),
		class);
}

static void write_bar(FILE *out, const struct frt_steprow *s, double scale)
{
	double rest = s->wall.mean;

	fputs("<td class=\"bar\"><div>", out);
	for (int k = 0; k < FRT_KINDS; k++) {
		write_part(out, frt_kind_names[k], s->kind_ns[k], scale);
		if (!isnan(s->kind_ns[k]))
			rest -= s->kind_ns[k];
	}
	/* Gaps of a router, and all that is unknown without events. */
	if (rest > scale / 2000)
		write_part(out, "rest", rest, scale);
	fputs("</div></td>", out);
}

static void write_level_cell(FILE *out, const struct frt_levelrow *l)
{
	char text[32];

	begin_number(out, (double)l->existing);
	fputs(format_count(text, sizeof(text), l->existing), out);
	if (l->run > 1)
		fprintf(out, " <small>run %u</small>", l->run);
	if (l->again)
		fputs(" <small>again</small>", out);
	fputs("</td>", out);
}

static void write_step_row(FILE *out, const struct frt_profile *p, const struct frt_levelrow *l,
			   const struct frt_steprow *s, bool begins)
{
	const struct frt_steprow *first = step_of(&p->levels[0], s->step);
	bool router = strcmp(s->step, "router") == 0;

	fprintf(out, "<tr%s>", begins ? " class=\"begins\"" : "");
	if (begins) {
		fputs("<th scope=\"row\">", out);
		emit_xml(out, s->step);
		fputs(s->control ? " <small>control</small></th>" : "</th>", out);
	} else {
		fputs("<th></th>", out);
	}
	write_level_cell(out, l);
	write_bar(out, s, longest(p, router));
	html__ns_cell(out, s->wall.mean);
	html__width_cell(out, s->wall.lo, s->wall.hi);
	for (int k = 0; k < FRT_KINDS; k++)
		html__ns_cell(out, s->kind_ns[k]);
	html__fixed_cell(out,
			 l == &p->levels[0] || !first || !(first->wall.mean > 0)
				 ? NAN
				 : s->wall.mean / first->wall.mean,
			 2, " ×");
	html__count_cell(out, s->n);
	fputs("</tr>\n", out);
}

void html__steps(FILE *out, const struct frt_profile *p)
{
	static const char *const names[] = { "Step",	 "#Existing", "Mean wall time",
					     "#Wall",	 "#95 %",     "#User",
					     "#Kernel",	 "#Blocked",  "#Runqueue",
					     "#× first", "#n",	      NULL };

	if (!p->nlevels)
		return;
	html__section(
		out, "steps", "Steps",
		"<span class=\"key\"><i class=\"user\">user</i> <i class=\"kernel\">kernel</i> <i "
		"class=\"blocked\">blocked</i> <i class=\"runqueue\">runqueue</i> <i "
		"class=\"rest\">rest</i></span> per router. The bars of <b>router</b> have a scale "
		"of their own.");
	html__table(out, "steps", NULL, names, false);
	for (size_t k = 0; k < p->levels[0].nsteps; k++) {
		bool begins = true;

		for (size_t i = 0; i < p->nlevels; i++) {
			const struct frt_steprow *s = step_of(&p->levels[i],
							      p->levels[0].steps[k].step);

			if (!s)
				continue;
			write_step_row(out, p, &p->levels[i], s, begins);
			begins = false;
		}
	}
	html__table_end(out);
	html__section_end(out);
}

/* What the frame of a growth row is called in the graphs. */
static void frame_of(const struct frt_growthrow *g, char *dst, size_t size)
{
	char name[EMIT_NAME_MAX + 8];

	dst[0] = '\0';
	if (g->where)
		clean_name(name, g->where);
	if (g->kind == FRT_KIND_USER)
		snprintf(dst, size, "[user]");
	else if (g->kind == FRT_KIND_RUNQ)
		snprintf(dst, size, "[runqueue]");
	else if (g->where && g->kind == FRT_KIND_BLOCKED)
		snprintf(dst, size, name[0] == '[' ? "%s" : "[%s]", name);
	else if (g->where)
		snprintf(dst, size, name[0] == '[' || !g->sampled ? "%s" : "%s_[k]", name);
}

static bool has_graph(const struct frt_profile *p, const char *step)
{
	for (size_t i = 0; i < p->nlevels; i++) {
		const struct frt_steprow *s = step_of(&p->levels[i], step);

		if (s && (s->nstacks || step_has_functions(s)))
			return true;
	}
	return false;
}

/* A link to the graph, for steps that have one (the gap between steps has none). */
static void write_where(FILE *out, const struct frt_profile *p, const struct frt_growthrow *g)
{
	bool off = g->kind == FRT_KIND_BLOCKED || g->kind == FRT_KIND_RUNQ;
	char frame[EMIT_NAME_MAX + 16], name[EMIT_NAME_MAX + 8];
	const char *text = g->where;
	bool linked = has_graph(p, g->step);

	frame_of(g, frame, sizeof(frame));
	if (!text)
		text = frame[0] ? frame : g->action ? g->action : g->step;
	fprintf(out, "<td>%s</td><td>", frt_kind_names[g->kind]);
	if (linked) {
		fprintf(out, "<a href=\"#graphs\" class=\"frame\" data-set=\"%s\" data-kind=\"%s\"",
			g->kind == FRT_KIND_KERNEL && !g->sampled && g->where ? "functions"
									      : "stacks",
			off ? "off" : "cpu");
		fputs(" data-step=\"", out);
		emit_xml(out, clean_name(name, g->step));
		fputs("\" data-action=\"", out);
		emit_xml(out, g->action ? clean_name(name, g->action) : "");
		fputs("\" data-frame=\"", out);
		emit_xml(out, frame);
		fputs("\">", out);
	}
	emit_xml(out, text);
	fputs(linked ? "</a></td>" : "</td>", out);
}

static void write_prediction(FILE *out, const struct frt_prediction *v, size_t n)
{
	char ns[48], at[32];

	fputs("<td class=\"num\">", out);
	for (size_t i = 0; i < n; i++) {
		if (i)
			fputs("<br>", out);
		format_count(at, sizeof(at), v[i].at);
		if (v[i].refused)
			fprintf(out, "%s: not told", at);
		else
			fprintf(out, "%s: %s", at, format_ns(ns, sizeof(ns), v[i].ns));
	}
	fputs("</td>", out);
}

static void write_share(FILE *out, double share, double most)
{
	char text[48];

	begin_number(out, share);
	if (isnan(share)) {
		fputs("–</td>", out);
		return;
	}
	fputs("<span class=\"share\" style=\"--w:", out);
	emit_short(out, share > 0 && most > 0 ? 100 * share / most : 0, 2);
	fprintf(out, "%%\">%s</span></td>", format_share(text, sizeof(text), share, 1));
}

/* most: the largest share, which gives the bar behind it its scale. */
static void write_growth_row(FILE *out, const struct frt_profile *p, const struct frt_growthrow *g,
			     double most)
{
	bool rest = !g->step || (!g->action && strcmp(g->step, "rest") == 0);
	char text[48];

	fputs("<tr>", out);
	write_share(out, g->share, most);
	html__delta_cell(out, g->delta_ns);
	html__width_cell(out, g->lo, g->hi);
	html__fixed_cell(out, g->ns_per_existing, 1, " ns");
	if (rest) {
		fputs("<td>rest</td><td>below 1 %, or 0 inside the interval</td><td></td><td></td><td></td>",
		      out);
	} else {
		html__text_cell(out, g->step);
		html__text_cell(out, g->action);
		write_where(out, p, g);
		fprintf(out, "<td>%s, n = %s</td>", g->sampled ? "sampled" : "measured",
			format_count(text, sizeof(text), g->n));
	}
	fprintf(out, "<td>%s</td>", g->shape ? g->shape : "");
	write_prediction(out, g->predicted, g->npredicted);
	fputs("</tr>\n", out);
}

static void write_step_growth(FILE *out, const struct frt_profile *p)
{
	static const char *const names[] = { "Step",  "#First",	   "#Last", "#Ratio",
					     "#95 %", "#Growth",   "#99 %", "#per existing",
					     "Shape", "#Expected", NULL };

	html__table(out, "numbers", "By step", names, true);
	for (size_t i = 0; i < p->nstepgrowth; i++) {
		const struct frt_stepgrowth *g = &p->stepgrowth[i];
		char lo[40], hi[40];

		fputs("<tr><th scope=\"row\">", out);
		emit_xml(out, g->step);
		fputs("</th>", out);
		html__ns_cell(out, g->first_ns);
		html__ns_cell(out, g->last_ns);
		html__fixed_cell(out, g->ratio, 2, " ×");
		begin_number(out, g->ratio_hi - g->ratio_lo);
		if (isnan(g->ratio_lo))
			fputs("–</td>", out);
		else
			fprintf(out, "%s to %s</td>", format_fixed(lo, sizeof(lo), g->ratio_lo, 2),
				format_fixed(hi, sizeof(hi), g->ratio_hi, 2));
		html__delta_cell(out, g->delta_ns);
		html__width_cell(out, g->lo, g->hi);
		html__fixed_cell(out, g->ns_per_existing, 1, " ns");
		fprintf(out, "<td>%s%s</td>",
			g->grew	    ? "grew, "
			: g->shrank ? "shrank, "
				    : "no change, ",
			g->shape ? g->shape : "unknown");
		write_prediction(out, g->predicted, g->npredicted);
		fputs("</tr>\n", out);
	}
	html__table_end(out);
}

void html__growth(FILE *out, const struct frt_profile *p)
{
	static const char *const names[] = { "#Share", "#Growth", "#99 %",     "#per existing",
					     "Step",   "Action",  "Kind",      "Where",
					     "Source", "Shape",	  "#Expected", NULL };
	char total[48], lo[48], hi[48], note[400];

	if (!p->ngrowth && !p->nstepgrowth && !p->growth_note)
		return;
	if (isnan(p->growth_ns))
		note[0] = '\0';
	else if (isnan(p->growth_lo))
		snprintf(note, sizeof(note), "%s per router, first to last level.",
			 format_ns(total, sizeof(total), p->growth_ns));
	else
		snprintf(note, sizeof(note),
			 "%s per router from the first to the last level (99 %%: %s to %s).%s",
			 format_ns(total, sizeof(total), p->growth_ns),
			 format_ns(lo, sizeof(lo), p->growth_lo),
			 format_ns(hi, sizeof(hi), p->growth_hi),
			 p->ngrowth ? " A place opens the graph at its frame." : "");
	html__section(out, "growth", "Growth", note[0] ? note : NULL);
	if (p->growth_note) {
		fputs("<p>", out);
		emit_xml(out, p->growth_note);
		fputs("</p>\n", out);
	}
	if (p->ngrowth) {
		double most = 0;

		for (size_t i = 0; i < p->ngrowth; i++)
			most = fmax(most, p->growth[i].share);
		html__table(out, "growth", "What it is made of", names, true);
		for (size_t i = 0; i < p->ngrowth; i++)
			write_growth_row(out, p, &p->growth[i], most);
		html__table_end(out);
	}
	if (p->nstepgrowth)
		write_step_growth(out, p);
	html__section_end(out);
}
