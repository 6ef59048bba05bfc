/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What is kept of a followed task while it lives: one slot of an array. A slot
 * belongs to one task from its birth (or the moment it was attached) to its
 * TASK_DEAD switch; only the task itself writes it, except the waking fields
 * of `off`, which its waker fills while the task is off the CPU.
 */
#ifndef FRT_STATE_H
#define FRT_STATE_H

#include "vmlinux.h"
#include <frtrace/maps.h>

/* Tasks followed at one time. Slot 0 stays empty: it means "not ours". */
#define FRT_SLOTS 8192

/* task_state.flags */
#define FRT_F_FRESH 0x01   /* attached in the middle: an exit without an entry is no loss */
#define FRT_F_SLEPT 0x02   /* the call blocked */
#define FRT_F_PENDING 0x04 /* the call has returned to be restarted; it may go on */
#define FRT_F_REREAD 0x08  /* its strings were not in memory at the entry */
#define FRT_F_SEND 0x10	   /* to be sent whatever it costs */
#define FRT_F_DROPPED 0x20 /* no longer followed: free the slot at its switch-out */
#define FRT_F_ON_CPU 0x40
#define FRT_F_UNSEEN 0x80 /* attached, and not yet seen on a CPU */

/* Sums of a task since its birth. */
struct frt_sums {
	u64 cpu, blocked, runq;
};

/* What every system call touches lies in the first two cache lines and the call's
 * own first one: this runs a thousand times per router, between the measured
 * program's own code, which has filled the caches with something else. */
struct task_state {
	u64 since; /* up to here its time is accounted */
	struct frt_sums sum;
	u64 user;   /* of sum.cpu */
	u64 sig_ts; /* of the last signal that may kill; 0: none since the last call */
	u8 mode;    /* enum frt_mode */
	u8 flags;
	u16 pad;
	u32 seq;
	u32 call_image; /* image that entered the call */
	u32 func;	/* index of its function state; 0: none */

	struct frt_sums at_call; /* sum when the call began */
	u64 rest_ns;		 /* calls of this image that were not sent */
	u32 rest_n;
	u32 creator; /* index + 1 in creators; 0 */
	struct frt_tag tag;
	u32 slot;
	u32 generation; /* how often the slot was given out: tag.task = generation * FRT_SLOTS + slot */

	struct frt_ev_call call; /* the call in progress */
	struct frt_ev_off off;	 /* the switch-out in progress */

	u64 start_time; /* with the tid it identifies the task */
	u32 epoch;	/* of the attachment it was last seen in */
	u32 lock_flags;
	struct frt_sums at_pend; /* sum when the call returned to be restarted, … */
	u64 pend_ts;		 /* at that time */
	struct frt_sums at_sig;	 /* … and at the last signal that may kill */
	u64 sig_user;
	u64 ptr[2];		    /* strings to read again at the exit */
	u64 lock;		    /* address of the lock it contends for; 0: none */
	u64 lock_ts, lock_ts_owner; /* first begin, and when the owner was read */
	struct frt_holder_id lock_owner;
} __attribute__((aligned(64)));

#define FRT_NL_KIND 16 /* bytes of a link's kind */

/* From the kernel's ABI. */
struct frt_nl_header {
	u32 len;
	u16 type, flags;
	u32 seq, pid;
};
struct frt_nl_attr {
	u16 len, type;
};
struct frt_iovec {
	u64 base, len;
};
struct frt_msghdr {
	u64 name;
	u32 namelen, pad;
	u64 iov, iovlen;
};

/* A walk over what is sent on a netlink socket. */
struct frt_nl_walk {
	u64 at, end, in, body, best_at, best_body;
	struct frt_iovec v;
	struct frt_msghdr m;
	struct frt_nl_header h, best;
	struct frt_nl_attr attr, inner;
	u32 n, kind, moved;
};

/*
 * Room that does not fit on the stack; of each CPU one for each program that needs it.
 * From 7.0 on a tracepoint no longer keeps its programs from being preempted (it is under
 * SRCU), so another task's program may run on the CPU in between. Never the same program:
 * the kernel leaves one out that has already begun there.
 */
struct frt_scratch {
	union {
		struct frt_ev_exec exec;
		struct frt_ev_sample sample;
		struct {
			u64 dentry[8];
			char path[2 * FRT_TEXT_MAX];
		};
		struct frt_nl_walk nl;
	};
};

enum frt_scratch_use {
	FRT_SCRATCH_ENTRY, /* frt_sys_enter */
	FRT_SCRATCH_EXIT,  /* frt_sys_exit */
	FRT_SCRATCH_EXEC,  /* frt_exec */
	FRT_SCRATCH_SAMPLE,
	FRT_SCRATCHES
};

#endif
