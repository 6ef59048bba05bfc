/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A daemon that answers every link that comes up anew in its network namespace
 * with 5 ms of CPU time, and writes down how much it has used in all since the line
 * before: "BEGIN END CPU AWAKE" (CLOCK_MONOTONIC, ns). AWAKE is CPU without the calls
 * that wait: a kernel whose scheduler reads its clock at the waking and not again at the
 * switch (5.10, when the CPU was idle) charges the way there to the task; where CPUs take
 * turns that is milliseconds in which it did not run.
 *
 *	linkd LOG
 */
#include "stim.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#define BURN_NS 5000000u

int main(int argc, char **argv)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	static char buf[65536];
	uint64_t since = mono_ns(), used = clock_ns(CLOCK_PROCESS_CPUTIME_ID), waited = 0;
	FILE *out = argc == 2 ? fopen(argv[1], "we") : NULL;
	ssize_t n;

	if (!out || fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		fprintf(stderr, "linkd: %s\n", strerror(errno));
		return 1;
	}
	for (;;) {
		waited -= clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		n = recv(fd, buf, sizeof(buf), 0);
		waited += clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		for (struct nlmsghdr *h = (void *)buf; n > 0 && NLMSG_OK(h, n);
		     h = NLMSG_NEXT(h, n)) {
			struct ifinfomsg *i = NLMSG_DATA(h);
			uint64_t now, cpu;

			/* a new link tells of all its flags at once */
			if (h->nlmsg_type != RTM_NEWLINK || i->ifi_change != ~0u)
				continue;
			burn_user(BURN_NS);
			now = mono_ns();
			cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
			fprintf(out, "%llu %llu %llu %llu\n", (unsigned long long)since,
				(unsigned long long)now, (unsigned long long)(cpu - used),
				(unsigned long long)(cpu - used - waited));
			since = now;
			used = cpu;
			waited = 0;
			fflush(out);
		}
	}
}
