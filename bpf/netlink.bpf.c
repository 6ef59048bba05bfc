// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * What is sent on a netlink socket: the message that says something, how many
 * there are, and the kind of a link message. All that the loops carry lies in
 * map memory, where the verifier does not follow it: with it on the stack the
 * walks would be a million instructions to verify.
 */
#include "account.h"
#include "decode.h"
#include "function.h"

#define NETLINK_ROUTE 0
#define NLM_F_CREATE 0x400
#define RTM_NEWLINK 16
#define RTM_SETLINK 19
#define RTM_GET 2 /* of the low two bits */

#define IFLA_LINKINFO 18
#define IFLA_INFO_KIND 1
#define IFLA_NET_NS_PID 19
#define IFLA_NET_NS_FD 28

#define LINK_HEADER 16 /* of a link message, behind it its attributes begin */
#define NL_MESSAGES 16 /* looked at in one send */
#define NL_ATTRIBUTES 32

static __always_inline u64 nl_align(u64 n)
{
	return (n + 3) & ~3ULL;
}

static __always_inline long read_user(void *to, u32 n, u64 from)
{
	return bpf_probe_read_user(to, n, (const void *)from);
}

/* IFLA_INFO_KIND among the attributes of IFLA_LINKINFO at w->in. */
static __always_inline long decode_kind(struct task_state *s, struct frt_nl_walk *w)
{
	u32 n;

	for (int i = 0; i < 3; i++) {
		if (read_user(&w->inner, sizeof(w->inner), w->in))
			return -1;
		if (w->inner.len <= sizeof(w->inner))
			return 0;
		if (w->inner.type == IFLA_INFO_KIND) {
			n = w->inner.len - sizeof(w->inner);
			if (n > FRT_NL_KIND)
				n = FRT_NL_KIND;
			if (read_user(s->call.text, n, w->in + sizeof(w->inner)))
				return -1;
			/* Some senders count a NUL, some do not. */
			if (!s->call.text[(n - 1) & (FRT_NL_KIND - 1)])
				n--;
			w->kind = n;
			return 0;
		}
		w->in += nl_align(w->inner.len);
	}
	return 0;
}

/* Kind and destination of a link message; attributes in [at, end). */
static __always_inline long decode_link(struct task_state *s, struct frt_nl_walk *w)
{
	u32 kind;

	w->kind = w->moved = 0;
	for (int i = 0; i < NL_ATTRIBUTES; i++) {
		if (w->at + sizeof(w->attr) > w->end)
			break;
		if (read_user(&w->attr, sizeof(w->attr), w->at))
			return -1;
		if (w->attr.len < sizeof(w->attr))
			break;
		switch (w->attr.type & 0x3fff) {
		case IFLA_LINKINFO:
			w->in = w->at + sizeof(w->attr);
			if (decode_kind(s, w))
				return -1;
			break;
		case IFLA_NET_NS_FD:
		case IFLA_NET_NS_PID:
			w->moved = 1;
			break;
		}
		w->at += nl_align(w->attr.len);
	}
	kind = w->kind & (2 * FRT_NL_KIND - 1);
	s->call.text[kind] = 0;
	if (w->moved)
		__builtin_memcpy(s->call.text + kind, "@netns", 7);
	return 0;
}

/* The next message: in the same buffer, or in the next vector. */
static __always_inline long next_message(struct frt_nl_walk *w)
{
	u64 len = nl_align(w->h.len);

	if (len < w->v.len) {
		w->at += len;
		w->v.len -= len;
		return 0;
	}
	w->v.len = 0;
	if (w->m.iovlen <= 1)
		return 0;
	w->m.iov += sizeof(w->v);
	w->m.iovlen--;
	if (read_user(&w->v, sizeof(w->v), w->m.iov))
		return -1;
	w->at = w->v.base;
	return 0;
}

/*
 * ptr[0] is the buffer, ptr[1] its length (sendto), or ptr[0] the msghdr and
 * ptr[1] 0 (sendmsg). Vectors hold one message each, unless the first is a
 * header whose body follows in the second.
 */
int decode_netlink(u32 slot, u32 use)
{
	struct frt_scratch *sc = bpf_map_lookup_elem(&scratches, &use);
	struct task_state *s = slot__get(slot);
	struct frt_nl_walk *w;

	if (!s || !sc)
		return 0;
	w = &sc->nl;
	s->call.text[0] = 0;
	w->n = 0;
	w->best_at = 0;
	w->best.flags = 0;
	w->m.iovlen = 0;
	w->v.base = s->ptr[0];
	w->v.len = s->ptr[1];
	if (!w->v.len &&
	    (read_user(&w->m, sizeof(w->m), s->ptr[0]) || read_user(&w->v, sizeof(w->v), w->m.iov)))
		return -1;
	w->at = w->v.base;
	for (int i = 0; i < NL_MESSAGES; i++) {
		if (w->v.len < sizeof(w->h))
			break;
		if (read_user(&w->h, sizeof(w->h), w->at))
			return -1;
		if (w->h.len < sizeof(w->h))
			break;
		w->n++;
		w->body = w->at + sizeof(w->h);
		if (w->h.len > w->v.len && w->m.iovlen > 1) {
			if (read_user(&w->v, sizeof(w->v), w->m.iov + sizeof(w->v)))
				return -1;
			w->body = w->v.base;
			w->m.iovlen = 0;
			w->v.len = 0;
		}
		if (!w->best_at || (w->h.flags & NLM_F_CREATE && !(w->best.flags & NLM_F_CREATE) &&
				    (w->h.type & 3) != RTM_GET)) {
			w->best = w->h;
			w->best_at = w->at;
			w->best_body = w->body;
		}
		if (next_message(w))
			return -1;
	}
	if (!w->best_at)
		return 0; /* not one whole header: the kernel will refuse it, too */
	s->call.nl_type = w->best.type;
	s->call.nl_flags = w->best.flags;
	s->call.nl_msgs = w->m.iovlen > 1 ? w->n + w->m.iovlen - 1 : w->n;
	if (s->call.nl_proto != NETLINK_ROUTE ||
	    (w->best.type != RTM_NEWLINK && w->best.type != RTM_SETLINK))
		return 0;
	w->end = w->best_body + w->best.len - sizeof(w->best);
	w->at = w->best_body + LINK_HEADER;
	return decode_link(s, w);
}

/* The kind of the link that attribute IFLA_LINKINFO at w->in wants, as a key. */
static __always_inline u64 kind_key(struct frt_nl_walk *w)
{
	u64 kind = 0;
	u32 n;

	for (int i = 0; i < 3; i++) {
		if (bpf_probe_read_kernel(&w->inner, sizeof(w->inner), (void *)w->in) ||
		    w->inner.len <= sizeof(w->inner))
			return 0;
		if (w->inner.type == IFLA_INFO_KIND) {
			n = w->inner.len - sizeof(w->inner);
			if (n > FRT_RTNL_KIND_BYTES)
				n = FRT_RTNL_KIND_BYTES;
			bpf_probe_read_kernel(&kind, n, (void *)(w->in + sizeof(w->inner)));
			return kind | FRT_RTNL_KIND;
		}
		w->in += nl_align(w->inner.len);
	}
	return 0;
}

u64 rtnl_key(u32 state, u64 skb)
{
	struct frt_func_state *f = bpf_map_lookup_elem(&funcs, &state);
	struct frt_nl_walk *w;
	u64 kind;

	if (!f)
		return 0;
	w = &f->nl;
	w->at = (u64)BPF_CORE_READ((struct sk_buff *)skb, data);
	if (bpf_probe_read_kernel(&w->h, sizeof(w->h), (void *)w->at))
		return 0;
	w->moved = 0;
	w->end = w->at + w->h.len;
	w->at += sizeof(w->h) + LINK_HEADER;
	if (w->h.type != RTM_NEWLINK && w->h.type != RTM_SETLINK)
		w->end = 0; /* its attributes say nothing here */
	for (int i = 0; i < NL_ATTRIBUTES; i++) {
		if (w->at + sizeof(w->attr) > w->end ||
		    bpf_probe_read_kernel(&w->attr, sizeof(w->attr), (void *)w->at) ||
		    w->attr.len < sizeof(w->attr))
			break;
		switch (w->attr.type & 0x3fff) {
		case IFLA_LINKINFO:
			w->in = w->at + sizeof(w->attr);
			kind = w->h.flags & NLM_F_CREATE ? kind_key(w) : 0;
			if (kind)
				return kind;
			break;
		case IFLA_NET_NS_FD:
		case IFLA_NET_NS_PID:
			w->moved = 1;
			break;
		}
		w->at += nl_align(w->attr.len);
	}
	return w->h.type | (u64)w->h.flags << 16 | (w->moved ? FRT_RTNL_MOVED : 0);
}
