/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What every family of programs does with a task's state: account time up to
 * now, and send events. */
#ifndef FRT_ACCOUNT_H
#define FRT_ACCOUNT_H

#include "maps.h"
#include "core.h"
#include "function.h"

static __always_inline struct frt_cpu *this_cpu(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&cpus, &zero);
}

static __always_inline struct task_state *slot__get(u32 slot)
{
	return bpf_map_lookup_elem(&slots, &slot);
}

/* The state of the task that runs on this CPU, when it is followed. For
 * programs in the middle of a call. */
static __always_inline struct task_state *followed(const struct frt_cpu *c)
{
	return c && c->slot ? slot__get(c->slot) : NULL;
}

/* sched.bpf.c: finds out who runs here after a switch that was not seen. */
int resync(u32 tid);

/* The same, for programs that may be the first to see the task. A switch can be
 * missed: some kernels run no program while a task that they shield is current
 * (a sandbox's supervisor), and it is current when it is switched out. */
static __always_inline struct task_state *followed_here(const struct frt_cpu *c)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();

	if (c && c->tid != tid)
		resync(tid);
	return followed(c);
}

#define CGROUP_DEPTH 16

/* Is g the group asked for, or below it? */
static __always_inline bool in_target(const struct cgroup *g)
{
	for (int level = 0; level < CGROUP_DEPTH && g; level++) {
		if (BPF_CORE_READ(g, kn, id) == knob_cgroup)
			return true;
		/* css_set's part of a group is the group's first member */
		g = (const void *)BPF_CORE_READ(g, self.parent);
	}
	return false;
}

/* The state of a task that need not run here. */
static __always_inline struct task_state *followed_tid(u32 tid)
{
	u32 *slot;

	if (!tid)
		return NULL;
	slot = bpf_map_lookup_elem(&pids, &tid);
	return slot ? slot__get(*slot) : NULL;
}

static __always_inline struct task_state *followed_task(const struct task_struct *t)
{
	return followed_tid(BPF_CORE_READ(t, pid));
}

/* From 7.0 on a program can be preempted between its look at the clock and this:
 * then the switches have accounted for more already. */
static __always_inline void account(struct task_state *s, u64 now)
{
	u64 d = now - s->since;

	if ((s64)d <= 0)
		return;
	s->sum.cpu += d;
	if (s->mode == FRT_MODE_USER)
		s->user += d;
	s->since = now;
}

/* Sums of a running task as they will be at now, without touching them. */
static __always_inline void snapshot(const struct task_state *s, u64 now, struct frt_snap *snap)
{
	u64 d = now - s->since;

	snap->cpu_ns = s->sum.cpu + d;
	snap->user_ns = s->user + (s->mode == FRT_MODE_USER ? d : 0);
}

/* A creator's instance is what it wrote last, read whenever it is used. */
static __always_inline u32 instance_of(const struct task_state *s)
{
	u32 idx = s->creator - 1;
	struct frt_creator *c;

	if (!s->creator)
		return s->tag.instance;
	c = bpf_map_lookup_elem(&creators, &idx);
	return c ? *(volatile u32 *)&c->instance : 0;
}

/* A creator that reads events must not cause more of them. */
static __always_inline bool is_quiet(const struct task_state *s)
{
	u32 idx = s->creator - 1;
	struct frt_creator *c;

	if (!s->creator)
		return false;
	c = bpf_map_lookup_elem(&creators, &idx);
	return c && *(volatile u32 *)&c->quiet;
}

static __always_inline void fill_tag(const struct task_state *s, struct frt_tag *t)
{
	t->task = s->tag.task;
	t->image = s->tag.image;
	t->instance = instance_of(s);
	t->tid = s->tag.tid;
}

static __always_inline void fill_head(struct frt_event *h, const struct task_state *s, u16 type,
				      u16 size, u64 ts)
{
	h->type = type;
	h->size = size;
	h->cpu = bpf_get_smp_processor_id();
	h->ts = ts;
	fill_tag(s, &h->tag);
}

/* The reader is woken once a millisecond at most, and only when there is
 * enough to make a round worth it; it looks by itself now and then. */
static __always_inline u64 wake_flags(u64 now)
{
	if (!knob_wakeup_bytes || now - last_wake < 1000000 ||
	    bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < knob_wakeup_bytes)
		return BPF_RB_NO_WAKEUP;
	last_wake = now;
	return BPF_RB_FORCE_WAKEUP;
}

/* Sends size bytes, at most max. The bound is tested last and behind a barrier:
 * up to 5.15 the verifier forgets what it knows of a number that was spilled. */
static __always_inline long send_bytes(void *event, u64 size, u64 max, u64 now)
{
	u64 flags = wake_flags(now);

	asm volatile("" : "+r"(size));
	if (size > max)
		size = max;
	return bpf_ringbuf_output(&ring, event, size, flags);
}

static __always_inline void send(struct frt_cpu *c, void *event, u64 size, u64 max, u64 now)
{
	if (send_bytes(event, size, max, now))
		c->loss[FRT_LOSS_EVENTS]++;
	else
		c->sent++;
}

/* Half of a pair is missing. */
static __always_inline void unpaired(struct frt_cpu *c)
{
	if (attached)
		c->loss[FRT_LOSS_UNPAIRED]++;
}

/* A slot for task t. Returns its state, blank apart from its identity. From here
 * on its events find it: what they must know is in flags. */
static __always_inline struct task_state *slot__new(const struct task_struct *t, u8 flags, u64 now)
{
	struct task_state *s;
	u32 slot = 0, tid;

	if (bpf_map_pop_elem(&free_slots, &slot))
		return NULL;
	s = slot__get(slot);
	if (!s)
		return NULL;
	tid = BPF_CORE_READ(t, pid);
	s->generation++;
	s->slot = slot;
	s->tag.task = s->generation * FRT_SLOTS + slot;
	s->tag.image = 0;
	s->tag.instance = 0;
	s->tag.tid = tid;
	s->epoch = epoch;
	s->creator = 0;
	s->start_time = BPF_CORE_READ(t, start_time);
	s->since = now;
	__builtin_memset(&s->sum, 0, sizeof(s->sum));
	s->user = 0;
	s->mode = FRT_MODE_USER;
	s->flags = flags;
	s->seq = 0;
	s->rest_ns = 0;
	s->rest_n = 0;
	s->call_image = 0;
	s->func = 0;
	s->sig_ts = 0;
	s->off.waking = 0;
	s->off.nstack = 0;
	s->lock = 0;
	if (bpf_map_update_elem(&pids, &tid, &slot, BPF_ANY)) {
		bpf_map_push_elem(&free_slots, &slot, 0);
		return NULL;
	}
	return s;
}

/* Gives the slot back; the tid's entry only when it is still this task's. */
static __always_inline void slot__free(struct task_state *s)
{
	u32 tid = s->tag.tid, slot = s->slot;
	u32 *have = bpf_map_lookup_elem(&pids, &tid);

	if (have && *have == slot)
		bpf_map_delete_elem(&pids, &tid);
	func__free(s);
	s->tag.tid = 0;
	s->flags = 0;
	bpf_map_push_elem(&free_slots, &slot, 0);
}

/* Begins a call (or start, or exit) at now; time up to now is accounted. */
static __always_inline void call__begin(struct task_state *s, s32 nr, u64 now)
{
	s->seq++;
	s->call_image = s->tag.image;
	s->at_call = s->sum;
	s->call.in = now;
	s->call.nr = nr;
	s->call.detail = FRT_DET_NONE;
	s->call.restarts = 0;
	s->flags &= ~(FRT_F_SLEPT | FRT_F_PENDING | FRT_F_REREAD | FRT_F_SEND | FRT_F_FRESH);
}

/* The functions seen in the call that ends; then the tree is empty again. */
static __noinline int func__send(struct frt_cpu *c, struct task_state *s, u64 now)
{
	struct frt_func_state *f = func__state(s);
	u64 size, n;

	if (!f || !(f->nnodes | f->lost))
		return 0;
	n = f->nnodes;
	if (n > FRT_FUNC_NODES)
		n = FRT_FUNC_NODES;
	size = __builtin_offsetof(struct frt_ev_func, nodes) + n * sizeof(struct frt_func_node);
	fill_head(&f->ev.h, s, FRT_EV_FUNC, size, now);
	f->ev.h.tag.image = s->call_image;
	f->ev.seq = s->seq;
	f->ev.nr = s->call.nr;
	f->ev.lost = f->lost;
	f->ev.nnodes = n;
	send(c, &f->ev, size, sizeof(f->ev), now);
	c->loss[FRT_LOSS_UNPAIRED] += f->depth;
	c->loss[FRT_LOSS_MAPS] += f->lost;
	if (f->depth)
		__builtin_memset(f->open, 0, sizeof(f->open));
	__builtin_memset(f->hash, 0, sizeof(f->hash));
	f->depth = f->nnodes = f->lost = f->over = 0;
	s->flags |= FRT_F_SEND;
	return 0;
}

/* Ends it at now with the sums of `end`: sends it or adds it to the rest. */
static __always_inline void call__end(struct frt_cpu *c, struct task_state *s,
				      const struct frt_sums *end, s64 ret, u64 now)
{
	struct frt_ev_call *e = &s->call;
	u64 size = sizeof(*e);

	if (s->func)
		func__send(c, s, now);
	if (is_quiet(s))
		return;
	if (e->detail == FRT_DET_NONE) {
		if (!(s->flags & (FRT_F_SLEPT | FRT_F_SEND)) && now - e->in < knob_slow_ns) {
			s->rest_n++;
			s->rest_ns += end->cpu - s->at_call.cpu;
			return;
		}
		size = __builtin_offsetof(struct frt_ev_call, text);
		e->flags = 0;
		e->net_before = e->net_after = e->mnt_before = e->mnt_after = 0;
		*(u64 *)&e->nl_proto = 0;
	}
	fill_head(&e->h, s, FRT_EV_CALL, size, now);
	e->h.tag.image = s->call_image;
	e->ret = ret;
	e->cpu_ns = end->cpu - s->at_call.cpu;
	e->blocked_ns = end->blocked - s->at_call.blocked;
	e->runq_ns = end->runq - s->at_call.runq;
	e->seq = s->seq;
	if (!e->restarts)
		e->again_ns = 0;
	send(c, e, size, sizeof(*e), now);
}

/* A call that returned to be restarted and was not: it ended back then, and
 * what followed was user time. */
static __always_inline void call__end_pending(struct frt_cpu *c, struct task_state *s)
{
	call__end(c, s, &s->at_pend, s->call.ret, s->pend_ts);
	s->user += s->sum.cpu - s->at_pend.cpu;
	s->flags &= ~FRT_F_PENDING;
	s->mode = FRT_MODE_USER;
}

#endif
