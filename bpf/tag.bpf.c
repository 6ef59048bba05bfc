// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* Who is followed: children of the followed inherit at fork; exec, signals and
 * exit change what a task's time counts as. */
#include "account.h"

SEC("raw_tp/sched_process_fork")
int frt_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *child = (void *)ctx->args[1];
	struct frt_cpu *c = this_cpu();
	struct task_state *p = followed_here(c), *s;
	struct frt_ev_fork *e;
	u64 now;

	if (!p)
		return 0;
	now = bpf_ktime_get_ns();
	s = slot__new(child, 0, now);
	if (!s) {
		c->loss[FRT_LOSS_UNTAGGED]++;
		return 0;
	}
	s->tag.instance = instance_of(p);
	s->mode = FRT_MODE_START;
	call__begin(s, FRT_NR_START, now);
	s->off.out = now;
	s->off.why = FRT_OFF_BIRTH;
	s->off.mode = FRT_MODE_START;
	s->off.nr = FRT_NR_START;
	s->off.snap.cpu_ns = s->off.snap.user_ns = 0;
	s->off.state = 0;
	if (p->mode == FRT_MODE_CALL && p->call.detail == FRT_DET_NS) {
		/* clone: what the child was born into */
		p->call.net_after = task__net(child);
		p->call.mnt_after = task__mnt(child);
	}

	e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);
	if (!e) {
		c->loss[FRT_LOSS_EVENTS]++;
		return 0;
	}
	fill_head(&e->h, s, FRT_EV_FORK, sizeof(*e), now);
	e->parent = p->tag.task;
	e->tgid = BPF_CORE_READ(child, tgid);
	e->is_thread = e->tgid != s->tag.tid;
	e->pad = 0;
	BPF_CORE_READ_INTO(&e->comm, child, comm);
	bpf_ringbuf_submit(e, wake_flags(now));
	c->sent++;
	return 0;
}

SEC("raw_tp/sched_process_exec")
int frt_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *t = (void *)ctx->args[0];
	u32 old_tid = (u32)ctx->args[1], tid, slot, *have, use = FRT_SCRATCH_EXEC;
	struct frt_cpu *c = this_cpu();
	struct task_state *s;
	struct frt_scratch *sc;
	struct frt_ev_exec *e;
	u64 now, start, end, len;

	if (!c)
		return 0;
	tid = BPF_CORE_READ(t, pid);
	s = old_tid == tid ? followed_here(c) : followed_tid(old_tid);
	if (!s)
		return 0;
	now = bpf_ktime_get_ns();
	if (!(s->flags & FRT_F_ON_CPU)) {
		/* It came under a tid that was not its own yet. */
		s->sum.runq += now - s->since;
		s->since = now;
		s->flags |= FRT_F_ON_CPU;
	}
	account(s, now);
	if (old_tid != tid) {
		/* A thread took its leader's place and tid: its state goes along. The
		 * leader's own slot ends with the leader's last switch. */
		slot = c->slot = s->slot;
		c->tid = tid;
		s->start_time = BPF_CORE_READ(t, start_time);
		have = bpf_map_lookup_elem(&pids, &old_tid);
		if (have && *have == slot)
			bpf_map_delete_elem(&pids, &old_tid);
		bpf_map_update_elem(&pids, &tid, &slot, BPF_ANY);
		s->tag.tid = tid;
	}
	s->tag.image++;
	/* The call that does this is sent even when it is short. */
	s->flags |= FRT_F_SEND;

	sc = bpf_map_lookup_elem(&scratches, &use);
	if (!sc)
		return 0;
	e = &sc->exec;
	e->snap.cpu_ns = s->sum.cpu;
	e->snap.user_ns = s->user;
	e->rest_ns = s->rest_ns;
	e->rest_n = s->rest_n;
	e->old_task = 0;
	s->rest_ns = 0;
	s->rest_n = 0;
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	start = BPF_CORE_READ(t, mm, arg_start);
	end = BPF_CORE_READ(t, mm, arg_end);
	len = end - start;
	e->args_total = len;
	asm volatile("" : "+r"(len));
	if (len > FRT_ARGS_MAX)
		len = FRT_ARGS_MAX;
	if (len && bpf_probe_read_user(e->args, len, (void *)start)) {
		c->loss[FRT_LOSS_UNDECODED]++;
		len = 0;
	}
	e->args_len = len;
	fill_head(&e->h, s, FRT_EV_EXEC, __builtin_offsetof(struct frt_ev_exec, args) + len, now);
	send(c, e, __builtin_offsetof(struct frt_ev_exec, args) + len, sizeof(*e), now);
	return 0;
}

/* A signal on its default action may be the end: remember when it was taken. */
SEC("raw_tp/signal_deliver")
int frt_signal(struct bpf_raw_tracepoint_args *ctx)
{
	struct k_sigaction *ka = (void *)ctx->args[2];
	struct frt_cpu *c = this_cpu();
	struct task_state *s = followed_here(c);

	if (!s || s->mode == FRT_MODE_EXIT || BPF_CORE_READ(ka, sa.sa_handler))
		return 0;
	account(s, bpf_ktime_get_ns());
	s->sig_ts = s->since;
	s->sig_user = s->user;
	s->at_sig = s->sum;
	return 0;
}

/*
 * Whoever did not enter the exit by a call was killed: its exit began with the
 * signal (up to 6.12 exit_mm has already run by now), or else here.
 */
SEC("raw_tp/sched_process_exit")
int frt_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct frt_cpu *c = this_cpu();
	struct task_state *s = followed_here(c);

	if (!s || s->mode == FRT_MODE_EXIT)
		return 0;
	account(s, bpf_ktime_get_ns());
	if (!s->sig_ts) {
		s->sig_ts = s->since;
		s->sig_user = s->user;
		s->at_sig = s->sum;
	}
	if (s->flags & FRT_F_PENDING) {
		call__end(c, s, &s->at_pend, s->call.ret, s->pend_ts);
		s->user += s->at_sig.cpu - s->at_pend.cpu;
	} else {
		if (s->mode != FRT_MODE_USER)
			call__end(c, s, &s->at_sig, 0, s->sig_ts);
		s->user = s->sig_user;
	}
	s->mode = FRT_MODE_EXIT;
	call__begin(s, FRT_NR_EXIT, s->sig_ts);
	s->at_call = s->at_sig;
	return 0;
}
