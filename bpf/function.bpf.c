// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* Kernel functions, by kprobe, kprobe.multi or fentry: entry and exit. */
#include "account.h"
#include "function.h"

/* Makes the compiler test the very register it indexes with, as the verifier
 * asks; otherwise it tests one copy and uses another. */
#define keep_bounds(i) asm volatile("" : "+r"(i))

/* The node of (parent, func, variant, key) in the call's tree: index + 1; 0
 * when there is no room. */
static __noinline u32 find_node(struct frt_func_state *f, const struct frt_func_node *want)
{
	u64 h = want->func * 0x9e3779b1u + want->parent * 0x85ebca6bu +
		(u32)(want->key >> 4) * 0xc2b2ae35u + want->variant;
	u64 n = f->nnodes, i;

	h ^= h >> 15;
	for (u32 try = 0; try < FRT_FUNC_TRIES; try++, h++) {
		struct frt_func_node *e;
		u8 *place = &f->hash[h % FRT_FUNC_HASH];

		i = *place;
		if (!i) {
			if (n >= FRT_FUNC_NODES)
				return 0;
			f->ev.nodes[n] = *want;
			f->nnodes = n + 1;
			*place = n + 1;
			return n + 1;
		}
		i--;
		keep_bounds(i);
		if (i >= FRT_FUNC_NODES)
			return 0;
		e = &f->ev.nodes[i];
		if (e->func == want->func && e->parent == want->parent &&
		    e->variant == want->variant && e->key == want->key)
			return i + 1;
	}
	return 0;
}

/* Already open further out? Then this one is recursion. */
static __always_inline bool is_open(const struct frt_func_state *f, u32 func)
{
	for (u32 i = 0; i < FRT_FUNC_DEPTH; i++) {
		if (i >= f->depth)
			return false;
		if (f->frame[i].func == func)
			return true;
	}
	return false;
}

static __always_inline int func__enter(void *ctx, u32 func, u64 arg0, u64 arg1)
{
	struct frt_cpu *c = this_cpu();
	struct task_state *s = followed(c);
	struct frt_func_node want = {};
	struct frt_func_conf *conf;
	struct frt_func_state *f;
	struct frt_func_frame *r;
	u32 depth, above = 0, node;
	u64 now;

	if (!s || !funcs_ready || s->mode == FRT_MODE_USER)
		return 0;
	if (in_interrupt(ctx, current_task(), &c->scratch))
		return 0;
	f = func__state(s);
	if (!f)
		f = func__new(s);
	conf = bpf_map_lookup_elem(&func_conf, &func);
	if (!f || !conf) {
		c->loss[FRT_LOSS_MAPS]++;
		return 0;
	}
	now = bpf_ktime_get_ns();
	want.func = func;
	if (conf->split == FRT_SPLIT_ARG)
		want.variant = ((conf->arg ? arg1 : arg0) & conf->mask) != 0;
	else if (conf->split == FRT_SPLIT_DEREF)
		bpf_probe_read_kernel(&want.key, sizeof(want.key), (void *)(arg0 + conf->mask));
	depth = f->depth;
	if (depth >= FRT_FUNC_DEPTH) {
		f->lost++;
		if (!conf->entry_only)
			f->over++;
		return 0;
	}
	if (depth) {
		r = &f->frame[depth - 1];
		/* Recursion is no parent: what it calls belongs to whom it belongs to. */
		above = r->node ? depth : r->above;
		if (above && above <= FRT_FUNC_DEPTH)
			want.parent = f->frame[above - 1].node;
	}
	if (is_open(f, func)) {
		node = 0;
	} else {
		node = find_node(f, &want);
		if (!node)
			f->lost++;
	}
	if (node && node <= FRT_FUNC_NODES)
		f->ev.nodes[node - 1].n++;
	if (conf->entry_only)
		return 0;
	r = &f->frame[depth];
	r->func = func;
	r->node = node;
	r->above = above;
	r->ts = now;
	r->cpu = s->sum.cpu + (now - s->since);
	r->child = r->child_off = 0;
	f->depth = depth + 1;
	return 0;
}

/* Depth + 1 of the innermost open frame of func; 0: none. A frame above it has
 * missed its exit. */
static __always_inline u32 find_frame(const struct frt_func_state *f, u32 func)
{
	u32 found = 0;

	for (u32 i = 0; i < FRT_FUNC_DEPTH; i++) {
		if (i >= f->depth)
			break;
		if (f->frame[i].func == func)
			found = i + 1;
	}
	return found;
}

static __always_inline int func__leave(void *ctx, u32 func)
{
	struct frt_cpu *c = this_cpu();
	struct task_state *s = followed(c);
	struct frt_func_frame *r, *up;
	struct frt_func_state *f;
	struct frt_func_node *n;
	u64 now, total, off, i;
	u32 depth;

	if (!s || s->mode == FRT_MODE_USER)
		return 0;
	f = func__state(s);
	if (!f || in_interrupt(ctx, current_task(), &c->scratch))
		return 0;
	if (f->over) {
		f->over--;
		return 0;
	}
	now = bpf_ktime_get_ns();
	depth = f->depth;
	if (!depth || depth > FRT_FUNC_DEPTH)
		return 0; /* entered before its entry was attached, or in a call that is over */
	if (f->frame[depth - 1].func != func) {
		depth = find_frame(f, func);
		if (!depth || depth > FRT_FUNC_DEPTH)
			return 0;
		c->loss[FRT_LOSS_UNPAIRED] += f->depth - depth;
	}
	r = &f->frame[depth - 1];
	f->depth = depth - 1;
	total = now - r->ts;
	off = total - (s->sum.cpu + (now - s->since) - r->cpu);
	if (!r->node || r->node > FRT_FUNC_NODES)
		return 0;
	n = &f->ev.nodes[r->node - 1];
	n->total_ns += total;
	n->off_ns += off;
	n->child_ns += r->child;
	n->child_off_ns += r->child_off;
	i = r->above - 1ul;
	keep_bounds(i);
	if (i < FRT_FUNC_DEPTH) {
		up = &f->frame[i];
		up->child += total;
		up->child_off += off;
	}
	return 0;
}

/*
 * The number of the function: kprobe.multi gives it as a cookie (both came with
 * 5.18); for the others, which have none before 5.15 and 5.19, the loader
 * writes it into a copy of the program: it looks for this constant (one 32-bit
 * move).
 */
#define FRT_BAKED 0x46525431

static __always_inline u32 baked_id(void)
{
	u32 id;

	asm volatile("%0 = %1" : "=r"(id) : "i"(FRT_BAKED));
	return id;
}

SEC("?kprobe")
int frt_baked_enter(struct frt_regs *ctx)
{
	return func__enter(ctx, baked_id(), FRT_FUNC_ARG0(ctx), FRT_FUNC_ARG1(ctx));
}

SEC("?kretprobe")
int frt_baked_leave(struct frt_regs *ctx)
{
	return func__leave(ctx, baked_id());
}

SEC("?kprobe.multi")
int frt_multi_enter(struct frt_regs *ctx)
{
	return func__enter(ctx, (u32)bpf_get_attach_cookie(ctx), FRT_FUNC_ARG0(ctx),
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
	return func__enter(ctx, baked_id(), 0, 0);
}

SEC("?fentry")
int frt_fentry1(u64 *ctx)
{
	u64 arg = 0;

	/* As a number: of a pointer to a kernel type the verifier would track more. */
	bpf_probe_read_kernel(&arg, sizeof(arg), ctx);
	return func__enter(ctx, baked_id(), arg, 0);
}

SEC("?fexit")
int frt_fexit(u64 *ctx)
{
	return func__leave(ctx, baked_id());
}
