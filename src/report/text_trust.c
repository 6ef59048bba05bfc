/* SPDX-License-Identifier: BSD-2-Clause */
/* How far the figures can be trusted; the worst routers; the finding. */
#include "report/text.h"

#include <frtrace/events.h>

#include <string.h>

static const char *const loss_names[FRT_LOSS_KINDS] = {
	[FRT_LOSS_EVENTS] = "events (ring full)",
	[FRT_LOSS_MAPS] = "entries (map full)",
	[FRT_LOSS_SAMPLES] = "samples",
	[FRT_LOSS_UNPAIRED] = "unpaired calls",
	[FRT_LOSS_UNDECODED] = "undecoded arguments",
	[FRT_LOSS_UNTAGGED] = "untagged tasks",
	[FRT_LOSS_MISSED] = "runs of programs that the kernel skipped",
};

/* "12 events (ring full), 3 samples", or NULL. */
static const char *list_losses(struct text *t, const uint64_t *loss)
{
	const char *list = NULL;

	for (int k = 0; k < FRT_LOSS_KINDS; k++)
		if (loss[k])
			list = text__printf(t, "%s%s%s %s", list ? list : "", list ? ", " : "",
					    text__count(t, loss[k]), loss_names[k]);
	return list;
}

static void put_losses(struct text *t)
{
	const struct frt_profile *p = t->p;
	const char *list = list_losses(t, p->loss), *at;

	if (p->backend && strcmp(p->backend, "untraced") == 0) {
		text__item(t, "Lost", NULL, "nothing to lose untraced");
		return;
	}
	if (!list && !p->events) {
		text__item(t, "Lost", NULL, "nothing was recorded that could be lost");
		return;
	}
	if (!list) {
		text__item(t, "Lost", NULL,
			   text__printf(t, "nothing of %s events and %s samples",
					text__count(t, p->events), text__count(t, p->samples)));
		return;
	}
	text__item(t, "Lost", TEXT_RED,
		   text__printf(t, "%s; recorded: %s events, %s samples", list,
				text__count(t, p->events), text__count(t, p->samples)));
	for (size_t i = 0; i < p->nlevels && p->nlevels > 1; i++) {
		at = list_losses(t, p->levels[i].loss);
		if (at)
			text__item(
				t, "", NULL,
				text__printf(t, "at %s: %s", text__existing(t, &p->levels[i]), at));
	}
}

static void put_noise(struct text *t)
{
	const char *list = NULL;

	for (size_t i = 0; i < t->p->nlevels; i++) {
		const struct frt_levelrow *l = &t->p->levels[i];

		if (!l->noisy && !(l->steal > 0.05))
			continue;
		list = text__printf(
			t,
			"%s%sat %s %u of %u routers lost more than 2 %% to other guests "
			"(%.1f %% stolen)",
			list ? list : "", list ? "; " : "", text__existing(t, l), l->noisy,
			l->routers, 100 * l->steal);
	}
	text__item(t, "Noise", list ? TEXT_YELLOW : NULL,
		   list ? list : "no router lost more than 2 % of its CPU time to other guests");
}

static void put_drift(struct text *t)
{
	const char *list = NULL;

	for (size_t i = 0; i < t->p->ndrift; i++) {
		const struct frt_drift *d = &t->p->drift[i];

		if (d->real)
			list = text__printf(t, "%s%s%s %s ms (±%s, 99 %%)", list ? list : "",
					    list ? ", " : "", text__name(t, d->step),
					    text__ms_plus(t, d->delta_ns),
					    text__ms(t, (d->hi - d->lo) / 2));
	}
	if (!t->p->ndrift)
		text__item(t, "Drift", NULL, "not known: the first level was not measured again");
	else if (list)
		text__item(
			t, "Drift", TEXT_YELLOW,
			text__printf(
				t,
				"with everything removed, not back at the first level's figure: %s",
				list));
	else
		text__item(
			t, "Drift", NULL,
			"none: with everything removed, every step is back at the first level's figure");
}

static void put_overhead(struct text *t)
{
	const struct frt_profile *p = t->p;

	if (!isfinite(p->overhead))
		return;
	text__item(
		t, "Looking", NULL,
		isfinite(p->overhead_lo)
			? text__printf(t, "traced ÷ untraced %.3f (%.3f–%.3f, 95 %%, n=%u a side)",
				       p->overhead, p->overhead_lo, p->overhead_hi, p->overhead_n)
			: text__printf(t, "traced ÷ untraced %.3f (no interval, n=%u a side)",
				       p->overhead, p->overhead_n));
}

void text__trust(struct text *t)
{
	text__blank(t);
	put_losses(t);
	if (t->p->unknown_lines)
		text__item(t, "", TEXT_YELLOW,
			   text__printf(
				   t,
				   "%s lines of the record are of types this version does not know",
				   text__count(t, t->p->unknown_lines)));
	if (!t->p->nlevels)
		return;
	put_noise(t);
	put_drift(t);
	put_overhead(t);
}

void text__worst(struct text *t)
{
	bool first = true;

	for (size_t i = 0; i < t->p->nlevels; i++) {
		const struct frt_levelrow *l = &t->p->levels[i];

		if (!l->nworst || l->again)
			continue;
		text__item(t, first ? "Worst" : "", NULL,
			   text__printf(t, "at %s: %s, %s", text__existing(t, l),
					text__ms_unit(t, l->worst[0].wall_ns),
					text__name(t, l->worst[0].text)));
		first = false;
	}
}

#define SENTENCE_MAX 1024

/* A text of ours that may hold names of others: longer than a name may be. */
static const char *sentence(struct text *t, const char *s)
{
	char buf[SENTENCE_MAX];

	return text__printf(t, "%s", printable(buf, sizeof(buf), s));
}

void text__finding(struct text *t)
{
	const char *all = NULL;

	for (size_t i = 0; i < t->p->nfinding; i++)
		all = text__printf(t, "%s%s%s", all ? all : "", all ? " " : "",
				   sentence(t, t->p->finding[i]));
	if (all) {
		text__blank(t);
		text__item(t, "FINDING", NULL, all);
	}
	for (size_t i = 0; i < t->p->nadvice; i++) {
		if (!i)
			text__blank(t);
		text__item(t, i ? "" : "ADVICE", NULL, sentence(t, t->p->advice[i]));
	}
}
