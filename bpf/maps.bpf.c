// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* Owns the maps, the knobs and the shared variables. */
#define FRT_DEFINE
#include "maps.h"
#include "function.h"

const volatile u32 knob_prev_state = 1;
const volatile u32 knob_off_stacks = 0;
const volatile u64 knob_slow_ns = FRT_CALL_SLOW_NS;
const volatile u64 knob_wakeup_bytes = 0;

u32 sampling = 0;
u32 epoch = 0;
u64 epoch_ts = 0;
u64 last_wake = 0;
u32 funcs_ready = 0;

char LICENSE[] SEC("license") = "Dual BSD/GPL";
