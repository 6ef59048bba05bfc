/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * All maps and variables that programs share. maps.bpf.c defines FRT_DEFINE
 * and owns them; for every other file they are extern, joined when the
 * objects are linked.
 */
#ifndef FRT_MAPS_H
#define FRT_MAPS_H

#include "state.h"
#include <bpf/bpf_helpers.h>
#include "knobs.h"

#ifdef FRT_DEFINE
#define FRT_MAP
#else
#define FRT_MAP extern
#endif

/* Events to user space. The loader sets its size. */
FRT_MAP struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} ring SEC(".maps");

/* tid (first pid namespace) → slot. */
FRT_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FRT_SLOTS);
	__type(key, u32);
	__type(value, u32);
} pids SEC(".maps");

/* As one that can be mapped it begins at a page, so that states do at cache lines. */
FRT_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, FRT_SLOTS);
	__type(key, u32);
	__type(value, struct task_state);
} slots SEC(".maps");

/* Free slots; first in, first out, so that one is not reused at once. */
FRT_MAP struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, FRT_SLOTS);
	__uint(value_size, sizeof(u32));
} free_slots SEC(".maps");

FRT_MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct frt_cpu);
} cpus SEC(".maps");

FRT_MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, FRT_SCRATCHES);
	__type(key, u32);
	__type(value, struct frt_scratch);
} scratches SEC(".maps");

FRT_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FRT_CREATORS_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct frt_creator);
} creators SEC(".maps");

FRT_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct frt_walk);
} walks SEC(".maps");

#ifndef FRT_DEFINE
extern __u32 attached;	/* 1: all programs are; until then halves of pairs are missing */
extern __u32 sampling;	/* 1: samples are wanted */
extern __u32 epoch;	/* + 1 whenever the programs are attached */
extern __u64 epoch_ts;	/* when */
extern __u64 last_wake; /* when the reader was last woken */
extern __u64 ops_at;	/* the pernet_operations read last: its place in their list; 0: torn */
extern __u64 ops_undo[FRT_UNDO_KINDS]; /* … its functions */
#endif

#endif
