/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * speedscope's own format (its published file-format schema): one file, one
 * "sampled" profile per step, level and kind, weights in ns. Frames are shared.
 */
#include "report/exporters.h"
#include "report/select.h"

#include <errno.h>
#include <stdlib.h>

#include "report/emit.h"
#include "util/util.h"

/* One profile is one column of one of two flames. */
struct sheet {
	const struct frt_steprow *step;
	const struct level_pick *level;
	const struct flame_kind *kind;
};

static void write_frames(FILE *out, const struct flame *f, bool *first)
{
	for (size_t i = 0; i < f->nnames; i++) {
		fputs(*first ? "\n{\"name\":" : ",\n{\"name\":", out);
		emit_json(out, f->names[i].text);
		putc('}', out);
		*first = false;
	}
}

static void write_samples(FILE *out, const struct flame *f, unsigned column, size_t base)
{
	bool first = true;

	fputs("\"samples\":[", out);
	for (size_t i = 0; i < f->nleaves; i++) {
		const struct flame_leaf *l = &f->leaves[i];

		if (!f->ns[i * f->columns + column])
			continue;
		fputs(first ? "[" : ",[", out);
		first = false;
		/* The step is in the profile's name; the root is the action. */
		for (unsigned d = 1; d < l->depth; d++)
			fprintf(out, "%s%zu", d > 1 ? "," : "", base + f->paths[l->first + d]);
		putc(']', out);
	}
	fputs("],\n\"weights\":[", out);
	first = true;
	for (size_t i = 0; i < f->nleaves; i++) {
		uint64_t ns = f->ns[i * f->columns + column];

		if (!ns)
			continue;
		fprintf(out, "%s%llu", first ? "" : ",", (unsigned long long)ns);
		first = false;
	}
	putc(']', out);
}

static void write_sheet(FILE *out, const struct sheet *s, const struct flame *f, unsigned column,
			size_t base, bool first)
{
	char name[160];

	snprintf(name, sizeof(name), "%.64s at %llu, %s (n = %u)", s->step->step,
		 (unsigned long long)s->level->at, s->kind->functions ? "functions" : s->kind->name,
		 pick__routers(s->level, s->step->step));
	fputs(first ? "\n{\"type\":\"sampled\",\"name\":" : ",\n{\"type\":\"sampled\",\"name\":",
	      out);
	emit_json(out, name);
	fprintf(out, ",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":%llu,\n",
		(unsigned long long)f->total[column]);
	write_samples(out, f, column, base);
	putc('}', out);
}

/* The profiles one --kind asks for; without it all there are. */
static size_t choose_kinds(const struct export_opts *o, const struct flame_kind **v, char *err,
			   size_t errlen)
{
	static const char *const all[] = { "cpu", "off", "functions" };

	if (o->kind) {
		v[0] = find_kind(o->kind, "speedscope", err, errlen);
		return v[0] ? 1 : 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		v[i] = find_kind(all[i], "speedscope", err, errlen);
	return ARRAY_SIZE(all);
}

struct book {
	struct sheet *sheets;
	size_t nsheets, cap;
	struct flame *stacks, *functions;
};

/* A sheet for every step of every level that is selected, in that order. */
static int list_sheets(struct book *b, const struct frt_profile *p, const struct level_picks *picks,
		       const struct export_opts *o, const struct flame_kind *const *kinds,
		       size_t nkinds)
{
	for (size_t l = 0; l < picks->n; l++) {
		const struct frt_levelrow *row = picks->v[l].rows[0];

		if (o->at >= 0 && picks->v[l].at != (uint64_t)o->at)
			continue;
		for (size_t i = 0; i < row->nsteps * nkinds; i++) {
			const struct frt_steprow *step = &row->steps[i / nkinds];
			const struct flame_kind *kind = kinds[i % nkinds];

			if ((o->step && !step_selected(p, step, o->step)) ||
			    (kind->functions ? !step_has_functions(step) : !step->nstacks))
				continue;
			if (grow(&b->sheets, b->nsheets, &b->cap, sizeof(*b->sheets)))
				return -ENOMEM;
			b->sheets[b->nsheets++] = (struct sheet){ step, &picks->v[l], kind };
		}
	}
	return 0;
}

static int fill_book(struct book *b, const struct frt_profile *p)
{
	b->stacks = flame__new((unsigned)b->nsheets, false);
	b->functions = flame__new((unsigned)b->nsheets, true);
	if (!b->stacks || !b->functions)
		return -ENOMEM;
	for (size_t i = 0; i < b->nsheets; i++) {
		const struct sheet *s = &b->sheets[i];

		if (pick__flame(s->kind->functions ? b->functions : b->stacks, p, s->level,
				s->step->step, s->kind, (unsigned)i, false))
			return -ENOMEM;
	}
	return flame__finish(b->stacks) || flame__finish(b->functions) ? -ENOMEM : 0;
}

static void write_file(FILE *out, const struct frt_profile *p, const struct book *b)
{
	bool first = true;

	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
	      "\"exporter\":\"frtrace@" FRT_VERSION "\",\n\"name\":",
	      out);
	emit_json(out, p->command ? p->command : "frtrace");
	fputs(",\n\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[", out);
	write_frames(out, b->stacks, &first);
	write_frames(out, b->functions, &first);
	fputs("]},\n\"profiles\":[", out);
	for (size_t i = 0; i < b->nsheets; i++) {
		const struct sheet *s = &b->sheets[i];

		write_sheet(out, s, s->kind->functions ? b->functions : b->stacks, (unsigned)i,
			    s->kind->functions ? b->stacks->nnames : 0, i == 0);
	}
	fputs("]}\n", out);
}

int speedscope__write(EXPORT_ARGS)
{
	const struct flame_kind *kinds[3];
	size_t nkinds = choose_kinds(o, kinds, err, errlen);
	struct level_picks picks;
	struct book b = { .nsheets = 0 };
	int rc;

	if (!nkinds)
		return -EINVAL;
	rc = picks__fill(&picks, p, err, errlen);
	if (rc)
		return rc;
	rc = check_step(p, o->step, err, errlen);
	if (!rc && o->at >= 0 && !picks__find(&picks, o->at, err, errlen))
		rc = -EINVAL;
	if (rc)
		goto out;
	rc = list_sheets(&b, p, &picks, o, kinds, nkinds);
	if (!rc && !b.nsheets) {
		rc = no_stacks(p, kinds[0], err, errlen);
		goto out;
	}
	if (!rc && b.nsheets > FLAME_COLUMNS) {
		rc = fail(
			err, errlen, -EINVAL,
			"speedscope: %zu profiles, at most %d; choose with --step, --at or --kind",
			b.nsheets, FLAME_COLUMNS);
		goto out;
	}
	if (!rc)
		rc = fill_book(&b, p);
	if (rc)
		fail(err, errlen, rc, "speedscope: out of memory; choose one --step");
	if (!rc)
		write_file(out, p, &b);
out:
	free(b.sheets);
	flame__free(b.stacks);
	flame__free(b.functions);
	picks__free(&picks);
	return rc;
}
