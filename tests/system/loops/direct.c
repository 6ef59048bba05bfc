/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fake routers without a command: direct N [THREADS]. Each of the threads makes N,
 * by system calls of its own: add (unshare, bind mount, back), exec (enter, leave the
 * mount namespace, mount), sysctl, two veth. Prints the nanoseconds its loops
 * took, summed over threads.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int routers;
static _Atomic long long took;

static void must(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static struct nlattr *attr(char *msg, int type, const void *data, size_t len)
{
	struct nlmsghdr *h = (void *)msg;
	struct nlattr *a = (void *)(msg + NLMSG_ALIGN(h->nlmsg_len));

	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	memcpy((char *)a + NLA_HDRLEN, data, len);
	h->nlmsg_len = NLMSG_ALIGN(h->nlmsg_len) + NLA_ALIGN(a->nla_len);
	return a;
}

static void close_nest(char *msg, struct nlattr *a)
{
	a->nla_len = msg + ((struct nlmsghdr *)(void *)msg)->nlmsg_len - (char *)a;
}

static void make_veth(int sock, const char *name, const char *peer, int ns)
{
	static const struct ifinfomsg none;
	char msg[512] __attribute__((aligned(8))) = { 0 }, answer[1024];
	struct nlmsghdr *h = (void *)msg;
	struct nlattr *info, *data, *other;

	h->nlmsg_len = NLMSG_LENGTH(sizeof(none));
	h->nlmsg_type = RTM_NEWLINK;
	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
	attr(msg, IFLA_IFNAME, name, strlen(name) + 1);
	info = attr(msg, IFLA_LINKINFO, "", 0);
	attr(msg, IFLA_INFO_KIND, "veth", 4);
	data = attr(msg, IFLA_INFO_DATA, "", 0);
	other = attr(msg, VETH_INFO_PEER, &none, sizeof(none));
	attr(msg, IFLA_IFNAME, peer, strlen(peer) + 1);
	attr(msg, IFLA_NET_NS_FD, &ns, sizeof(ns));
	close_nest(msg, other);
	close_nest(msg, data);
	close_nest(msg, info);
	must(send(sock, msg, h->nlmsg_len, 0) > 0, "netlink send");
	must(recv(sock, answer, sizeof(answer), 0) > 0, "netlink recv");
	errno = -((struct nlmsgerr *)NLMSG_DATA((struct nlmsghdr *)(void *)answer))->error;
	must(errno == 0, "RTM_NEWLINK");
}

static void *loop(void *arg)
{
	int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	int mounts = open("/proc/thread-self/ns/mnt", O_RDONLY | O_CLOEXEC);
	int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	long id = (long)arg;
	struct timespec from, to;

	must(unshare(CLONE_FS) == 0, "unshare(CLONE_FS)");
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < routers; i++) {
		char path[64], a[16], b[16];
		int ns, f;

		snprintf(path, sizeof(path), "/run/netns/d%ld-%d", id, i);
		close(open(path, O_CREAT | O_EXCL | O_CLOEXEC, 0444));
		must(unshare(CLONE_NEWNET) == 0, "unshare(CLONE_NEWNET)");
		must(mount("/proc/thread-self/ns/net", path, "none", MS_BIND, NULL) == 0, path);
		must(setns(home, CLONE_NEWNET) == 0, "setns home");

		ns = open(path, O_RDONLY | O_CLOEXEC);
		must(setns(ns, CLONE_NEWNET) == 0, "setns");
		must(unshare(CLONE_NEWNS) == 0, "unshare(CLONE_NEWNS)");
		must(mount("", "/", "none", MS_SLAVE | MS_REC, NULL) == 0, "mount slave");
		must(setns(mounts, CLONE_NEWNS) == 0, "setns mount");

		f = open("/proc/sys/net/ipv4/ip_forward", O_WRONLY | O_CLOEXEC);
		must(write(f, "1", 1) == 1, "ip_forward");
		close(f);
		must(setns(home, CLONE_NEWNET) == 0, "setns home");

		snprintf(a, sizeof(a), "ro%ld-%d", id, i);
		snprintf(b, sizeof(b), "ri%ld-%d", id, i);
		make_veth(sock, a, b, ns);
		a[0] = b[0] = 'g';
		make_veth(sock, a, b, ns);
		close(ns);
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	took += (to.tv_sec - from.tv_sec) * 1000000000LL + to.tv_nsec - from.tv_nsec;
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 0;
	pthread_t id[64];

	routers = argc > 1 ? atoi(argv[1]) : 10;
	mkdir("/run/netns", 0755);
	if (!threads)
		loop(NULL);
	for (long i = 0; i < threads && i < 64; i++)
		must(pthread_create(&id[i], NULL, loop, (void *)(i + 1)) == 0, "pthread_create");
	for (int i = 0; i < threads && i < 64; i++)
		pthread_join(id[i], NULL);
	printf("%lld\n", (long long)took);
	return 0;
}
