/* SPDX-License-Identifier: BSD-2-Clause */
/* What a reader must know of how a foreign loop's steps were named. */
#include "analyze/loops.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void add_note(struct foreign *f, const char *text)
{
	if (text)
		json_array_append_new(f->notes, json_string(text));
}

struct tally {
	char name[64];
	uint64_t n;
};

static int by_tally(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return strcmp(x->name, y->name);
}

#define TALLY_MAX 256
#define TALLY_SHOWN 8

/* "uuidgen ×60, cut ×60": commands without a rule that are (not) steps. */
static void note_commands(struct foreign *f, struct arena *a, enum role role, const char *head,
			  const char *tail)
{
	struct tally *v = arena__alloc(a, TALLY_MAX * sizeof(*v));
	const char *list = NULL;
	uint64_t more = 0;
	size_t n = 0;

	for (size_t i = 0; v && i < f->ix.ntasks; i++) {
		const struct member *m = &f->m[i];
		const char *args;
		char name[64];
		size_t k = 0;

		if (m->aside || m->role != role || !m->execs || m->parent == NONE || m->bears ||
		    (m->owner != NONE && m->owner != i) ||
		    (role == ROLE_STEP && strcmp(f->name[m->name], "other") != 0))
			continue;
		args = m->t->exec[m->t->nexec - 1]->args;
		rules__summary(args ? args : "", name, sizeof(name));
		while (k < n && strcmp(v[k].name, name) != 0)
			k++;
		if (k == TALLY_MAX) {
			more++;
			continue;
		}
		if (k == n)
			memcpy(v[n++].name, name, sizeof(name));
		v[k].n++;
	}
	if (!n)
		return;
	qsort(v, n, sizeof(*v), by_tally);
	for (size_t k = 0; k < n; k++) {
		if (k < TALLY_SHOWN)
			list = arena__printf(a, "%s%s%s ×%llu", list ? list : "", list ? ", " : "",
					     v[k].name, (unsigned long long)v[k].n);
		else
			more += v[k].n;
	}
	add_note(f,
		 arena__printf(a, "%s: %s%s%s", head, list ? list : "",
			       more ? arena__printf(a, " and %llu more", (unsigned long long)more)
				    : "",
			       tail));
}

/* "12 messages in 3 sends": where rtnetlink_rcv_msg is probed also which. */
static void note_batches(struct foreign *f, struct arena *a)
{
	static const char probed[] = "rtnetlink_rcv_msg[";
	struct tally v[16] = { 0 };
	const char *list = "";
	size_t n = 0;

	for (size_t i = 0; i < f->t->func.n; i++) {
		const struct frt_func *fn = &f->t->func.v[i];
		char name[sizeof(v->name)];
		const char *asks;
		size_t k = 0;

		if (!fn->function || strncmp(fn->function, probed, sizeof(probed) - 1) != 0)
			continue;
		asks = fn->function + sizeof(probed) - 1;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(asks, "]"), asks);
		while (k < n && strcmp(v[k].name, name) != 0)
			k++;
		if (k == ARRAY_SIZE(v))
			continue;
		if (k == n)
			memcpy(v[n++].name, name, sizeof(name));
		v[k].n += fn->n;
	}
	qsort(v, n, sizeof(*v), by_tally);
	for (size_t k = 0; list && k < n; k++)
		list = arena__printf(a, "%s%s%s ×%llu", list, k ? ", " : ": ", v[k].name,
				     (unsigned long long)v[k].n);
	add_note(f, arena__printf(a, "rtnl-batch: %llu messages in %llu sends%s",
				  (unsigned long long)f->batched, (unsigned long long)f->batches,
				  list ? list : ""));
}

static void note_rules(struct foreign *f, struct arena *a)
{
	const struct rule *r;
	size_t n;

	r = rules__list(f->rules, &n);
	for (size_t i = 0; i < n && r[i].user; i++) {
		if (!r[i].hits && !r[i].also)
			add_note(f, arena__printf(a, "--step %s=%s matched no command", r[i].name,
						  r[i].pattern));
		else if (r[i].also)
			add_note(f, arena__printf(a,
						  "--step %s=%s: %llu commands; %llu more went "
						  "to an earlier rule",
						  r[i].name, r[i].pattern,
						  (unsigned long long)r[i].hits,
						  (unsigned long long)r[i].also));
		else
			add_note(f, arena__printf(a, "--step %s=%s: %llu commands", r[i].name,
						  r[i].pattern, (unsigned long long)r[i].hits));
	}
}

/* Of our own routers every second one is sampled and walls come from the others. Here
 * every round counts, or they would not add up to the loop's time. */
static void note_sampling(struct foreign *f, struct arena *a)
{
	json_int_t hz = json_integer_value(
		json_object_get(json_object_get(f->t->header, "options"), "freq"));

	if (hz > 0 && !f->create && f->found.n)
		add_note(f, arena__printf(a,
					  "sampled at %lld Hz throughout: every wall contains what "
					  "that costs; --freq 0 leaves it out",
					  (long long)hz));
}

void notes__write(struct foreign *f)
{
	struct arena *a = arena__new(); /* JSON keeps copies */

	if (!a)
		return;
	note_commands(f, a, ROLE_STEP, "other is", "");
	note_commands(f, a, ROLE_LOOP, "between the steps", " (no rule, no request)");
	note_rules(f, a);
	if (f->cut)
		add_note(f, arena__printf(a, "%llu commands have longer arguments than are kept",
					  (unsigned long long)f->cut));
	if (f->batches)
		note_batches(f, a);
	if (f->startup_ns >= 1000000)
		add_note(f, arena__printf(a, "start-up of the loop, %.1f ms, is in no row",
					  (double)f->startup_ns / 1e6));
	note_sampling(f, a);
	if (f->actions)
		add_note(f, "netlink through io_uring is not seen");
	arena__free(a);
}
