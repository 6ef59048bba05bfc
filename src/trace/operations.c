// SPDX-License-Identifier: BSD-2-Clause
/*
 * What undoes a namespace, subsystem by subsystem. Kernels from 6.12 on inline
 * ops_exit_list, which would tell them apart: there each function that it and its
 * like call is probed itself. The kernel's own list of pernet_operations names them.
 */
#include "trace/functions.h"

#include "analyze/symbols.h"
#include "env/kallsyms.h"
#include "frtrace.skel.h"
#include "trace/internal.h"
#include "util/util.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A module that comes or goes tears the list; a few attempts are plenty. */
#define WALK_ATTEMPTS 5
#define WALK_MAX 2000

/* Who calls each kind, by the kernel's own name. */
static const char *const callers[FRT_UNDO_KINDS] = {
	[FRT_UNDO_PRE_EXIT] = "ops_pre_exit_list",
	[FRT_UNDO_RTNL] = "ops_exit_rtnl_list",
	[FRT_UNDO_EXIT] = "ops_exit_list",
	[FRT_UNDO_BATCH] = "ops_exit_list",
};

struct operations {
	struct undo {
		uint64_t addr;
		const char *caller;
		char name[96], module[56]; /* name empty: no function is known there */
	} * v;				   /* by address; each function once */
	size_t n, cap;
};

static int by_address(const void *a, const void *b)
{
	const struct undo *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static int add_undo(struct operations *o, const __u64 undo[FRT_UNDO_KINDS])
{
	for (int k = 0; k < FRT_UNDO_KINDS; k++) {
		if (!undo[k])
			continue;
		if (grow(&o->v, o->n, &o->cap, sizeof(*o->v)))
			return -ENOMEM;
		o->v[o->n++] = (struct undo){ .addr = undo[k], .caller = callers[k] };
	}
	return 0;
}

/* Once round the list; -EAGAIN when it was torn. */
static int walk(struct operations *o, struct frtrace_bpf *skel, uint64_t list)
{
	int fd = bpf_program__fd(skel->progs.frt_next_operations), err = 0;
	uint64_t args[2] = { list };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));

	o->n = 0;
	for (int i = 0; i < WALK_MAX && !err; i++) {
		err = bpf_prog_test_run_opts(fd, &opts);
		args[0] = skel->bss->ops_at;
		if (err || args[0] == list)
			return err;
		err = args[0] ? add_undo(o, skel->bss->ops_undo) : -EAGAIN;
	}
	return err ? err : -ELOOP;
}

struct operations *operations__read(struct frtrace_bpf *skel, uint64_t list)
{
	struct operations *o = calloc(1, sizeof(*o));
	int err = -EAGAIN;
	size_t n = 0;

	for (int i = 0; o && i < WALK_ATTEMPTS && err == -EAGAIN; i++)
		err = walk(o, skel, list);
	if (err) {
		operations__free(o);
		return NULL;
	}
	if (o->n)
		qsort(o->v, o->n, sizeof(*o->v), by_address);
	for (size_t i = 0; i < o->n; i++)
		if (!n || o->v[n - 1].addr != o->v[i].addr)
			o->v[n++] = o->v[i];
	o->n = n;
	return o;
}

void operations__symbol(struct operations *o, const struct kallsym *s)
{
	struct undo key = { .addr = s->addr }, *u;

	u = o && o->n ? bsearch(&key, o->v, o->n, sizeof(key), by_address) : NULL;
	if (!u || u->name[0])
		return;
	snprintf(u->name, sizeof(u->name), "%.*s", (int)sizeof(u->name) - 1, s->name);
	snprintf(u->module, sizeof(u->module), "%.*s", (int)sizeof(u->module) - 1, s->module);
}

static bool is_wanted(const struct functions *f, uint64_t addr)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->v[i].addr == addr)
			return true;
	return false;
}

/* The row of the one function that tells them apart. */
static struct function *told_by(const struct functions *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->v[i].def && f->v[i].def->split == FRT_PROBE_OPS)
			return &f->v[i];
	return NULL;
}

int operations__add(struct functions *f, const struct operations *o)
{
	const struct function *told = told_by(f);
	struct functions asked = { .n = f->n };

	if (!o || (told && told->addr))
		return 0;
	for (size_t i = 0; i < o->n; i++) {
		const struct undo *u = &o->v[i];
		struct function *fn;
		char folded[96];

		asked.v = f->v;
		if (!u->name[0] || is_wanted(&asked, u->addr))
			continue;
		fn = functions__new(f, u->name);
		if (!fn)
			return -ENOMEM;
		symbols__fold(folded, sizeof(folded), u->name);
		snprintf(fn->wanted, sizeof(fn->wanted), "%s[%.64s]", u->caller, folded);
		snprintf(fn->module, sizeof(fn->module), "%s", u->module);
		fn->addr = u->addr;
		fn->times = 1;
		fn->undo = true;
	}
	return 0;
}

void operations__explain(struct functions *f, const struct operations *o)
{
	struct function *told = told_by(f);

	if (!told || told->addr)
		return;
	if (o)
		snprintf(told->reason, sizeof(told->reason),
			 "absent: inlined; the functions it calls are probed themselves");
	else if (!f->have[TRACE_MULTI])
		snprintf(
			told->reason, sizeof(told->reason),
			"absent: inlined; the functions it calls are too many for any rung but multi");
	else
		snprintf(
			told->reason, sizeof(told->reason),
			"absent: inlined; without pernet_list in the symbol table what it calls is not known");
}

void operations__free(struct operations *o)
{
	if (o)
		free(o->v);
	free(o);
}
