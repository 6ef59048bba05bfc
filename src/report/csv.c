/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Comma-separated values, as RFC 4180 has them: the long form with one row per
 * measurement, one row per step and level, and rates in the layout that
 * `frtrace compare` reads.
 */
#include "report/exporters.h"
#include "report/select.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/rate.h"
#include "report/emit.h"
#include "util/util.h"

/* The part of a row that says which level and step it is of. */
struct place {
	FILE *out;
	const char *kernel;
	const struct frt_levelrow *l;
	const struct frt_steprow *s;
};

static void write_place(const struct place *at)
{
	emit_csv(at->out, at->kernel);
	fprintf(at->out, ",%u,%u,%d,%llu,", at->l->run, at->l->asked, at->l->again,
		(unsigned long long)at->l->existing);
	emit_csv(at->out, at->s ? at->s->step : "");
}

/* One row of the long form. router 0: not of one router. Unknown values are no
 * measurement and give no row. */
static void write_value(const struct place *at, const char *action, const char *measure,
			const char *stat, uint32_t router, const char *unit, uint64_t n, double v,
			unsigned decimals)
{
	if (isnan(v))
		return;
	write_place(at);
	putc(',', at->out);
	emit_csv(at->out, action);
	putc(',', at->out);
	emit_csv(at->out, measure);
	fprintf(at->out, ",%s,", stat);
	if (router)
		fprintf(at->out, "%u", router);
	fprintf(at->out, ",%s,%llu,", unit, (unsigned long long)n);
	emit_short(at->out, v, decimals);
	fputs("\r\n", at->out);
}

static void write_action(const struct place *at, const struct frt_action *a)
{
	char text[128];

	write_value(at, a->action, "wall", "mean", 0, "ns", a->n, a->wall_ns, 3);
	for (int k = 0; k < FRT_KINDS; k++)
		write_value(at, a->action, frt_kind_names[k], "mean", 0, "ns", a->n, a->kind_ns[k],
			    3);
	for (size_t i = 0; i < a->nwaits; i++) {
		snprintf(text, sizeof(text), "wait %s", a->waits[i].class);
		write_value(at, a->action, text, "sum", 0, "ns", a->waits[i].n, a->waits[i].ns, 3);
	}
	for (size_t i = 0; i < a->nframes; i++) {
		snprintf(text, sizeof(text), "frame %s", a->frames[i].frame);
		write_value(at, a->action, text, "mean", 0, "ns", a->frames[i].samples,
			    a->frames[i].self_ns, 3);
	}
}

static void write_functions(const struct place *at, const char *action, const struct frt_fn *fn,
			    size_t n, unsigned depth)
{
	char text[256];

	for (size_t i = 0; i < n && depth < FLAME_DEPTH; i++) {
		snprintf(text, sizeof(text), "function %s", fn[i].function);
		write_value(at, action, text, "sum", 0, "ns", fn[i].n, fn[i].total_ns, 3);
		write_functions(at, action, fn[i].children, fn[i].nchildren, depth + 1);
	}
}

static void write_step(const struct place *at)
{
	const struct frt_steprow *s = at->s;

	for (uint32_t i = 0; i < s->n && s->values; i++)
		write_value(at, "", "wall", "value", i + 1, "ns", 1, s->values[i], 3);
	write_value(at, "", "wall", "mean", 0, "ns", s->n, s->wall.mean, 3);
	for (int k = 0; k < FRT_KINDS; k++)
		write_value(at, "", frt_kind_names[k], "mean", 0, "ns", s->n, s->kind_ns[k], 3);
	write_value(at, "", "unaccounted", "mean", 0, "ns", s->n, s->unaccounted_ns, 3);
	write_value(at, "", "parallel", "mean", 0, "ns", s->n, s->parallel_ns, 3);
	for (size_t i = 0; i < s->nactions; i++) {
		write_action(at, &s->actions[i]);
		write_functions(at, s->actions[i].action, s->actions[i].functions,
				s->actions[i].nfunctions, 0);
	}
}

static bool row_selected(const struct frt_profile *p, const struct frt_steprow *s,
			 const struct export_opts *o)
{
	return !o->step || strcmp(s->step, o->step) == 0 ||
	       (strcmp(o->step, "router") == 0 && step_selected(p, s, NULL));
}

/* Checks the selection; *one is the level asked for, or NULL. */
static int begin_csv(const struct frt_profile *p, const struct export_opts *o,
		     struct level_picks *picks, const struct level_pick **one, char *err,
		     size_t errlen)
{
	int rc;

	if (o->kind)
		return fail(err, errlen, -EINVAL,
			    "--kind %s: csv holds every kind; leave it out, or take rate", o->kind);
	rc = picks__fill(picks, p, err, errlen);
	if (rc)
		return rc;
	*one = NULL;
	rc = check_step(p, o->step, err, errlen);
	if (!rc && o->at >= 0) {
		*one = picks__find(picks, o->at, err, errlen);
		rc = *one ? 0 : -EINVAL;
	}
	if (rc)
		picks__free(picks);
	return rc;
}

static bool level_selected(const struct frt_levelrow *l, const struct level_pick *one)
{
	for (size_t i = 0; one && i < one->nrows; i++)
		if (one->rows[i] == l)
			return true;
	return !one;
}

static int write_rates(EXPORT_ARGS);

int csv__write(EXPORT_ARGS)
{
	struct place at = { .out = out, .kernel = environment_text(p, "kernel", "") };
	const struct level_pick *one;
	struct level_picks picks;
	int rc;

	if (o->kind && strcmp(o->kind, "rate") == 0)
		return write_rates(out, p, o, err, errlen);
	rc = begin_csv(p, o, &picks, &one, err, errlen);
	if (rc)
		return rc;
	fputs("kernel,run,level,again,existing,step,action,measure,stat,router,unit,n,value\r\n",
	      out);
	for (size_t i = 0; i < p->nlevels; i++) {
		at.l = &p->levels[i];
		at.s = NULL;
		if (!level_selected(at.l, one))
			continue;
		if (!o->step && at.l->rate_per_s > 0)
			write_value(&at, "", "rate", "value", 0, "1/s", at.l->routers,
				    at.l->rate_per_s, 6);
		if (!o->step && at.l->memory_per_router != INT64_MIN)
			write_value(&at, "", "memory", "mean", 0, "byte", at.l->filled,
				    (double)at.l->memory_per_router, 0);
		for (size_t k = 0; k < at.l->nsteps; k++) {
			at.s = &at.l->steps[k];
			if (row_selected(p, at.s, o))
				write_step(&at);
		}
	}
	picks__free(&picks);
	return 0;
}

int csv__write_steps(EXPORT_ARGS)
{
	struct place at = { .out = out, .kernel = environment_text(p, "kernel", "") };
	const struct level_pick *one;
	struct level_picks picks;
	int rc;

	rc = begin_csv(p, o, &picks, &one, err, errlen);
	if (rc)
		return rc;
	fputs("kernel,run,level,again,existing,step,source,n,wall_ns,ci95_lo_ns,ci95_hi_ns,sd_ns,"
	      "median_ns,p95_ns,min_ns,max_ns,user_ns,kernel_ns,blocked_ns,runqueue_ns,"
	      "unaccounted_ns,parallel_ns,restarts\r\n",
	      out);
	for (size_t i = 0; i < p->nlevels; i++) {
		at.l = &p->levels[i];
		if (!level_selected(at.l, one))
			continue;
		for (size_t k = 0; k < at.l->nsteps; k++) {
			const struct frt_steprow *s = at.s = &at.l->steps[k];
			const double v[] = { s->wall.mean,	s->wall.lo,	s->wall.hi,
					     s->wall.sd,	s->wall.median, s->wall.p95,
					     s->wall.min,	s->wall.max,	s->kind_ns[0],
					     s->kind_ns[1],	s->kind_ns[2],	s->kind_ns[3],
					     s->unaccounted_ns, s->parallel_ns, s->restarts };

			if (!row_selected(p, s, o))
				continue;
			write_place(&at);
			fprintf(out, ",%s,%u",
				s->traced   ? "events"
				: s->rusage ? "rusage"
					    : "clock",
				s->n);
			for (size_t j = 0; j < ARRAY_SIZE(v); j++) {
				putc(',', out);
				if (!isnan(v[j]))
					emit_short(out, v[j], 3);
			}
			fputs("\r\n", out);
		}
	}
	picks__free(&picks);
	return 0;
}

/* The rows of all curves: from and to, or the moment of a reading in ns. */
struct span {
	uint64_t from, to;
};

static int by_span(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

static size_t sort_spans(struct span *v, size_t n)
{
	size_t kept = 0;

	qsort(v, n, sizeof(*v), by_span);
	for (size_t i = 0; i < n; i++)
		if (!kept || by_span(&v[kept - 1], &v[i]) != 0)
			v[kept++] = v[i];
	return kept;
}

static void write_reading(FILE *out, const struct rate_curve *c, const struct span *s, bool rates)
{
	for (size_t i = 0; rates && i < c->nrows; i++)
		if (c->rows[i].from == s->from && c->rows[i].to == s->to) {
			emit_short(out, c->rows[i].rate, 4);
			return;
		}
	for (size_t i = 0; !rates && i < c->npoints; i++)
		if ((uint64_t)llround(c->points[i].t_ns) == s->from) {
			fprintf(out, "%llu", (unsigned long long)c->points[i].count);
			return;
		}
}

/* Which of the two layouts: rates by existing routers where there are any. */
static int write_rates(EXPORT_ARGS)
{
	const struct rate_curve **curves = NULL;
	size_t ncurves = 0, nspans = 0, most = 0, all = 0;
	struct span *spans = NULL;
	bool rates = false;
	int rc = -ENOMEM;

	(void)p;
	for (size_t i = 0; i < o->nrates; i++) {
		all += o->rates[i]->ncurves;
		for (size_t k = 0; k < o->rates[i]->ncurves; k++) {
			rates |= !o->rates[i]->has_streams && o->rates[i]->curves[k].nrows;
			most += o->rates[i]->curves[k].nrows + o->rates[i]->curves[k].npoints;
		}
	}
	if (!most)
		return fail(err, errlen, -ENODATA, "no rates in it; make one with `frtrace rate`");
	curves = calloc(all, sizeof(*curves));
	spans = calloc(most, sizeof(*spans));
	if (!curves || !spans) {
		fail(err, errlen, rc, "csv: out of memory; give fewer records");
		goto out;
	}
	for (size_t i = 0; i < o->nrates; i++) {
		for (size_t k = 0; k < o->rates[i]->ncurves; k++) {
			const struct rate_curve *c = &o->rates[i]->curves[k];

			if (!(rates ? c->nrows : c->npoints))
				continue;
			curves[ncurves++] = c;
			for (size_t j = 0; rates && j < c->nrows; j++)
				spans[nspans++] = (struct span){ c->rows[j].from, c->rows[j].to };
			for (size_t j = 0; !rates && j < c->npoints; j++)
				spans[nspans++] = (struct span){
					(uint64_t)llround(c->points[j].t_ns), 0
				};
		}
	}
	nspans = sort_spans(spans, nspans);
	fputs(rates ? "from,to" : "Time", out);
	for (size_t i = 0; i < ncurves; i++) {
		putc(',', out);
		emit_csv(out, curves[i]->label);
	}
	fputs("\n", out);
	for (size_t i = 0; i < nspans; i++) {
		if (rates)
			fprintf(out, "%llu,%llu", (unsigned long long)spans[i].from,
				(unsigned long long)spans[i].to);
		else
			emit_short(out, (double)spans[i].from / 1e9, 9);
		for (size_t k = 0; k < ncurves; k++) {
			putc(',', out);
			write_reading(out, curves[k], &spans[i], rates);
		}
		fputs("\n", out);
	}
	rc = 0;
out:
	free(curves);
	free(spans);
	return rc;
}
