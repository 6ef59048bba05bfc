// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Deferred work: an item queued by a followed task carries its tag to where it is
 * executed. cleanup_net is one item for all namespaces that died since it ran last:
 * it is told with everyone who was seen to drop one, whoever queued it.
 */
#include "account.h"
#include "deferred.h"

/* Runs of cleanup_net whose functions were told. */
static u32 work_runs;

static __always_inline void drop(u32 instance)
{
	u32 zero = 0;
	struct frt_batch *b;

	if (!bpf_map_push_elem(&drops, &instance, 0))
		return;
	/* a storm: who it was is not told, that it was is */
	b = bpf_map_lookup_elem(&batches, &zero);
	if (b)
		__sync_fetch_and_add(&b->untold, 1);
}

SEC("raw_tp/workqueue_queue_work")
int frt_work_queue(struct bpf_raw_tracepoint_args *ctx)
{
	struct work_struct *work = (void *)ctx->args[2];
	struct frt_cpu *c = this_cpu();
	struct task_state *s = followed(c);
	struct frt_work w = {};
	u64 key = (u64)work;
	u32 tid;
	bool net;

	if (!c)
		return 0;
	net = knob_cleanup_net && (u64)BPF_CORE_READ(work, func) == knob_cleanup_net;
	if (!s && !net)
		return 0;
	/* What an interrupt queues, a timer's item for one, is not the task's. What a
	 * call left for its way out (the last reference to a namespace) is. */
	if (s && (is_quiet(s) || in_interrupt(ctx, current_task()) ||
		  (s->mode == FRT_MODE_USER && entered_by_interrupt(current_task()))))
		s = NULL;
	if (s)
		fill_tag(s, &w.tag);
	if (net) {
		tid = (u32)bpf_get_current_pid_tgid();
		if (bpf_map_lookup_elem(&dropping, &tid))
			bpf_map_delete_elem(&dropping, &tid);
		else
			drop(w.tag.instance);
	} else if (!s) {
		return 0;
	}
	w.t_queue = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&works, &key, &w, BPF_ANY))
		c->loss[FRT_LOSS_MAPS]++;
	return 0;
}

/* Takes who dropped a namespace since the last run. */
static __always_inline void take_drops(void)
{
	u32 zero = 0, instance = 0, n = 0, at;
	struct frt_batch *b = bpf_map_lookup_elem(&batches, &zero);

	if (!b)
		return;
	for (int i = 0; i < FRT_DROPS_QUEUE; i++) {
		if (bpf_map_pop_elem(&drops, &instance))
			break;
		at = n++;
		asm volatile("" : "+r"(at));
		if (at < FRT_DROPS_MAX)
			b->instance[at] = instance;
	}
	b->n = n + (u32)b->untold;
	b->untold = 0;
}

/* The functions of cleanup_net, whoever queued it, are told by the worker's tid: it has
 * no state of a task. There is one such run at a time. */
static __always_inline void work__begin(struct frt_cpu *c, u32 tid)
{
	struct frt_func_state *f;
	u32 at = work_func;

	if (!funcs_ready)
		return;
	f = at ? bpf_map_lookup_elem(&funcs, &at) : func__take(&at);
	if (!f) {
		c->loss[FRT_LOSS_MAPS]++;
		return;
	}
	func__clear(f);
	work_func = at;
	work_tid = tid;
}

/* Sends its functions. The number of the run, 0 when none were seen. */
static __noinline u32 work__end(struct frt_cpu *c, u64 now)
{
	struct frt_func_state *f;
	u32 at = work_func;
	u64 size, n;

	work_tid = 0;
	f = bpf_map_lookup_elem(&funcs, &at);
	if (!f || !(f->nnodes | f->lost))
		return 0;
	n = f->nnodes;
	if (n > FRT_FUNC_NODES)
		n = FRT_FUNC_NODES;
	size = __builtin_offsetof(struct frt_ev_func, nodes) + n * sizeof(struct frt_func_node);
	__builtin_memset(&f->ev.h, 0, sizeof(f->ev.h));
	f->ev.h.type = FRT_EV_FUNC;
	f->ev.h.size = size;
	f->ev.h.cpu = bpf_get_smp_processor_id();
	f->ev.h.ts = now;
	f->ev.seq = ++work_runs;
	f->ev.nr = FRT_NR_WORK;
	f->ev.lost = f->lost;
	f->ev.nnodes = n;
	send(c, &f->ev, size, sizeof(f->ev), now);
	c->loss[FRT_LOSS_UNPAIRED] += f->depth;
	c->loss[FRT_LOSS_MAPS] += f->lost;
	return work_runs;
}

SEC("raw_tp/workqueue_execute_start")
int frt_work_start(struct bpf_raw_tracepoint_args *ctx)
{
	struct work_struct *work = (void *)ctx->args[0];
	struct frt_cpu *c = this_cpu();
	struct task_struct *t;
	struct frt_run r = {};
	struct frt_work *w;
	u64 key = (u64)work, now;
	u32 tid;

	if (!c)
		return 0;
	w = bpf_map_lookup_elem(&works, &key);
	/* Queued before a pause: whether it ran meanwhile, nobody saw. */
	if (w && w->t_queue < epoch_ts) {
		bpf_map_delete_elem(&works, &key);
		w = NULL;
	}
	if (!w && !knob_cleanup_net)
		return 0;
	r.func = (u64)BPF_CORE_READ(work, func);
	/* An item that is queued once more just before it begins has lost its mark. */
	if (!w && r.func != knob_cleanup_net)
		return 0;
	now = bpf_ktime_get_ns();
	t = current_task();
	r.t_queue = now;
	if (w) {
		r.tag = w->tag;
		r.t_queue = w->t_queue;
	}
	r.work = key;
	r.t_start = now;
	r.cpu = cpu_until(c, t, now);
	bpf_map_delete_elem(&works, &key);
	if (knob_cleanup_net && r.func == knob_cleanup_net)
		take_drops();
	tid = (u32)bpf_get_current_pid_tgid();
	if (knob_cleanup_net && r.func == knob_cleanup_net)
		work__begin(c, tid);
	if (bpf_map_update_elem(&runs, &tid, &r, BPF_ANY))
		c->loss[FRT_LOSS_MAPS]++;
	return 0;
}

/* What is known of a run that ends now, of whatever size the event is. */
static __always_inline void fill_run(struct frt_ev_defer *e, const struct frt_run *r,
				     const struct frt_cpu *c, u16 size, u64 now)
{
	e->h.type = FRT_EV_DEFER;
	e->h.size = size;
	e->h.cpu = bpf_get_smp_processor_id();
	e->h.ts = now;
	e->h.tag = r->tag;
	e->func = r->func;
	e->t_queue = r->t_queue;
	e->t_start = r->t_start;
	e->cpu_ns = cpu_until(c, current_task(), now) - r->cpu;
	e->ndrops = e->run = 0;
}

#define BRIEF __builtin_offsetof(struct frt_ev_defer, drops)

SEC("raw_tp/workqueue_execute_end")
int frt_work_end(struct bpf_raw_tracepoint_args *ctx)
{
	u32 tid = (u32)bpf_get_current_pid_tgid(), zero = 0;
	struct frt_run *r = bpf_map_lookup_elem(&runs, &tid);
	struct frt_cpu *c = this_cpu();
	struct frt_ev_defer *e;
	struct frt_batch *b;
	u32 run = 0;
	u64 now;

	if (!r || !c)
		return 0;
	if (work_tid == tid)
		run = work__end(c, bpf_ktime_get_ns());
	if (r->work != ctx->args[0] || r->t_start < epoch_ts) {
		bpf_map_delete_elem(&runs, &tid);
		return 0;
	}
	now = bpf_ktime_get_ns();
	b = bpf_map_lookup_elem(&batches, &zero);
	if (b && knob_cleanup_net && r->func == knob_cleanup_net) {
		e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);
		if (!e)
			goto full;
		fill_run(e, r, c, sizeof(*e), now);
		e->ndrops = b->n;
		e->run = run;
		__builtin_memcpy(e->drops, b->instance, sizeof(e->drops));
		bpf_ringbuf_submit(e, wake_flags(now));
	} else {
		e = bpf_ringbuf_reserve(&ring, BRIEF, 0);
		if (!e)
			goto full;
		fill_run(e, r, c, BRIEF, now);
		bpf_ringbuf_submit(e, wake_flags(now));
	}
	c->sent++;
	bpf_map_delete_elem(&runs, &tid);
	return 0;
full:
	c->loss[FRT_LOSS_EVENTS]++;
	bpf_map_delete_elem(&runs, &tid);
	return 0;
}

/* Of every task, followed or not: what cleanup_net does is shared among all. */
SEC("raw_tp/sched_process_exit")
int frt_exit_drop(struct bpf_raw_tracepoint_args *ctx)
{
	struct frt_cpu *c = this_cpu();
	struct task_state *s;
	u32 tid, one = 1;

	if (!c || !knob_cleanup_net || !task__last_in_net(current_task()))
		return 0;
	s = followed_here(c);
	tid = (u32)bpf_get_current_pid_tgid();
	bpf_map_update_elem(&dropping, &tid, &one, BPF_ANY);
	drop(s ? instance_of(s) : 0);
	return 0;
}
