/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stands in for `ip` (frtrace --ip) where the cost of a router must be known:
 * `netns add` makes a real network namespace, `netns del` removes it, `link add`
 * makes a real veth pair by one message, `netns exec` makes nothing, and each
 * lasts for as long as its configuration says, counted from its start: asleep
 * until shortly before, then looking at the clock, since a timer may be late.
 *
 * The configuration is the file cost.conf beside the program:
 *
 *	base 4000     µs that every command lasts
 *	add 8000      µs that `netns add` lasts instead (0: base)
 *	link 8000     µs that `link add` lasts instead (0: base)
 *	slope 10000   ns that `netns add` lasts longer for each router that exists
 *	hang 20       `netns add` never returns once so many exist (0: never)
 *
 * cost.log beside it gets the ns of each run, one a line.
 */
#include "stim.h"

#include <dirent.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>

#define RUN_DIR "/run/netns"

static void die(const char *what)
{
	fprintf(stderr, "stimulus: %s: %s\n", what, strerror(errno));
	exit(99);
}

static unsigned count_routers(void)
{
	DIR *d = opendir(RUN_DIR);
	unsigned n = 0;

	for (struct dirent *e; d && (e = readdir(d));)
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

static void make_namespace(const char *name)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), RUN_DIR "/%s", name);
	fd = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
	if (fd < 0)
		die(path);
	close(fd);
	if (unshare(CLONE_NEWNET))
		die("unshare");
	if (mount("/proc/self/ns/net", path, "none", MS_BIND, NULL))
		die("mount");
}

static void remove_namespace(const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), RUN_DIR "/%s", name);
	if (umount2(path, MNT_DETACH) || unlink(path))
		die(path);
}

/* A netlink message that grows; attributes are nested by begin and end. */
struct message {
	struct nlmsghdr h;
	struct ifinfomsg link;
	char attrs[512];
};

static struct rtattr *add_attr(struct message *m, unsigned type, const void *data, size_t len)
{
	struct rtattr *a = (struct rtattr *)((char *)m + NLMSG_ALIGN(m->h.nlmsg_len));

	a->rta_type = (unsigned short)type;
	a->rta_len = (unsigned short)RTA_LENGTH(len);
	memcpy(RTA_DATA(a), data, len);
	m->h.nlmsg_len = (uint32_t)(NLMSG_ALIGN(m->h.nlmsg_len) + RTA_ALIGN(a->rta_len));
	return a;
}

static void end_attr(struct message *m, struct rtattr *a)
{
	a->rta_len = (unsigned short)((char *)m + m->h.nlmsg_len - (char *)a);
}

static void make_veth(const char *name, const char *peer, const char *ns)
{
	static const struct ifinfomsg none;
	struct message m = { .h = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg)),
				    .nlmsg_type = RTM_NEWLINK,
				    .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE |
						   NLM_F_EXCL } };
	struct {
		struct nlmsghdr h;
		struct nlmsgerr e;
		char rest[512];
	} answer;
	struct rtattr *info, *data, *other;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), nsfd;
	char path[300];

	snprintf(path, sizeof(path), RUN_DIR "/%s", ns);
	nsfd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || nsfd < 0)
		die(path);
	add_attr(&m, IFLA_IFNAME, name, strlen(name) + 1);
	info = add_attr(&m, IFLA_LINKINFO, "", 0);
	add_attr(&m, IFLA_INFO_KIND, "veth", 4);
	data = add_attr(&m, IFLA_INFO_DATA, "", 0);
	other = add_attr(&m, VETH_INFO_PEER, &none, sizeof(none));
	add_attr(&m, IFLA_IFNAME, peer, strlen(peer) + 1);
	add_attr(&m, IFLA_NET_NS_FD, &nsfd, sizeof(nsfd));
	end_attr(&m, other);
	end_attr(&m, data);
	end_attr(&m, info);
	if (send(fd, &m, m.h.nlmsg_len, 0) < 0 || recv(fd, &answer, sizeof(answer), 0) < 0)
		die("netlink");
	errno = -answer.e.error;
	if (answer.h.nlmsg_type != NLMSG_ERROR || errno)
		die(name);
	close(fd);
	close(nsfd);
}

#define SPIN_NS 300000

static void wait_until(uint64_t end)
{
	uint64_t wake = end - SPIN_NS;
	struct timespec ts = { .tv_sec = (time_t)(wake / 1000000000u),
			       .tv_nsec = (long)(wake % 1000000000u) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
	while (mono_ns() < end)
		;
}

/* The word behind word; "" when there is none. */
static const char *after(int argc, char **argv, const char *word)
{
	for (int i = 1; i + 1 < argc; i++)
		if (!strcmp(argv[i], word))
			return argv[i + 1];
	return "";
}

static void write_log(const char *dir, uint64_t ns)
{
	char path[300], line[32];
	int fd, n;

	snprintf(path, sizeof(path), "%s/cost.log", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0)
		die(path);
	n = snprintf(line, sizeof(line), "%llu\n", (unsigned long long)ns);
	if (write(fd, line, (size_t)n) != n)
		die(path);
	close(fd);
}

int main(int argc, char **argv)
{
	uint64_t began = mono_ns();
	unsigned long long base = 0, add = 0, link = 0, slope = 0, hang = 0, v;
	const char *what = argc > 3 && !strcmp(argv[1], "netns") ? argv[2] : "";
	char dir[200], path[300], word[32];
	unsigned routers;
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	FILE *f;

	if (n < 0)
		die("/proc/self/exe");
	dir[n] = '\0';
	*strrchr(dir, '/') = '\0';
	snprintf(path, sizeof(path), "%s/cost.conf", dir);
	f = fopen(path, "re");
	if (!f)
		die(path);
	while (fscanf(f, "%31s %llu", word, &v) == 2) {
		if (!strcmp(word, "base"))
			base = v * 1000;
		else if (!strcmp(word, "add"))
			add = v * 1000;
		else if (!strcmp(word, "link"))
			link = v * 1000;
		else if (!strcmp(word, "slope"))
			slope = v;
		else if (!strcmp(word, "hang"))
			hang = v;
	}
	fclose(f);
	if (!strcmp(what, "add")) {
		routers = count_routers();
		while (hang && routers >= hang)
			pause();
		base = (add ? add : base) + slope * routers;
		make_namespace(argv[3]);
	} else if (!strcmp(what, "del")) {
		remove_namespace(argv[3]);
	} else if (argc > 3 && !strcmp(argv[1], "link") && !strcmp(argv[2], "add")) {
		base = link ? link : base;
		make_veth(argv[3], after(argc, argv, "name"), after(argc, argv, "netns"));
	}
	wait_until(began + base);
	write_log(dir, mono_ns() - began);
	return 0;
}
