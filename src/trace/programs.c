/* SPDX-License-Identifier: BSD-2-Clause */
/* Which programs this kernel can have, asked of its own types. */
#include "trace/internal.h"
#include "trace/types.h"

#include "env/kallsyms.h"
#include "frtrace.skel.h"
#include "util/util.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Programs that do without when their tracepoint is not there, or does not hand over what
 * they read: its parameters, from 0, and what they are. */
static const struct {
	const char *tracepoint;
	unsigned param;
	const char *type; /* "int", "*" (some pointer), or "*STRUCT" */
} optional[] = {
	{ "contention_begin", 0, "*" },
	{ "contention_begin", 1, "int" },
	{ "contention_end", 0, "*" },
	{ "contention_end", 1, "int" },
	{ "workqueue_queue_work", 2, "*work_struct" },
	{ "workqueue_execute_start", 0, "*work_struct" },
	{ "workqueue_execute_end", 0, "*work_struct" },
};

static bool may_be_missing(const char *tracepoint)
{
	for (size_t i = 0; i < ARRAY_SIZE(optional); i++)
		if (!strcmp(optional[i].tracepoint, tracepoint))
			return true;
	return false;
}

static const struct btf_type *resolve(const struct btf *btf, uint32_t id)
{
	const struct btf_type *ty = btf__type_by_id(btf, id);

	while (ty && (btf_is_typedef(ty) || btf_is_mod(ty)))
		ty = btf__type_by_id(btf, ty->type);
	return ty;
}

/* The function type of a raw tracepoint, whose first parameter is its own; NULL. */
static const struct btf_type *prototype(const struct btf *btf, const char *tracepoint)
{
	const struct btf_type *ty;
	char type[128];
	int id;

	snprintf(type, sizeof(type), "btf_trace_%s", tracepoint);
	id = btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF);
	ty = id > 0 ? resolve(btf, (uint32_t)id) : NULL;
	ty = ty && btf_is_ptr(ty) ? resolve(btf, ty->type) : NULL;
	return ty && btf_is_func_proto(ty) ? ty : NULL;
}

static bool is_type(const struct btf *btf, uint32_t id, const char *want)
{
	const struct btf_type *ty = resolve(btf, id);
	const char *name;

	if (!ty || *want != '*')
		return ty && (btf_is_int(ty) || btf_is_any_enum(ty));
	if (!btf_is_ptr(ty))
		return false;
	if (!want[1])
		return true;
	ty = resolve(btf, ty->type);
	name = ty ? btf__name_by_offset(btf, ty->name_off) : NULL;
	return name && !strcmp(name, want + 1);
}

bool programs__fits(const struct btf *btf, const char *tracepoint)
{
	const struct btf_type *ty = prototype(btf, tracepoint);

	for (size_t i = 0; ty && i < ARRAY_SIZE(optional); i++)
		if (!strcmp(optional[i].tracepoint, tracepoint) &&
		    (btf_vlen(ty) < optional[i].param + 2 ||
		     !is_type(btf, btf_params(ty)[optional[i].param + 1].type, optional[i].type)))
			return false;
	return ty;
}

/* A symbol that has its name alone; else its address is 0. */
struct lone {
	const char *name, *types;
	uint64_t addr;
	bool twice;
};

/* Read by itself: the table of symbols is read when everything is attached, trampolines
 * included. */
static void find_lone(struct lone *v, size_t n)
{
	struct kallsyms *k = kallsyms__open_kept();
	struct kallsym s;

	while (kallsyms__next(k, &s))
		for (size_t i = 0; i < n; i++)
			if (!strcmp(s.name, v[i].name) && strchr(v[i].types, s.type)) {
				v[i].twice |= v[i].addr != 0;
				v[i].addr = s.addr;
			}
	kallsyms__close(k);
	for (size_t i = 0; i < n; i++)
		v[i].addr = v[i].twice ? 0 : v[i].addr;
}

static void find_cleanup(struct trace *t)
{
	struct lone v[] = { { .name = "cleanup_net", .types = "tT" },
			    /* 7.2 lists initialised data as if it were code */
			    { .name = "pernet_list", .types = "bBdDtT" } };

	find_lone(v, ARRAY_SIZE(v));
	t->skel->rodata->knob_cleanup_net = v[0].addr;
	t->pernet_list = v[0].addr ? v[1].addr : 0;
}

bool programs__preempted(void)
{
	return explain__config("CONFIG_PREEMPT_LAZY") == 'y' ||
	       explain__config("CONFIG_PREEMPT") == 'y';
}

/*
 * A raw tracepoint's program too? Only from 7.0 on, which no longer keeps a tracepoint from
 * being preempted (it is under SRCU); a kernel does not tell otherwise.
 */
static bool raw_preempted(void)
{
	struct utsname u;

	return programs__preempted() && !uname(&u) && strtoul(u.release, NULL, 10) >= 7;
}

/* Perf knows a tracepoint by a number that is read in tracefs, if that is there. */
static bool perf_has_syscalls(void)
{
	return !access("/sys/kernel/tracing/events/raw_syscalls/sys_enter/id", R_OK) ||
	       !access("/sys/kernel/debug/tracing/events/raw_syscalls/sys_enter/id", R_OK);
}

int programs__choose(struct trace *t)
{
	struct btf *btf = types__kernel();
	struct bpf_program *prog;
	const char *sec;
	bool load;

	if (!btf)
		return -ESRCH;
	bpf_object__for_each_program(prog, t->skel->obj) {
		sec = bpf_program__section_name(prog);
		load = !strncmp(sec, "raw_tp", 6);
		if (load && sec[6] == '/' && may_be_missing(sec + 7))
			load = t->opts.waits && programs__fits(btf, sec + 7);
		bpf_program__set_autoload(prog, load);
	}
	bpf_program__set_autoload(t->skel->progs.frt_exit_drop, t->opts.waits);
	t->preempted = programs__preempted();
	if (raw_preempted() && perf_has_syscalls()) {
		bpf_program__set_autoload(t->skel->progs.frt_sys_enter, false);
		bpf_program__set_autoload(t->skel->progs.frt_sys_exit, false);
		bpf_program__set_autoload(t->skel->progs.frt_sys_enter_perf, true);
		bpf_program__set_autoload(t->skel->progs.frt_sys_exit_perf, true);
	}
	if (t->opts.waits)
		find_cleanup(t);
	t->contention = t->opts.waits && programs__fits(btf, "contention_begin") &&
			programs__fits(btf, "contention_end");
	t->deferred = t->opts.waits && programs__fits(btf, "workqueue_queue_work") &&
		      programs__fits(btf, "workqueue_execute_start") &&
		      programs__fits(btf, "workqueue_execute_end");
	t->skel->rodata->knob_lock_wakers = t->opts.waits && !t->contention;
	return 0;
}

int programs__prev_state(void)
{
	struct btf *btf = types__kernel();
	const struct btf_type *ty;
	int rc;

	if (!btf)
		return -ESRCH;
	ty = prototype(btf, "sched_switch");
	/* The first parameter is the tracepoint's own: then preempt, prev, next, … */
	rc = ty && btf_vlen(ty) >= 5;
	return rc;
}
