/* SPDX-License-Identifier: BSD-2-Clause */
/* The slowest routers of a level, and what they spent more on than the others. */
#include "analyze/analysis.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static double mean_without_nan(const double *v, size_t n)
{
	double sum = 0;
	size_t have = 0;

	for (size_t i = 0; i < n; i++)
		if (!isnan(v[i])) {
			sum += v[i];
			have++;
		}
	return have ? sum / (double)have : NAN;
}

static const char *stolen(const struct level *lv, size_t i)
{
	return lv->router[i].r->flags & FRT_ROUTER_STOLEN ? "; CPU time was stolen around it" : "";
}

/* The step that is furthest above its mean. */
static const char *explain_by_step(struct analysis *an, const struct level *lv, size_t i)
{
	double most = 0;
	int at = -1;

	for (int row = 0; row <= ROW_GAP; row++) {
		double over = lv->wall[row][i] - mean_without_nan(lv->wall[row], lv->nrouters);

		if ((analysis__rows[row].creation || row == ROW_GAP) && over > most) {
			most = over;
			at = row;
		}
	}
	if (at < 0)
		return arena__printf(an->arena, "no more than the others%s", stolen(lv, i));
	return arena__printf(an->arena, "%s took %.2f ms, %.2f more than the mean%s",
			     an->row_name[at], lv->wall[at][i] / 1e6, most / 1e6, stolen(lv, i));
}

/* The action and kind of time that is furthest above its mean. */
static const char *explain_by_cell(struct analysis *an, const struct level *lv, size_t i)
{
	const struct cell *top = NULL;
	double most = 0;

	for (size_t k = 0; k < lv->ncells; k++) {
		const struct cell *c = lv->cell[k];
		double sum = 0, over;

		if (!analysis__rows[c->row].creation || c->kind >= FRT_KINDS)
			continue;
		for (size_t j = 0; j < lv->nrouters; j++)
			sum += (double)c->v[j];
		over = (double)c->v[i] - sum / (double)lv->nrouters;
		if (over > most) {
			most = over;
			top = c;
		}
	}
	if (!top)
		return explain_by_step(an, lv, i);
	return arena__printf(an->arena, "%s: %s%s%s%s %.2f ms in %s, %.2f more than the mean%s",
			     an->row_name[top->row], frt_kind_names[top->kind],
			     top->where ? " (" : "", top->where ? top->where : "",
			     top->where ? ")" : "", (double)top->v[i] / 1e6, top->action,
			     most / 1e6, stolen(lv, i));
}

int worst__fill(struct analysis *an)
{
	for (size_t l = 0; l < an->nlevels; l++) {
		struct level *lv = &an->level[l];
		struct frt_levelrow *out = lv->out;
		const double *wall = lv->wall[ROW_ROUTER];
		size_t best[ARRAY_SIZE(out->worst)], n = 0;

		for (size_t i = 0; i < lv->nrouters; i++) {
			size_t at = n;

			if (isnan(wall[i]))
				continue;
			while (at && wall[best[at - 1]] < wall[i])
				at--;
			if (at == ARRAY_SIZE(best))
				continue;
			if (n < ARRAY_SIZE(best))
				n++;
			for (size_t k = n - 1; k > at; k--)
				best[k] = best[k - 1];
			best[at] = i;
		}
		for (size_t k = 0; k < n; k++) {
			struct frt_worst *w = &out->worst[out->nworst++];

			w->router = lv->router[best[k]].r->id;
			w->wall_ns = wall[best[k]];
			w->text = lv->ncells ? explain_by_cell(an, lv, best[k])
					     : explain_by_step(an, lv, best[k]);
			if (!w->text)
				return -ENOMEM;
		}
	}
	return 0;
}
