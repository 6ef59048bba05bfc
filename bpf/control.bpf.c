// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Programs the loader runs itself (BPF_PROG_TEST_RUN, in its own context):
 * they begin and end following where a program outside the kernel cannot do it
 * without a race, count namespaces, and read what undoes one.
 */
#include "account.h"

static __always_inline void seen_here(struct frt_cpu *c, struct task_state *s, u64 now)
{
	s->epoch = epoch;
	s->since = now;
	s->flags = FRT_F_ON_CPU;
	s->mode = FRT_MODE_CALL;
	s->off.waking = 0;
	call__begin(s, FRT_NR_NONE, now);
	s->flags |= FRT_F_FRESH;
	c->slot = s->slot;
	c->tid = s->tag.tid;
	c->task = (u64)current_task();
	c->ts = now;
}

/* Follows the calling thread as creator args[0]; gives its serial, 0 on failure. */
SEC("raw_tp")
int frt_follow_self(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *t = current_task();
	struct frt_cpu *c = this_cpu();
	u64 now = bpf_ktime_get_ns();
	struct task_state *s;

	if (!c)
		return 0;
	s = followed_task(t);
	if (!s)
		s = slot__new(t, 0, now);
	if (!s)
		return 0;
	s->creator = (u32)ctx->args[0] + 1;
	seen_here(c, s, now);
	return s->tag.task;
}

#define PIDTYPE_TGID 1
#define HLIST_NODE_SIZE 16

/* The process behind a pidfd: its leader. */
static __always_inline struct task_struct *process_of(u32 fd)
{
	struct file *f = file_of(fd);
	struct hlist_node *n;
	struct pid *p;

	if (!f)
		return NULL;
	/* A file system of their own since 6.9 (cb12fd8e0dab), anonymous before. */
	if (BPF_CORE_READ(f, f_inode, i_sb, s_magic) == PID_FS_MAGIC)
		p = BPF_CORE_READ(f, f_inode, i_private);
	else
		p = BPF_CORE_READ(f, private_data);
	n = BPF_CORE_READ(p, tasks[PIDTYPE_TGID].first);
	if (!n)
		return NULL;
	return (void *)n - bpf_core_field_offset(struct task_struct, pid_links) -
	       PIDTYPE_TGID * HLIST_NODE_SIZE;
}

/*
 * Follows one more thread of the process behind pidfd args[0]; args[1] 1 begins
 * with the first. Gives its serial (what it is called lies in the walk), 1 when
 * it is followed already, 0 after the last. The kernel's own numbers are used:
 * the caller may live in a pid namespace that has others.
 */
SEC("raw_tp")
int frt_follow_next(struct bpf_raw_tracepoint_args *ctx)
{
	u32 zero = 0;
	struct frt_walk *w = bpf_map_lookup_elem(&walks, &zero);
	struct task_struct *t;
	struct signal_struct *sig;
	struct list_head *pos, *next = NULL;
	struct task_state *s;

	if (!w)
		return 0;
	if (ctx->args[1]) {
		t = process_of((u32)ctx->args[0]);
		if (knob_cgroup && !in_target(BPF_CORE_READ(t, cgroups, dfl_cgrp)))
			return 0; /* it was another one's number by now, or has left */
		sig = BPF_CORE_READ(t, signal);
		if (!sig)
			return 0;
		w->start = w->pos = (u64)sig +
				    bpf_core_field_offset(struct signal_struct, thread_head);
	}
	pos = (struct list_head *)w->pos;
	bpf_core_read(&next, sizeof(next), &pos->next);
	if (!next || (u64)next == w->start)
		return 0;
	w->pos = (u64)next;
	t = (void *)next - bpf_core_field_offset(struct task_struct, thread_node);
	s = followed_task(t);
	if (s && s->start_time == BPF_CORE_READ(t, start_time))
		return 1;
	s = slot__new(t, FRT_F_UNSEEN, bpf_ktime_get_ns());
	if (!s)
		return 0;
	w->tid = s->tag.tid;
	w->tgid = BPF_CORE_READ(t, tgid);
	BPF_CORE_READ_INTO(&w->comm, t, comm);
	return s->tag.task;
}

/* After the programs were attached again: the caller is on this CPU. */
SEC("raw_tp")
int frt_here(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *t = current_task();
	struct task_state *s = followed_task(t);
	struct frt_cpu *c = this_cpu();

	if (c && s && s->start_time == BPF_CORE_READ(t, start_time))
		seen_here(c, s, bpf_ktime_get_ns());
	return 0;
}

/* Ends following the task with serial args[0]. A slot whose task is neither
 * here nor about to be switched out is not given out again: nobody could tell
 * when it is free. */
SEC("raw_tp")
int frt_unfollow(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_state *s = slot__get((u32)ctx->args[0] % FRT_SLOTS);
	struct frt_cpu *c = this_cpu();
	u32 tid, slot, *have;

	if (!c || !s || s->tag.task != (u32)ctx->args[0] || !s->tag.tid)
		return 0;
	slot = s->slot;
	if (c->slot == slot) {
		c->slot = 0;
		slot__free(s);
		return 1;
	}
	s->flags |= FRT_F_DROPPED;
	tid = s->tag.tid;
	have = bpf_map_lookup_elem(&pids, &tid);
	if (have && *have == slot)
		bpf_map_delete_elem(&pids, &tid);
	return 1;
}

#define UNDO(o, field) \
	(bpf_core_field_exists(struct pernet_operations, field) ? (u64)BPF_CORE_READ(o, field) : 0)

/* The pernet_operations behind args[0], a place in their list. */
SEC("raw_tp")
int frt_next_operations(struct bpf_raw_tracepoint_args *ctx)
{
	struct list_head *pos = (void *)ctx->args[0], *next = BPF_CORE_READ(pos, next);
	struct pernet_operations *o = (void *)next -
				      bpf_core_field_offset(struct pernet_operations, list);

	ops_at = BPF_CORE_READ(next, prev) == pos ? (u64)next : 0;
	ops_undo[FRT_UNDO_PRE_EXIT] = UNDO(o, pre_exit);
	ops_undo[FRT_UNDO_RTNL] = UNDO(o, exit_rtnl) ?: UNDO(o, exit_batch_rtnl);
	ops_undo[FRT_UNDO_EXIT] = UNDO(o, exit);
	ops_undo[FRT_UNDO_BATCH] = UNDO(o, exit_batch);
	return 0;
}

/* Entries of the list of namespaces walked in one run: the verifier walks them all, once a load. */
#define WALK_STEP 256

/*
 * The kernel's own list of network namespaces, from the caller's on until it
 * comes round; the list's head is one more entry. args[0] 1 begins anew.
 * Gives 1 when there is more to walk. A namespace that is freed under the
 * walk tears it: then the caller begins again.
 */
SEC("raw_tp")
int frt_count_netns(struct bpf_raw_tracepoint_args *ctx)
{
	u32 zero = 0;
	struct frt_walk *w = bpf_map_lookup_elem(&walks, &zero);
	struct net *net = BPF_CORE_READ(current_task(), nsproxy, net_ns);
	struct list_head *pos, *next, *back;
	u64 n = 0;

	if (!w || !net)
		return 0;
	if (ctx->args[0]) {
		w->start = (u64)net + bpf_core_field_offset(struct net, list);
		w->pos = w->start;
		w->n = 0;
		w->done = w->torn = 0;
	}
	pos = (struct list_head *)w->pos;
	/* Is where it stopped still in the list? */
	next = BPF_CORE_READ(pos, next);
	back = BPF_CORE_READ(next, prev);
	if (back != pos) {
		w->torn = 1;
		return 0;
	}
	for (int i = 0; i < WALK_STEP; i++) {
		next = NULL;
		bpf_core_read(&next, sizeof(next), &pos->next);
		if (!next) {
			w->torn = 1;
			return 0;
		}
		pos = next;
		if ((u64)pos == w->start) {
			w->done = 1;
			break;
		}
		n++;
	}
	w->n += n;
	w->pos = (u64)pos;
	return !w->done;
}
