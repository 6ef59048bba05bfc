/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What is sent on a netlink socket: the message that says something, how many
 * there are, and the kind of a link message. */
#ifndef FRT_NETLINK_H
#define FRT_NETLINK_H

#include "decode.h"

#define NETLINK_ROUTE 0
#define NLM_F_CREATE 0x400
#define RTM_NEWLINK 16
#define RTM_SETLINK 19
#define RTM_GET 2 /* of the low two bits */

#define IFLA_LINKINFO 18
#define IFLA_INFO_KIND 1
#define IFLA_NET_NS_PID 19
#define IFLA_NET_NS_FD 28

#define NL_MESSAGES 16 /* looked at in one send */
#define NL_ATTRIBUTES 32
#define NL_KIND_MAX 16

struct nl_header {
	u32 len;
	u16 type, flags;
	u32 seq, pid;
};

struct nl_attr {
	u16 len, type;
};

struct user_iovec {
	u64 base, len;
};

/* msghdr up to what is needed. */
struct user_msg {
	u64 name;
	u32 namelen, pad;
	u64 iov, iovlen;
};

static __always_inline u64 nl_align(u64 n)
{
	return (n + 3) & ~3ULL;
}

/* Kind and destination of a link message; attributes in [at, end). */
static __noinline long decode_link(struct task_state *s, u64 at, u64 end)
{
	char *text = s->call.text;
	struct nl_attr a, in;
	bool moved = false;
	u32 kind = 0;
	u64 p;

	for (int i = 0; i < NL_ATTRIBUTES && at + sizeof(a) <= end; i++) {
		if (bpf_probe_read_user(&a, sizeof(a), (const void *)at))
			return -1;
		if (a.len < sizeof(a))
			break;
		if ((a.type & 0x3fff) == IFLA_LINKINFO) {
			p = at + sizeof(a);
			for (int j = 0; j < 3; j++) {
				if (bpf_probe_read_user(&in, sizeof(in), (const void *)p))
					return -1;
				if (in.type == IFLA_INFO_KIND || in.len < sizeof(in))
					break;
				p += nl_align(in.len);
			}
			if (in.type == IFLA_INFO_KIND && in.len > sizeof(in)) {
				kind = in.len - sizeof(in);
				if (kind > NL_KIND_MAX)
					kind = NL_KIND_MAX;
				if (bpf_probe_read_user(text, kind, (const void *)(p + sizeof(in))))
					return -1;
				/* Some senders count a NUL, some do not. */
				if (kind && !text[kind - 1])
					kind--;
				text[kind & (2 * NL_KIND_MAX - 1)] = 0;
			}
		} else if ((a.type & 0x3fff) == IFLA_NET_NS_FD ||
			   (a.type & 0x3fff) == IFLA_NET_NS_PID) {
			moved = true;
		}
		at += nl_align(a.len);
	}
	if (moved)
		__builtin_memcpy(text + (kind & (2 * NL_KIND_MAX - 1)), "@netns", 7);
	return 0;
}

/*
 * ptr[0] is the buffer, ptr[1] its length (sendto), or ptr[0] the msghdr and
 * ptr[1] 0 (sendmsg). Vectors hold one message each, unless the first is a
 * header whose body follows in the second.
 */
static __noinline long decode_netlink_text(struct task_state *s)
{
	struct user_iovec v = { s->ptr[0], s->ptr[1] };
	struct user_msg m = {};
	struct nl_header h, best = {};
	u64 at, body, best_at = 0, best_body = 0;
	u32 n = 0;
	long err;

	s->call.text[0] = 0;
	if (!s->ptr[1]) {
		err = bpf_probe_read_user(&m, sizeof(m), (const void *)s->ptr[0]);
		if (!err)
			err = bpf_probe_read_user(&v, sizeof(v), (const void *)m.iov);
		if (err)
			return err;
	}
	at = v.base;
	for (int i = 0; i < NL_MESSAGES && v.len >= sizeof(h); i++) {
		err = bpf_probe_read_user(&h, sizeof(h), (const void *)at);
		if (err)
			return err;
		if (h.len < sizeof(h))
			break;
		n++;
		body = at + sizeof(h);
		if (h.len > v.len && m.iovlen > 1) {
			err = bpf_probe_read_user(&v, sizeof(v), (const void *)(m.iov + sizeof(v)));
			if (err)
				return err;
			body = v.base;
			m.iovlen = 0;
			v.len = 0;
		}
		if (!best_at || (h.flags & NLM_F_CREATE && !(best.flags & NLM_F_CREATE) &&
				 (h.type & 3) != RTM_GET)) {
			best = h;
			best_at = at;
			best_body = body;
		}
		if (nl_align(h.len) < v.len) {
			at += nl_align(h.len);
			v.len -= nl_align(h.len);
		} else if (m.iovlen > 1) {
			m.iov += sizeof(v);
			m.iovlen--;
			err = bpf_probe_read_user(&v, sizeof(v), (const void *)m.iov);
			if (err)
				return err;
			at = v.base;
		} else {
			v.len = 0;
		}
	}
	if (!best_at)
		return 0; /* not one whole header: the kernel will refuse it, too */
	s->call.nl_type = best.type;
	s->call.nl_flags = best.flags;
	s->call.nl_msgs = m.iovlen > 1 ? n + m.iovlen - 1 : n;
	if (s->call.nl_proto == NETLINK_ROUTE &&
	    (best.type == RTM_NEWLINK || best.type == RTM_SETLINK))
		return decode_link(s, best_body + sizeof(struct nl_header),
				   best_body + best.len - sizeof(best));
	return 0;
}

/* Is the descriptor a netlink socket? Then what is sent is decoded. */
static __noinline long decode_send(struct task_state *s, u32 fd)
{
	struct file *f = file_of(fd);
	struct socket *sock;
	struct sock *sk;

	if (!f || (BPF_CORE_READ(f, f_inode, i_mode) & S_IFMT) != S_IFSOCK)
		return 0;
	sock = BPF_CORE_READ(f, private_data);
	sk = BPF_CORE_READ(sock, sk);
	if (!sk || BPF_CORE_READ(sk, __sk_common.skc_family) != AF_NETLINK)
		return 0;
	s->call.detail = FRT_DET_NETLINK;
	s->call.flags = 0;
	s->call.nl_proto = BPF_CORE_READ(sk, sk_protocol);
	s->call.nl_type = s->call.nl_flags = s->call.nl_msgs = 0;
	return decode_netlink_text(s);
}

#endif
