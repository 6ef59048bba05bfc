// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* Kernel functions, by kprobe, kprobe.multi or fentry: entry and exit. */
#include "account.h"
#include "function.h"

/*
 * Elements of arrays whose sizes are powers of two. The mask is not in C: the
 * compiler knows that it does nothing, the verifier (older ones forget a bound
 * when its register is spilled) does not.
 */
static __always_inline struct frt_func_node *node_at(struct frt_func_state *f, u64 i)
{
	if (i >= FRT_FUNC_NODES)
		return NULL;
	asm volatile("%0 &= %1" : "+r"(i) : "i"(FRT_FUNC_NODES - 1));
	return &f->ev.nodes[i];
}

/* The node a place names: index + 1, so always one there is; no branch for what cannot be. */
static __always_inline struct frt_func_node *node_of(struct frt_func_state *f, u64 i)
{
	i--;
	asm volatile("%0 &= %1" : "+r"(i) : "i"(FRT_FUNC_NODES - 1));
	return &f->ev.nodes[i];
}

static __always_inline struct frt_func_frame *frame_at(struct frt_func_state *f, u64 i)
{
	if (i >= FRT_FUNC_DEPTH)
		return NULL;
	asm volatile("%0 &= %1" : "+r"(i) : "i"(FRT_FUNC_DEPTH - 1));
	return &f->frame[i];
}

/* Open frames of a function; NULL where recursion is not told. */
static __always_inline u8 *open_of(struct frt_func_state *f, u64 func)
{
	if (func >= FRT_FUNC_OPEN)
		return NULL;
	asm volatile("%0 &= %1" : "+r"(func) : "i"(FRT_FUNC_OPEN - 1));
	return &f->open[func];
}

/*
 * The node of (parent, func, variant, key) in the tree of state `state`: index
 * + 1; 0 when there is no room. A global function of plain numbers: verified
 * once, not once for every path that leads here. With fentry each function's program
 * is verified alone, and the search is the dearest part: one branch a node.
 */
__noinline int find_node(u32 state, u32 func, u32 parent_variant, u64 key)
{
	struct frt_func_state *f = bpf_map_lookup_elem(&funcs, &state);
	u32 parent = parent_variant >> 16, variant = parent_variant & 0xffff;
	u64 h = func * 0x9e3779b1u + parent * 0x85ebca6bu + (u32)(key >> 4) * 0xc2b2ae35u + variant;
	struct frt_func_node *e;
	u8 *place = NULL;
	u64 n, i = 1;

	if (!f)
		return 0;
	h ^= h >> 15;
	for (u32 try = 0; try < FRT_FUNC_TRIES; try++, h += try) {
		place = &f->hash[h % FRT_FUNC_HASH];
		i = *place;
		if (!i)
			break;
		e = node_of(f, i);
		if (!((e->func ^ func) | (e->parent ^ parent) | (e->variant ^ variant) |
		      (e->key ^ key)))
			return i;
	}
	n = f->nnodes;
	e = node_at(f, n);
	/* A place is a byte: the last has no number. */
	if (i || !e || n == FRT_FUNC_NODES - 1)
		return 0;
	__builtin_memset(e, 0, sizeof(*e));
	e->func = func;
	e->parent = parent;
	e->variant = variant;
	e->key = key;
	f->nnodes = n + 1;
	*place = n + 1;
	return n + 1;
}

/* Does what the current task (s: followed) calls belong to a call of a followed task, or to
 * the freeing of namespaces? */
static __always_inline bool is_told(const struct task_state *s)
{
	if (s)
		return s->mode != FRT_MODE_USER;
	return work_tid && work_tid == (u32)bpf_get_current_pid_tgid();
}

static __always_inline struct frt_func_state *state_here(const struct task_state *s, u32 *at)
{
	u32 i = s ? s->func : work_func;

	*at = i;
	return i ? bpf_map_lookup_elem(&funcs, &i) : NULL;
}

static __always_inline u64 cpu_now(const struct frt_cpu *c, const struct task_state *s, u64 now)
{
	return s ? s->sum.cpu + (now - s->since) : cpu_until(c, current_task(), now);
}

/* What names a pernet_operations: the first of init, pre_exit, exit, exit_batch. */
static __always_inline u64 first_of_ops(u64 init)
{
	u64 v[4] = {};

	if (bpf_probe_read_kernel(v, sizeof(v), (void *)init))
		return 0;
	return v[0] ? v[0] : v[1] ? v[1] : v[2] ? v[2] : v[3];
}

/* args: may this function's calls be told apart by their arguments? A constant: where
 * not, there is nothing of it to verify, once a function with fentry. */
static __always_inline int func__enter(void *ctx, u32 func, bool args, u64 arg0, u64 arg1)
{
	struct frt_cpu *c = this_cpu();
	struct task_state *s = followed(c);
	struct frt_func_conf *conf;
	struct frt_func_state *f;
	struct frt_func_frame *r;
	u32 depth, above = 0, node = 0, parent = 0, variant = 0, at;
	struct frt_func_node *n;
	u64 now, key = 0;
	u8 *open;

	if (!c || !funcs_ready || !is_told(s))
		return 0;
	if (in_interrupt(ctx, current_task()))
		return 0;
	f = state_here(s, &at);
	if (!f && s) {
		f = func__take(&at);
		s->func = f ? at : 0;
	}
	conf = bpf_map_lookup_elem(&func_conf, &func);
	if (!f || !conf) {
		c->loss[FRT_LOSS_MAPS]++;
		return 0;
	}
	now = bpf_ktime_get_ns();
	if (args && conf->split == FRT_SPLIT_ARG)
		variant = ((conf->arg ? arg1 : arg0) & conf->mask) != 0;
	else if (args && conf->split == FRT_SPLIT_DEREF)
		bpf_probe_read_kernel(&key, sizeof(key), (void *)(arg0 + conf->mask));
	else if (args && conf->split == FRT_SPLIT_RTNL && s && s->call.detail == FRT_DET_NETLINK &&
		 s->call.nl_msgs > 1)
		key = rtnl_key(s->func, arg0);
	else if (args && conf->split == FRT_SPLIT_OPS)
		key = first_of_ops(arg0 + conf->mask);
	depth = f->depth;
	if (depth >= FRT_FUNC_DEPTH) {
		f->lost++;
		if (!conf->entry_only)
			f->over++;
		return 0;
	}
	r = frame_at(f, depth - 1ul);
	if (r) {
		/* Recursion is no parent: what it calls belongs to whom it belongs to. */
		above = r->node ? depth : r->above;
		r = frame_at(f, above - 1ul);
		if (r)
			parent = r->node;
	}
	open = open_of(f, func);
	/* Asked for again below: by itself, not by func, whose bound is forgotten by then. */
	asm volatile("" : "+r"(open));
	if (!open || !*open)
		node = find_node(at, func, parent << 16 | variant, key);
	if (!node && !(open && *open))
		f->lost++;
	n = node_at(f, node - 1ul);
	if (n)
		n->n++;
	if (conf->entry_only)
		return 0;
	r = frame_at(f, depth);
	if (!r)
		return 0;
	r->func = func;
	r->node = node;
	r->above = above;
	r->ts = now;
	r->cpu = cpu_now(c, s, now);
	r->child = r->child_off = 0;
	f->depth = depth + 1;
	if (open)
		++*open;
	return 0;
}

static __always_inline void pop(struct frt_func_state *f, const struct frt_func_frame *r)
{
	u8 *open = open_of(f, r->func);

	f->depth--;
	if (open)
		--*open;
}

static __always_inline int func__leave(void *ctx, u32 func)
{
	struct frt_cpu *c = this_cpu();
	struct task_state *s = followed(c);
	struct frt_func_frame *r, *up;
	struct frt_func_state *f;
	struct frt_func_node *n;
	u64 now, total, off;
	u8 *open;
	u32 at;

	if (!c || !is_told(s))
		return 0;
	f = state_here(s, &at);
	if (!f || in_interrupt(ctx, current_task()))
		return 0;
	if (f->over) {
		f->over--;
		return 0;
	}
	now = bpf_ktime_get_ns();
	r = frame_at(f, f->depth - 1ul);
	if (!r)
		return 0; /* entered before its entry was attached, or in a call that is over */
	if (r->func != func) {
		open = open_of(f, func);
		c->loss[FRT_LOSS_UNPAIRED]++;
		if (open && !*open)
			return 0; /* its entry was missed */
		/* The innermost one has missed its exit (every kretprobe was taken). */
		pop(f, r);
		r = frame_at(f, f->depth - 1ul);
		if (!r || r->func != func)
			return 0;
	}
	pop(f, r);
	total = now - r->ts;
	off = total - (cpu_now(c, s, now) - r->cpu);
	n = node_at(f, r->node - 1ul);
	if (!n)
		return 0;
	n->total_ns += total;
	n->off_ns += off;
	n->child_ns += r->child;
	n->child_off_ns += r->child_off;
	up = frame_at(f, r->above - 1ul);
	if (up) {
		up->child += total;
		up->child_off += off;
	}
	return 0;
}

/*
 * The number of the function: a cookie, where the kernel has them (kprobes from
 * 5.15 on, kprobe.multi from its beginning). fentry takes a program of its own
 * for each function anyway, and 5.10 has no cookies: there the loader writes the
 * number into a copy of the program. It looks for this constant (one 32-bit move).
 */
#define FRT_BAKED 0x46525431

static __always_inline u32 baked_id(void)
{
	u32 id;

	asm volatile("%0 = %1" : "=r"(id) : "i"(FRT_BAKED));
	return id;
}

SEC("?kprobe")
int frt_kprobe_enter(struct frt_regs *ctx)
{
	return func__enter(ctx, (u32)bpf_get_attach_cookie(ctx), true, FRT_FUNC_ARG0(ctx),
			   FRT_FUNC_ARG1(ctx));
}

SEC("?kretprobe")
int frt_kprobe_leave(struct frt_regs *ctx)
{
	return func__leave(ctx, (u32)bpf_get_attach_cookie(ctx));
}

SEC("?kprobe")
int frt_baked_enter(struct frt_regs *ctx)
{
	return func__enter(ctx, baked_id(), true, FRT_FUNC_ARG0(ctx), FRT_FUNC_ARG1(ctx));
}

SEC("?kretprobe")
int frt_baked_leave(struct frt_regs *ctx)
{
	return func__leave(ctx, baked_id());
}

SEC("?kprobe.multi")
int frt_multi_enter(struct frt_regs *ctx)
{
	return func__enter(ctx, (u32)bpf_get_attach_cookie(ctx), true, FRT_FUNC_ARG0(ctx),
			   FRT_FUNC_ARG1(ctx));
}

SEC("?kretprobe.multi")
int frt_multi_leave(struct frt_regs *ctx)
{
	return func__leave(ctx, (u32)bpf_get_attach_cookie(ctx));
}

/* Copied once per function, with its BTF id and number written in. How many
 * arguments may be read is the function's own: none, or the first. */
SEC("?fentry")
int frt_fentry0(u64 *ctx)
{
	return func__enter(ctx, baked_id(), false, 0, 0);
}

SEC("?fentry")
int frt_fentry1(u64 *ctx)
{
	u64 arg = 0;

	/* As a number: of a pointer to a kernel type the verifier would track more. */
	bpf_probe_read_kernel(&arg, sizeof(arg), ctx);
	return func__enter(ctx, baked_id(), true, arg, 0);
}

SEC("?fexit")
int frt_fexit(u64 *ctx)
{
	return func__leave(ctx, baked_id());
}
