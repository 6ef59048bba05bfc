/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The maps of outside.h, apart from what needs the other maps. */
#ifndef FRT_OUTSIDE_MAPS_H
#define FRT_OUTSIDE_MAPS_H

#include "maps.h"

#define FRT_NAMES_MAX 512
#define FRT_WAKE_STACK_MAX 24
#define FRT_PLACES_MAX 4096

/* A task's name; a workqueue's worker is called by what it executes: byte 0 is 0, and
 * the address stands in the second half. */
struct frt_name {
	union {
		char comm[FRT_COMM_LEN];
		u64 half[2];
	};
};

/* The wake-ups of a name by the followed, and one of their stacks. */
struct frt_wake {
	u64 n;
	u32 nstack, pad;
	char by[FRT_COMM_LEN];
	u64 stack[FRT_WAKE_STACK_MAX];
};

FRT_MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, FRT_NAMES_MAX);
	__type(key, struct frt_name);
	__type(value, u64);
} outside SEC(".maps");

FRT_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FRT_NAMES_MAX);
	__type(key, struct frt_name);
	__type(value, struct frt_wake);
} wakes SEC(".maps");

/* Where a name was when a sample was taken: the innermost kernel function, or user code
 * (ip 0). Address by address: user space sums them by function. */
struct frt_place {
	struct frt_name name;
	u64 ip;
};

FRT_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FRT_PLACES_MAX);
	__type(key, struct frt_place);
	__type(value, u64);
} places SEC(".maps");

/* One blank value to begin with: too large for the stack. */
FRT_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct frt_wake);
} no_wake SEC(".maps");

#ifndef FRT_DEFINE
extern u64 outside_since; /* 0: nobody asks */
#endif

#endif
