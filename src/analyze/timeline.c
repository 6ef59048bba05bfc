/* SPDX-License-Identifier: BSD-2-Clause */
#include "analyze/timeline.h"

#include "analyze/decode.h"
#include "analyze/index.h"
#include "analyze/locks.h"
#include "analyze/stacks.h"
#include "analyze/waits.h"
#include "util/util.h"

#include <errno.h>
#include <frtrace/events.h>
#include <frtrace/steps.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define TRACK_STEPS 0
#define TRACK_CREATOR 1
#define TRACK_TASKS 2  /* and every second one behind; functions between them */
#define NODES_MAX 1024 /* of one call's function tree */

const char *const span_kind_names[SPAN_KINDS] = { "router", "step",	"task",	   "action",
						  "wait",   "runqueue", "function" };

const char *track_name(unsigned track)
{
	return track == TRACK_STEPS	? "steps"
	       : track == TRACK_CREATOR ? "creator"
	       : track % 2		? "functions"
					: "tasks";
}

struct builder {
	const struct frt_trail *t;
	struct timeline *tl;
	struct index index;
	struct stacks stacks;
	struct locks locks;
	struct syscalls sys;
	struct intern *strings;
	/* of the router being done */
	const struct frt_router *router;
	uint32_t group;
};

static const char *keep(struct builder *b, const char *s)
{
	return intern__get(b->strings, s ? s : "");
}

static int add_span(struct builder *b, struct span s)
{
	struct timeline *tl = b->tl;

	if (s.t1 <= s.t0)
		return 0;
	if (!s.name || grow(&tl->spans, tl->nspans, &tl->cap, sizeof(*tl->spans)))
		return -ENOMEM;
	s.group = b->group;
	s.router = b->router->id;
	if (tl->groups[b->group].ntracks <= s.track)
		tl->groups[b->group].ntracks = s.track + 1;
	if (s.t0 < tl->groups[b->group].t0)
		tl->groups[b->group].t0 = s.t0;
	tl->spans[tl->nspans++] = s;
	return 0;
}

static const struct frt_level *level_of(const struct frt_trail *t, uint32_t id)
{
	for (size_t i = 0; i < t->level.n; i++)
		if (t->level.v[i].id == id)
			return &t->level.v[i];
	return NULL;
}

static int find_group(struct builder *b, const struct frt_router *r)
{
	const struct frt_level *l = level_of(b->t, r->level);
	struct timeline *tl = b->tl;

	for (b->group = 0; b->group < tl->ngroups; b->group++) {
		struct track_group *g = &tl->groups[b->group];

		if (g->level == r->level && g->stream == r->stream)
			return 0;
	}
	if (grow(&tl->groups, tl->ngroups, &tl->groups_cap, sizeof(*tl->groups)))
		return -ENOMEM;
	tl->groups[tl->ngroups++] = (struct track_group){ .level = r->level,
							  .asked = l ? l->asked : 0,
							  .run = l && l->run ? l->run : 1,
							  .again = l ? l->again : 0,
							  .stream = r->stream,
							  .t0 = r->t0 };
	return 0;
}

/* The functions of one call. Only their lengths are known: each begins where the
 * one before it below the same caller ended. */
static int add_functions(struct builder *b, const struct task *task, const struct frt_call *c,
			 const char *action, uint32_t track)
{
	struct {
		uint64_t end, next;
	} node[NODES_MAX + 1] = { { c->t1, c->t0 } };
	bool any = false;

	for (size_t i = 0; i < task->nfunc; i++) {
		const struct frt_func *f = task->func[i];
		uint64_t t0, t1;

		if (f->seq != c->seq || f->node > NODES_MAX || f->parent >= f->node)
			continue;
		if (!any && add_span(b, (struct span){ .track = track,
						       .kind = SPAN_ACTION,
						       .t0 = c->t0,
						       .t1 = c->t1,
						       .name = action,
						       .ret = c->ret,
						       .cpu_ns = c->cpu_ns }))
			return -ENOMEM;
		any = true;
		t0 = node[f->parent].next;
		t1 = t0 + f->total_ns < node[f->parent].end ? t0 + f->total_ns
							    : node[f->parent].end;
		node[f->parent].next = t1;
		node[f->node].next = t0;
		node[f->node].end = t1;
		if (add_span(b, (struct span){ .track = track,
					       .kind = SPAN_FUNCTION,
					       .t0 = t0,
					       .t1 = t1,
					       .name = keep(b, f->function),
					       .n = f->n,
					       .cpu_ns = f->total_ns > f->off_ns
								 ? f->total_ns - f->off_ns
								 : 0 }))
			return -ENOMEM;
	}
	return 0;
}

/* Calls of task within [from, to). */
static int add_calls(struct builder *b, const struct task *task, uint64_t from, uint64_t to,
		     uint32_t track)
{
	for (size_t i = 0; i < task->ncall; i++) {
		const struct frt_call *c = task->call[i];
		char buf[DECODE_MAX];
		const char *name;

		if (c->t1 <= from || c->t0 >= to)
			continue;
		name = keep(b, decode__call(&b->sys, c, buf));
		if (add_span(b, (struct span){ .track = track,
					       .kind = SPAN_ACTION,
					       .t0 = c->t0 > from ? c->t0 : from,
					       .t1 = c->t1 < to ? c->t1 : to,
					       .name = name,
					       .ret = c->ret,
					       .cpu_ns = c->cpu_ns }) ||
		    (track >= TRACK_TASKS && add_functions(b, task, c, name, track + 1)))
			return -ENOMEM;
	}
	return 0;
}

static const char *class_of(struct builder *b, const struct task *task, const struct frt_off *o)
{
	const struct frt_call *call = task__call_at(task, o->out);
	const struct stack *s = stacks__get(&b->stacks, o->stack);
	struct wait w = { .mode = (enum frt_mode)o->mode };
	char buf[WAITS_TEXT_MAX];

	if (!s)
		return NULL;
	if (o->mode == FRT_MODE_CALL) {
		w.call = syscalls__name(&b->sys, o->nr);
		if (!w.call)
			w.call = "";
		w.detail = call ? (enum frt_detail)call->detail : FRT_DET_NONE;
	}
	w.frames = s->frames;
	w.nframes = s->n;
	w.lock = locks__name(&b->locks, locks__at(&b->locks, o->task, o->out));
	return keep(b, waits__class(&w, buf));
}

/* Times off the CPU of task within [from, to). */
static int add_waits(struct builder *b, const struct task *task, uint64_t from, uint64_t to,
		     uint32_t track)
{
	for (size_t i = 0; i < task->noff; i++) {
		const struct frt_off *o = task->off[i];
		uint64_t waking = o->waking > o->out && o->waking < o->in ? o->waking : o->in;

		if (o->out < from || o->in > to)
			continue;
		if (o->why == FRT_OFF_BLOCKED) {
			const char *class = class_of(b, task, o);

			if (!class || add_span(b, (struct span){ .track = track,
								 .kind = SPAN_WAIT,
								 .t0 = o->out,
								 .t1 = waking,
								 .name = class,
								 .by = keep(b, o->waker_comm) }))
				return -ENOMEM;
		} else {
			waking = o->why == FRT_OFF_BIRTH && o->waking > o->out ? waking : o->out;
		}
		if (add_span(b, (struct span){ .track = track,
					       .kind = SPAN_RUNQUEUE,
					       .t0 = waking,
					       .t1 = o->in,
					       .name = keep(b, "runqueue") }))
			return -ENOMEM;
	}
	return 0;
}

/* The first track for tasks that is free at t0; taken until t1. */
static uint32_t take_track(struct builder *b, uint64_t *busy, unsigned n, uint64_t t0, uint64_t t1)
{
	unsigned i = 0;

	(void)b;
	while (i + 1 < n && busy[i] > t0)
		i++;
	busy[i] = t1;
	return TRACK_TASKS + 2 * i;
}

static int add_task(struct builder *b, const struct task *task, const struct frt_stepinst *s,
		    uint64_t *busy, unsigned n)
{
	uint64_t t0 = task->proc ? task->proc->t : s->t0, t1 = task->dead ? task->dead->t : s->t1;
	const char *comm = task->proc ? task->proc->comm : NULL;
	uint32_t track;
	int err;

	if (task->creator || t1 <= t0)
		return 0;
	if (task->nexec)
		comm = task->exec[task->nexec - 1]->comm;
	track = take_track(b, busy, n, t0, t1);
	err = add_span(b, (struct span){ .track = track,
					 .kind = SPAN_TASK,
					 .t0 = t0,
					 .t1 = t1,
					 .name = keep(b, comm && *comm ? comm : "task") });
	if (!err)
		err = add_calls(b, task, t0, t1, track);
	return err ? err : add_waits(b, task, t0, t1, track);
}

static int by_birth(const void *a, const void *b)
{
	const struct task *x = *(const struct task *const *)a, *y = *(const struct task *const *)b;
	uint64_t s = x->proc ? x->proc->t : 0, t = y->proc ? y->proc->t : 0;

	if (s != t)
		return s < t ? -1 : 1;
	return x->serial < y->serial ? -1 : x->serial > y->serial;
}

#define PARALLEL_MAX 16 /* tracks for tasks that run beside each other */

/* Steps that are not ours are named in the header (foreign.c). */
static const char *name_of_step(const struct builder *b, uint32_t step)
{
	const char *name;

	if (step < FRT_STEPS)
		return frt_steps[step].name;
	name = json_string_value(
		json_array_get(json_object_get(b->t->header, "steps"), step - FRT_STEPS));
	return name ? name : "command";
}

static int add_step(struct builder *b, const struct frt_stepinst *s, uint64_t *busy)
{
	struct task **tasks, **sorted, *creator = index__task(&b->index, s->creator);
	size_t n;
	int err;

	err = add_span(b, (struct span){ .track = TRACK_STEPS,
					 .kind = SPAN_STEP,
					 .t0 = s->t0,
					 .t1 = s->t1,
					 .name = name_of_step(b, s->step) });
	if (!err && creator)
		err = add_calls(b, creator, s->t0, s->t1, TRACK_CREATOR);
	if (!err && creator)
		err = add_waits(b, creator, s->t0, s->t1, TRACK_CREATOR);
	tasks = index__tasks_of(&b->index, s->instance, &n);
	if (err || !n)
		return err;
	sorted = malloc(n * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, tasks, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_birth);
	for (size_t i = 0; i < n && !err; i++)
		err = add_task(b, sorted[i], s, busy, PARALLEL_MAX);
	free(sorted);
	return err;
}

static int add_router(struct builder *b, const struct frt_router *r, uint64_t *busy)
{
	int err;

	b->router = r;
	err = add_span(b, (struct span){ .track = TRACK_STEPS,
					 .kind = SPAN_ROUTER,
					 .t0 = r->t0,
					 .t1 = r->t1,
					 .name = "router" });
	for (size_t i = 0; i < b->t->step.n && !err; i++)
		if (b->t->step.v[i].router == r->id)
			err = add_step(b, &b->t->step.v[i], busy);
	return err;
}

static int by_place(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	if (x->t0 != y->t0)
		return x->t0 < y->t0 ? -1 : 1;
	if (x->t1 != y->t1)
		return x->t1 > y->t1 ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

/* Ends a span where the one around it ends. Clocks of two processors can be a
 * little apart, and lost events can make a wait outlive its call. */
static void nest(struct timeline *tl)
{
	size_t open[64], nopen = 0, kept = 0;

	for (size_t i = 0; i < tl->nspans; i++) {
		struct span s = tl->spans[i];

		if (kept &&
		    (tl->spans[kept - 1].group != s.group || tl->spans[kept - 1].track != s.track))
			nopen = 0;
		while (nopen && tl->spans[open[nopen - 1]].t1 <= s.t0)
			nopen--;
		if (nopen && tl->spans[open[nopen - 1]].t1 < s.t1)
			s.t1 = tl->spans[open[nopen - 1]].t1;
		if (nopen == ARRAY_SIZE(open))
			continue;
		open[nopen++] = kept;
		tl->spans[kept++] = s;
	}
	tl->nspans = kept;
}

static int by_level(const void *a, const void *b)
{
	const struct frt_router *x = *(const struct frt_router *const *)a;
	const struct frt_router *y = *(const struct frt_router *const *)b;

	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return x->t0 < y->t0 ? -1 : x->t0 > y->t0;
}

static int build(struct builder *b, const uint32_t *ids, size_t n)
{
	const struct frt_router **r = calloc(n + 1, sizeof(*r));
	uint64_t busy[PARALLEL_MAX] = { 0 };
	size_t found = 0;
	int err = r ? 0 : -ENOMEM;

	for (size_t i = 0; i < b->t->router.n && !err && found < n; i++)
		for (size_t k = 0; k < n; k++)
			if (b->t->router.v[i].id == ids[k]) {
				r[found++] = &b->t->router.v[i];
				break;
			}
	if (found)
		qsort(r, found, sizeof(*r), by_level);
	for (size_t i = 0; i < found && !err; i++) {
		uint32_t before = b->group;

		err = find_group(b, r[i]);
		if (i == 0 || b->group != before)
			memset(busy, 0, sizeof(busy));
		if (!err)
			err = add_router(b, r[i], busy);
	}
	free(r);
	return err;
}

int timeline__build(const struct frt_trail *t, const uint32_t *routers, size_t n,
		    struct timeline *out)
{
	const json_t *env = json_object_get(t->header, "environment");
	struct builder b = { .t = t, .tl = out };
	int err;

	*out = (struct timeline){ .arena = arena__new() };
	if (!out->arena)
		return -ENOMEM;
	b.strings = intern__new(out->arena);
	err = b.strings ? 0 : -ENOMEM;
	if (!err)
		err = syscalls__open(&b.sys, json_string_value(json_object_get(env, "machine")));
	if (!err)
		err = index__build(&b.index, t);
	if (!err)
		err = stacks__open(&b.stacks, t, out->arena, b.strings);
	if (!err)
		err = locks__open(&b.locks, t, &b.index, &b.stacks, b.strings);
	if (!err)
		err = build(&b, routers, n);
	if (!err && out->nspans) {
		qsort(out->spans, out->nspans, sizeof(*out->spans), by_place);
		nest(out);
	}
	locks__close(&b.locks);
	stacks__close(&b.stacks);
	index__free(&b.index);
	syscalls__close(&b.sys);
	intern__free(b.strings);
	return err;
}

void timeline__free(struct timeline *tl)
{
	free(tl->spans);
	free(tl->groups);
	arena__free(tl->arena);
	*tl = (struct timeline){ .nspans = 0 };
}
