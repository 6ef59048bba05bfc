/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/select.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "util/util.h"

static const struct flame_kind kinds[] = {
	{ "cpu", "on-CPU time", FLAME_CPU, false },
	{ "off", "waiting time", FLAME_OFF, false },
	{ "wall", "time", FLAME_WALL, false },
	{ "functions", "time in probed functions", FLAME_WALL, true },
};

const struct flame_kind *find_kind(const char *name, const char *format, char *err, size_t errlen)
{
	if (!name)
		name = "wall";
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	fail(err, errlen, -EINVAL,
	     "--kind %s: format %s has no such kind; take cpu, off, wall or functions", name,
	     format);
	return NULL;
}

/* Levels are called by what was asked; where that does not tell them apart
 * (foreign loops are bucketed by what existed) by their count. */
static bool asked_is_unique(const struct frt_profile *p)
{
	for (size_t i = 0; i < p->nlevels; i++)
		for (size_t k = 0; k < i; k++)
			if (!p->levels[i].again && !p->levels[k].again &&
			    p->levels[i].run == p->levels[k].run &&
			    p->levels[i].asked == p->levels[k].asked)
				return false;
	return true;
}

static struct level_pick *add_pick(struct level_picks *p, uint64_t at, uint64_t existing)
{
	size_t i = 0;

	while (i < p->n && p->v[i].at < at)
		i++;
	if (i < p->n && p->v[i].at == at)
		return &p->v[i];
	if (p->n == SELECT_LEVELS)
		return NULL;
	memmove(&p->v[i + 1], &p->v[i], (p->n - i) * sizeof(p->v[0]));
	p->v[i] = (struct level_pick){ .at = at, .existing = existing };
	p->n++;
	return &p->v[i];
}

int picks__fill(struct level_picks *p, const struct frt_profile *profile, char *err, size_t errlen)
{
	bool by_asked = asked_is_unique(profile);
	size_t used = 0;

	memset(p, 0, sizeof(*p));
	p->rows = calloc(profile->nlevels + 1, sizeof(*p->rows));
	if (!p->rows)
		return fail(err, errlen, -ENOMEM, "levels: out of memory; close something");
	for (size_t i = 0; i < profile->nlevels; i++) {
		const struct frt_levelrow *l = &profile->levels[i];

		if (!l->again && !add_pick(p, by_asked ? l->asked : l->existing, l->existing)) {
			picks__free(p);
			return fail(err, errlen, -E2BIG,
				    "more than %d levels; choose two with --diff", SELECT_LEVELS);
		}
	}
	for (size_t k = 0; k < p->n; k++) {
		p->v[k].rows = p->rows + used;
		for (size_t i = 0; i < profile->nlevels; i++) {
			const struct frt_levelrow *l = &profile->levels[i];

			if (!l->again && (by_asked ? l->asked : l->existing) == p->v[k].at)
				p->v[k].rows[p->v[k].nrows++] = l;
		}
		used += p->v[k].nrows;
	}
	if (p->n)
		return 0;
	picks__free(p);
	return fail(err, errlen, -ENODATA,
		    "no level was measured to its end; record again, or take --kind rate");
}

void picks__free(struct level_picks *p)
{
	free(p->rows);
	memset(p, 0, sizeof(*p));
}

const struct level_pick *picks__find(const struct level_picks *p, int64_t at, char *err,
				     size_t errlen)
{
	char list[256] = "";
	size_t o = 0;

	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].at == (uint64_t)at)
			return &p->v[i];
	for (size_t i = 0; i < p->n && o + 24 < sizeof(list); i++)
		o += (size_t)snprintf(list + o, sizeof(list) - o, "%s%llu", i ? ", " : "",
				      (unsigned long long)p->v[i].at);
	fail(err, errlen, -EINVAL, "level %lld: not measured in this record; choose from %s",
	     (long long)at, list);
	return NULL;
}

static bool has_creation(const struct frt_profile *p)
{
	for (size_t i = 0; i < p->nlevels; i++)
		for (size_t k = 0; k < p->levels[i].nsteps; k++)
			if (p->levels[i].steps[k].creation)
				return true;
	return false;
}

bool step_selected(const struct frt_profile *p, const struct frt_steprow *s, const char *step)
{
	if (step && !*step)
		return true;
	if (step && strcmp(step, "router") != 0)
		return strcmp(s->step, step) == 0;
	return s->creation || (!s->control && strcmp(s->step, "delete") != 0 && !has_creation(p));
}

int check_step(const struct frt_profile *p, const char *step, char *err, size_t errlen)
{
	char list[256] = "router";
	size_t o = strlen(list);
	char shown[64];

	if (!step || strcmp(step, "router") == 0)
		return 0;
	for (size_t i = 0; i < p->nlevels; i++)
		for (size_t k = 0; k < p->levels[i].nsteps; k++)
			if (strcmp(p->levels[i].steps[k].step, step) == 0)
				return 0;
	for (size_t k = 0; p->nlevels && k < p->levels[0].nsteps; k++) {
		const char *name = printable(shown, sizeof(shown), p->levels[0].steps[k].step);

		if (strcmp(name, "router") != 0 && o + strlen(name) + 3 < sizeof(list))
			o += (size_t)snprintf(list + o, sizeof(list) - o, ", %s", name);
	}
	return fail(err, errlen, -EINVAL, "step '%s': not in this record; choose from %s",
		    printable(shown, sizeof(shown), step), list);
}

uint32_t pick__routers(const struct level_pick *p, const char *step)
{
	uint32_t n = 0;

	for (size_t i = 0; i < p->nrows; i++)
		for (size_t k = 0; k < p->rows[i]->nsteps; k++)
			if (strcmp(p->rows[i]->steps[k].step, step) == 0)
				n += p->rows[i]->steps[k].n;
	return n;
}

uint32_t pick__n(const struct frt_profile *profile, const struct level_pick *p, const char *step)
{
	uint32_t most = 0;

	for (size_t k = 0; k < p->rows[0]->nsteps; k++) {
		const struct frt_steprow *s = &p->rows[0]->steps[k];
		uint32_t n = step_selected(profile, s, step) ? pick__routers(p, s->step) : 0;

		most = n > most ? n : most;
	}
	return most;
}

int pick__flame(struct flame *f, const struct frt_profile *profile, const struct level_pick *p,
		const char *step, const struct flame_kind *kind, unsigned column, bool per_router)
{
	for (size_t i = 0; i < p->nrows; i++) {
		for (size_t k = 0; k < p->rows[i]->nsteps; k++) {
			const struct frt_steprow *s = &p->rows[i]->steps[k];
			uint32_t n = per_router ? pick__routers(p, s->step) : 1;
			int err;

			if (!step_selected(profile, s, step))
				continue;
			err = kind->functions ? flame__add_functions(f, s, kind->kinds, column, n)
					      : flame__add_stacks(f, s, kind->kinds, column, n);
			if (err)
				return err;
		}
	}
	return 0;
}

int no_stacks(const struct frt_profile *p, const struct flame_kind *kind, char *err, size_t errlen)
{
	if (kind->functions)
		return fail(err, errlen, -ENODATA,
			    "no function was probed in this selection; record with --probes "
			    "auto on a kernel that has kprobes or fentry (`frtrace doctor` tells)");
	if (!p->backend || strcmp(p->backend, "untraced") == 0)
		return fail(err, errlen, -ENODATA,
			    "made untraced, so it holds no stacks; record again without "
			    "--untraced");
	return fail(err, errlen, -ENODATA,
		    "no %s in this selection; choose another --step, --at or --kind", kind->what);
}

const char *environment_text(const struct frt_profile *p, const char *key, const char *fallback)
{
	const json_t *v = p->environment ? json_object_get(p->environment, key) : NULL;

	return json_is_string(v) ? json_string_value(v) : fallback;
}
