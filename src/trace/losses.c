// SPDX-License-Identifier: BSD-2-Clause
/* What was lost: the programs' own counters, and what the kernel says it did not run. */
#include "trace/internal.h"

#include "frtrace.skel.h"
#include "util/util.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int losses__forget_current(struct trace *t)
{
	int ncpu = libbpf_num_possible_cpus(), fd = bpf_map__fd(t->skel->maps.cpus), err;
	struct frt_cpu *v;
	uint32_t zero = 0;

	if (ncpu < 0)
		return ncpu;
	v = calloc(ncpu, sizeof(*v));
	if (!v)
		return -ENOMEM;
	err = bpf_map_lookup_elem(fd, &zero, v);
	for (int i = 0; i < ncpu && !err; i++)
		v[i].slot = v[i].tid = v[i].task = 0;
	if (!err)
		err = bpf_map_update_elem(fd, &zero, v, 0);
	free(v);
	return err;
}

/* How often the kernel did not run a program because it was in the middle of it on the
 * same CPU; 0 where the kernel does not tell (before 5.12). */
static uint64_t misses_of(int prog)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(prog, &info, &len) ? 0 : info.recursion_misses;
}

/* fentry has a program for each function, which its link alone still knows. */
static uint64_t misses_of_link(int link)
{
	struct bpf_link_info info = { 0 };
	__u32 len = sizeof(info);
	uint64_t n;
	int prog;

	if (link < 0 || bpf_obj_get_info_by_fd(link, &info, &len))
		return 0;
	prog = bpf_prog_get_fd_by_id(info.prog_id);
	if (prog < 0)
		return 0;
	n = misses_of(prog);
	close(prog);
	return n;
}

/*
 * The kernel counts whoever it ran no program for, followed or not. A followed task whose
 * call's entry or exit was missed has one without the other, which is counted there
 * (unpaired): most of a busy machine's other misses are others' calls, preempted in the
 * middle of being dismissed (7.0 and later). Where programs are not preempted, what comes
 * into the middle of one is an interrupt. One that contends for a lock while a contention
 * is told is skipped there; what it would have added is a contended spinlock that is the
 * interrupt's, not the task's.
 */
static bool may_miss(const struct trace *t, const struct bpf_program *p)
{
	if (p == t->skel->progs.frt_sys_enter || p == t->skel->progs.frt_sys_exit)
		return false;
	return t->preempted ||
	       (p != t->skel->progs.frt_contention_begin && p != t->skel->progs.frt_contention_end);
}

uint64_t losses__missed(struct trace *t, bool detaching)
{
	struct bpf_program *p;
	uint64_t links = 0, n = 0;

	bpf_object__for_each_program(p, t->skel->obj)
		if (bpf_program__fd(p) >= 0 && may_miss(t, p))
			n += misses_of(bpf_program__fd(p));
	for (size_t i = 0; i < t->fn.n; i++) {
		if (t->fn.v[i].rung != TRACE_FENTRY)
			continue;
		links += misses_of_link(t->fn.v[i].entry_fd);
		links += misses_of_link(t->fn.v[i].exit_fd);
	}
	n += t->missed_before + links;
	if (detaching)
		t->missed_before += links;
	return n;
}

int trace__loss(struct trace *t, struct frt_loss *out)
{
	int ncpu = libbpf_num_possible_cpus(), err;
	uint64_t now[FRT_LOSS_KINDS + 3] = { 0 }, d[FRT_LOSS_KINDS + 3];
	uint32_t zero = 0;
	struct frt_cpu *v;

	memset(out, 0, sizeof(*out));
	if (ncpu < 0)
		return ncpu;
	v = calloc(ncpu, sizeof(*v));
	if (!v)
		return -ENOMEM;
	err = bpf_map_lookup_elem(bpf_map__fd(t->skel->maps.cpus), &zero, v);
	if (!err) {
		for (int i = 0; i < ncpu; i++) {
			for (int k = 0; k < FRT_LOSS_MISSED; k++)
				now[k] += v[i].loss[k];
			now[FRT_LOSS_KINDS] += v[i].sent;
			now[FRT_LOSS_KINDS + 1] += v[i].samples;
			now[FRT_LOSS_KINDS + 2] += v[i].spins;
		}
		now[FRT_LOSS_MISSED] = losses__missed(t, false);
		for (int k = 0; k < FRT_LOSS_KINDS + 3; k++)
			d[k] = now[k] - t->last[k];
		memcpy(t->last, now, sizeof(now));
		out->events = d[FRT_LOSS_EVENTS] + t->garbled;
		t->garbled = 0;
		out->maps_full = d[FRT_LOSS_MAPS];
		out->samples = d[FRT_LOSS_SAMPLES];
		out->unpaired = d[FRT_LOSS_UNPAIRED];
		out->undecoded = d[FRT_LOSS_UNDECODED];
		out->untagged = d[FRT_LOSS_UNTAGGED];
		out->missed = d[FRT_LOSS_MISSED];
		out->sent = d[FRT_LOSS_KINDS];
		out->samples_taken = d[FRT_LOSS_KINDS + 1];
		out->spins = d[FRT_LOSS_KINDS + 2];
		out->unfinished = t->deferred ? outside__unfinished(t, t->last_at) : 0;
		t->last_at = now_ns();
	}
	free(v);
	return err;
}
