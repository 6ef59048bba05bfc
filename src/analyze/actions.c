/* SPDX-License-Identifier: BSD-2-Clause */
/* What a step's account says, as the profile shows it: actions with their frames
 * and waits, and the rows of the flame graphs. */
#include "analyze/account.h"

#include "analyze/waits.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOT_SAMPLED "[not sampled]"
#define NO_STACK "[no stack]"

static int descending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

void apportion(uint64_t total, const uint64_t *weight, size_t n, uint64_t *share, uint64_t *rest)
{
	uint64_t *sorted = rest + n, sum = 0, left = total;
	size_t larger = 0;

	if (!n)
		return;
	for (size_t i = 0; i < n; i++)
		sum += weight[i];
	for (size_t i = 0; i < n; i++) {
		unsigned __int128 x = (unsigned __int128)total * weight[i];

		share[i] = sum ? (uint64_t)(x / sum) : 0;
		rest[i] = sorted[i] = sum ? (uint64_t)(x % sum) : 0;
		left -= share[i];
	}
	if (!sum)
		share[0] = total;
	if (!sum || !left)
		return;
	/* left < n: one each for the left largest remainders */
	qsort(sorted, n, sizeof(*sorted), descending);
	while (larger < left && sorted[larger] > sorted[left - 1])
		larger++;
	for (size_t i = 0, equal = left - larger; i < n; i++) {
		if (rest[i] > sorted[left - 1]) {
			share[i]++;
		} else if (rest[i] == sorted[left - 1] && equal) {
			share[i]++;
			equal--;
		}
	}
}

static int by_stack(const void *a, const void *b)
{
	const struct stack_count *x = a, *y = b;

	return (x->stack > y->stack) - (x->stack < y->stack);
}

static int by_class_and_stack(const void *a, const void *b)
{
	const struct off_sum *x = a, *y = b;
	int c = strcmp(x->class, y->class);

	return c ? c : (x->stack > y->stack) - (x->stack < y->stack);
}

static void merge_samples(struct action_sum *a)
{
	size_t m = 0;

	a->samples = a->sample.n;
	if (a->sample.n)
		qsort(a->sample.v, a->sample.n, sizeof(*a->sample.v), by_stack);
	for (size_t i = 0; i < a->sample.n; i++)
		if (m && a->sample.v[m - 1].stack == a->sample.v[i].stack)
			a->sample.v[m - 1].n += a->sample.v[i].n;
		else
			a->sample.v[m++] = a->sample.v[i];
	a->sample.n = m;
}

static void merge_offs(struct action_sum *a)
{
	size_t m = 0;

	if (a->off.n)
		qsort(a->off.v, a->off.n, sizeof(*a->off.v), by_class_and_stack);
	for (size_t i = 0; i < a->off.n; i++)
		if (m && by_class_and_stack(&a->off.v[m - 1], &a->off.v[i]) == 0) {
			a->off.v[m - 1].ns += a->off.v[i].ns;
			a->off.v[m - 1].n += a->off.v[i].n;
		} else {
			a->off.v[m++] = a->off.v[i];
		}
	a->off.n = m;
}

static int by_weight(const void *a, const void *b)
{
	const struct action_sum *x = a, *y = b;
	uint64_t p = 0, q = 0;

	for (int k = 0; k < FRT_KINDS; k++) {
		p += x->kind[k];
		q += y->kind[k];
	}
	return p != q ? (p > q ? -1 : 1) : strcmp(x->name, y->name);
}

/* Where a name (interned) stands in an action's frames. */
struct frame_map {
	const char **key;
	uint32_t *slot;
	size_t cap;
};

static size_t frame_map__find(const struct frame_map *m, const char *name)
{
	size_t i = ((uintptr_t)name >> 4) * 0x9e3779b97f4a7c15ull >> 20 & (m->cap - 1);

	while (m->key[i] && m->key[i] != name)
		i = (i + 1) & (m->cap - 1);
	return i;
}

static int frame_map__grow(struct frame_map *m)
{
	struct frame_map more = { .cap = m->cap ? m->cap * 2 : 64 };

	more.key = calloc(more.cap, sizeof(*more.key));
	more.slot = calloc(more.cap, sizeof(*more.slot));
	if (!more.key || !more.slot) {
		free(more.key);
		free(more.slot);
		return -ENOMEM;
	}
	for (size_t i = 0; i < m->cap; i++) {
		size_t at = m->key[i] ? frame_map__find(&more, m->key[i]) : 0;

		if (!m->key[i])
			continue;
		more.key[at] = m->key[i];
		more.slot[at] = m->slot[i];
	}
	free(m->key);
	free(m->slot);
	*m = more;
	return 0;
}

static struct frame_count *frame_named(struct frame_map *m, struct action_sum *a, const char *name)
{
	size_t i;

	if (a->frame.n * 2 >= m->cap && frame_map__grow(m))
		return NULL;
	i = frame_map__find(m, name);
	if (m->key[i])
		return &a->frame.v[m->slot[i]];
	if (grow(&a->frame.v, a->frame.n, &a->frame.cap, sizeof(*a->frame.v)))
		return NULL;
	m->key[i] = name;
	m->slot[i] = (uint32_t)a->frame.n;
	a->frame.v[a->frame.n] = (struct frame_count){ .frame = name };
	return &a->frame.v[a->frame.n++];
}

/* n samples, ns of time, with stack s; which: number of the stack in this action,
 * from 1 on, so that a function that recurs in it counts once. */
static int count_frames(struct frame_map *m, struct action_sum *a, const struct stack *s,
			size_t which, uint64_t n, uint64_t ns, const char *empty)
{
	const char *leaf = s->n ? s->frames[s->n - 1] : empty;
	struct frame_count *f;

	for (size_t i = 0; i < (s->n ? s->n : 1); i++) {
		f = frame_named(m, a, s->n ? s->frames[i] : empty);
		if (!f)
			return -ENOMEM;
		if (f->last != which) {
			f->total += n;
			f->total_ns += ns;
		}
		f->last = which;
	}
	f = frame_named(m, a, leaf);
	f->self += n;
	f->self_ns += ns;
	return 0;
}

static int by_self(const void *a, const void *b)
{
	const struct frame_count *x = a, *y = b;

	if (x->self_ns != y->self_ns)
		return x->self_ns > y->self_ns ? -1 : 1;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return strcmp(x->frame, y->frame);
}

static int by_wait(const void *a, const void *b)
{
	const struct frt_wait *x = a, *y = b;
	int c;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	c = strcmp(x->class, y->class);
	return c ? c : strcmp(x->where ? x->where : "", y->where ? y->where : "");
}

/* Frames below the scheduler's own. */
static size_t frames_of_wait(const struct stack *s)
{
	size_t n = s->n;

	while (n && waits__is_scheduler(s->frames[n - 1]))
		n--;
	return n;
}

/* Frames of a holder's stack that are shown. */
#define HOLDER_FRAMES 6

/* Leaf first, without what lets go of the lock: that is how it was seen. */
static const char *holder_text(struct analysis *an, struct stacks *stacks, uint32_t node)
{
	const struct stack *s = stacks__get(stacks, node);
	char text[400] = "";
	size_t len = 0, shown = 0;

	if (!s || !s->n)
		return NULL;
	for (size_t i = s->n; i-- > 0 && shown < HOLDER_FRAMES && len < sizeof(text);) {
		if (waits__is_probe(s->frames[i]) ||
		    (!shown && (waits__unlocks(&s->frames[i], 1) || waits__wakes(s->frames[i]))))
			continue;
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", shown ? " < " : "",
					s->frames[i]);
		shown++;
	}
	return shown ? arena__strdup(an->arena, text) : NULL;
}

static int by_held(const void *a, const void *b)
{
	const struct frt_holder *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return strcmp(x->task, y->task);
}

/* Holders of the waits of one class and stack, into the row that they are in. */
static int fill_holders(struct analysis *an, struct stacks *stacks, const struct action_sum *a,
			const struct off_sum *o, struct frt_wait *w)
{
	if (!w->holders) {
		w->holders = arena__alloc(an->arena, (a->held.n + 1) * sizeof(*w->holders));
		if (!w->holders)
			return -ENOMEM;
	}
	for (size_t i = 0; i < a->held.n; i++) {
		const struct held_sum *h = &a->held.v[i];
		struct frt_holder *r;
		size_t k = 0;

		if (h->class != o->class || h->stack != o->stack)
			continue;
		while (k < w->nholders &&
		       (w->holders[k].task != h->task || strcmp(w->holders[k].kind, h->kind) != 0))
			k++;
		r = &w->holders[k];
		if (k == w->nholders)
			w->holders[w->nholders++] = (struct frt_holder){ .task = h->task,
									 .kind = h->kind };
		r->ns += (double)h->ns;
		if (!r->stack && h->holder_stack)
			r->stack = holder_text(an, stacks, h->holder_stack);
	}
	return 0;
}

static struct frt_wait *wait_row(struct frt_action *out, const char *class, const char *where)
{
	size_t k = 0;

	while (k < out->nwaits && (out->waits[k].class != class || out->waits[k].where != where))
		k++;
	if (k == out->nwaits)
		out->waits[out->nwaits++] = (struct frt_wait){ .class = class, .where = where };
	return &out->waits[k];
}

/* Spinning is kernel time: what of the action's the samples say it was. */
static int fill_spinning(struct analysis *an, struct stacks *stacks, const struct action_sum *a,
			 struct frt_action *out)
{
	for (size_t i = 0; i < a->sample.n && a->samples; i++) {
		const struct stack *s = stacks__get(stacks, a->sample.v[i].stack);
		char buf[WAITS_TEXT_MAX];
		const char *class, *where = NULL;
		struct frt_wait *w;

		if (!s)
			return -ENOMEM;
		class = waits__spinning(s->frames, s->n, buf);
		if (!class)
			continue;
		class = intern__get(an->strings, class);
		where = waits__where(s->frames, s->n, buf);
		where = where ? intern__get(an->strings, where) : NULL;
		w = wait_row(out, class, where);
		w->sampled = true;
		w->n += a->sample.v[i].n;
		w->ns += (double)a->kind[FRT_KIND_KERNEL] * (double)a->sample.v[i].n /
			 (double)a->samples;
	}
	return 0;
}

static int fill_waits(struct analysis *an, struct stacks *stacks, const struct action_sum *a,
		      struct frt_action *out)
{
	int err = 0;

	out->waits = arena__alloc(an->arena, (a->off.n + a->sample.n + 1) * sizeof(*out->waits));
	if (!out->waits)
		return -ENOMEM;
	for (size_t i = 0; i < a->off.n && !err; i++) {
		const struct off_sum *o = &a->off.v[i];
		const struct stack *s = stacks__get(stacks, o->stack);
		char buf[WAITS_TEXT_MAX];
		struct frt_wait *w;
		const char *where;

		if (!s)
			return -ENOMEM;
		where = waits__where(s->frames, s->n, buf);
		where = where ? intern__get(an->strings, where) : NULL;
		w = wait_row(out, o->class, where);
		w->n += o->n;
		w->ns += (double)o->ns;
		if (strncmp(o->class, "lock:", 5) == 0)
			err = fill_holders(an, stacks, a, o, w);
	}
	if (!err)
		err = fill_spinning(an, stacks, a, out);
	for (size_t k = 0; k < out->nwaits; k++)
		if (out->waits[k].nholders)
			qsort(out->waits[k].holders, out->waits[k].nholders,
			      sizeof(*out->waits[k].holders), by_held);
	qsort(out->waits, out->nwaits, sizeof(*out->waits), by_wait);
	return err;
}

static void add_row(struct frt_steprow *out, struct frt_stackrow row)
{
	if (row.ns)
		out->stacks[out->nstacks++] = row;
}

/* An action's rows of the flame graphs, and its frames from the same split. */
static int fill_stacks(struct stacks *stacks, struct action_sum *a, uint32_t index,
		       struct frt_steprow *out)
{
	size_t n = a->sample.n;
	uint64_t *v = calloc(4 * n + 1, sizeof(*v));
	static const struct stack none = { 0 };
	struct frame_map m = { 0 };
	int err = 0;

	if (!v)
		return -ENOMEM;
	add_row(out, (struct frt_stackrow){ .kind = FRT_STACK_CPU,
					    .action = index,
					    .tip = "user",
					    .ns = a->kind[FRT_KIND_USER] });
	for (size_t i = 0; i < n; i++)
		v[i] = a->sample.v[i].n;
	apportion(a->kind[FRT_KIND_KERNEL], v, n, v + n, v + 2 * n);
	for (size_t i = 0; i < n && !err; i++) {
		const struct stack *s = stacks__get(stacks, a->sample.v[i].stack);

		err = s ? count_frames(&m, a, s, i + 1, a->sample.v[i].n, v[n + i], NO_STACK)
			: -ENOMEM;
		if (!err)
			add_row(out, (struct frt_stackrow){ .kind = FRT_STACK_CPU,
							    .action = index,
							    .frames = s->frames,
							    .nframes = s->n,
							    .tip = "kernel",
							    .in_kernel = true,
							    .sampled = true,
							    .ns = v[n + i],
							    .n = a->sample.v[i].n });
	}
	if (!n && a->kind[FRT_KIND_KERNEL]) {
		err = count_frames(&m, a, &none, 1, 0, a->kind[FRT_KIND_KERNEL], NOT_SAMPLED);
		add_row(out, (struct frt_stackrow){ .kind = FRT_STACK_CPU,
						    .action = index,
						    .tip = "kernel",
						    .in_kernel = true,
						    .ns = a->kind[FRT_KIND_KERNEL] });
	}
	for (size_t i = 0; i < a->off.n && !err; i++) {
		const struct stack *s = stacks__get(stacks, a->off.v[i].stack);

		if (!s)
			err = -ENOMEM;
		else
			add_row(out, (struct frt_stackrow){ .kind = FRT_STACK_OFF,
							    .action = index,
							    .frames = s->frames,
							    .nframes = frames_of_wait(s),
							    .tip = a->off.v[i].class,
							    .in_kernel = true,
							    .ns = a->off.v[i].ns,
							    .n = a->off.v[i].n });
	}
	add_row(out, (struct frt_stackrow){ .kind = FRT_STACK_OFF,
					    .action = index,
					    .tip = frt_kind_names[FRT_KIND_RUNQ],
					    .ns = a->kind[FRT_KIND_RUNQ] });
	if (a->frame.n)
		qsort(a->frame.v, a->frame.n, sizeof(*a->frame.v), by_self);
	free(m.key);
	free(m.slot);
	free(v);
	return err;
}

static int fill_action(struct analysis *an, struct stacks *stacks, const struct action_sum *a,
		       double rows, struct frt_action *out)
{
	*out = (struct frt_action){ .action = a->name, .n = a->n };
	for (int k = 0; k < FRT_KINDS; k++) {
		out->kind_ns[k] = (double)a->kind[k] / rows;
		out->wall_ns += out->kind_ns[k];
	}
	out->restarts = (double)a->restarts / rows;
	out->spin_ns = (double)a->spin / rows;
	out->frames = arena__alloc(an->arena, (a->frame.n + 1) * sizeof(*out->frames));
	if (!out->frames)
		return -ENOMEM;
	for (size_t i = 0; i < a->frame.n; i++)
		out->frames[out->nframes++] = (struct frt_frame){
			.frame = a->frame.v[i].frame,
			.samples = a->frame.v[i].total,
			.self_ns = (double)a->frame.v[i].self_ns / rows,
			.total_ns = (double)a->frame.v[i].total_ns / rows
		};
	if (functions__finish(an->arena, a->functions, &out->functions, &out->nfunctions))
		return -ENOMEM;
	return fill_waits(an, stacks, a, out);
}

int actions__finish(struct analysis *an, struct stacks *stacks, struct step_account *a,
		    struct frt_steprow *out)
{
	double rows = (double)a->rows, user = 0;
	size_t room = 0;
	int err = 0;

	for (size_t i = 0; i < a->action.n; i++) {
		merge_samples(&a->action.v[i]);
		merge_offs(&a->action.v[i]);
		room += a->action.v[i].sample.n + a->action.v[i].off.n + 3;
	}
	if (a->action.n)
		qsort(a->action.v, a->action.n, sizeof(*a->action.v), by_weight);
	out->stacks = arena__alloc(an->arena, (room + 1) * sizeof(*out->stacks));
	out->actions = arena__alloc(an->arena, (a->action.n + 1) * sizeof(*out->actions));
	if (!out->stacks || !out->actions)
		return -ENOMEM;
	out->traced = true;
	out->rusage = false;
	out->restarts = out->cpu_total_ns = out->off_total_ns = 0;
	for (int k = 0; k < FRT_KINDS; k++)
		out->kind_ns[k] = 0;
	for (size_t i = 0; i < a->action.n && !err; i++) {
		struct action_sum *s = &a->action.v[i];

		err = fill_stacks(stacks, s, (uint32_t)i, out);
		if (!err)
			err = fill_action(an, stacks, s, rows, &out->actions[out->nactions++]);
		for (int k = 0; k < FRT_KINDS; k++)
			out->kind_ns[k] += (double)s->kind[k] / rows;
		out->restarts += (double)s->restarts / rows;
		out->cpu_total_ns += (double)(s->kind[FRT_KIND_USER] + s->kind[FRT_KIND_KERNEL]);
		out->off_total_ns += (double)(s->kind[FRT_KIND_BLOCKED] + s->kind[FRT_KIND_RUNQ]);
		user += (double)s->kind[FRT_KIND_USER];
	}
	out->unaccounted_ns = (double)a->unaccounted / rows;
	out->parallel_ns = (double)a->parallel / rows;
	out->kernel_in_user_samples = a->user_kernel_samples;
	if (a->user_samples)
		out->kernel_in_user_ns = user / rows * (double)a->user_kernel_samples /
					 (double)a->user_samples;
	return err;
}
