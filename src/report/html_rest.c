/* SPDX-License-Identifier: BSD-2-Clause */
/* The report page below the graphs: waits, deferred and outside work, the worst
 * routers, environment, probes, losses. */
#include "report/html.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "report/emit.h"
#include "util/util.h"

/* The first frames of a holder's stack; all of it as a hint. */
static void write_holder_stack(FILE *out, const char *stack)
{
	const char *end = stack;
	char head[256];

	for (int i = 0; i < 3 && end; i++)
		end = strstr(i ? end + 3 : end, " < ");
	snprintf(head, sizeof(head), "%.*s%s", end ? (int)(end - stack) : 200, stack,
		 end ? " < …" : "");
	fputs("<br><small title=\"", out);
	emit_xml(out, stack);
	fputs("\">", out);
	emit_xml(out, head);
	fputs("</small>", out);
}

static void write_holders(FILE *out, const struct frt_wait *w)
{
	char text[48];

	fputs("<td class=\"words\">", out);
	for (size_t i = 0; i < w->nholders; i++) {
		const struct frt_holder *h = &w->holders[i];

		fprintf(out, "%s%s ", i ? "<br>" : "", format_ns(text, sizeof(text), h->ns));
		emit_xml(out, h->task);
		fputs(" (", out);
		emit_xml(out, h->kind);
		putc(')', out);
		if (h->stack)
			write_holder_stack(out, h->stack);
	}
	fputs("</td>", out);
}

static void write_waits_of(FILE *out, const struct frt_levelrow *l, const struct frt_steprow *s)
{
	for (size_t i = 0; i < s->nactions; i++) {
		for (size_t k = 0; k < s->actions[i].nwaits; k++) {
			const struct frt_wait *w = &s->actions[i].waits[k];

			fputs("<tr>", out);
			html__count_cell(out, l->existing);
			html__text_cell(out, s->step);
			html__text_cell(out, s->actions[i].action);
			html__text_cell(out, w->class);
			html__text_cell(out, w->where);
			html__count_cell(out, w->n);
			html__ns_cell(out, w->ns);
			html__ns_cell(out, s->n ? w->ns / s->n : NAN);
			write_holders(out, w);
			fputs("</tr>\n", out);
		}
	}
}

bool html__has_waits(const struct frt_profile *p)
{
	for (size_t l = 0; l < p->nlevels; l++)
		for (size_t k = 0; k < p->levels[l].nsteps; k++)
			for (size_t i = 0; i < p->levels[l].steps[k].nactions; i++)
				if (p->levels[l].steps[k].actions[i].nwaits)
					return true;
	return false;
}

void html__waits(FILE *out, const struct frt_profile *p)
{
	static const char *const names[] = { "#Existing", "Step", "Action",	 "For",	    "In",
					     "#n",	  "#Sum", "#per router", "Held by", NULL };

	if (!html__has_waits(p))
		return;
	html__section(out, "waits", "Waits", "Blocked time, measured; sums over the level.");
	html__table(out, "numbers", NULL, names, true);
	for (size_t i = 0; i < p->nlevels; i++)
		for (size_t k = 0; k < p->levels[i].nsteps; k++)
			write_waits_of(out, &p->levels[i], &p->levels[i].steps[k]);
	html__table_end(out);
	html__section_end(out);
}

void html__deferred(FILE *out, const struct frt_profile *p)
{
	static const char *const late[] = { "Step",	"Function", "#n", "#Time",
					    "#Waiting", "#Delay",   NULL };
	static const char *const others[] = { "Task",	     "#CPU in all", "#Before the run",
					      "#per router", "Woken by",    NULL };

	if (!p->ndeferred && !p->noutside)
		return;
	html__section(
		out, "deferred", "Deferred and outside",
		"Work that other tasks do later because of a step, and CPU time of tasks that do "
		"not belong to the workload; per router, in no wall.");
	if (p->ndeferred) {
		html__table(out, "numbers", "Deferred", late, true);
		for (size_t i = 0; i < p->ndeferred; i++) {
			const struct frt_deferred *d = &p->deferred[i];

			fputs("<tr>", out);
			html__text_cell(out, d->step);
			html__text_cell(out, d->function);
			html__count_cell(out, d->n);
			html__ns_cell(out, d->ns);
			html__ns_cell(out, d->wait_ns);
			html__ns_cell(out, d->delay_ns);
			fputs("</tr>\n", out);
		}
		html__table_end(out);
	}
	if (p->noutside) {
		html__table(out, "numbers", "Outside", others, true);
		for (size_t i = 0; i < p->noutside; i++) {
			const struct frt_outsiderow *o = &p->outside[i];

			fputs("<tr><td>", out);
			emit_xml(out, o->task);
			fputs(o->own ? " <small>frtrace itself</small></td>" : "</td>", out);
			html__ns_cell(out, o->cpu_ns);
			html__ns_cell(out, o->baseline_ns);
			html__ns_cell(out, o->per_router_ns);
			html__text_cell(out, o->woken_by);
			fputs("</tr>\n", out);
		}
		html__table_end(out);
	}
	html__section_end(out);
}

void html__worst(FILE *out, const struct frt_profile *p)
{
	static const char *const names[] = { "#Existing", "#Router", "#Wall", "Why", NULL };
	bool any = false;

	for (size_t i = 0; i < p->nlevels; i++)
		any |= p->levels[i].nworst > 0;
	if (!any)
		return;
	html__section(out, "worst", "Worst routers", NULL);
	html__table(out, "numbers", NULL, names, true);
	for (size_t i = 0; i < p->nlevels; i++) {
		for (size_t k = 0; k < p->levels[i].nworst; k++) {
			const struct frt_worst *w = &p->levels[i].worst[k];

			fputs("<tr>", out);
			html__count_cell(out, p->levels[i].existing);
			html__count_cell(out, w->router);
			html__ns_cell(out, w->wall_ns);
			html__words_cell(out, w->text);
			fputs("</tr>\n", out);
		}
	}
	html__table_end(out);
	html__section_end(out);
}

/* A value of the environment in words. */
static void write_json_value(FILE *out, const json_t *v)
{
	const char *key;
	json_t *item;
	size_t i;
	bool first = true;

	switch (json_typeof(v)) {
	case JSON_STRING:
		emit_xml(out, json_string_value(v));
		break;
	case JSON_INTEGER:
		fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
		break;
	case JSON_REAL:
		emit_short(out, json_real_value(v), 4);
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		fputs(json_is_true(v) ? "yes" : "no", out);
		break;
	case JSON_ARRAY:
		if (!json_array_size(v))
			fputs("none", out);
		json_array_foreach(v, i, item)
		{
			fputs(i ? ", " : "", out);
			write_json_value(out, item);
		}
		break;
	case JSON_OBJECT:
		json_object_foreach((json_t *)v, key, item)
		{
			fputs(first ? "" : ", ", out);
			emit_xml(out, key);
			putc(' ', out);
			write_json_value(out, item);
			first = false;
		}
		break;
	default:
		fputs("unknown", out);
	}
}

static void write_pair(FILE *out, const char *name, const char *value)
{
	fprintf(out, "<dt>%s</dt><dd>", name);
	emit_xml(out, value);
	fputs("</dd>\n", out);
}

static void write_losses(FILE *out, const struct frt_profile *p)
{
	static const char *const names[] = {
		"#Existing",	  "#Events",	  "#Samples",	"#Events lost", "#Maps full",
		"#Samples lost",  "#Unpaired",	  "#Undecoded", "#Not tagged",	"#Skipped",
		"#Noisy routers", "#Stolen time", NULL
	};

	html__table(out, "numbers", "Losses and noise", names, false);
	for (size_t i = 0; i < p->nlevels; i++) {
		const struct frt_levelrow *l = &p->levels[i];

		fputs("<tr>", out);
		html__count_cell(out, l->existing);
		html__count_cell(out, l->events);
		html__count_cell(out, l->samples);
		for (size_t k = 0; k < ARRAY_SIZE(l->loss); k++)
			html__count_cell(out, l->loss[k]);
		html__count_cell(out, l->noisy);
		html__fixed_cell(out, 100 * l->steal, 1, " %");
		fputs("</tr>\n", out);
	}
	html__table_end(out);
}

static void write_drift(FILE *out, const struct frt_profile *p)
{
	static const char *const names[] = { "Step", "#First level again", "#99 %", "Drift", NULL };

	html__table(out, "numbers", "First level measured again", names, false);
	for (size_t i = 0; i < p->ndrift; i++) {
		const struct frt_drift *d = &p->drift[i];

		fputs("<tr>", out);
		html__text_cell(out, d->step);
		html__delta_cell(out, d->delta_ns);
		html__width_cell(out, d->lo, d->hi);
		html__text_cell(out, d->real ? "did not come back" : "none");
		fputs("</tr>\n", out);
	}
	html__table_end(out);
}

static void write_missing(FILE *out, const struct frt_profile *p)
{
	static const char *const names[] = { "Function not probed", "Why", NULL };

	html__table(out, "numbers", NULL, names, false);
	for (size_t i = 0; i < p->nmissing; i++) {
		fputs("<tr>", out);
		html__text_cell(out, p->missing[i].function);
		html__words_cell(out, p->missing[i].reason);
		fputs("</tr>\n", out);
	}
	html__table_end(out);
}

void html__environment(FILE *out, const struct frt_profile *p)
{
	const char *key;
	json_t *value;
	char text[160], lo[40], hi[40], ratio[40];

	html__section(out, "environment", "Environment", NULL);
	fputs("<dl>\n", out);
	write_pair(out, "command", p->command);
	write_pair(out, "recorded", p->created);
	write_pair(out, "mode", p->mode);
	json_object_foreach(p->environment, key, value)
	{
		fputs("<dt>", out);
		emit_xml(out, key);
		fputs("</dt><dd>", out);
		write_json_value(out, value);
		fputs("</dd>\n", out);
	}
	snprintf(text, sizeof(text), "%s, %u of %u functions", p->backend ? p->backend : "unknown",
		 p->attached, p->wanted);
	write_pair(out, "probes", text);
	snprintf(text, sizeof(text), p->freq ? "%u Hz" : "none", p->freq);
	write_pair(out, "sampling", text);
	if (!isnan(p->overhead)) {
		snprintf(text, sizeof(text), "%s (95 %%: %s to %s, n = %u)",
			 format_fixed(ratio, sizeof(ratio), p->overhead, 3),
			 format_fixed(lo, sizeof(lo), p->overhead_lo, 3),
			 format_fixed(hi, sizeof(hi), p->overhead_hi, 3), p->overhead_n);
		write_pair(out, "traced ÷ untraced", text);
	}
	fputs("</dl>\n", out);
	if (p->nlevels)
		write_losses(out, p);
	if (p->ndrift)
		write_drift(out, p);
	if (p->nmissing)
		write_missing(out, p);
	html__section_end(out);
}
