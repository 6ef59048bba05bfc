/* SPDX-License-Identifier: BSD-2-Clause */
/* Which programs this kernel can have, asked of its own types. */
#include "trace/internal.h"

#include "frtrace.skel.h"
#include "util/util.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Programs that do without when their tracepoint is not there. */
static bool may_be_missing(const char *tracepoint)
{
	static const char *const names[] = { "contention_begin", "contention_end",
					     "workqueue_queue_work", "workqueue_execute_start",
					     "workqueue_execute_end" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], tracepoint))
			return true;
	return false;
}

/* Which raw tracepoints this kernel has, by its own types. */
static bool has_tracepoint(const struct btf *btf, const char *name)
{
	char type[128];

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	return btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF) > 0;
}

/* The address of a function that has this name alone; 0. Read by itself: the table of
 * symbols is read when everything is attached, trampolines included. */
static uint64_t address_of(const char *name)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	unsigned long long addr, found = 0;
	char *line = NULL, type, have[128];
	size_t cap = 0;
	bool twice = false;

	while (f && getline(&line, &cap, f) > 0)
		if (strstr(line, name) &&
		    sscanf(line, "%llx %c %127[^ \t\n]", &addr, &type, have) == 3 &&
		    !strcmp(have, name) && strchr("tT", type)) {
			twice = found != 0;
			found = addr;
		}
	free(line);
	if (f)
		fclose(f);
	return twice ? 0 : found;
}

int programs__choose(struct trace *t)
{
	struct btf *btf = btf__load_vmlinux_btf();
	struct bpf_program *prog;
	const char *sec;
	bool load;

	if (!btf)
		return -ESRCH;
	bpf_object__for_each_program(prog, t->skel->obj) {
		sec = bpf_program__section_name(prog);
		load = !strncmp(sec, "raw_tp", 6);
		if (load && sec[6] == '/' && may_be_missing(sec + 7))
			load = t->opts.waits && has_tracepoint(btf, sec + 7);
		bpf_program__set_autoload(prog, load);
	}
	bpf_program__set_autoload(t->skel->progs.frt_exit_drop, t->opts.waits);
	if (t->opts.waits)
		t->skel->rodata->knob_cleanup_net = address_of("cleanup_net");
	t->contention = t->opts.waits && has_tracepoint(btf, "contention_begin");
	t->skel->rodata->knob_lock_wakers = t->opts.waits && !t->contention;
	btf__free(btf);
	return 0;
}

int programs__prev_state(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	const struct btf_type *ty;
	int id, rc;

	if (!btf)
		return -ESRCH;
	id = btf__find_by_name_kind(btf, "btf_trace_sched_switch", BTF_KIND_TYPEDEF);
	ty = id > 0 ? btf__type_by_id(btf, id) : NULL;
	ty = ty ? btf__type_by_id(btf, ty->type) : NULL;
	ty = ty ? btf__type_by_id(btf, ty->type) : NULL;
	/* The first parameter is the tracepoint's own: then preempt, prev, next, … */
	rc = ty && btf_is_func_proto(ty) && btf_vlen(ty) >= 5;
	btf__free(btf);
	return rc;
}
