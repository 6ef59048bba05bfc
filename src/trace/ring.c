// SPDX-License-Identifier: BSD-2-Clause
/* From the ring's events to the record's structs. */
#include "trace/internal.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static int put_fork(const struct frt_sink *sink, const struct frt_ev_fork *e)
{
	char comm[FRT_COMM_LEN + 1] = "";
	struct frt_proc p = {
		.task = e->h.tag.task,
		.parent = e->parent,
		.instance = e->h.tag.instance,
		.tid = e->h.tag.tid,
		.tgid = e->tgid,
		.is_thread = e->is_thread,
		.t = e->h.ts,
		.comm = comm,
	};

	memcpy(comm, e->comm, FRT_COMM_LEN);
	return sink->put(sink->ctx, FRT_REC_PROC, &p);
}

static int put_exec(const struct frt_sink *sink, const struct frt_ev_exec *e, size_t size)
{
	char args[FRT_ARGS_MAX + 1], comm[FRT_COMM_LEN + 1] = "";
	size_t n = e->args_len, room = size - offsetof(struct frt_ev_exec, args);
	struct frt_exec x = {
		.task = e->h.tag.task,
		.image = e->h.tag.image,
		.instance = e->h.tag.instance,
		.t = e->h.ts,
		.cpu_ns = e->snap.cpu_ns,
		.user_ns = e->snap.user_ns,
		.rest_ns = e->rest_ns,
		.rest_n = e->rest_n,
		.old_task = e->old_task,
		.args_total = e->args_total,
		.args = args,
		.comm = comm,
	};

	if (n > room)
		n = room;
	if (n > FRT_ARGS_MAX)
		n = FRT_ARGS_MAX;
	/* Every argument ends with a NUL: the last one's is no separator. */
	if (n && n == e->args_total && !e->args[n - 1])
		n--;
	for (size_t i = 0; i < n; i++)
		args[i] = e->args[i] ? e->args[i] : '\x1f';
	args[n] = 0;
	memcpy(comm, e->comm, FRT_COMM_LEN);
	return sink->put(sink->ctx, FRT_REC_EXEC, &x);
}

static int put_call(const struct frt_sink *sink, const struct frt_ev_call *e, size_t size)
{
	char text[FRT_TEXT_MAX + 1] = "";
	struct frt_call c = {
		.task = e->h.tag.task,
		.image = e->h.tag.image,
		.instance = e->h.tag.instance,
		.seq = e->seq,
		.nr = e->nr,
		.detail = e->detail,
		.t0 = e->in,
		.t1 = e->h.ts,
		.ret = e->ret,
		.restarts = e->restarts,
		.again_ns = e->again_ns,
		.cpu_ns = e->cpu_ns,
		.blocked_ns = e->blocked_ns,
		.runq_ns = e->runq_ns,
		.text = text,
	};

	/* What the other details do not fill is left from an earlier call. */
	switch (e->detail) {
	case FRT_DET_NS:
		c.flags = e->flags;
		c.net_before = e->net_before;
		c.net_after = e->net_after;
		c.mnt_before = e->mnt_before;
		c.mnt_after = e->mnt_after;
		break;
	case FRT_DET_NETLINK:
		c.nl_proto = e->nl_proto;
		c.nl_type = e->nl_type;
		c.nl_flags = e->nl_flags;
		c.nl_msgs = e->nl_msgs;
		break;
	case FRT_DET_MOUNT:
	case FRT_DET_OPEN:
	case FRT_DET_WRITE:
		c.flags = e->flags;
		break;
	}
	if (size >= sizeof(*e) && e->detail != FRT_DET_NS && e->detail != FRT_DET_BAD)
		memcpy(text, e->text, FRT_TEXT_MAX);
	return sink->put(sink->ctx, FRT_REC_CALL, &c);
}

static int put_off(struct stacks *s, const struct frt_sink *sink, const struct frt_ev_off *e,
		   size_t size)
{
	char comm[FRT_COMM_LEN + 1] = "";
	unsigned n = (size - offsetof(struct frt_ev_off, stack)) / sizeof(e->stack[0]), skip;
	struct frt_off o = {
		.task = e->h.tag.task,
		.image = e->h.tag.image,
		.instance = e->h.tag.instance,
		.why = e->why,
		.mode = e->mode,
		.nr = e->nr,
		.out = e->out,
		.waking = e->waking,
		.in = e->h.ts,
		.cpu_ns = e->snap.cpu_ns,
		.user_ns = e->snap.user_ns,
		.state = e->state,
		.waker_comm = comm,
	};
	int err;

	memcpy(comm, e->waker_comm, FRT_COMM_LEN);
	if (e->waker.task) {
		o.waker = e->waker.task;
		o.waker_image = e->waker.image;
		o.waker_instance = e->waker.instance;
		o.waker_cpu_ns = e->waker_snap.cpu_ns;
		o.waker_user_ns = e->waker_snap.user_ns;
	}
	if (n > e->nstack)
		n = e->nstack;
	skip = stacks__skip_tracer(s, (const uint64_t *)e->stack, n);
	err = stacks__node(s, (const uint64_t *)e->stack + skip, n - skip, sink, &o.stack);
	return err ? err : sink->put(sink->ctx, FRT_REC_OFF, &o);
}

static int put_sample(struct stacks *s, const struct frt_sink *sink, const struct frt_ev_sample *e,
		      size_t size)
{
	unsigned n = (size - offsetof(struct frt_ev_sample, stack)) / sizeof(e->stack[0]);
	struct frt_sample r = {
		.task = e->h.tag.task,
		.image = e->h.tag.image,
		.instance = e->h.tag.instance,
		.mode = e->mode,
		.in_kernel = e->in_kernel,
		.nr = e->nr,
		.seq = e->seq,
		.t = e->h.ts,
	};
	int err;

	if (n > e->nstack)
		n = e->nstack;
	err = stacks__node(s, (const uint64_t *)e->stack, n, sink, &r.stack);
	return err ? err : sink->put(sink->ctx, FRT_REC_SAMPLE, &r);
}

static int put_dead(const struct frt_sink *sink, const struct frt_ev_dead *e)
{
	struct frt_dead d = {
		.task = e->h.tag.task,
		.image = e->h.tag.image,
		.instance = e->h.tag.instance,
		.t = e->h.ts,
		.cpu_ns = e->snap.cpu_ns,
		.user_ns = e->snap.user_ns,
		.rest_ns = e->rest_ns,
		.rest_n = e->rest_n,
		.code = e->code,
	};

	return sink->put(sink->ctx, FRT_REC_DEAD, &d);
}

/* Each node of the tree becomes a line of its own; a parent comes before its
 * children. */
static int put_func(struct stacks *s, const struct functions *fn, const struct frt_sink *sink,
		    const struct frt_ev_func *e, size_t size)
{
	size_t n = (size - offsetof(struct frt_ev_func, nodes)) / sizeof(e->nodes[0]);
	char label[256];
	int err = 0;

	if (n > e->nnodes)
		n = e->nnodes;
	for (size_t i = 0; i < n && !err; i++) {
		const struct frt_func_node *v = &e->nodes[i];
		struct frt_func f = {
			.task = e->h.tag.task,
			.image = e->h.tag.image,
			.instance = e->h.tag.instance,
			.seq = e->seq,
			.nr = e->nr,
			.node = (uint32_t)i + 1,
			.parent = v->parent,
			.variant = v->variant,
			.n = v->n,
			.total_ns = v->total_ns,
			.child_ns = v->child_ns,
			.off_ns = v->off_ns,
			.child_off_ns = v->child_off_ns,
			.function = label,
		};

		functions__label(fn, s, v->func, v->variant, v->key, label, sizeof(label));
		err = sink->put(sink->ctx, FRT_REC_FUNC, &f);
	}
	return err;
}

/* The function that a worker executes, or what the task calls itself. */
static const char *holder_name(struct stacks *s, const struct frt_holder_id *h, char *comm)
{
	memcpy(comm, h->comm, FRT_COMM_LEN);
	comm[FRT_COMM_LEN] = 0;
	return h->func ? stacks__frame(s, h->func) : comm;
}

#define PF_WQ_WORKER 0x20
#define PF_KTHREAD 0x00200000

static int put_lock(struct stacks *s, const struct frt_sink *sink, const struct frt_ev_lock *e)
{
	char comm[FRT_COMM_LEN + 1];
	const char *name = e->addr ? stacks__lock(s, e->addr) : NULL;
	unsigned n = e->nstack < FRT_LOCK_STACK_MAX ? e->nstack : FRT_LOCK_STACK_MAX, skip;
	struct frt_lock k = {
		.task = e->h.tag.task,
		.image = e->h.tag.image,
		.instance = e->h.tag.instance,
		.flags = e->flags,
		.t0 = e->t0,
		.t1 = e->h.ts,
		.addr = e->addr,
		.t_owner = e->t_owner,
		.owner = e->who.task,
		.owner_instance = e->who.instance,
		.owner_tid = e->who.tid,
		.owner_kind = e->who.pf & PF_WQ_WORKER ? FRT_OWNER_WORKER
			      : e->who.pf & PF_KTHREAD ? FRT_OWNER_KTHREAD
						       : FRT_OWNER_TASK,
		.owner_comm = holder_name(s, &e->who, comm),
		.name = name ? name : "",
	};
	int err;

	skip = stacks__skip_tracer(s, (const uint64_t *)e->stack, n);
	err = stacks__node(s, (const uint64_t *)e->stack + skip, n - skip, sink, &k.stack);
	return err ? err : sink->put(sink->ctx, FRT_REC_LOCK, &k);
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* A shared item becomes one line for each instance that caused it; those of which
 * there was no room to tell count as nobody's. */
static int put_defer(struct stacks *s, const struct frt_sink *sink, const struct frt_ev_defer *e,
		     size_t size)
{
	size_t told = (size - offsetof(struct frt_ev_defer, drops)) / sizeof(e->drops[0]), n;
	uint64_t took = e->h.ts - e->t_start;
	uint32_t drops[FRT_DROPS_MAX];
	struct frt_defer d = {
		.instance = e->h.tag.instance,
		.task = e->h.tag.task,
		.n = 1,
		.run = e->run,
		.t_queue = e->t_queue,
		.t_start = e->t_start,
		.t_end = e->h.ts,
		.wait_ns = took > e->cpu_ns ? took - e->cpu_ns : 0,
		.function = stacks__frame(s, e->func),
	};
	int err = 0;

	if (!e->ndrops)
		return sink->put(sink->ctx, FRT_REC_DEFER, &d);
	told = told < FRT_DROPS_MAX ? told : FRT_DROPS_MAX;
	told = told < e->ndrops ? told : e->ndrops;
	memcpy(drops, e->drops, told * sizeof(drops[0]));
	qsort(drops, told, sizeof(drops[0]), by_number);
	n = e->ndrops - told;
	for (size_t i = 0, k; (i < told || n) && !err; i = k, n = 0) {
		d.instance = n ? 0 : drops[i];
		for (k = i; k < told && drops[k] == d.instance;)
			k++;
		d.n = n + (k - i);
		d.task = d.instance && d.instance == e->h.tag.instance ? e->h.tag.task : 0;
		err = sink->put(sink->ctx, FRT_REC_DEFER, &d);
	}
	return err;
}

int event__put(struct stacks *s, const struct functions *fn, const struct frt_sink *sink,
	       const void *data, size_t size)
{
	static const size_t least[FRT_EV_TYPES] = {
		[FRT_EV_FORK] = sizeof(struct frt_ev_fork),
		[FRT_EV_EXEC] = offsetof(struct frt_ev_exec, args),
		[FRT_EV_CALL] = offsetof(struct frt_ev_call, text),
		[FRT_EV_OFF] = offsetof(struct frt_ev_off, stack),
		[FRT_EV_SAMPLE] = offsetof(struct frt_ev_sample, stack),
		[FRT_EV_DEAD] = sizeof(struct frt_ev_dead),
		[FRT_EV_FUNC] = offsetof(struct frt_ev_func, nodes),
		[FRT_EV_LOCK] = sizeof(struct frt_ev_lock),
		[FRT_EV_DEFER] = offsetof(struct frt_ev_defer, drops),
	};
	const struct frt_event *h = data;

	if (size < sizeof(*h) || h->type >= FRT_EV_TYPES || !least[h->type] ||
	    size < least[h->type])
		return -EBADMSG;
	switch (h->type) {
	case FRT_EV_FORK:
		return put_fork(sink, data);
	case FRT_EV_EXEC:
		return put_exec(sink, data, size);
	case FRT_EV_CALL:
		return put_call(sink, data, size);
	case FRT_EV_OFF:
		return put_off(s, sink, data, size);
	case FRT_EV_SAMPLE:
		return put_sample(s, sink, data, size);
	case FRT_EV_DEAD:
		return put_dead(sink, data);
	case FRT_EV_FUNC:
		return put_func(s, fn, sink, data, size);
	case FRT_EV_LOCK:
		return put_lock(s, sink, data);
	case FRT_EV_DEFER:
		return put_defer(s, sink, data, size);
	}
	return -EBADMSG;
}
