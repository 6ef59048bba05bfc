/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What calls ask for, read from their arguments at the entry. What a call
 * points at may not be in memory yet (a literal nobody has touched): then the
 * pointers are kept and read again at the exit, when the kernel has had to.
 *
 * These are global functions: the verifier walks them once by themselves, with
 * nothing known of the state they are given by number, and not again at each
 * call.
 */
#ifndef FRT_DECODE_H
#define FRT_DECODE_H

#include "vmlinux.h"

/* The call that the task in slot has just entered, by its registers. */
int decode_entry(u32 slot, u64 regs);
/* At its exit: the strings again, and what only the end can tell. */
int decode_exit(u32 slot, s64 ret);
/* What is sent on a netlink socket, ptr[0] and ptr[1] of the state saying where; use:
 * whose room to work in (enum frt_scratch_use).
 * < 0 when it cannot be read. */
int decode_netlink(u32 slot, u32 use);

#endif
