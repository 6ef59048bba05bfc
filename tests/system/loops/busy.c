/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ten thousand decoded calls a second: busy SECONDS. By turns setns between two kept
 * namespaces, an RTM_NEWLINK that fails, and a write below /proc/sys. Prints how many
 * of each.
 */
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PER_SECOND 10000
#define PACE 50 /* calls between looks at the clock */

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv)
{
	int home = open("/proc/self/ns/net", O_RDONLY), other, sock, sysctl;
	long long begin, n = 0, total = (argc > 1 ? atoi(argv[1]) : 1) * (long long)PER_SECOND;
	struct {
		struct nlmsghdr h;
		struct ifinfomsg i;
	} msg = { .h = { .nlmsg_len = sizeof(msg),
			 .nlmsg_type = RTM_NEWLINK,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL },
		  .i = { .ifi_index = 1 } };

	if (unshare(CLONE_NEWNET))
		return 1;
	other = open("/proc/self/ns/net", O_RDONLY);
	sock = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	sysctl = open("/proc/sys/net/ipv4/ip_default_ttl", O_WRONLY);
	if (home < 0 || other < 0 || sock < 0 || sysctl < 0)
		return 1;
	begin = now();
	while (n < total) {
		for (int i = 0; i < PACE && n < total; i++, n++) {
			char drop[1024];

			switch (n % 4) {
			case 0:
				if (setns(home, CLONE_NEWNET))
					return 1;
				break;
			case 1:
				if (setns(other, CLONE_NEWNET))
					return 1;
				break;
			case 2:
				if (send(sock, &msg, sizeof(msg), 0) < 0)
					return 1;
				while (recv(sock, drop, sizeof(drop), MSG_DONTWAIT) > 0)
					;
				break;
			case 3:
				if (pwrite(sysctl, "64", 2, 0) < 0)
					return 1;
			}
		}
		while (now() - begin < n * (1000000000LL / PER_SECOND))
			usleep(500);
	}
	printf("%lld %lld\n", total / 4, (now() - begin) / 1000000);
	return 0;
}
