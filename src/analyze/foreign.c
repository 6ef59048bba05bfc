/* SPDX-License-Identifier: BSD-2-Clause */
/* The processes of a foreign loop, the commands among them, and the order in
 * which a trail of events becomes one of routers and steps. */
#include "analyze/loops.h"

#include <errno.h>
#include <frtrace/steps.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define EVERY 250
#define DEPTH_MAX 256 /* of processes below one another */

const char *const foreign__by_names[] = { "", "auto", "command", "action", NULL };

bool foreign__is(const struct frt_trail *t)
{
	const char *mode = json_string_value(json_object_get(t->header, "mode"));

	return mode && !json_object_get(t->header, "steps") &&
	       (strcmp(mode, "run") == 0 || strcmp(mode, "attach") == 0 ||
		(strcmp(mode, "create") == 0 && t->proc.n));
}

unsigned foreign__step(struct foreign *f, const char *name)
{
	for (unsigned i = 0; i < f->nnames; i++)
		if (strcmp(f->name[i], name) == 0)
			return i;
	if (f->nnames == NAMES_MAX)
		return NAMES_MAX - 1;
	f->name[f->nnames] = name;
	return (unsigned)f->nnames++;
}

int foreign__add(struct foreign *f, const struct found *one)
{
	int err = grow(&f->found.v, f->found.n, &f->found.cap, sizeof(*f->found.v));

	if (!err)
		f->found.v[f->found.n++] = *one;
	return err;
}

static size_t member_of(const struct foreign *f, uint32_t serial)
{
	const struct task *t = index__task(&f->ix, serial);

	return t ? (size_t)(t - f->ix.task) : NONE;
}

static uint64_t birth_of(const struct member *m)
{
	return m->t->proc ? m->t->proc->t : 0;
}

static int by_birth(const void *a, const void *b, void *ctx)
{
	const struct member *m = ctx;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	if (birth_of(&m[x]) != birth_of(&m[y]))
		return birth_of(&m[x]) < birth_of(&m[y]) ? -1 : 1;
	return (x > y) - (x < y);
}

static int by_serial(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Of our own run only what the user's command did is looked at. */
static int set_aside(struct foreign *f)
{
	const struct frt_trail *t = f->t;
	uint32_t *v = calloc(t->step.n + 1, sizeof(*v));
	size_t n = 0;

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < t->step.n; i++) {
		if (t->step.v[i].instance > f->instances)
			f->instances = t->step.v[i].instance;
		if (t->step.v[i].step == FRT_STEPS)
			v[n++] = t->step.v[i].instance;
	}
	qsort(v, n, sizeof(*v), by_serial);
	for (size_t i = 0; i < f->ix.ntasks; i++)
		f->m[i].aside = !bsearch(&f->m[i].t->instance, v, n, sizeof(*v), by_serial);
	free(v);
	return 0;
}

static int gather_members(struct foreign *f)
{
	f->m = calloc(f->ix.ntasks + 1, sizeof(*f->m));
	f->order = calloc(f->ix.ntasks + 1, sizeof(*f->order));
	if (!f->m || !f->order)
		return -ENOMEM;
	for (size_t i = 0; i < f->ix.ntasks; i++) {
		struct member *m = &f->m[i];

		m->t = &f->ix.task[i];
		m->parent = m->t->proc ? member_of(f, m->t->proc->parent) : NONE;
		m->owner = m->inner = m->loop = NONE;
		m->execs = m->t->nexec > 0;
		f->order[i] = i;
	}
	qsort_r(f->order, f->ix.ntasks, sizeof(*f->order), by_birth, f->m);
	/* what claims to be born before its parent is nobody's child */
	for (size_t i = 0; i < f->ix.ntasks; i++)
		if (f->m[i].parent != NONE && by_birth(&f->m[i].parent, &i, f->m) >= 0)
			f->m[i].parent = NONE;
	for (size_t i = 0; i < f->ix.ntasks; i++)
		acts__look(f, &f->m[i]);
	return f->create ? set_aside(f) : 0;
}

/* What the commands that a process became say of it, in their order. */
static void give_role(struct foreign *f, struct member *m)
{
	bool wrapper = false;

	m->from = birth_of(m);
	for (size_t i = 0; i < m->t->nexec; i++) {
		const struct frt_exec *e = m->t->exec[i];
		const struct rule *r = rules__match(f->rules, e->args ? e->args : "");

		if (e->args_total > strlen(e->args ? e->args : "") + 1)
			f->cut++;
		if (!r)
			continue;
		if (r->kind == RULE_WRAPPER) {
			wrapper = true;
			continue;
		}
		m->role = r->kind == RULE_STEP ? ROLE_STEP : ROLE_ACTIONS;
		m->name = m->role == ROLE_STEP ? foreign__step(f, r->name) : 0;
		m->wrapped = wrapper;
		if (wrapper)
			m->from = e->t;
		return;
	}
	if (wrapper)
		m->role = ROLE_WRAPPER;
}

/* A command that no rule names: a step all the same when it asks the kernel for
 * something, unless what it asks for are steps themselves. */
static void name_others(struct foreign *f)
{
	for (size_t i = 0; i < f->ix.ntasks; i++) {
		struct member *m = &f->m[i];

		if (m->aside || m->role != ROLE_LOOP || !m->execs || m->nsteps ||
		    m->parent == NONE || !m->marked || (m->acts && f->by != FOREIGN_COMMAND))
			continue;
		m->role = ROLE_STEP;
		m->name = foreign__step(f, "other");
	}
}

/* Tells those above of the steps below them, up to the next step. */
static void count_inner(struct foreign *f)
{
	for (size_t i = 0; i < f->ix.ntasks; i++) {
		const struct member *m = &f->m[i];
		unsigned depth = 0;

		if (m->role != ROLE_STEP)
			continue;

		for (size_t up = m->parent; up != NONE && depth < DEPTH_MAX;
		     up = f->m[up].parent, depth++) {
			struct member *a = &f->m[up];

			a->repeats = a->repeats || a->names & 1ull << m->name;
			a->names |= 1ull << m->name;
			a->nsteps++;
			a->inner = i;
			if (a->role == ROLE_STEP)
				break; /* to those above, that is the step */
		}
	}
}

/* `unshare -p sh loop`, `sudo ./loop`: what runs a loop is no step of one. And
 * whoever was told to us by name is the loop, however it is called. */
static void open_loops(struct foreign *f)
{
	for (size_t i = 0; i < f->ix.ntasks; i++) {
		if (!f->m[i].acts || f->m[i].role == ROLE_STEP || f->by == FOREIGN_COMMAND)
			continue;
		for (size_t up = f->m[i].parent;
		     up != NONE && f->m[up].role != ROLE_STEP && !f->m[up].asks;
		     up = f->m[up].parent)
			f->m[up].asks = true;
	}
	for (size_t i = 0; i < f->ix.ntasks; i++) {
		struct member *m = &f->m[i];

		if (m->role == ROLE_STEP && m->nsteps && (m->repeats || m->parent == NONE))
			m->role = ROLE_LOOP;
		if (m->role == ROLE_WRAPPER && (m->nsteps != 1 || m->asks || m->parent == NONE))
			m->role = ROLE_LOOP;
	}
}

/* Parents before children: a step owns all that lives below it. */
static void give_owners(struct foreign *f)
{
	for (size_t k = 0; k < f->ix.ntasks; k++) {
		struct member *m = &f->m[f->order[k]];
		const struct member *up = m->parent != NONE ? &f->m[m->parent] : NULL;

		m->owner = up ? up->owner : NONE;
		if (m->owner != NONE && f->m[m->owner].role == ROLE_STEP)
			continue;
		if (m->role == ROLE_STEP || (m->role == ROLE_WRAPPER && m->owner == NONE)) {
			m->owner = f->order[k];
			m->instance = ++f->instances;
		}
	}
}

/* Switch-outs of t before at. */
static size_t offs_until(const struct task *t, uint64_t at)
{
	size_t lo = 0, hi = t->noff;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->off[mid]->out < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* When was whoever waited for c back from its wait? The end of the call in which
 * the death woke it, else the death itself. 0: it lives. */
static uint64_t end_of(const struct foreign *f, const struct member *c, size_t *waiter)
{
	const struct member *p = c->parent != NONE ? &f->m[c->parent] : NULL;
	const struct frt_call *call;
	uint64_t death = c->t->dead ? c->t->dead->t : 0;
	const struct frt_off *o = NULL;

	*waiter = c->parent;
	if (!death || !p)
		return death;
	for (size_t i = offs_until(p->t, death); i-- && p->t->off[i]->in > birth_of(c);)
		if (p->t->off[i]->waker == c->t->serial && p->t->off[i]->waking) {
			o = p->t->off[i];
			break;
		}
	/* woken long before: not by its death */
	if (!o || death - o->waking > 1000000000ull / 2 + (o->in - o->waking))
		return death;
	call = task__call_at(p->t, o->out);
	return call && call->t1 > o->in ? call->t1 : o->in;
}

/* It began when its parent asked for it: that call is sent, however short. */
static uint64_t begin_of(const struct foreign *f, const struct member *c)
{
	const struct member *p = c->parent != NONE ? &f->m[c->parent] : NULL;
	const struct frt_call *call = p ? task__call_at(p->t, birth_of(c)) : NULL;

	return call ? call->t0 : c->from;
}

/* One command, and what its wrapper does around it. */
static int add_command(struct foreign *f, size_t i)
{
	const struct member *m = &f->m[i], *w = NULL;
	struct found one = {
		.name = m->name, .loop = m->parent, .by = m->parent, .within = m->t->instance
	};
	struct found around = { .name = foreign__step(f, "wrapper"), .within = m->t->instance };
	uint64_t outer = 0;
	size_t waiter;
	int err = 0;

	one.s.t0 = m->from;
	one.s.t1 = end_of(f, m, &waiter);
	one.s.instance = m->instance;
	one.s.part = m->wrapped;
	one.s.status = m->t->dead ? m->t->dead->code : 0;
	if (!m->wrapped)
		one.s.t0 = begin_of(f, m);
	if (one.s.t1 <= one.s.t0)
		return 0; /* not seen to its end */
	if (m->parent == NONE) {
		/* nobody that is followed waits for it: it ends with itself */
		one.loop = one.by = i;
		if (m->t->nexec && m->t->exec[0]->t > one.s.t0)
			one.s.t0 = m->t->exec[0]->t;
	} else if (f->m[m->parent].owner != NONE) {
		w = &f->m[f->m[m->parent].owner];
		outer = end_of(f, w, &waiter);
		one.loop = w->parent;
	}
	if (one.loop == NONE)
		one.loop = one.by;
	one.s.creator = f->m[one.by].t->serial;
	if (m->wrapped && m->from > birth_of(m)) {
		around.s = (struct frt_stepinst){ .instance = ++f->instances,
						  .creator = m->t->serial,
						  .part = 1,
						  .t0 = birth_of(m),
						  .t1 = m->from };
		around.loop = one.loop;
		around.by = i;
		err = foreign__add(f, &around);
	}
	if (!err)
		err = foreign__add(f, &one);
	if (err || !w || !outer)
		return err;
	around.s = (struct frt_stepinst){ .instance = w->instance,
					  .creator = one.s.creator,
					  .part = 1,
					  .t0 = birth_of(w),
					  .t1 = m->wrapped ? birth_of(m) : one.s.t0 };
	around.loop = one.loop;
	around.by = one.by;
	if (around.s.t1 > around.s.t0)
		err = foreign__add(f, &around);
	if (err || outer <= one.s.t1)
		return err;
	around.by = w->parent != NONE ? w->parent : one.by;
	around.s.creator = f->m[around.by].t->serial;
	around.s.t0 = one.s.t1;
	around.s.t1 = outer;
	return foreign__add(f, &around);
}

static int find_steps(struct foreign *f)
{
	int err = 0;

	for (size_t i = 0; i < f->ix.ntasks && !err; i++) {
		struct member *m = &f->m[i];

		if (m->role == ROLE_STEP && m->owner == i)
			err = add_command(f, i);
		else if (m->owner == NONE && !m->aside && f->by != FOREIGN_COMMAND &&
			 (m->acts || f->by == FOREIGN_ACTION))
			err = acts__find(f, i);
	}
	return err;
}

/* A wrapper around something that was no step after all is a part of the loop. */
static void drop_empty_wrappers(struct foreign *f)
{
	for (size_t i = 0; i < f->ix.ntasks; i++) {
		struct member *m = &f->m[i];

		if (m->role == ROLE_WRAPPER && m->inner != NONE && f->m[m->inner].role != ROLE_STEP)
			m->role = ROLE_LOOP;
	}
}

/* Every event of what a step owns gets its number; what the loop runs besides a
 * number of its own, so that it is taken for no step's. */
static void number_events(struct foreign *f)
{
	struct frt_trail *t = f->t;

	for (size_t i = 0; i < f->ix.ntasks; i++) {
		struct member *m = &f->m[i];

		if (m->owner != NONE)
			m->instance = f->m[m->owner].instance;
		else if (f->create)
			m->instance = m->t->instance;
		else if (m->parent != NONE && !m->bears)
			m->instance = ++f->instances;
		if (m->owner == i && m->parent == NONE && m->role == ROLE_STEP)
			m->instance = 0; /* it is its own creator */
	}
#define NUMBER(list, who, field)                               \
	for (size_t i = 0; i < t->list.n; i++) {               \
		size_t k = member_of(f, t->list.v[i].who);     \
		if (k != NONE)                                 \
			t->list.v[i].field = f->m[k].instance; \
	}
	NUMBER(proc, task, instance)
	NUMBER(exec, task, instance)
	NUMBER(dead, task, instance)
	NUMBER(call, task, instance)
	NUMBER(off, task, instance)
	NUMBER(off, waker, waker_instance)
	NUMBER(sample, task, instance)
	NUMBER(func, task, instance)
	NUMBER(lock, task, instance)
	NUMBER(lock, owner, owner_instance)
	NUMBER(defer, task, instance)
#undef NUMBER
}

static const struct {
	const char *name;
	enum frt_step step;
} own[] = {
	{ "add", FRT_STEP_ADD },   { "exec", FRT_STEP_EXEC },	  { "sysctl", FRT_STEP_SYSCTL },
	{ "veth", FRT_STEP_VETH }, { "delete", FRT_STEP_DELETE },
};

/* Steps that our own routers have too stand in their rows. */
static int number_names(struct foreign *f)
{
	json_t *names = json_array();
	uint32_t number[NAMES_MAX] = { 0 }, n = 0;

	for (size_t i = 0; i < f->nnames; i++) {
		bool used = false;

		number[i] = FRT_STEPS;
		for (size_t k = 0; k < ARRAY_SIZE(own); k++)
			if (strcmp(own[k].name, f->name[i]) == 0)
				number[i] = own[k].step;
		for (size_t k = 0; k < f->found.n && !used; k++)
			used = f->found.v[k].name == i;
		if (number[i] != FRT_STEPS || !used)
			continue;
		number[i] = FRT_STEPS + n++;
		json_array_append_new(names, json_string(f->name[i]));
	}
	for (size_t k = 0; k < f->found.n; k++)
		f->found.v[k].s.step = number[f->found.v[k].name];
	return names ? json_object_set_new(f->t->header, "steps", names) ? -ENOMEM : 0 : -ENOMEM;
}

static int read_options(struct foreign *f, const struct foreign_opts *o, char *err, size_t errlen)
{
	json_t *opts = json_object_get(f->t->header, "options"), *step, *old;
	const char *by = json_string_value(json_object_get(opts, "by"));
	json_int_t every = json_integer_value(json_object_get(opts, "every"));
	size_t i;
	int rc = 0;

	f->rules = rules__new();
	if (!f->rules)
		return -ENOMEM;
	for (i = 0; o && i < o->nsteps && !rc; i++)
		rc = rules__add(f->rules, o->step[i], err, errlen);
	old = json_object_get(opts, "steps");
	json_array_foreach(old, i, step) if (json_is_string(step) && !rc)
		rc = rules__add(f->rules, json_string_value(step), err, errlen);
	f->by = o ? o->by : FOREIGN_AS_RECORDED;
	for (i = FOREIGN_AUTO; by && !f->by && foreign__by_names[i]; i++)
		if (strcmp(by, foreign__by_names[i]) == 0)
			f->by = (enum foreign_by)i;
	f->by = f->by ? f->by : FOREIGN_AUTO;
	f->every = o && o->every ? o->every : every > 0 ? (uint64_t)every : EVERY;
	return rc;
}

int foreign__name(struct frt_trail *t, const struct foreign_opts *o, char *err, size_t errlen)
{
	struct foreign f = { .t = t, .notes = json_object_get(t->header, "notes") };
	const char *mode = json_string_value(json_object_get(t->header, "mode"));
	const char *machine = json_string_value(
		json_object_get(json_object_get(t->header, "environment"), "machine"));
	int rc;

	if (!json_is_array(f.notes)) {
		f.notes = json_array();
		json_object_set_new(t->header, "notes", f.notes);
	}
	f.create = mode && strcmp(mode, "create") == 0;
	if (!f.create) /* nobody but us puts these into such a record */
		t->router.n = t->step.n = 0;
	rc = read_options(&f, o, err, errlen);
	if (!rc)
		rc = index__build(&f.ix, t);
	if (!rc)
		rc = syscalls__open(&f.sys, machine);
	if (!rc)
		rc = gather_members(&f);
	for (size_t i = 0; i < f.ix.ntasks && !rc && f.by != FOREIGN_ACTION; i++)
		if (!f.m[i].aside)
			give_role(&f, &f.m[i]);
	if (!rc) {
		count_inner(&f);
		if (f.by != FOREIGN_ACTION)
			name_others(&f);
		for (size_t i = 0; i < f.ix.ntasks; i++) {
			f.m[i].nsteps = 0;
			f.m[i].names = 0;
			f.m[i].repeats = false;
		}
		count_inner(&f);
		open_loops(&f);
		drop_empty_wrappers(&f);
		give_owners(&f);
		rc = find_steps(&f);
	}
	if (!rc)
		rc = loops__find(&f);
	if (!rc)
		rc = number_names(&f);
	if (!rc) {
		number_events(&f);
		rc = f.create ? loops__replace(&f) : loops__write(&f);
	}
	if (!rc)
		notes__write(&f);
	if (rc == -ENOMEM)
		fail(err, errlen, rc, "naming the steps: out of memory");
	index__free(&f.ix);
	syscalls__close(&f.sys);
	rules__free(f.rules);
	free(f.m);
	free(f.order);
	free(f.found.v);
	free(f.count.v);
	return rc;
}
