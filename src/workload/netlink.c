/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload/netlink.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

struct netlink {
	struct mnl_socket *sock;
	unsigned seq;
	char text[128];
	/* a link's answer is about 1.1 kB; room for long ones */
	char buf[16384] __attribute__((aligned(8)));
};

int netlink__open(struct netlink **out)
{
	struct netlink *nl = malloc(sizeof(*nl));
	int one = 1, rc;

	if (!nl)
		return -ENOMEM;
	nl->seq = 0;
	nl->text[0] = '\0';
	nl->sock = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!nl->sock || mnl_socket_bind(nl->sock, 0, MNL_SOCKET_AUTOPID) < 0) {
		rc = -errno;
		netlink__close(nl);
		return rc;
	}
	/* only better words for errors: older kernels do without */
	mnl_socket_setsockopt(nl->sock, NETLINK_EXT_ACK, &one, sizeof(one));
	*out = nl;
	return 0;
}

void netlink__close(struct netlink *nl)
{
	if (!nl)
		return;
	if (nl->sock)
		mnl_socket_close(nl->sock);
	free(nl);
}

const char *netlink__text(const struct netlink *nl)
{
	return nl->text;
}

static int take_text(const struct nlattr *a, void *data)
{
	struct netlink *nl = data;

	if (mnl_attr_get_type(a) == NLMSGERR_ATTR_MSG) {
		size_t n = mnl_attr_get_payload_len(a);

		if (n >= sizeof(nl->text))
			n = sizeof(nl->text) - 1;
		memcpy(nl->text, mnl_attr_get_payload(a), n);
		nl->text[n] = '\0';
	}
	return MNL_CB_OK;
}

/* The kernel's words behind an error; they follow the request it quotes. */
static void error_text(struct netlink *nl, const struct nlmsghdr *h)
{
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(h);
	unsigned off = sizeof(*e);

	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	if (!(h->nlmsg_flags & NLM_F_CAPPED))
		off += (unsigned)mnl_nlmsg_get_payload_len(h) > off
			       ? MNL_ALIGN(e->msg.nlmsg_len) - sizeof(e->msg)
			       : 0;
	if (off < mnl_nlmsg_get_payload_len(h))
		mnl_attr_parse(h, off, take_text, nl);
}

static struct nlmsghdr *request(struct netlink *nl, uint16_t type, uint16_t flags, int ifindex)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(nl->buf);
	struct ifinfomsg *i;

	h->nlmsg_type = type;
	h->nlmsg_flags = NLM_F_REQUEST | flags;
	h->nlmsg_seq = ++nl->seq;
	i = mnl_nlmsg_put_extra_header(h, sizeof(*i));
	i->ifi_family = AF_UNSPEC;
	i->ifi_index = ifindex;
	return h;
}

/* Sends and waits for the answer, which is left in buf: an acknowledgement or
 * one message of the asked type. */
static int talk(struct netlink *nl, const struct nlmsghdr *h, const struct nlmsghdr **answer)
{
	unsigned seq = h->nlmsg_seq;

	nl->text[0] = '\0';
	if (mnl_socket_sendto(nl->sock, h, h->nlmsg_len) < 0)
		return -errno;
	for (;;) {
		ssize_t n = mnl_socket_recvfrom(nl->sock, nl->buf, sizeof(nl->buf));
		const struct nlmsghdr *r = (const struct nlmsghdr *)nl->buf;
		int left = (int)n;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!mnl_nlmsg_ok(r, left) || r->nlmsg_seq != seq)
			continue;
		if (r->nlmsg_type == NLMSG_ERROR) {
			const struct nlmsgerr *e = mnl_nlmsg_get_payload(r);

			if (e->error)
				error_text(nl, r);
			return e->error;
		}
		if (answer)
			*answer = r;
		return 0;
	}
}

int netlink__add_veth(struct netlink *nl, const char *ifname, const char *peer, int nsfd)
{
	struct nlmsghdr *h = request(nl, RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, 0);
	struct nlattr *info, *data, *other;

	mnl_attr_put_strz(h, IFLA_IFNAME, ifname);
	info = mnl_attr_nest_start(h, IFLA_LINKINFO);
	mnl_attr_put_str(h, IFLA_INFO_KIND, "veth");
	data = mnl_attr_nest_start(h, IFLA_INFO_DATA);
	other = mnl_attr_nest_start(h, VETH_INFO_PEER);
	mnl_nlmsg_put_extra_header(h, sizeof(struct ifinfomsg));
	mnl_attr_put_u32(h, IFLA_NET_NS_FD, (uint32_t)nsfd);
	mnl_attr_put_strz(h, IFLA_IFNAME, peer);
	mnl_attr_nest_end(h, other);
	mnl_attr_nest_end(h, data);
	mnl_attr_nest_end(h, info);
	return talk(nl, h, NULL);
}

int netlink__set_up(struct netlink *nl, int ifindex)
{
	struct nlmsghdr *h = request(nl, RTM_NEWLINK, NLM_F_ACK, ifindex);
	struct ifinfomsg *i = mnl_nlmsg_get_payload(h);

	i->ifi_flags = i->ifi_change = IFF_UP;
	return talk(nl, h, NULL);
}

int netlink__del(struct netlink *nl, int ifindex)
{
	return talk(nl, request(nl, RTM_DELLINK, NLM_F_ACK, ifindex), NULL);
}

static int link_attr(const struct nlattr *a, void *data)
{
	struct netlink_link *l = data;
	const struct nlattr *k;

	if (mnl_attr_get_type(a) == IFLA_LINK_NETNSID)
		l->peer_elsewhere = true;
	if (mnl_attr_get_type(a) != IFLA_LINKINFO)
		return MNL_CB_OK;
	mnl_attr_for_each_nested(k, a)
	{
		size_t n = mnl_attr_get_payload_len(k);

		if (mnl_attr_get_type(k) != IFLA_INFO_KIND)
			continue;
		if (n >= sizeof(l->kind))
			n = sizeof(l->kind) - 1;
		memcpy(l->kind, mnl_attr_get_payload(k), n); /* no NUL from older kernels */
		l->kind[n] = '\0';
	}
	return MNL_CB_OK;
}

int netlink__get(struct netlink *nl, const char *ifname, struct netlink_link *out)
{
	struct nlmsghdr *h = request(nl, RTM_GETLINK, 0, 0);
	const struct nlmsghdr *r = NULL;
	int rc;

	memset(out, 0, sizeof(*out));
	mnl_attr_put_strz(h, IFLA_IFNAME, ifname);
	rc = talk(nl, h, &r);
	if (rc)
		return rc;
	if (!r || r->nlmsg_type != RTM_NEWLINK)
		return -EPROTO;
	out->ifindex = ((const struct ifinfomsg *)mnl_nlmsg_get_payload(r))->ifi_index;
	mnl_attr_parse(r, sizeof(struct ifinfomsg), link_attr, out);
	return 0;
}
