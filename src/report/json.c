/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report as JSON, schema frtrace-report/1: names are stable, fields are only
 * added, times are integer ns, what is unknown is null.
 */
#include "report/report.h"
#include "util/util.h"

#include <frtrace/events.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FN_DEPTH 128 /* function trees are cut below; a call's is far less deep */

/* What could not be allocated: looked at once, at the end. */
struct out {
	bool failed;
};

static void set(struct out *j, json_t *o, const char *key, json_t *v)
{
	if (json_object_set_new(o, key, v))
		j->failed = true;
}

static void append(struct out *j, json_t *a, json_t *v)
{
	if (json_array_append_new(a, v))
		j->failed = true;
}

/* Names are data: what is not UTF-8 or would control a terminal is \xNN. */
static json_t *text(const char *s)
{
	size_t size = s ? 4 * strlen(s) + 1 : 0;
	char *buf;
	json_t *v;

	if (!s)
		return json_null();
	buf = malloc(size);
	v = buf ? json_string(printable(buf, size, s)) : NULL;
	free(buf);
	return v;
}

static json_t *ns(double v)
{
	return isfinite(v) && fabs(v) < 9e18 ? json_integer(llround(v)) : json_null();
}

static json_t *real(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

static json_t *count(uint64_t n)
{
	return json_integer(n > INT64_MAX ? INT64_MAX : (json_int_t)n);
}

static json_t *flag(bool v)
{
	return json_boolean(v);
}

static json_t *ns_range(struct out *j, double lo, double hi)
{
	json_t *a;

	if (!isfinite(lo) || !isfinite(hi))
		return json_null();
	a = json_array();
	append(j, a, ns(lo));
	append(j, a, ns(hi));
	return a;
}

static json_t *real_range(struct out *j, double lo, double hi)
{
	json_t *a;

	if (!isfinite(lo) || !isfinite(hi))
		return json_null();
	a = json_array();
	append(j, a, real(lo));
	append(j, a, real(hi));
	return a;
}

static json_t *dist(struct out *j, const struct frt_dist *d)
{
	json_t *o = json_object();

	set(j, o, "n", count(d->n));
	set(j, o, "mean", ns(d->n ? d->mean : NAN));
	set(j, o, "ci95", d->n ? ns_range(j, d->lo, d->hi) : json_null());
	set(j, o, "sd", ns(d->n ? d->sd : NAN));
	set(j, o, "median", ns(d->n ? d->median : NAN));
	set(j, o, "p95", ns(d->n ? d->p95 : NAN));
	set(j, o, "min", ns(d->n ? d->min : NAN));
	set(j, o, "max", ns(d->n ? d->max : NAN));
	return o;
}

static void set_kinds(struct out *j, json_t *o, const double *kind_ns)
{
	set(j, o, "user_ns", ns(kind_ns[FRT_KIND_USER]));
	set(j, o, "kernel_ns", ns(kind_ns[FRT_KIND_KERNEL]));
	set(j, o, "blocked_ns", ns(kind_ns[FRT_KIND_BLOCKED]));
	set(j, o, "runqueue_ns", ns(kind_ns[FRT_KIND_RUNQ]));
}

static json_t *function_list(struct out *j, const struct frt_fn *v, size_t n, unsigned depth)
{
	json_t *a = json_array();

	for (size_t i = 0; i < n && depth < FN_DEPTH; i++) {
		json_t *o = json_object();

		set(j, o, "function", text(v[i].function));
		set(j, o, "n", count(v[i].n));
		set(j, o, "total_ns", ns(v[i].total_ns));
		set(j, o, "self_ns", ns(v[i].self_ns));
		set(j, o, "cpu_ns", ns(v[i].cpu_ns));
		set(j, o, "blocked_ns", ns(v[i].blocked_ns));
		set(j, o, "children", function_list(j, v[i].children, v[i].nchildren, depth + 1));
		append(j, a, o);
	}
	return a;
}

static json_t *frame_list(struct out *j, const struct frt_action *act)
{
	json_t *a = json_array();

	for (size_t i = 0; i < act->nframes; i++) {
		const struct frt_frame *f = &act->frames[i];
		json_t *o = json_object();

		set(j, o, "frame", text(f->frame));
		set(j, o, "samples", count(f->samples));
		set(j, o, "self_ns", ns(f->self_ns));
		set(j, o, "total_ns", ns(f->total_ns));
		append(j, a, o);
	}
	return a;
}

static json_t *holder_list(struct out *j, const struct frt_wait *w)
{
	json_t *a = json_array();

	for (size_t i = 0; i < w->nholders; i++) {
		const struct frt_holder *h = &w->holders[i];
		json_t *o = json_object();

		set(j, o, "task", text(h->task));
		set(j, o, "kind", text(h->kind));
		set(j, o, "ns", ns(h->ns));
		set(j, o, "stack", text(h->stack));
		append(j, a, o);
	}
	return a;
}

static json_t *wait_list(struct out *j, const struct frt_action *act)
{
	json_t *a = json_array();

	for (size_t i = 0; i < act->nwaits; i++) {
		const struct frt_wait *w = &act->waits[i];
		json_t *o = json_object();

		set(j, o, "class", text(w->class));
		set(j, o, "n", count(w->n));
		set(j, o, "ns", ns(w->ns));
		set(j, o, "where", text(w->where));
		set(j, o, "source", json_string(w->sampled ? "sampled" : "measured"));
		set(j, o, "holders", holder_list(j, w));
		append(j, a, o);
	}
	return a;
}

static json_t *action_list(struct out *j, const struct frt_steprow *s)
{
	json_t *a = json_array();

	for (size_t i = 0; i < s->nactions; i++) {
		const struct frt_action *act = &s->actions[i];
		json_t *o = json_object();

		set(j, o, "action", text(act->action));
		set(j, o, "n", count(act->n));
		set(j, o, "wall_ns", ns(act->wall_ns));
		set_kinds(j, o, act->kind_ns);
		set(j, o, "restarts", real(act->restarts));
		set(j, o, "spin_ns", real(act->spin_ns));
		set(j, o, "functions", function_list(j, act->functions, act->nfunctions, 0));
		set(j, o, "frames", frame_list(j, act));
		set(j, o, "waits", wait_list(j, act));
		append(j, a, o);
	}
	return a;
}

static json_t *step(struct out *j, const struct frt_steprow *s)
{
	json_t *o = json_object(), *in_user = json_object();

	set(j, o, "step", text(s->step));
	set(j, o, "n", count(s->n));
	set(j, o, "instances", count(s->instances));
	set(j, o, "creation", flag(s->creation));
	set(j, o, "control", flag(s->control));
	set(j, o, "source", json_string(s->traced ? "events" : s->rusage ? "rusage" : "clock"));
	set(j, o, "wall_ns", dist(j, &s->wall));
	set_kinds(j, o, s->kind_ns);
	set(j, o, "unaccounted_ns", ns(s->unaccounted_ns));
	set(j, o, "parallel_ns", ns(s->parallel_ns));
	set(j, o, "restarts", real(s->restarts));
	set(j, in_user, "ns", ns(s->kernel_in_user_samples ? s->kernel_in_user_ns : NAN));
	set(j, in_user, "samples", count(s->kernel_in_user_samples));
	set(j, o, "kernel_in_user_sampled", in_user);
	set(j, o, "actions", action_list(j, s));
	return o;
}

static json_t *loss(struct out *j, const uint64_t *v)
{
	static const char *const names[FRT_LOSS_KINDS] = {
		[FRT_LOSS_EVENTS] = "events",	    [FRT_LOSS_MAPS] = "maps_full",
		[FRT_LOSS_SAMPLES] = "samples",	    [FRT_LOSS_UNPAIRED] = "unpaired",
		[FRT_LOSS_UNDECODED] = "undecoded", [FRT_LOSS_UNTAGGED] = "untagged",
		[FRT_LOSS_MISSED] = "missed",
	};
	json_t *o = json_object();

	for (int k = 0; k < FRT_LOSS_KINDS; k++)
		set(j, o, names[k], count(v[k]));
	return o;
}

static json_t *worst_list(struct out *j, const struct frt_levelrow *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->nworst; i++) {
		json_t *o = json_object();

		set(j, o, "router", count(l->worst[i].router));
		set(j, o, "wall_ns", ns(l->worst[i].wall_ns));
		set(j, o, "text", text(l->worst[i].text));
		append(j, a, o);
	}
	return a;
}

static json_t *spinlocks(struct out *j, const struct frt_levelrow *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->nspin; i++) {
		json_t *o = json_object();

		set(j, o, "where", text(l->spin[i].where));
		set(j, o, "n", json_integer((json_int_t)l->spin[i].n));
		append(j, a, o);
	}
	return a;
}

static json_t *bytes(int64_t v)
{
	return v == INT64_MIN ? json_null() : json_integer(v);
}

static json_t *backlogs(struct out *j, const struct frt_levelrow *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->nbacklogs; i++) {
		const struct frt_backlog *b = &l->backlogs[i];
		json_t *o = json_object();

		set(j, o, "t_ns", json_integer(b->t_ns));
		set(j, o, "deleting", flag(b->deleting));
		set(j, o, "existing", count(b->existing));
		set(j, o, "expected", count(b->expected));
		append(j, a, o);
	}
	return a;
}

static json_t *level(struct out *j, const struct frt_levelrow *l)
{
	json_t *o = json_object(), *steps = json_array();

	set(j, o, "level", count(l->asked));
	set(j, o, "existing", count(l->existing));
	set(j, o, "existing_end", count(l->existing_end));
	set(j, o, "again", flag(l->again));
	set(j, o, "run", count(l->run));
	set(j, o, "streams", count(l->streams));
	set(j, o, "routers", count(l->routers));
	set(j, o, "sampled_apart", count(l->sampled_apart));
	set(j, o, "warmup", count(l->warmup));
	set(j, o, "noisy_routers", count(l->noisy));
	set(j, o, "rate_per_s", real(l->rate_per_s));
	set(j, o, "memory_per_router", bytes(l->memory_per_router));
	set(j, o, "slab_per_router", bytes(l->slab_per_router));
	set(j, o, "backlog", bytes(l->backlog));
	set(j, o, "backlog_over_time", backlogs(j, l));
	set(j, o, "spinlocks_contended", json_integer((json_int_t)l->spins));
	set(j, o, "spinlocks", spinlocks(j, l));
	set(j, o, "deferred_unfinished", json_integer((json_int_t)l->unfinished));
	set(j, o, "steal", real(l->steal));
	set(j, o, "filled", count(l->filled));
	set(j, o, "fill_threads", count(l->fill_threads));
	set(j, o, "fill_ns", count(l->fill_ns));
	set(j, o, "settle_ns", count(l->settle_ns));
	set(j, o, "free_wait_ns", count(l->free_wait_ns));
	set(j, o, "events", count(l->events));
	set(j, o, "samples", count(l->samples));
	set(j, o, "loss", loss(j, l->loss));
	for (size_t i = 0; i < l->nsteps; i++)
		append(j, steps, step(j, &l->steps[i]));
	set(j, o, "steps", steps);
	set(j, o, "gap_ns", dist(j, &l->gap));
	set(j, o, "worst", worst_list(j, l));
	return o;
}

/* wall = a + b * existing */
static json_t *fit(struct out *j, double a, double b, double lack_p)
{
	json_t *o = json_object();

	set(j, o, "a_ns", real(a));
	set(j, o, "b_ns", real(b));
	set(j, o, "lack_p", real(lack_p));
	return o;
}

static json_t *predictions(struct out *j, const struct frt_prediction *v, size_t n)
{
	json_t *all = json_object();
	char key[24];

	for (size_t i = 0; i < n; i++) {
		json_t *o = json_object();

		set(j, o, "ns", ns(v[i].refused ? NAN : v[i].ns));
		set(j, o, "ci95", v[i].refused ? json_null() : ns_range(j, v[i].lo, v[i].hi));
		set(j, o, "refused", flag(v[i].refused));
		snprintf(key, sizeof(key), "%llu", (unsigned long long)v[i].at);
		set(j, all, key, o);
	}
	return all;
}

static json_t *growth_list(struct out *j, const struct frt_profile *p)
{
	json_t *a = json_array();

	for (size_t i = 0; i < p->ngrowth; i++) {
		const struct frt_growthrow *g = &p->growth[i];
		bool rest = !g->action && !g->where;
		json_t *o = json_object();

		set(j, o, "step", rest ? json_null() : text(g->step));
		set(j, o, "action", text(g->action));
		set(j, o, "kind", rest ? json_null() : json_string(frt_kind_names[g->kind]));
		set(j, o, "where", rest ? json_string("rest") : text(g->where));
		set(j, o, "source", json_string(g->sampled ? "sampled" : "measured"));
		set(j, o, "n", count(g->n));
		set(j, o, "delta_ns", ns(g->delta_ns));
		set(j, o, "ci99", ns_range(j, g->lo, g->hi));
		set(j, o, "share", real(g->share));
		set(j, o, "ns_per_existing", real(g->ns_per_existing));
		set(j, o, "shape", text(g->shape));
		set(j, o, "fit", fit(j, g->fit_a, g->fit_b, g->lack_p));
		set(j, o, "predicted", predictions(j, g->predicted, g->npredicted));
		append(j, a, o);
	}
	return a;
}

static json_t *step_growth_list(struct out *j, const struct frt_profile *p)
{
	json_t *a = json_array();

	for (size_t i = 0; i < p->nstepgrowth; i++) {
		const struct frt_stepgrowth *g = &p->stepgrowth[i];
		json_t *o = json_object();

		set(j, o, "step", text(g->step));
		set(j, o, "first_ns", ns(g->first_ns));
		set(j, o, "last_ns", ns(g->last_ns));
		set(j, o, "ratio", real(g->ratio));
		set(j, o, "ratio_ci95", real_range(j, g->ratio_lo, g->ratio_hi));
		set(j, o, "delta_ns", ns(g->delta_ns));
		set(j, o, "ci99", ns_range(j, g->lo, g->hi));
		set(j, o, "grew", flag(g->grew));
		set(j, o, "shrank", flag(g->shrank));
		set(j, o, "ns_per_existing", real(g->ns_per_existing));
		set(j, o, "shape", text(g->shape));
		set(j, o, "fit", fit(j, g->fit_a, g->fit_b, g->lack_p));
		set(j, o, "predicted", predictions(j, g->predicted, g->npredicted));
		append(j, a, o);
	}
	return a;
}

static json_t *deferred_list(struct out *j, const struct frt_profile *p)
{
	json_t *a = json_array();

	for (size_t i = 0; i < p->ndeferred; i++) {
		const struct frt_deferred *d = &p->deferred[i];
		json_t *o = json_object();

		set(j, o, "step", text(d->step));
		set(j, o, "function", text(d->function));
		set(j, o, "n", count(d->n));
		set(j, o, "ns", ns(d->ns));
		set(j, o, "wait_ns", ns(d->wait_ns));
		set(j, o, "delay_ns", ns(d->delay_ns));
		set(j, o, "functions", function_list(j, d->functions, d->nfunctions, 0));
		append(j, a, o);
	}
	return a;
}

static json_t *outside_list(struct out *j, const struct frt_profile *p)
{
	json_t *a = json_array();

	for (size_t i = 0; i < p->noutside; i++) {
		const struct frt_outsiderow *r = &p->outside[i];
		json_t *o = json_object();

		set(j, o, "task", text(r->task));
		set(j, o, "own", flag(r->own));
		set(j, o, "cpu_ns", ns(r->cpu_ns));
		set(j, o, "baseline_ns", ns(r->baseline_ns));
		set(j, o, "per_router_ns", ns(r->per_router_ns));
		set(j, o, "frames", text(r->frames));
		set(j, o, "woken_by", text(r->woken_by));
		append(j, a, o);
	}
	return a;
}

static json_t *drift_list(struct out *j, const struct frt_profile *p)
{
	json_t *a = json_array();

	for (size_t i = 0; i < p->ndrift; i++) {
		const struct frt_drift *d = &p->drift[i];
		json_t *o = json_object();

		set(j, o, "step", text(d->step));
		set(j, o, "delta_ns", ns(d->delta_ns));
		set(j, o, "ci99", ns_range(j, d->lo, d->hi));
		set(j, o, "real", flag(d->real));
		append(j, a, o);
	}
	return a;
}

static json_t *probes(struct out *j, const struct frt_profile *p)
{
	json_t *o = json_object(), *missing = json_array();

	set(j, o, "backend", text(p->backend));
	set(j, o, "wanted", count(p->wanted));
	set(j, o, "attached", count(p->attached));
	for (size_t i = 0; i < p->nmissing; i++) {
		json_t *m = json_object();

		set(j, m, "function", text(p->missing[i].function));
		set(j, m, "reason", text(p->missing[i].reason));
		append(j, missing, m);
	}
	set(j, o, "missing", missing);
	set(j, o, "load_ns", p->load_ns ? count(p->load_ns) : json_null());
	set(j, o, "attach_ns", p->attach_ns ? count(p->attach_ns) : json_null());
	set(j, o, "detach_ns", p->detach_ns ? count(p->detach_ns) : json_null());
	set(j, o, "sampling_hz", p->freq ? count(p->freq) : json_null());
	return o;
}

static json_t *overhead(struct out *j, const struct frt_profile *p)
{
	json_t *o;

	if (!isfinite(p->overhead))
		return json_null();
	o = json_object();
	set(j, o, "ratio", real(p->overhead));
	set(j, o, "ci95", real_range(j, p->overhead_lo, p->overhead_hi));
	set(j, o, "n", count(p->overhead_n));
	return o;
}

static json_t *growth_total(struct out *j, const struct frt_profile *p)
{
	json_t *o = json_object();

	set(j, o, "delta_ns", ns(p->growth_ns));
	set(j, o, "ci99", ns_range(j, p->growth_lo, p->growth_hi));
	set(j, o, "note", text(p->growth_note));
	return o;
}

static json_t *advice(const struct frt_profile *p)
{
	json_t *a = json_array();

	for (size_t i = 0; i < p->nadvice; i++)
		json_array_append_new(a, text(p->advice[i]));
	return a;
}

/* The sentences as one text. */
static json_t *finding(const struct frt_profile *p)
{
	size_t size = 1;
	char *all;
	json_t *v;

	for (size_t i = 0; i < p->nfinding; i++)
		size += strlen(p->finding[i]) + 1;
	if (!p->nfinding)
		return json_null();
	all = calloc(1, size);
	for (size_t i = 0; all && i < p->nfinding; i++) {
		if (i)
			strcat(all, " ");
		strcat(all, p->finding[i]);
	}
	v = all ? text(all) : NULL;
	free(all);
	return v;
}

struct json_t *report__json(const struct frt_profile *p)
{
	struct out j = { false };
	json_t *o = json_object(), *levels = json_array(), *notes = json_array();

	set(&j, o, "schema", json_string("frtrace-report/1"));
	set(&j, o, "created", text(p->created));
	set(&j, o, "command", text(p->command));
	set(&j, o, "mode", text(p->mode));
	set(&j, o, "complete", flag(p->complete));
	set(&j, o, "status", p->complete ? json_integer(p->status) : json_null());
	for (size_t i = 0; i < p->nnotes; i++)
		append(&j, notes, text(p->notes[i]));
	set(&j, o, "notes", notes);
	set(&j, o, "environment", p->environment ? json_incref(p->environment) : json_object());
	set(&j, o, "probes", probes(&j, p));
	set(&j, o, "events", count(p->events));
	set(&j, o, "samples", count(p->samples));
	set(&j, o, "unknown_lines", count(p->unknown_lines));
	set(&j, o, "loss", loss(&j, p->loss));
	for (size_t i = 0; i < p->nlevels; i++)
		append(&j, levels, level(&j, &p->levels[i]));
	set(&j, o, "levels", levels);
	set(&j, o, "growth_total", growth_total(&j, p));
	set(&j, o, "growth", growth_list(&j, p));
	set(&j, o, "step_growth", step_growth_list(&j, p));
	set(&j, o, "deferred", deferred_list(&j, p));
	set(&j, o, "outside", outside_list(&j, p));
	set(&j, o, "overhead", overhead(&j, p));
	set(&j, o, "drift", drift_list(&j, p));
	set(&j, o, "finding", finding(p));
	set(&j, o, "advice", advice(p));
	if (j.failed) {
		json_decref(o);
		o = NULL;
	}
	return o;
}
