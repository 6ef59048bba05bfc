/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The maps of outside.h, apart from what needs the other maps. */
#ifndef FRT_OUTSIDE_MAPS_H
#define FRT_OUTSIDE_MAPS_H

#include "maps.h"

#define FRT_NAMES_MAX 512
#define FRT_PLACES_MAX 4096

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
