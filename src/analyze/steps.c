/* SPDX-License-Identifier: BSD-2-Clause */
/* Levels and the rows of the steps table: walls, untraced split, rates. */
#include "analyze/analysis.h"

#include "util/util.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static bool inside(const struct frt_stepinst *s, const struct frt_router *r)
{
	return s->t0 >= r->t0 && s->t1 <= r->t1;
}

/* Walls of one router. The router's own is its creation steps and the gaps
 * between them; a control step that ran in between is in neither. */
static void measure_router(struct level *lv, size_t i)
{
	const struct router *r = &lv->router[i];
	double steps = 0, foreign = 0, span = (double)(r->r->t1 - r->r->t0);
	bool any = false;

	for (size_t k = 0; k < r->nsteps; k++) {
		const struct frt_stepinst *s = r->step[k];
		enum row row = row_of(s);
		double wall = s->t1 > s->t0 ? (double)(s->t1 - s->t0) : 0;
		double *v = &lv->wall[row][i];

		*v = isnan(*v) ? wall : *v + wall;
		lv->has[row] = true;
		if (analysis__rows[row].creation) {
			steps += wall;
			any = true;
		} else if (inside(s, r->r)) {
			foreign += wall;
		}
	}
	if (!any)
		return;
	if (r->r->t1 <= r->r->t0)
		span = steps + foreign;
	lv->wall[ROW_GAP][i] = fmax(span - steps - foreign, 0);
	lv->wall[ROW_ROUTER][i] = steps + lv->wall[ROW_GAP][i];
	lv->has[ROW_GAP] = lv->has[ROW_ROUTER] = true;
}

/* A router that lacks a creation step which most others have (a run that was
 * interrupted) has no wall of its own; its steps count. */
static void drop_partial(struct level *lv)
{
	for (int row = 0; row < ROW_GAP; row++) {
		size_t have = 0;

		if (!analysis__rows[row].creation || !lv->has[row])
			continue;
		for (size_t i = 0; i < lv->nrouters; i++)
			have += !isnan(lv->wall[row][i]);
		for (size_t i = 0; i < lv->nrouters && have * 2 > lv->nrouters; i++)
			if (isnan(lv->wall[row][i]))
				lv->wall[ROW_GAP][i] = lv->wall[ROW_ROUTER][i] = NAN;
	}
}

static int measure_level(struct analysis *an, struct level *lv)
{
	for (int row = 0; row < ROWS; row++) {
		lv->wall[row] = arena__alloc(an->arena, (lv->nrouters + 1) * sizeof(double));
		if (!lv->wall[row])
			return -ENOMEM;
		for (size_t i = 0; i < lv->nrouters; i++)
			lv->wall[row][i] = NAN;
	}
	for (size_t i = 0; i < lv->nrouters; i++)
		measure_router(lv, i);
	drop_partial(lv);
	return 0;
}

/* User and kernel from rusage of the spawned child: what there is without
 * events. What the creator itself spent is not in it. */
static void split_by_rusage(const struct level *lv, enum row row, struct frt_steprow *out)
{
	double user = 0, sys = 0;

	for (size_t i = 0; i < lv->nrouters; i++) {
		if (isnan(lv->wall[row][i]))
			continue;
		for (size_t k = 0; k < lv->router[i].nsteps; k++) {
			const struct frt_stepinst *s = lv->router[i].step[k];
			enum row r = row_of(s);

			if (r != row && !(row == ROW_ROUTER && analysis__rows[r].creation))
				continue;
			user += (double)s->utime_ns;
			sys += (double)s->stime_ns;
		}
	}
	if (!out->n || user + sys <= 0)
		return;
	out->rusage = true;
	out->kind_ns[FRT_KIND_USER] = user / out->n;
	out->kind_ns[FRT_KIND_KERNEL] = sys / out->n;
}

/* What was cut by something else in between is one all the same. */
static bool is_first_part(const struct router *r, size_t k)
{
	for (size_t i = 0; r->step[k]->part && i < k; i++)
		if (r->step[i]->instance == r->step[k]->instance)
			return false;
	return true;
}

static int fill_row(struct analysis *an, const struct level *lv, enum row row,
		    struct frt_steprow *out)
{
	double *scratch = analysis__scratch(an, lv->nrouters);

	out->values = arena__alloc(an->arena, (lv->nrouters + 1) * sizeof(double));
	if (!scratch || !out->values)
		return -ENOMEM;
	for (size_t i = 0; i < lv->nrouters; i++) {
		if (isnan(lv->wall[row][i]))
			continue;
		out->values[out->n++] = lv->wall[row][i];
		for (size_t k = 0; k < lv->router[i].nsteps; k++)
			out->instances += row_of(lv->router[i].step[k]) == row &&
					  is_first_part(&lv->router[i], k);
	}
	stats__dist(out->values, out->n, scratch, &out->wall);
	out->step = an->row_name[row];
	out->creation = analysis__rows[row].creation;
	out->control = analysis__rows[row].control;
	for (int k = 0; k < FRT_KINDS; k++)
		out->kind_ns[k] = NAN;
	out->unaccounted_ns = out->parallel_ns = out->restarts = NAN;
	out->kernel_in_user_ns = out->cpu_total_ns = out->off_total_ns = NAN;
	if (!lv->traced)
		split_by_rusage(lv, row, out);
	return 0;
}

/* A record may say anything: what no machine has is unknown. */
static int64_t bytes_per_router(int64_t kb, uint32_t routers)
{
	const int64_t most = (int64_t)1 << 50;

	return kb > most || kb < -most ? INT64_MIN : kb * 1024 / (int64_t)routers;
}

static int fill_level(struct analysis *an, struct level *lv)
{
	const struct frt_level *l = lv->l;
	struct frt_levelrow *out = lv->out;
	double *scratch, seconds = (double)(l->t1 - l->t0) / 1e9;
	struct frt_steprow gap = { 0 };
	int err;

	*out = (struct frt_levelrow){ .id = l->id,
				      .asked = l->asked,
				      .run = l->run,
				      .streams = l->streams,
				      .again = l->again,
				      .existing = l->existing,
				      .existing_end = l->existing_end,
				      .routers = (uint32_t)(lv->nrouters + lv->nsampled),
				      .sampled_apart = (uint32_t)lv->nsampled,
				      .warmup = l->warmup,
				      .memory_per_router = INT64_MIN,
				      .slab_per_router = INT64_MIN,
				      .fill_ns = l->fill_ns,
				      .filled = l->filled,
				      .fill_threads = l->fill_threads,
				      .settle_ns = l->settle_ns,
				      .free_wait_ns = l->free_wait_ns };
	for (size_t i = 0; i < lv->nrouters; i++)
		if (lv->router[i].r->flags & FRT_ROUTER_STOLEN)
			out->noisy++;
	for (size_t i = 0; i < lv->nsampled; i++)
		if (lv->sampled[i].r->flags & FRT_ROUTER_STOLEN)
			out->noisy++;
	out->rate_per_s = l->t1 > l->t0 ? (double)(lv->nrouters + lv->nsampled) / seconds : NAN;
	out->steal = l->cpu_ns ? (double)l->steal_ns / (double)l->cpu_ns : NAN;
	if (l->filled) {
		out->memory_per_router = bytes_per_router(l->fill_mem_kb, l->filled);
		out->slab_per_router = bytes_per_router(l->fill_slab_kb, l->filled);
	}
	out->steps = arena__alloc(an->arena, ROWS * sizeof(*out->steps));
	if (!out->steps)
		return -ENOMEM;
	for (int i = 0; i < ROWS; i++) {
		enum row row = analysis__order(i);

		if (row == ROW_GAP || !lv->has[row])
			continue;
		err = fill_row(an, lv, row, &out->steps[out->nsteps]);
		if (err)
			return err;
		out->nsteps++;
	}
	err = fill_row(an, lv, ROW_GAP, &gap);
	if (err)
		return err;
	scratch = analysis__scratch(an, gap.n);
	if (!scratch)
		return -ENOMEM;
	stats__dist(gap.values, gap.n, scratch, &out->gap);
	return 0;
}

static void add_losses(struct analysis *an)
{
	for (size_t i = 0; i < an->t->loss.n; i++) {
		const struct frt_loss *l = &an->t->loss.v[i];
		const uint64_t v[] = { l->events,    l->maps_full, l->samples, l->unpaired,
				       l->undecoded, l->untagged,  l->missed };

		for (size_t k = 0; k < ARRAY_SIZE(v); k++)
			an->p->loss[k] += v[k];
		an->p->events += l->sent;
		an->p->samples += l->samples_taken;
		for (size_t j = 0; j < an->nlevels; j++) {
			struct frt_levelrow *out = an->level[j].out;

			if (out->id != l->level)
				continue;
			for (size_t k = 0; k < ARRAY_SIZE(v); k++)
				out->loss[k] += v[k];
			out->events += l->sent;
			out->samples += l->samples_taken;
			out->spins += l->spins;
			out->unfinished += l->unfinished;
			break;
		}
	}
}

int steps__fill(struct analysis *an)
{
	int err;

	an->p->levels = arena__alloc(an->arena, (an->nlevels + 1) * sizeof(*an->p->levels));
	if (!an->p->levels)
		return -ENOMEM;
	an->p->nlevels = an->nlevels;
	for (size_t i = 0; i < an->nlevels; i++) {
		an->level[i].out = &an->p->levels[i];
		err = measure_level(an, &an->level[i]);
		if (!err)
			err = fill_level(an, &an->level[i]);
		if (err)
			return err;
	}
	add_losses(an);
	return 0;
}
