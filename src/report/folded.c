/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Folded stacks, one a line: frtrace;STEP;ACTION;frame_[k];… VALUE
 *
 * Root first, ns of the stack itself, summed over the routers of the level. With
 * --diff two columns, ns per router at the earlier and at the later level (the
 * levels have different numbers of routers), which is what the differential
 * flame graph programs read.
 */
#include "report/exporters.h"
#include "report/flame.h"
#include "report/select.h"

#include <errno.h>

#include "util/util.h"

static void write_leaf(FILE *out, const struct flame *f, size_t i)
{
	const struct flame_leaf *l = &f->leaves[i];
	bool any = false;

	for (unsigned c = 0; c < f->columns; c++)
		any |= f->ns[i * f->columns + c] != 0;
	if (!any)
		return; /* a function whose time is all its children's */
	fputs("frtrace", out);
	for (unsigned d = 0; d < l->depth; d++) {
		putc(';', out);
		fputs(f->names[f->paths[l->first + d]].text, out);
	}
	for (unsigned c = 0; c < f->columns; c++)
		fprintf(out, " %llu", (unsigned long long)f->ns[i * f->columns + c]);
	putc('\n', out);
}

int folded__write(EXPORT_ARGS)
{
	bool diff = o->diff[0] >= 0;
	const struct flame_kind *kind = find_kind(o->kind, "folded", err, errlen);
	const struct level_pick *a = NULL, *b;
	struct level_picks picks;
	struct flame *f = NULL;
	int rc;

	if (!kind)
		return -EINVAL;
	rc = picks__fill(&picks, p, err, errlen);
	if (rc)
		return rc;
	rc = check_step(p, o->step, err, errlen);
	if (rc)
		goto out;
	rc = -EINVAL;
	if (diff) {
		a = picks__find(&picks, o->diff[0], err, errlen);
		b = a ? picks__find(&picks, o->diff[1], err, errlen) : NULL;
	} else {
		b = o->at >= 0 ? picks__find(&picks, o->at, err, errlen) : &picks.v[picks.n - 1];
	}
	if (!b)
		goto out;
	rc = -ENOMEM;
	f = flame__new(diff ? 2 : 1, kind->functions);
	if (!f || (a && pick__flame(f, p, a, o->step, kind, 0, true)) ||
	    pick__flame(f, p, b, o->step, kind, diff ? 1 : 0, diff) || flame__finish(f)) {
		fail(err, errlen, rc, "folded: out of memory; choose one --step");
		goto out;
	}
	rc = 0;
	if (!f->nleaves)
		rc = no_stacks(p, kind, err, errlen);
	for (size_t i = 0; i < f->nleaves; i++)
		write_leaf(out, f, i);
out:
	flame__free(f);
	picks__free(&picks);
	return rc;
}
