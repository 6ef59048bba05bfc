/* SPDX-License-Identifier: BSD-2-Clause */
/* From trail to profile: the head, then one concern after the other. */
#include "analyze/advice.h"
#include "analyze/analysis.h"
#include "analyze/finding.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

const char *const frt_kind_names[FRT_KINDS] = {
	[FRT_KIND_USER] = "user",
	[FRT_KIND_KERNEL] = "kernel",
	[FRT_KIND_BLOCKED] = "blocked",
	[FRT_KIND_RUNQ] = "runqueue",
};

static const char *const mode_names[FRT_WORKMODES] = {
	[FRT_WORK_SCRIPT] = "script", [FRT_WORK_EXACT] = "exact",    [FRT_WORK_LEAN] = "lean",
	[FRT_WORK_BATCH] = "batch",   [FRT_WORK_FOREIGN] = "create",
};

/* The string under key, in the profile's memory; absent: NULL. */
static const char *take_string(struct analysis *an, const json_t *o, const char *key)
{
	return arena__strdup(an->arena, json_string_value(json_object_get(o, key)));
}

static uint32_t take_number(const json_t *o, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(o, key));

	return v > 0 && v <= UINT32_MAX ? (uint32_t)v : 0;
}

static int take_missing(struct analysis *an, const json_t *missing)
{
	size_t i;
	json_t *m;

	an->p->missing = arena__alloc(an->arena,
				      (json_array_size(missing) + 1) * sizeof(*an->p->missing));
	if (!an->p->missing)
		return -ENOMEM;
	json_array_foreach(missing, i, m)
	{
		struct frt_missing *out = &an->p->missing[an->p->nmissing];

		out->function = take_string(an, m, "function");
		out->reason = take_string(an, m, "reason");
		if (out->function)
			an->p->nmissing++;
	}
	return 0;
}

static int add_note(struct analysis *an, const char *text)
{
	if (!text)
		return -ENOMEM;
	an->p->notes[an->p->nnotes++] = text;
	return 0;
}

/* Why there are no samples though they were asked for; NULL: there are. */
static const char *no_sampling(const json_t *header)
{
	const json_t *sampling = json_object_get(json_object_get(header, "probes"), "sampling");

	return json_string_value(json_object_get(sampling, "reason"));
}

static int fill_notes(struct analysis *an, const json_t *header)
{
	json_t *notes = json_object_get(header, "notes"), *n;
	const char *no_samples = no_sampling(header);
	size_t i, failed = 0, max = json_array_size(notes) + an->nlevels + 7;
	int err = 0;

	an->p->notes = arena__alloc(an->arena, max * sizeof(*an->p->notes));
	if (!an->p->notes)
		return -ENOMEM;
	json_array_foreach(notes, i, n) if (json_is_string(n) && !err)
		err = add_note(an, arena__strdup(an->arena, json_string_value(n)));
	if (no_samples && !err)
		err = add_note(an, arena__printf(an->arena, "no samples: %s", no_samples));
	for (i = 0; i < an->t->router.n; i++)
		if (an->t->router.v[i].flags & FRT_ROUTER_FAILED)
			failed++;
	if (failed && !err)
		err = add_note(an, arena__printf(an->arena, "%zu router%s failed and %s left out",
						 failed, failed == 1 ? "" : "s",
						 failed == 1 ? "is" : "are"));
	for (i = 0; i < an->nlevels && !err; i++) {
		const struct frt_levelrow *l = an->level[i].out;

		if (l->steal > 0.05)
			err = add_note(an,
				       arena__printf(an->arena,
						     "%.0f %% of the CPU time was stolen by other "
						     "guests at level %u: its figures are noisy",
						     100 * l->steal, l->asked));
	}
	if (json_is_false(json_object_get(json_object_get(header, "probes"), "contention")) &&
	    an->t->off.n && !err)
		err = add_note(an, "locks and their holders are told by stacks and wakings: this "
				   "kernel has no contention tracepoints (5.19 and later do), or "
				   "not as expected");
	if (json_is_false(json_object_get(json_object_get(header, "probes"), "deferred")) && !err)
		err = add_note(an, "what steps leave to workqueues is not told: this kernel lacks "
				   "the tracepoints, or they are not as expected");
	if (an->t->truncated && !err)
		err = add_note(an,
			       "the record has no end: it was cut short, read as far as it goes");
	if (an->nlevels > an->t->level.n && !err)
		err = add_note(an, arena__printf(an->arena,
						 "level %u was cut short: what is shown of it is "
						 "of the routers until then",
						 an->level[an->nlevels - 1].l->asked));
	if (an->t->unknown_lines && !err)
		err = add_note(an,
			       arena__printf(an->arena,
					     "%llu lines of the record are of types this version "
					     "does not know",
					     (unsigned long long)an->t->unknown_lines));
	return err;
}

static int fill_head(struct analysis *an)
{
	const json_t *h = an->t->header, *probes = json_object_get(h, "probes");
	const json_t *options = json_object_get(h, "options"), *predict;
	struct frt_profile *p = an->p;
	size_t i;

	p->created = take_string(an, h, "created");
	p->command = take_string(an, h, "command");
	p->mode = take_string(an, h, "mode");
	if (!p->mode && an->t->level.n && an->t->level.v[0].mode < FRT_WORKMODES)
		p->mode = mode_names[an->t->level.v[0].mode];
	p->environment = json_deep_copy(json_object_get(h, "environment"));
	if (!p->environment)
		p->environment = json_object();
	p->backend = take_string(an, probes, "backend");
	if (!p->backend)
		p->backend = an->t->proc.n ? "none" : "untraced";
	p->wanted = take_number(probes, "wanted");
	p->attached = take_number(probes, "attached");
	p->load_ns = (uint64_t)json_integer_value(json_object_get(probes, "load_ns"));
	p->attach_ns = (uint64_t)json_integer_value(json_object_get(probes, "attach_ns"));
	p->detach_ns = (uint64_t)json_integer_value(json_object_get(an->t->end, "detach_ns"));
	p->freq = no_sampling(h) ? 0 : take_number(options, "freq");
	p->complete = !an->t->truncated;
	p->status = (int)json_integer_value(json_object_get(an->t->end, "status"));
	p->unknown_lines = an->t->unknown_lines;
	for (i = 0; an->o && i < an->o->npredict && i < ARRAY_SIZE(an->predict); i++)
		if (an->o->predict[i])
			an->predict[an->npredict++] = an->o->predict[i];
	predict = json_object_get(options, "predict");
	for (i = 0; !an->npredict && i < json_array_size(predict); i++) {
		json_int_t at = json_integer_value(json_array_get(predict, i));

		if (at > 0 && an->npredict < ARRAY_SIZE(an->predict))
			an->predict[an->npredict++] = (uint64_t)at;
	}
	return p->environment ? take_missing(an, json_object_get(probes, "missing")) : -ENOMEM;
}

int analyze__profile(const struct frt_trail *t, const struct analyze_opts *o,
		     struct frt_profile **out)
{
	static int (*const parts[])(struct analysis *) = {
		analysis__sort, steps__fill,   stepgrowth__fill, overhead__fill, account__fill,
		growth__fill,	outside__fill, deferred__fill,	 worst__fill,
	};
	struct analysis an = { .t = t, .o = o };
	int err = -ENOMEM;

	*out = NULL;
	an.arena = arena__new();
	if (!an.arena)
		return -ENOMEM;
	an.p = arena__alloc(an.arena, sizeof(*an.p));
	an.strings = intern__new(an.arena);
	if (!an.p || !an.strings) {
		arena__free(an.arena);
		intern__free(an.strings);
		return -ENOMEM;
	}
	an.p->arena = an.arena;
	err = fill_head(&an);
	for (size_t i = 0; i < ARRAY_SIZE(parts) && !err; i++)
		err = parts[i](&an);
	if (!err)
		err = finding__write(an.p, an.arena);
	if (!err)
		err = advice__fill(&an);
	if (!err)
		err = fill_notes(&an, t->header);
	analysis__free(&an);
	if (err) {
		profile__free(an.p);
		return err;
	}
	*out = an.p;
	return 0;
}

void profile__free(struct frt_profile *p)
{
	struct arena *arena;

	if (!p)
		return;
	arena = p->arena;
	json_decref(p->environment);
	arena__free(arena);
}
