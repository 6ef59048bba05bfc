/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several netlink messages in one send: batch N. Each of N sends makes two veth pairs
 * and a bridge, sets lo up and gives it an address, in a namespace of its own. Prints
 * the nanoseconds the loop took.
 */
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define MESSAGES 5

static char buf[2048] __attribute__((aligned(8)));
static size_t len;

static struct nlmsghdr *begin(int type, int flags, const void *body, size_t n)
{
	struct nlmsghdr *h = (void *)(buf + len);

	memset(h, 0, NLMSG_SPACE(n));
	h->nlmsg_len = NLMSG_LENGTH(n);
	h->nlmsg_type = type;
	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	memcpy(NLMSG_DATA(h), body, n);
	return h;
}

static struct nlattr *attr(struct nlmsghdr *h, int type, const void *data, size_t n)
{
	struct nlattr *a = (void *)((char *)h + NLMSG_ALIGN(h->nlmsg_len));

	memset(a, 0, NLA_HDRLEN + NLA_ALIGN(n));
	a->nla_len = NLA_HDRLEN + n;
	a->nla_type = type;
	memcpy((char *)a + NLA_HDRLEN, data, n);
	h->nlmsg_len = NLMSG_ALIGN(h->nlmsg_len) + NLA_ALIGN(a->nla_len);
	return a;
}

static void add_link(const char *kind, const char *name, int i)
{
	struct ifinfomsg m = { .ifi_family = AF_UNSPEC };
	struct nlmsghdr *h = begin(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &m, sizeof(m));
	struct nlattr *info;
	char full[IFNAMSIZ];

	snprintf(full, sizeof(full), "%s%d", name, i);
	attr(h, IFLA_IFNAME, full, strlen(full) + 1);
	info = attr(h, IFLA_LINKINFO, "", 0);
	attr(h, IFLA_INFO_KIND, kind, strlen(kind));
	info->nla_len = (char *)h + h->nlmsg_len - (char *)info;
	len += NLMSG_ALIGN(h->nlmsg_len);
}

static void set_lo(int i)
{
	struct ifinfomsg up = { .ifi_index = 1, .ifi_flags = IFF_UP, .ifi_change = IFF_UP };
	struct ifaddrmsg a = { .ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = 1 };
	unsigned char ip[4] = { 10, 0, (unsigned char)(i / 256), (unsigned char)(i % 256) };
	struct nlmsghdr *h = begin(RTM_NEWLINK, 0, &up, sizeof(up));

	len += NLMSG_ALIGN(h->nlmsg_len);
	h = begin(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &a, sizeof(a));
	attr(h, IFA_LOCAL, ip, sizeof(ip));
	len += NLMSG_ALIGN(h->nlmsg_len);
}

/* As many answers as there were messages, all of them fine. */
static int answers(int sock)
{
	char in[8192] __attribute__((aligned(8)));

	for (int left = MESSAGES; left > 0;) {
		int n = (int)recv(sock, in, sizeof(in), 0);

		if (n <= 0)
			return -1;
		for (struct nlmsghdr *h = (void *)in; NLMSG_OK(h, n);
		     h = NLMSG_NEXT(h, n), left--) {
			errno = -((struct nlmsgerr *)NLMSG_DATA(h))->error;
			if (h->nlmsg_type != NLMSG_ERROR || errno)
				return -1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct timespec a, b;
	int sock;

	clock_gettime(CLOCK_MONOTONIC, &a);
	if (unshare(CLONE_NEWNET)) {
		perror("unshare");
		return 1;
	}
	sock = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 1); i++) {
		len = 0;
		add_link("veth", "x", i);
		add_link("veth", "y", i);
		add_link("bridge", "br", i);
		set_lo(i);
		if (send(sock, buf, len, 0) < 0 || answers(sock)) {
			perror("netlink");
			return 1;
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("%lld\n", (b.tv_sec - a.tv_sec) * 1000000000LL + b.tv_nsec - a.tv_nsec);
	return 0;
}
