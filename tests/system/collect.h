/* SPDX-License-Identifier: BSD-2-Clause */
/* A sink that keeps what it is given, and questions to what it has. */
#ifndef FRT_TEST_COLLECT_H
#define FRT_TEST_COLLECT_H

#include "util/util.h"

#include <frtrace/events.h>
#include <frtrace/trail.h>
#include <stdlib.h>
#include <string.h>

static struct arena *strings;
static struct frt_trail got;

#define KEEP(field, type)                                                                  \
	do {                                                                               \
		if (grow(&got.field.v, got.field.n, &got.field.cap, sizeof(*got.field.v))) \
			return -12;                                                        \
		got.field.v[got.field.n++] = *(const struct type *)item;                   \
	} while (0)
#define LAST(field) (got.field.v[got.field.n - 1])

static inline int collect(void *ctx, enum frt_rec type, const void *item)
{
	(void)ctx;
	if (!strings)
		strings = arena__new();
	switch (type) {
	case FRT_REC_PROC:
		KEEP(proc, frt_proc);
		LAST(proc).comm = arena__strdup(strings, LAST(proc).comm);
		break;
	case FRT_REC_EXEC:
		KEEP(exec, frt_exec);
		LAST(exec).args = arena__strdup(strings, LAST(exec).args);
		LAST(exec).comm = arena__strdup(strings, LAST(exec).comm);
		break;
	case FRT_REC_DEAD:
		KEEP(dead, frt_dead);
		break;
	case FRT_REC_CALL:
		KEEP(call, frt_call);
		LAST(call).text = arena__strdup(strings, LAST(call).text);
		break;
	case FRT_REC_OFF:
		KEEP(off, frt_off);
		LAST(off).waker_comm = arena__strdup(strings, LAST(off).waker_comm);
		break;
	case FRT_REC_NODE:
		KEEP(node, frt_node);
		LAST(node).frame = arena__strdup(strings, LAST(node).frame);
		break;
	case FRT_REC_SAMPLE:
		KEEP(sample, frt_sample);
		break;
	default: /* not asked about here */
		break;
	}
	return 0;
}

/* Forgets everything but the nodes: later stacks refer to earlier ones. */
static inline void forget(void)
{
	got.proc.n = got.exec.n = got.dead.n = got.call.n = got.off.n = got.sample.n = 0;
}

static inline void collect__free(void)
{
	free(got.proc.v);
	free(got.exec.v);
	free(got.dead.v);
	free(got.call.v);
	free(got.off.v);
	free(got.node.v);
	free(got.sample.v);
	memset(&got, 0, sizeof(got));
	if (strings)
		arena__free(strings);
	strings = NULL;
}

static inline const struct frt_proc *proc_of_tid(pid_t tid)
{
	for (size_t i = 0; i < got.proc.n; i++)
		if (got.proc.v[i].tid == (uint32_t)tid)
			return &got.proc.v[i];
	return NULL;
}

static inline const struct frt_dead *dead_of(uint32_t task)
{
	for (size_t i = 0; i < got.dead.n; i++)
		if (got.dead.v[i].task == task)
			return &got.dead.v[i];
	return NULL;
}

/* The nth (from 0) call nr of a task. */
static inline const struct frt_call *call_of(uint32_t task, int nr, unsigned nth)
{
	for (size_t i = 0; i < got.call.n; i++)
		if (got.call.v[i].task == task && got.call.v[i].nr == nr && !nth--)
			return &got.call.v[i];
	return NULL;
}

static inline uint64_t off_sum(uint32_t task)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < got.off.n; i++)
		if (got.off.v[i].task == task)
			sum += got.off.v[i].in - got.off.v[i].out;
	return sum;
}

/* Does a stack hold a frame of this name? */
static inline int in_stack(uint32_t leaf, const char *frame)
{
	for (uint32_t id = leaf; id; id = got.node.v[id - 1].parent)
		if (!strcmp(got.node.v[id - 1].frame, frame))
			return 1;
	return 0;
}

#endif
