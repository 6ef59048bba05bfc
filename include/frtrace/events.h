/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The contract between the BPF programs and the loader: what travels through
 * the ring buffer. Fixed width, padded by hand, sizes asserted on both sides.
 *
 * The kernel numbers, user space names: nothing here knows of a level, a step,
 * a rule or a wait class. Times are CLOCK_MONOTONIC nanoseconds
 * (bpf_ktime_get_ns), durations are nanoseconds.
 */
#ifndef FRTRACE_EVENTS_H
#define FRTRACE_EVENTS_H

#ifdef __bpf__
#include "vmlinux.h"
#else
#include <linux/types.h>
#endif

#define FRT_EVENTS_VERSION 1

#define FRT_ARGS_MAX 512 /* bytes of argv kept of an exec */
#define FRT_TEXT_MAX 64	 /* path, link kind or name decoded from a call */
#define FRT_COMM_LEN 16
#define FRT_COMM_INTERRUPT "[interrupt]\0\0\0\0" /* waker_comm: no task, an interrupt */
#define FRT_NAME_REST "[other tasks]\0\0\0"	 /* outside: names that there was no room for */
#define FRT_STACK_MAX 64			 /* frames of a sample */
#define FRT_OFF_STACK_MAX 32			 /* frames of a switch-out */
#define FRT_FUNC_NODES 256     /* nodes of one call's function tree, and one; a power of two */
#define FRT_FUNC_DEPTH 16      /* nested probed functions */
#define FRT_CREATORS_MAX 256   /* streams, or loops followed */
#define FRT_CALL_SLOW_NS 50000 /* an undecoded call is sent from here on */

enum frt_event_type {
	FRT_EV_FORK = 1,
	FRT_EV_EXEC,
	FRT_EV_CALL,
	FRT_EV_OFF,
	FRT_EV_SAMPLE,
	FRT_EV_DEAD,
	FRT_EV_FUNC,
	FRT_EV_LOCK,
	FRT_EV_DEFER,
	FRT_EV_TYPES
};

/* What a followed task is doing, as far as its time is concerned. */
enum frt_mode {
	FRT_MODE_USER = 0,  /* outside system calls: user code, faults, interrupts */
	FRT_MODE_CALL = 1,  /* between sys_enter and sys_exit, restarts included */
	FRT_MODE_START = 2, /* from its birth to its first return to user space */
	FRT_MODE_EXIT = 3,  /* from exit_group or the fatal signal to TASK_DEAD */
};

/* Numbers that stand where a system call number would. */
#define FRT_NR_NONE (-1) /* FRT_MODE_USER */
#define FRT_NR_START (-2)
#define FRT_NR_EXIT (-3)
#define FRT_NR_WORK (-4)	 /* FRT_EV_FUNC: no call, a run of cleanup_net */
#define FRT_NR_COMPAT 0x40000000 /* or-ed to the number of a 32-bit call */

/* Who: a serial given at fork or attach, + 1 image at each exec, and what the
 * creator wrote before it spawned (0 for loops that are not ours). */
struct frt_tag {
	__u32 task;
	__u32 image;
	__u32 instance;
	__u32 tid; /* in the first pid namespace; for display only */
};

struct frt_event {
	__u16 type; /* enum frt_event_type */
	__u16 size; /* of the whole event */
	__u32 cpu;
	__u64 ts;
	struct frt_tag tag;
};

/* Cumulative figures of a task at a moment: since its birth, restarts and
 * start/exit counted as calls. cpu - user is its kernel time. */
struct frt_snap {
	__u64 cpu_ns;
	__u64 user_ns;
};

/* ts: the fork. tag: the child's. */
struct frt_ev_fork {
	struct frt_event h;
	__u32 parent; /* task serial of the parent */
	__u32 tgid;
	__u32 is_thread;
	__u32 pad;
	char comm[FRT_COMM_LEN];
};

/* ts: sched_process_exec. tag: the new image. */
struct frt_ev_exec {
	struct frt_event h;
	struct frt_snap snap;
	__u64 rest_ns; /* on-CPU in calls of the ended image that were not sent */
	__u32 rest_n;
	__u32 old_task;	  /* serial the task had before, when a thread took over its leader; or 0 */
	__u32 args_len;	  /* bytes in args */
	__u32 args_total; /* bytes of the whole argv; > args_len: cut */
	char comm[FRT_COMM_LEN];
	char args[FRT_ARGS_MAX]; /* NUL between arguments; only args_len bytes are sent */
};

/*
 * What could be decoded of a call's arguments.
 *
 * NS: flags are those of unshare and clone (fork and vfork: what they stand
 * for), for setns the type asked for or, when that is 0, of the namespace
 * behind the descriptor; *_after of a clone are the child's.
 * MOUNT: text is "TARGET\tTYPE"; with MS_BIND "TARGET\tSOURCE", of the source
 * its last 20 bytes; umount2, open_tree and move_mount: the path; fsopen: the
 * type. flags of mount_setattr are given in the words of mount(2).
 * OPEN, WRITE: text is the path below /proc/sys/; flags those of open.
 * NETLINK: of the first message with NLM_F_CREATE, else of the first. text of
 * a link message is its IFLA_INFO_KIND, then "@netns" when the link itself is
 * told to go to another namespace: "veth", "@netns".
 */
enum frt_detail {
	FRT_DET_NONE = 0,
	FRT_DET_NS, /* unshare, setns, clone, clone3: flags, fd type, ns before/after */
	FRT_DET_MOUNT, /* mount, umount2, move_mount, open_tree, fsmount: flags, target, fs type in text */
	FRT_DET_OPEN,	 /* open of a path below /proc/sys: text */
	FRT_DET_WRITE,	 /* write to an inode of procfs below sys: text */
	FRT_DET_NETLINK, /* sendto/sendmsg on a netlink socket */
	FRT_DET_BAD,	 /* should have been decoded, could not: counted as loss */
};

/* ts: the end. Sent for every decoded call, every call that slept and every
 * call from FRT_CALL_SLOW_NS on; for start and exit always. */
struct frt_ev_call {
	struct frt_event h;
	__u64 in;
	__s64 ret;
	__s32 nr;
	__u16 detail; /* enum frt_detail */
	__u16 restarts;
	__u64 cpu_ns;
	__u64 blocked_ns;
	__u64 runq_ns;
	__u64 flags;		     /* of clone, unshare, mount, umount2; nstype of setns */
	__u32 net_before, net_after; /* inode numbers of the task's namespaces */
	__u32 mnt_before, mnt_after;
	__u16 nl_proto, nl_type; /* of the first message that says something */
	__u16 nl_flags, nl_msgs; /* messages in this send */
	__u32 seq;		 /* number of the call in its task; joins FUNC to CALL */
	__u32 again_ns;		 /* of cpu_ns: in attempts that were restarted */
	char text[FRT_TEXT_MAX];
};

/* Birth, preempted: why a task was off the CPU. */
#define FRT_OFF_BLOCKED 0
#define FRT_OFF_PREEMPT 1
#define FRT_OFF_BIRTH 2 /* out: fork; waking: sched_wakeup_new by the parent */

/* ts: switched in again. blocked is waking - out, runqueue in - waking. */
struct frt_ev_off {
	struct frt_event h;
	__u64 out;
	__u64 waking;		    /* 0: not seen */
	__u16 why;		    /* FRT_OFF_* */
	__u16 mode;		    /* enum frt_mode at out */
	__s32 nr;		    /* call it slept in, or FRT_NR_* */
	struct frt_snap snap;	    /* of this task at out */
	struct frt_tag waker;	    /* task 0: the waker is not followed, or an interrupt */
	struct frt_snap waker_snap; /* of a followed waker at waking */
	char waker_comm[FRT_COMM_LEN];
	__u32 state; /* of the switch, raw bits */
	__u32 nstack;
	__u64 stack[FRT_OFF_STACK_MAX]; /* kernel stack at out, leaf first; only nstack are sent */
};

/* ts: when taken. One sample is 1 / freq seconds of on-CPU time. */
struct frt_ev_sample {
	struct frt_event h;
	__u16 mode;	 /* enum frt_mode */
	__u16 in_kernel; /* the interrupted context: 0 user, 1 kernel */
	__s32 nr;
	__u32 seq; /* of the call it fell into */
	__u32 nstack;
	__u64 stack[FRT_STACK_MAX];
};

/* ts: the switch with TASK_DEAD. */
struct frt_ev_dead {
	struct frt_event h;
	struct frt_snap snap;
	__u64 rest_ns;
	__u32 rest_n;
	__s32 code; /* as wait status */
};

/*
 * Key of rtnetlink_rcv_msg in a send of several messages. With FRT_RTNL_KIND a link
 * of this kind is made: the first bytes of its name, the first one lowest. Otherwise
 * bits 0-15 nlmsg_type, 16-31 nlmsg_flags, FRT_RTNL_MOVED: "@netns" (see above).
 */
#define FRT_RTNL_KIND (1ULL << 63)
#define FRT_RTNL_KIND_BYTES 7
#define FRT_RTNL_MOVED (1ULL << 32)

/* One probed function below its parent, within one call, summed. */
struct frt_func_node {
	__u32 func;    /* index of the attach table */
	__u16 parent;  /* index in nodes + 1; 0: directly below the call */
	__u16 variant; /* 0, or which of the kinds of call (did nothing, did something) */
	__u32 n;
	__u32 pad;
	__u64 key;	    /* what tells equal functions apart: the pernet init's address, or
			     * FRT_RTNL_*; 0 */
	__u64 total_ns;	    /* cpu + blocked + runqueue inside */
	__u64 child_ns;	    /* of total: in directly probed children */
	__u64 off_ns;	    /* of total: blocked + runqueue */
	__u64 child_off_ns; /* of child_ns: blocked + runqueue */
};

/* ts: the end of the call. Of a run of cleanup_net: tag 0, nr FRT_NR_WORK, seq its run. */
struct frt_ev_func {
	struct frt_event h;
	__u32 seq; /* of the call */
	__s32 nr;
	__u32 lost; /* entries too deep or too many for the tree */
	__u32 nnodes;
	struct frt_func_node nodes[FRT_FUNC_NODES]; /* only nnodes are sent */
};

/* Somebody who holds a lock, or lets go of it. */
struct frt_holder_id {
	__u32 task, instance; /* of the followed; 0 otherwise */
	__u32 tid;	      /* first pid namespace; 0: nobody could be read */
	__u32 pf;	      /* task_struct.flags */
	__u64 func;	      /* a workqueue's worker: what it executes; or 0 */
	char comm[FRT_COMM_LEN];
};

#define FRT_LOCK_STACK_MAX 20
/* or-ed to the flags of the kernel's contention_begin (LCB_F_*) */
#define FRT_LOCK_WAKER 0x80000000u
#define FRT_LOCK_AGAIN 0x40000000u /* contention: not got yet, another begin follows */
#define FRT_LCB_SPIN 0x01
#define FRT_LCB_READ 0x02
#define FRT_LCB_WRITE 0x04
#define FRT_LCB_RT 0x08
#define FRT_LCB_PERCPU 0x10
#define FRT_LCB_MUTEX 0x20

/*
 * Of a followed task that waited for a lock, two kinds. Contention: from a
 * contention_begin (t0) to the end (ts), who is the owner that the lock named at
 * t_owner; a begin that follows another in the same wait replaces it, unless the
 * task slept in between: then there is an event for each. Waker (FRT_LOCK_WAKER): t0 the switch-out, ts the waking, who the waker,
 * stack its kernel stack; addr 0 where contention is not told. Of a spinlock
 * (FRT_LCB_SPIN alone) only the begin is told, of at most 1,000 a second: stack is the
 * task's own.
 */
struct frt_ev_lock {
	struct frt_event h;
	__u64 t0, t_owner;
	__u64 addr;
	__u32 flags;
	__u32 nstack;
	struct frt_holder_id who;
	__u64 stack[FRT_LOCK_STACK_MAX]; /* only nstack are sent */
};

#define FRT_DROPS_MAX 128 /* droppers of a batch that are told by name */

/*
 * A work item that ran, queued by a followed task (tag) or by one that is not (task
 * 0, cleanup_net only). ts: its end. drops: the instances whose tasks were seen to
 * drop a namespace since cleanup_net ran last, 0 for tasks that are not followed;
 * ndrops may be more than are told.
 */
struct frt_ev_defer {
	struct frt_event h;
	__u64 func;
	__u64 t_queue, t_start;
	__u64 cpu_ns; /* on the CPU from t_start to ts */
	__u32 ndrops;
	__u32 run; /* number of this run, joins FUNC to it; 0: its functions are not told */
	__u32 drops[FRT_DROPS_MAX]; /* only those told are sent */
};

/* Loss counters, one per-CPU array; summed by the loader. */
enum frt_loss_kind {
	FRT_LOSS_EVENTS = 0, /* the ring was full */
	FRT_LOSS_MAPS,	     /* a map was full */
	FRT_LOSS_SAMPLES,    /* a sample could not be sent */
	FRT_LOSS_UNPAIRED, /* an exit without its entry, or the reverse, while attached and alive */
	FRT_LOSS_UNDECODED, /* arguments that could not be read */
	FRT_LOSS_UNTAGGED,  /* a child of a followed task that got no tag */
	FRT_LOSS_MISSED, /* a program that the kernel did not run, whatever the task; told by the kernel */
	FRT_LOSS_KINDS
};

#ifndef __bpf__
_Static_assert(sizeof(struct frt_tag) == 16, "frt_tag");
_Static_assert(sizeof(struct frt_event) == 32, "frt_event");
_Static_assert(sizeof(struct frt_ev_fork) == 64, "frt_ev_fork");
_Static_assert(sizeof(struct frt_ev_call) == 32 + 16 + 8 + 24 + 8 + 16 + 8 + 8 + FRT_TEXT_MAX,
	       "frt_ev_call");
_Static_assert(sizeof(struct frt_ev_dead) == 64, "frt_ev_dead");
_Static_assert(sizeof(struct frt_func_node) == 56, "frt_func_node");
#endif

#endif /* FRTRACE_EVENTS_H */
