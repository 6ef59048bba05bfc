/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the report page draws its graphs from: one tree of all steps for the
 * stacks and one for the probed functions, each node with its ns and n at every
 * level, on the CPU and off it. All views and differences come from these.
 */
#include "report/html.h"

#include <errno.h>

#include "report/emit.h"
#include "report/svg.h"

/* Numbers in both trees together; keeps the page below 2 MiB. */
#define NUMBERS_MAX 200000

static void write_levels(FILE *out, const struct level_picks *picks)
{
	fputs("{\"levels\":[", out);
	for (size_t i = 0; i < picks->n; i++)
		fprintf(out, "%s{\"at\":%llu,\"existing\":%llu}", i ? "," : "",
			(unsigned long long)picks->v[i].at,
			(unsigned long long)picks->v[i].existing);
	fputs("],\n\"steps\":[", out);
}

static void write_steps(FILE *out, const struct frt_profile *p, const struct level_picks *picks)
{
	const struct frt_levelrow *l = picks->v[0].rows[0];
	bool first = true;

	for (size_t i = 0; i < l->nsteps; i++) {
		char name[EMIT_NAME_MAX + 8];

		fputs(first ? "\n{\"name\":" : ",\n{\"name\":", out);
		emit_json(out, clean_name(name, l->steps[i].step));
		fprintf(out, ",\"router\":%d,\"n\":[", step_selected(p, &l->steps[i], NULL));
		for (size_t k = 0; k < picks->n; k++)
			fprintf(out, "%s%u", k ? "," : "",
				pick__routers(&picks->v[k], l->steps[i].step));
		fputs("]}", out);
		first = false;
	}
	fputs("],\n", out);
}

static void write_tree(FILE *out, const struct flame *f, const struct flame_tree *t)
{
	fputs("\"names\":[", out);
	for (size_t i = 0; i < f->nnames; i++) {
		if (i)
			putc(',', out);
		emit_json(out, f->names[i].text);
	}
	fputs("],\n\"classes\":[", out);
	for (size_t i = 0; i < f->nnames; i++) {
		char class[8];

		frame_class(class, &f->names[i], false);
		fprintf(out, "%s\"%s\"", i ? "," : "", class);
	}
	/* Per node: name, depth, how, then ns and n of every column. */
	fputs("],\n\"nodes\":[", out);
	for (size_t i = 1; i < t->nnodes; i++) {
		const struct flame_node *n = &t->nodes[i];

		fprintf(out, "%s%u,%u,%u", i > 1 ? ",\n" : "", n->name, n->depth, n->how);
		for (unsigned c = 0; c < t->columns; c++)
			fprintf(out, ",%llu,%llu", (unsigned long long)t->ns[i * t->columns + c],
				(unsigned long long)t->n[i * t->columns + c]);
	}
	fprintf(out, "],\n\"pruned\":%llu", (unsigned long long)t->pruned);
}

/* The tree as detailed as the budget allows. */
static int fit_tree(const struct flame *f, size_t numbers, struct flame_tree *t)
{
	double share = SVG_MIN_SHARE / 16;

	for (;;) {
		int err = flame__tree(f, share, t);

		if (err || t->nnodes * (3 + 2 * f->columns) <= numbers)
			return err;
		flame_tree__free(t);
		share *= 2;
	}
}

static int write_set(FILE *out, const struct frt_profile *p, const struct level_picks *picks,
		     bool functions, bool *any)
{
	struct flame *f = flame__new(2 * (unsigned)picks->n, functions);
	struct flame_tree t = { 0 };
	int err = f ? 0 : -ENOMEM;

	for (unsigned i = 0; i < 2 * picks->n && !err; i++) {
		const struct flame_kind half = { .kinds = i % 2 ? FLAME_OFF : FLAME_CPU,
						 .functions = functions };

		err = pick__flame(f, p, &picks->v[i / 2], SELECT_EVERY, &half, i, false);
	}
	if (!err)
		err = flame__finish(f);
	if (!err)
		err = fit_tree(f, NUMBERS_MAX / 2, &t);
	if (!err) {
		fprintf(out, "%s{\"id\":\"%s\",", functions ? ",\n" : "",
			functions ? "functions" : "stacks");
		write_tree(out, f, &t);
		putc('}', out);
		*any |= f->nleaves > 0;
	}
	flame_tree__free(&t);
	flame__free(f);
	return err;
}

int html__data(FILE *out, const struct frt_profile *p, const struct level_picks *picks, bool *any)
{
	int err;

	*any = false;
	write_levels(out, picks);
	write_steps(out, p, picks);
	fputs("\"sets\":[", out);
	err = write_set(out, p, picks, false, any);
	if (!err)
		err = write_set(out, p, picks, true, any);
	fputs("]}\n", out);
	return err;
}
