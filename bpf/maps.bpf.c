// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* Owns the maps, the knobs and the shared variables. */
#define FRT_DEFINE
#include "maps.h"
#include "function.h"
#include "deferred.h"
#include "outside_maps.h"

const volatile __u32 knob_prev_state = 1;
const volatile __u32 knob_off_stacks = 0;
const volatile __u64 knob_slow_ns = FRT_CALL_SLOW_NS;
const volatile __u32 knob_lock_wakers = 0;
const volatile __u64 knob_cleanup_net = 0;
const volatile __u64 knob_wakeup_bytes = 0;
const volatile __u64 knob_cgroup = 0;

__u32 attached = 0;
__u32 sampling = 0;
__u32 epoch = 0;
__u64 epoch_ts = 0;
__u64 last_wake = 0;
__u64 ops_at = 0;
__u64 ops_undo[FRT_UNDO_KINDS] = {};
__u32 funcs_ready = 0;
__u32 work_tid = 0;
__u32 work_func = 0;
__u64 outside_since = 0;

char LICENSE[] SEC("license") = "Dual BSD/GPL";
