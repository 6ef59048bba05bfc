/* SPDX-License-Identifier: BSD-2-Clause */
/* The head of the report: where it was measured, how, and with what coverage. */
#include "report/text.h"

#include <jansson.h>
#include <string.h>

static const char *env_text(struct text *t, const char *key)
{
	const char *s = json_string_value(json_object_get(t->p->environment, key));

	return s && *s ? text__name(t, s) : NULL;
}

static json_int_t env_number(const struct text *t, const char *key)
{
	const json_t *v = json_object_get(t->p->environment, key);

	return json_is_integer(v) ? json_integer_value(v) : -1;
}

#define PART_WHOLE 45 /* bytes of a part that is not broken over lines */

/* "a · b": the parts of a line, b kept together. */
static const char *joined(struct text *t, const char *a, const char *b)
{
	char *whole;

	if (!b)
		return a;
	whole = arena__strdup(t->a, b);
	for (char *c = whole; c && strlen(b) <= PART_WHOLE && *c; c++)
		if (*c == ' ')
			*c = TEXT_HARD_BLANK;
	return text__printf(t, "%s%c· %s", a, TEXT_HARD_BLANK, whole ? whole : "");
}

static const char *machine_line(struct text *t)
{
	const char *kernel = env_text(t, "kernel"), *machine = env_text(t, "machine"), *s;

	s = text__printf(t, "Linux %s%s%s", kernel ? kernel : "(unknown)", machine ? " " : "",
			 machine ? machine : "");
	if (env_number(t, "cpus") > 0)
		s = joined(t, s,
			   text__printf(t, "%lld CPU%s", (long long)env_number(t, "cpus"),
					env_number(t, "cpus") == 1 ? "" : "s"));
	if (env_number(t, "hz") > 0)
		s = joined(t, s, text__printf(t, "HZ %lld", (long long)env_number(t, "hz")));
	if (env_text(t, "preempt"))
		s = joined(t, s, text__printf(t, "preempt %s", env_text(t, "preempt")));
	if (env_text(t, "virt") && strcmp(env_text(t, "virt"), "none") != 0)
		s = joined(t, s, text__printf(t, "guest of %s", env_text(t, "virt")));
	return s;
}

static const char *losses(struct text *t)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < ARRAY_SIZE(t->p->loss); i++)
		lost += t->p->loss[i];
	return lost ? "LOSSES, see below" : "nothing lost";
}

static const char *probes_line(struct text *t)
{
	const struct frt_profile *p = t->p;
	const char *backend = p->backend ? p->backend : "unknown", *s;

	if (strcmp(backend, "untraced") == 0)
		return "untraced: walls by the clock, CPU time from rusage";
	if (strcmp(backend, "none") == 0)
		s = "probes: none (calls and scheduler only)";
	else
		s = text__printf(t, "probes: %s %u of %u", text__name(t, backend), p->attached,
				 p->wanted);
	s = joined(t, s, p->freq ? text__printf(t, "samples %u Hz", p->freq) : "no sampling");
	s = joined(t, s,
		   text__printf(t, "%s events, %s samples", text__count(t, p->events),
				text__count(t, p->samples)));
	return p->events ? joined(t, s, losses(t)) : s;
}

static const char *seconds(struct text *t, uint64_t ns)
{
	return text__printf(t, "%.1f s", (double)ns / 1e9);
}

static const char *fill_text(struct text *t, const struct frt_levelrow *l)
{
	const char *s;

	if (!l->filled)
		return NULL;
	s = text__printf(t, "%s filled in %s", text__count(t, l->filled), seconds(t, l->fill_ns));
	if (l->fill_threads)
		s = text__printf(t, "%s on %s thread%s", s, text__count(t, l->fill_threads),
				 l->fill_threads == 1 ? "" : "s");
	return s;
}

static const char *memory_text(struct text *t, const struct frt_levelrow *l)
{
	const char *s;

	if (l->memory_per_router == INT64_MIN)
		return NULL;
	s = text__printf(t, "%.2f MiB per router", (double)l->memory_per_router / 1048576);
	if (l->slab_per_router != INT64_MIN)
		s = text__printf(t, "%s (%.2f slab)", s, (double)l->slab_per_router / 1048576);
	return s;
}

/* Somebody else's loop: how many routers it makes is its own business. */
static bool is_followed(const struct text *t)
{
	return t->p->mode && (strcmp(t->p->mode, "run") == 0 || strcmp(t->p->mode, "attach") == 0);
}

static const char *followed_line(struct text *t)
{
	uint64_t routers = 0, partial = 0, streams = 0;
	const char *s;

	for (size_t i = 0; i < t->p->nlevels; i++) {
		const struct frt_levelrow *l = &t->p->levels[i];

		routers += l->routers;
		partial += l->warmup;
		streams = l->streams > streams ? l->streams : streams;
	}
	if (!t->p->nlevels)
		return "followed; no step of any loop was seen to its end";
	s = text__printf(t, "followed: %s router%s of %s loop%s", text__count(t, routers),
			 routers == 1 ? "" : "s", text__count(t, streams), streams == 1 ? "" : "s");
	if (partial)
		s = text__printf(t, "%s, and %s joined in the middle, which count%s for nothing", s,
				 text__count(t, partial), partial == 1 ? "s" : "");
	return s;
}

static const char *work_line(struct text *t)
{
	const struct frt_levelrow *l = t->last;
	const char *s;

	if (is_followed(t))
		return followed_line(t);
	if (!l)
		return "no level was measured to its end";
	s = text__printf(t, "%u router%s per level", l->routers, l->routers == 1 ? "" : "s");
	if (l->sampled_apart)
		s = text__printf(t, "%s, %u of them only for samples", s, l->sampled_apart);
	if (l->warmup)
		s = text__printf(t, "%s after %u to warm up", s, l->warmup);
	s = text__printf(t, "%s, %s mode", s, text__name(t, t->p->mode));
	if (l->streams > 1)
		s = text__printf(t, "%s, %u streams", s, l->streams);
	s = joined(t, s, fill_text(t, l));
	return joined(t, s, memory_text(t, l));
}

void text__head(struct text *t)
{
	text__paragraph(t, 0, machine_line(t));
	text__paragraph(t, 0, probes_line(t));
	text__paragraph(t, 0, work_line(t));
	if (t->p->created || t->p->command)
		text__paragraph(t, 0,
				text__printf(t, "%s%s%s",
					     t->p->created ? text__name(t, t->p->created) : "",
					     t->p->created && t->p->command ? " · " : "",
					     t->p->command ? text__name(t, t->p->command) : ""));
	for (size_t i = 0; i < t->p->nnotes; i++)
		text__item(t, "Note", TEXT_YELLOW, text__name(t, t->p->notes[i]));
}

#define LIST_MAX 200 /* of a list's entries are shown */

/* A value of the environment as one cell. */
static const char *env_value(struct text *t, const json_t *v)
{
	const char *list = NULL, *key;
	const json_t *item;
	size_t i;

	switch (json_typeof(v)) {
	case JSON_STRING:
		return text__name(t, json_string_value(v));
	case JSON_INTEGER:
		return text__printf(t, "%lld", (long long)json_integer_value(v));
	case JSON_REAL:
		return text__printf(t, "%.4g", json_real_value(v));
	case JSON_TRUE:
		return "yes";
	case JSON_FALSE:
		return "no";
	case JSON_NULL:
		return "unknown";
	case JSON_ARRAY:
		json_array_foreach(v, i, item)
		{
			if (i == LIST_MAX)
				return text__printf(t, "%s and %zu more", list,
						    json_array_size(v) - i);
			list = text__printf(t, "%s%s%s", list ? list : "", list ? " " : "",
					    env_value(t, item));
		}
		return list ? list : "none";
	case JSON_OBJECT:
		i = 0;
		json_object_foreach((json_t *)(uintptr_t)v, key, item)
		{
			if (i++ == LIST_MAX)
				break;
			list = text__printf(t, "%s%s%s %s", list ? list : "", list ? ", " : "",
					    text__name(t, key), env_value(t, item));
		}
		return list ? list : "none";
	}
	return "unknown";
}

static void print_facts(struct text *t)
{
	const char *key;
	json_t *v;

	text__heading(t, "ENVIRONMENT", NULL);
	json_object_foreach(t->p->environment, key, v)
	{
		fprintf(t->f, "%-22s", text__name(t, key));
		text__wrapped(t, 22, env_value(t, v));
	}
}

static void print_levels(struct text *t)
{
	static const struct text_column columns[] = {
		{ "EXISTING", TEXT_RIGHT, 0, 0, false },
		{ "ASKED", TEXT_RIGHT, 0, 0, false },
		{ "AT ITS END", TEXT_RIGHT, 0, 4, false },
		{ "ROUTERS", TEXT_RIGHT, 0, 0, false },
		{ "STREAMS", TEXT_RIGHT, 0, 1, false },
		{ "FILLED", TEXT_RIGHT, 0, 0, false },
		{ "IN", TEXT_RIGHT, 0, 5, false },
		{ "SETTLED", TEXT_RIGHT, 0, 3, false },
		{ "FREED", TEXT_RIGHT, 0, 2, false },
		{ "MiB/ROUTER", TEXT_RIGHT, 0, 0, false },
		{ "STOLEN", TEXT_RIGHT, 0, 6, false },
	};
	struct text_table *tb = text_table__new(t, columns, ARRAY_SIZE(columns));

	text__blank(t);
	text__heading(t, "LEVELS", NULL);
	for (size_t i = 0; i < t->p->nlevels; i++) {
		const struct frt_levelrow *l = &t->p->levels[i];
		bool memory = l->memory_per_router != INT64_MIN;

		text_table__line(tb, 0);
		text_table__cell(tb, text__existing(t, l));
		text_table__cell(tb, text__count(t, l->asked));
		text_table__cell(tb, text__count(t, l->existing_end));
		text_table__cell(tb, text__printf(t, "%u + %u", l->warmup, l->routers));
		text_table__cell(tb, text__count(t, l->streams));
		text_table__cell(tb, l->filled ? text__count(t, l->filled) : "-");
		text_table__cell(tb, l->filled ? seconds(t, l->fill_ns) : "-");
		text_table__cell(tb, seconds(t, l->settle_ns));
		text_table__cell(tb, seconds(t, l->free_wait_ns));
		text_table__cell(
			tb, memory ? text__printf(t, "%.2f", (double)l->memory_per_router / 1048576)
				   : "-");
		text_table__cell(tb, isfinite(l->steal) ? text__printf(t, "%.1f %%", 100 * l->steal)
							: "-");
	}
	text_table__print(tb);
}

static void print_missing(struct text *t)
{
	static const struct text_column columns[] = {
		{ "FUNCTION", TEXT_LEFT, 20, 0, false },
		{ "NOT PROBED BECAUSE", TEXT_LEFT, 20, 0, false },
	};
	struct text_table *tb;

	if (!t->p->nmissing)
		return;
	tb = text_table__new(t, columns, ARRAY_SIZE(columns));
	text__blank(t);
	for (size_t i = 0; i < t->p->nmissing; i++) {
		text_table__line(tb, 0);
		text_table__cell(tb, text__name(t, t->p->missing[i].function));
		text_table__cell(tb, text__name(t, t->p->missing[i].reason));
	}
	text_table__print(tb);
}

void text__environment(struct text *t)
{
	text__head(t);
	text__blank(t);
	print_facts(t);
	if (t->p->nlevels)
		print_levels(t);
	print_missing(t);
}
