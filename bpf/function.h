/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Probed functions: one tree per system call of a followed task, summed while
 * the call runs and sent when it ends. Whatever rung they are attached by, all
 * programs come here with the function's number.
 *
 * A frame's cost is two clock reads, one of them shared with nobody; its CPU
 * time comes from the task's own account, so what it spent off the CPU needs no
 * bookkeeping at switches.
 */
#ifndef FRT_FUNCTION_H
#define FRT_FUNCTION_H

#include "maps.h"
#include "core.h"

#define FRT_FUNC_STATES 1024 /* tasks inside probed functions at one time */
#define FRT_FUNCS_MAX 8192   /* attached functions */

#define FRT_FUNC_HASH 512 /* places for nodes, by what they are */
#define FRT_FUNC_TRIES 24 /* places looked at: a full tree fills half of them */
#define FRT_FUNC_OPEN 512 /* functions whose recursion is told */

struct frt_func_frame {
	u32 func;
	u16 node;  /* index + 1; 0: recursion, counted at the outermost */
	u16 above; /* index + 1 of the frame that counts this one as its child */
	u64 ts, cpu;
	u64 child, child_off;
};

struct frt_func_state {
	u32 depth;
	u32 nnodes;
	u32 lost; /* too deep or too many */
	u32 over; /* entries beyond the depth that are still open */
	struct frt_func_frame frame[FRT_FUNC_DEPTH];
	u8 hash[FRT_FUNC_HASH]; /* index + 1 of a node; 0: free */
	u8 open[FRT_FUNC_OPEN]; /* frames of a function that are open */
	struct frt_nl_walk nl;
	struct frt_ev_func ev; /* nodes grow here, sent in place */
};

FRT_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FRT_FUNC_STATES);
	__type(key, u32);
	__type(value, struct frt_func_state);
} funcs SEC(".maps");

/* Free func states, 1 …; last in, first out: the warm one again. */
FRT_MAP struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, FRT_FUNC_STATES);
	__uint(value_size, sizeof(u32));
} free_funcs SEC(".maps");

FRT_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FRT_FUNCS_MAX);
	__type(key, u32);
	__type(value, struct frt_func_conf);
} func_conf SEC(".maps");

#ifndef FRT_DEFINE
extern u32 funcs_ready; /* set last, when everything is attached */
extern u32 work_tid;	/* the worker that executes cleanup_net; 0 */
extern u32 work_func;	/* its function state, taken for good; 0: none yet */
#endif

/* netlink.bpf.c: what the message at the front of socket buffer skb asks, as
 * FRT_RTNL_* in events.h say it; state: whose memory to use. */
u64 rtnl_key(u32 state, u64 skb);

/* CPU time of the task that runs here, up to now. The scheduler's sum lags until
 * the next tick: what it was when the task was picked, and since then. */
static __always_inline u64 cpu_until(const struct frt_cpu *c, struct task_struct *t, u64 now)
{
	if (c->task == (u64)t && now > c->ts)
		return BPF_CORE_READ(t, se.prev_sum_exec_runtime) + (now - c->ts);
	return BPF_CORE_READ(t, se.sum_exec_runtime);
}

static __always_inline struct frt_func_state *func__state(const struct task_state *s)
{
	u32 i = s->func;

	return i ? bpf_map_lookup_elem(&funcs, &i) : NULL;
}

static __always_inline void func__clear(struct frt_func_state *f)
{
	f->depth = f->nnodes = f->lost = f->over = 0;
	__builtin_memset(f->hash, 0, sizeof(f->hash));
	__builtin_memset(f->open, 0, sizeof(f->open));
}

/* Takes a state, its number into *at; NULL when there is none left. */
static __always_inline struct frt_func_state *func__take(u32 *at)
{
	struct frt_func_state *f;
	u32 i = 0;

	if (bpf_map_pop_elem(&free_funcs, &i))
		return NULL;
	f = bpf_map_lookup_elem(&funcs, &i);
	if (!f)
		return NULL;
	*at = i;
	func__clear(f);
	return f;
}

/* Back to user mode, to restart the call: no function goes on. What has not ended has
 * missed its exit; left open it would take the depth of all attempts that follow. */
static __always_inline void func__unwind(struct frt_cpu *c, struct task_state *s)
{
	struct frt_func_state *f = func__state(s);

	if (!f || !f->depth)
		return;
	c->loss[FRT_LOSS_UNPAIRED] += f->depth;
	__builtin_memset(f->open, 0, sizeof(f->open));
	f->depth = f->over = 0;
}

static __always_inline void func__free(struct task_state *s)
{
	u32 i = s->func;

	if (!i)
		return;
	s->func = 0;
	bpf_map_push_elem(&free_funcs, &i, 0);
}

#endif
