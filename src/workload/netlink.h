/* SPDX-License-Identifier: BSD-2-Clause */
/* Links over rtnetlink. A socket stays in the namespace it was opened in. */
#ifndef FRTRACE_WORKLOAD_NETLINK_H
#define FRTRACE_WORKLOAD_NETLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct netlink;

/* In the calling thread's current network namespace. 0 or -errno. */
int netlink__open(struct netlink **out);
void netlink__close(struct netlink *nl);
/* ifname here, its peer born in the namespace behind nsfd. 0 or -errno. */
int netlink__add_veth(struct netlink *nl, const char *ifname, const char *peer, int nsfd);
int netlink__set_up(struct netlink *nl, int ifindex);
int netlink__del(struct netlink *nl, int ifindex);

struct netlink_link {
	int ifindex;
	char kind[16];
	bool peer_elsewhere; /* its peer is in another namespace (IFLA_LINK_NETNSID) */
};
/* -ENODEV when there is none. */
int netlink__get(struct netlink *nl, const char *ifname, struct netlink_link *out);
/* What the kernel said about the last error; "" when nothing. */
const char *netlink__text(const struct netlink *nl);

#endif
