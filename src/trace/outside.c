/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CPU time of tasks that are not followed, by name, over a stretch of time; taken
 * once as a baseline and once while measuring.
 */
#include "trace/internal.h"

#include "analyze/waits.h"
#include "frtrace.skel.h"
#include "util/util.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t own_cpu(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void clear_map(int fd)
{
	struct frt_place key; /* the largest of the keys */

	while (!bpf_map_get_next_key(fd, NULL, &key))
		if (bpf_map_delete_elem(fd, &key))
			break;
}

/* "uevent, by ip": why a followed task woke it. NULL: none did, or no memory. */
static const char *woken_by(struct trace *t, const struct frt_name *name)
{
	const char *frames[FRT_WAKE_STACK_MAX], *why;
	char text[96], by[FRT_COMM_LEN + 1];
	struct frt_wake w;
	uint32_t n;

	if (!name->comm[0] || bpf_map_lookup_elem(bpf_map__fd(t->skel->maps.wakes), name, &w))
		return NULL;
	n = w.nstack < FRT_WAKE_STACK_MAX ? w.nstack : FRT_WAKE_STACK_MAX;
	for (uint32_t i = 0; i < n; i++) /* root first */
		frames[n - 1 - i] = stacks__frame(t->stacks, w.stack[i]);
	why = waits__waking(frames, n);
	memcpy(by, w.by, FRT_COMM_LEN);
	by[FRT_COMM_LEN] = '\0';
	snprintf(text, sizeof(text), "%s%sby %s", why ? why : "", why ? ", " : "", by);
	return intern__get(t->outside.names, text);
}

/* All workers that were idle by then have one name, whatever their number. */
static const char *name_of(struct trace *t, const struct frt_name *key)
{
	char comm[FRT_COMM_LEN + 1];

	if (!key->half[0])
		return intern__get(t->outside.names, stacks__frame(t->stacks, key->half[1]));
	memcpy(comm, key->comm, FRT_COMM_LEN);
	comm[FRT_COMM_LEN] = '\0';
	if (!strncmp(comm, "kworker/", 8))
		strcpy(comm, "kworker");
	return intern__get(t->outside.names, comm);
}

static struct outside_row *row_of(struct trace *t, const char *name)
{
	struct outside *o = &t->outside;

	for (size_t i = 0; i < o->n; i++)
		if (o->v[i].name == name)
			return &o->v[i];
	if (grow(&o->v, o->n, &o->cap, sizeof(*o->v)))
		return NULL;
	o->v[o->n] = (struct outside_row){ .name = name };
	return &o->v[o->n++];
}

static int add_name(struct trace *t, const struct frt_name *key, uint64_t ns)
{
	const char *name = name_of(t, key);
	struct outside_row *r;

	if (!name)
		return -ENOMEM;
	/* Threads of ours that are not followed: in the row of our own. */
	if (!strcmp(name, program_invocation_short_name))
		return 0;
	r = row_of(t, name);
	if (!r)
		return -ENOMEM;
	if (t->outside.baseline) {
		r->base_cpu += ns;
	} else {
		r->cpu += ns;
		if (!r->woken_by)
			r->woken_by = woken_by(t, key);
	}
	return 0;
}

static int by_name_and_count(const void *a, const void *b)
{
	const struct outside_place *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	return c ? c : (x->n < y->n) - (x->n > y->n);
}

static int add_place(struct trace *t, const struct frt_place *key, uint64_t n)
{
	const char *name = name_of(t, &key->name);
	const char *frame = key->ip == FRT_IP_USER   ? "[user]"
			    : key->ip == FRT_IP_NONE ? "[no stack]"
						     : stacks__frame(t->stacks, key->ip);
	struct outside *o = &t->outside;

	if (!name)
		return -ENOMEM;
	for (size_t i = 0; i < o->nplaces; i++)
		if (o->place[i].name == name && !strcmp(o->place[i].frame, frame)) {
			o->place[i].n += n;
			return 0;
		}
	if (grow(&o->place, o->nplaces, &o->capplaces, sizeof(*o->place)))
		return -ENOMEM;
	o->place[o->nplaces++] = (struct outside_place){ name, frame, n };
	return 0;
}

#define PLACES_SHOWN 3
#define SAMPLES_MIN 5 /* fewer say nothing */

/* The functions each name was found in most, into its row. */
static int take_places(struct trace *t)
{
	int fd = bpf_map__fd(t->skel->maps.places), err = 0;
	struct frt_place key, *prev = NULL;
	struct outside *o = &t->outside;
	uint64_t n;

	o->nplaces = 0;
	while (!err && !bpf_map_get_next_key(fd, prev, &key)) {
		prev = &key;
		if (!bpf_map_lookup_elem(fd, &key, &n))
			err = add_place(t, &key, n);
	}
	if (o->nplaces)
		qsort(o->place, o->nplaces, sizeof(*o->place), by_name_and_count);
	for (size_t i = 0, k; i < o->nplaces && !err; i = k) {
		struct outside_row *r = NULL;
		char text[200] = "";
		size_t len = 0;
		uint64_t all = 0;

		for (size_t j = 0; j < o->n; j++)
			if (o->v[j].name == o->place[i].name)
				r = &o->v[j];
		for (k = i; k < o->nplaces && o->place[k].name == o->place[i].name; k++) {
			all += o->place[k].n;
			if (k - i < PLACES_SHOWN && len < sizeof(text))
				len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s %llu",
							k > i ? ", " : "", o->place[k].frame,
							(unsigned long long)o->place[k].n);
		}
		if (len < sizeof(text))
			snprintf(text + len, sizeof(text) - len, " of %llu",
				 (unsigned long long)all);
		if (r && all >= SAMPLES_MIN)
			r->frames = intern__get(o->names, text);
	}
	return err;
}

/* One name for all that there is no room for. */
static int put_rest(struct trace *t)
{
	struct frt_name key = { .comm = FRT_NAME_REST };
	struct frt_place place = { .name = key };
	uint64_t none = 0;
	int ncpu = libbpf_num_possible_cpus(), err = -ENOMEM;
	uint64_t *zero = calloc(ncpu > 0 ? ncpu : 1, sizeof(*zero));

	if (zero)
		err = bpf_map_update_elem(bpf_map__fd(t->skel->maps.outside), &key, zero, 0);
	free(zero);
	if (!err)
		err = bpf_map_update_elem(bpf_map__fd(t->skel->maps.places), &place, &none, 0);
	return err;
}

int trace__outside_begin(struct trace *t, bool baseline)
{
	struct outside *o = &t->outside;
	int err;

	if (!t->opts.waits)
		return 0;
	if (!o->arena) {
		o->arena = arena__new();
		o->names = o->arena ? intern__new(o->arena) : NULL;
		if (!o->names)
			return -ENOMEM;
	}
	clear_map(bpf_map__fd(t->skel->maps.outside));
	clear_map(bpf_map__fd(t->skel->maps.wakes));
	clear_map(bpf_map__fd(t->skel->maps.places));
	err = put_rest(t);
	if (err)
		return err;
	/* One baseline serves until the next; figures begin anew. */
	for (size_t i = 0; i < o->n; i++) {
		o->v[i].cpu = 0;
		o->v[i].woken_by = NULL;
		o->v[i].frames = NULL;
		if (baseline)
			o->v[i].base_cpu = 0;
	}
	o->baseline = baseline;
	o->own_from = own_cpu();
	o->from = now_ns();
	t->skel->bss->outside_since = o->from;
	return 0;
}

int trace__outside_end(struct trace *t)
{
	int ncpu = libbpf_num_possible_cpus(), err = 0, fd;
	struct outside *o = &t->outside;
	struct frt_name key, *prev = NULL;
	uint64_t over, own, sum, *v;

	if (!t->opts.waits || !o->names)
		return 0;
	t->skel->bss->outside_since = 0;
	over = now_ns() - o->from;
	own = own_cpu() - o->own_from;
	if (o->baseline) {
		o->base_over = over;
		o->base_own = own;
	} else {
		o->over = over;
		o->own = own;
	}
	v = calloc(ncpu > 0 ? ncpu : 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	fd = bpf_map__fd(t->skel->maps.outside);
	while (!err && !bpf_map_get_next_key(fd, prev, &key)) {
		prev = &key;
		sum = 0;
		if (bpf_map_lookup_elem(fd, &key, v))
			continue;
		for (int i = 0; i < ncpu; i++)
			sum += v[i];
		err = add_name(t, &key, sum);
	}
	free(v);
	if (!err && !o->baseline)
		err = take_places(t);
	return err;
}

int trace__outside_put(struct trace *t, uint32_t level)
{
	const struct frt_sink *sink = &t->opts.sink;
	struct outside *o = &t->outside;
	struct frt_outside r = { .level = level,
				 .own = 1,
				 .cpu_ns = o->own,
				 .over_ns = o->over,
				 .base_cpu_ns = o->base_own,
				 .base_over_ns = o->base_over,
				 .comm = program_invocation_short_name };
	int err;

	if (!t->opts.waits || !o->names || !o->over)
		return 0;
	err = sink->put(sink->ctx, FRT_REC_OUTSIDE, &r);
	r.own = 0;
	for (size_t i = 0; i < o->n && !err; i++) {
		r.cpu_ns = o->v[i].cpu;
		r.base_cpu_ns = o->v[i].base_cpu;
		r.comm = o->v[i].name;
		r.woken_by = o->v[i].woken_by;
		r.frames = o->v[i].frames;
		if (r.cpu_ns)
			err = sink->put(sink->ctx, FRT_REC_OUTSIDE, &r);
	}
	o->over = 0;
	return err;
}

/* As in bpf/deferred.h. */
struct work {
	struct frt_tag tag;
	uint64_t t_queue;
};

struct run {
	struct frt_tag tag;
	uint64_t work, func, t_queue, t_start, cpu;
};

uint64_t outside__unfinished(const struct trace *t, uint64_t since)
{
	int works = bpf_map__fd(t->skel->maps.works), runs = bpf_map__fd(t->skel->maps.runs);
	uint64_t item, *prev_item = NULL, n = 0;
	uint32_t tid, *prev_tid = NULL;
	struct work w;
	struct run r;

	for (; !bpf_map_get_next_key(works, prev_item, &item); prev_item = &item)
		if (!bpf_map_lookup_elem(works, &item, &w) && w.tag.task && w.t_queue >= since)
			n++;
	for (; !bpf_map_get_next_key(runs, prev_tid, &tid); prev_tid = &tid)
		if (!bpf_map_lookup_elem(runs, &tid, &r) && r.tag.task && r.t_queue >= since)
			n++;
	return n;
}

void outside__free(struct outside *o)
{
	free(o->v);
	free(o->place);
	if (o->names)
		intern__free(o->names);
	if (o->arena)
		arena__free(o->arena);
}
