/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Work that is done later: what is queued, what runs, who dropped a namespace. */
#ifndef FRT_DEFERRED_H
#define FRT_DEFERRED_H

#include "maps.h"

#define FRT_WORKS_MAX 1024   /* items queued at one time */
#define FRT_RUNS_MAX 256     /* of those, running */
#define FRT_DROPS_QUEUE 2048 /* namespaces dropped between two runs of cleanup_net */

/* A queued item, by its address. */
struct frt_work {
	struct frt_tag tag; /* who queued it; task 0: not followed */
	u64 t_queue;
};

/* A running one, by its worker's tid. */
struct frt_run {
	struct frt_tag tag;
	u64 work, func, t_queue, t_start;
	u64 cpu; /* the worker's CPU time at t_start */
};

/* Who dropped the namespaces that cleanup_net is freeing; one run at a time. */
struct frt_batch {
	u32 n;	    /* may be more than are told */
	u64 untold; /* since the last run, when the queue was full */
	u32 instance[FRT_DROPS_MAX];
};

/* What is cancelled never runs: the oldest make room. */
FRT_MAP struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, FRT_WORKS_MAX);
	__type(key, u64);
	__type(value, struct frt_work);
} works SEC(".maps");

FRT_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FRT_RUNS_MAX);
	__type(key, u32);
	__type(value, struct frt_run);
} runs SEC(".maps");

/* Instances, in order of their drops. */
FRT_MAP struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, FRT_DROPS_QUEUE);
	__uint(value_size, sizeof(u32));
} drops SEC(".maps");

/* Tasks whose exit drops a namespace: told already when cleanup_net is queued. */
FRT_MAP struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 512);
	__type(key, u32);
	__type(value, u32);
} dropping SEC(".maps");

FRT_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct frt_batch);
} batches SEC(".maps");

#endif
