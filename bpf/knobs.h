/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What the loader decides before loading; constant afterwards, so that the
 * verifier drops what is switched off. Defined in maps.bpf.c. */
#ifndef FRT_KNOBS_H
#define FRT_KNOBS_H

/* sched_switch passes prev_state (5.18; before, it is read from the task). */
extern const volatile __u32 knob_prev_state;
/* Kernel stacks at switch-out. */
extern const volatile __u32 knob_off_stacks;
/* An undecoded call that took this long is sent. */
extern const volatile __u64 knob_slow_ns;
/* No contention tracepoints: the waker's stack is told whenever it ends a sleep
 * that signals do not end. */
extern const volatile __u32 knob_lock_wakers;
/* Address of cleanup_net, to know its work by; 0: it is not known. */
extern const volatile __u64 knob_cleanup_net;
/* Wake the reader when this many bytes lie in the ring; 0: never. */
extern const volatile __u64 knob_wakeup_bytes;
/* Inode of the control group that is followed; 0: none is. */
extern const volatile __u64 knob_cgroup;

#endif
