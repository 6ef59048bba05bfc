/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The contract between the BPF programs and the loader beside the ring: keys and
 * values of maps that both of them read or write. Fixed width, padded by hand.
 */
#ifndef FRTRACE_MAPS_H
#define FRTRACE_MAPS_H

#include <frtrace/events.h>

/* Of one CPU. */
struct frt_cpu {
	__u32 slot;    /* of the task that runs; 0: not followed */
	__u32 tid;     /* whose slot that is; another one running: a switch was missed */
	__u64 scratch; /* a pointer becomes a number here */
	__u64 sent, samples;
	__u64 loss[FRT_LOSS_KINDS];
	__u64 task, ts; /* who was switched in last, and when */
	__u64 spins;	/* contended spinlocks of followed tasks */
};

/* A creator's cell; a cache line, mapped into the creator. */
struct frt_creator {
	__u32 instance;
	__u32 quiet; /* it drains the ring: what it does now is not to be told */
	__u32 pad[14];
};

/* Progress of a walk that takes several runs. */
struct frt_walk {
	__u64 start, pos, n;
	__u32 done, torn;
	__u32 tid, tgid; /* of the thread found last */
	char comm[FRT_COMM_LEN];
};

/* The functions of a pernet_operations that undo a namespace. */
enum frt_undo {
	FRT_UNDO_PRE_EXIT,
	FRT_UNDO_RTNL, /* exit_rtnl, or exit_batch_rtnl before 6.16 */
	FRT_UNDO_EXIT,
	FRT_UNDO_BATCH,
	FRT_UNDO_KINDS,
};

/* A task's name; a workqueue's worker is called by what it executes: byte 0 is 0, and
 * the address stands in the second half. */
struct frt_name {
	union {
		char comm[FRT_COMM_LEN];
		__u64 half[2];
	};
};

#define FRT_WAKE_STACK_MAX 24

/* The wake-ups of a name by the followed, and one of their stacks. */
struct frt_wake {
	__u64 n;
	__u32 nstack, pad;
	char by[FRT_COMM_LEN];
	__u64 stack[FRT_WAKE_STACK_MAX];
};

/* Where a name was when a sample was taken: the innermost kernel function, user code, or
 * the kernel where no stack could be walked. Address by address: user space sums them by
 * function. */
#define FRT_IP_USER 0
#define FRT_IP_NONE 1
struct frt_place {
	struct frt_name name;
	__u64 ip;
};

/* How calls of one function are told apart; by number of the function. */
enum frt_func_split {
	FRT_SPLIT_NONE = 0,
	FRT_SPLIT_ARG,	 /* variant: does the argument have bits of mask? */
	FRT_SPLIT_DEREF, /* key: the pointer that the first argument has at offset mask */
	FRT_SPLIT_RTNL, /* key: what the message in the first argument asks, in a send of several */
	FRT_SPLIT_OPS,	/* the same, or the first of the next three that is not NULL */
};

struct frt_func_conf {
	__u8 split; /* enum frt_func_split */
	__u8 arg;   /* FRT_SPLIT_ARG: which argument, 0 or 1 */
	__u8 entry_only;
	__u8 pad;
	__u32 pad2;
	__u64 mask;
};

_Static_assert(sizeof(struct frt_cpu) == 56 + 8 * FRT_LOSS_KINDS, "frt_cpu");
_Static_assert(sizeof(struct frt_creator) == 64, "a cache line of its own");
_Static_assert(sizeof(struct frt_walk) == 56, "frt_walk");
_Static_assert(sizeof(struct frt_name) == FRT_COMM_LEN, "frt_name");
_Static_assert(sizeof(struct frt_wake) == 32 + 8 * FRT_WAKE_STACK_MAX, "frt_wake");
_Static_assert(sizeof(struct frt_place) == FRT_COMM_LEN + 8, "frt_place");
_Static_assert(sizeof(struct frt_func_conf) == 16, "frt_func_conf");

#endif
