/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Holds a lock of the kernel, again and again, each time by one long operation,
 * and writes down when: "BEGIN END", CLOCK_MONOTONIC ns, one line each.
 *
 *	holder rtnl LINKS LOG	  a group delete of LINKS links, in a network
 *				  namespace of its own (ip makes them)
 *	holder mounts MOUNTS LOG  a recursive bind of MOUNTS mounts, and its end,
 *				  in a mount namespace of its own
 *	holder flock FILE LOG	  an exclusive flock, 20 ms
 *
 * Ends by SIGTERM.
 */
#include "stim.h"

#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define GROUP 77
#define FLOCK_HELD_NS 20000000u
#define FLOCK_FREE_NS 3000000u
#define MOUNT_PAUSE_NS 10000000u /* others must get on, too */

static volatile sig_atomic_t stop;
static FILE *out;

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

static void die(const char *what)
{
	fprintf(stderr, "holder: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void told(uint64_t began)
{
	fprintf(out, "%llu %llu\n", (unsigned long long)began, (unsigned long long)mono_ns());
	fflush(out);
}

static void make_links(int n)
{
	FILE *ip = popen("ip -batch -", "w");

	if (!ip)
		die("ip");
	for (int i = 0; i < n; i += 2)
		fprintf(ip, "link add name ha%d group %d type veth peer name hb%d group %d\n", i,
			GROUP, i, GROUP);
	if (pclose(ip))
		die("ip -batch");
}

static void delete_group(int fd)
{
	struct {
		struct nlmsghdr h;
		struct ifinfomsg i;
		struct rtattr a;
		uint32_t group;
	} req = {
		.h = { .nlmsg_len = sizeof(req),
		       .nlmsg_type = RTM_DELLINK,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK },
		.a = { .rta_len = RTA_LENGTH(sizeof(uint32_t)), .rta_type = IFLA_GROUP },
		.group = GROUP,
	};
	char answer[512];
	struct nlmsgerr *e = (void *)(answer + NLMSG_HDRLEN);

	if (send(fd, &req, sizeof(req), 0) < 0 || recv(fd, answer, sizeof(answer), 0) < 0)
		die("netlink");
	errno = -e->error;
	if (e->error)
		die("group delete");
}

static void hold_rtnl(int links)
{
	uint64_t began;
	int fd;

	if (unshare(CLONE_NEWNET))
		die("unshare");
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0)
		die("socket");
	while (!stop) {
		make_links(links);
		began = mono_ns();
		delete_group(fd);
		told(began);
	}
}

static void hold_mounts(int mounts)
{
	char path[64];
	uint64_t began;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("holder", "/mnt", "tmpfs", 0, NULL))
		die("mount");
	mkdir("/mnt/a", 0700);
	mkdir("/mnt/b", 0700);
	mkdir("/mnt/a/m", 0700);
	if (mount("/mnt/a", "/mnt/a", NULL, MS_BIND, NULL))
		die("bind");
	for (int i = 0; i < mounts; i++) {
		snprintf(path, sizeof(path), "/mnt/a/%d", i);
		mkdir(path, 0700);
		if (mount("/mnt/a/m", path, NULL, MS_BIND, NULL))
			die("bind");
	}
	while (!stop) {
		began = mono_ns();
		if (mount("/mnt/a", "/mnt/b", NULL, MS_BIND | MS_REC, NULL))
			die("recursive bind");
		told(began);
		began = mono_ns();
		if (umount2("/mnt/b", MNT_DETACH))
			die("umount");
		told(began);
		sleep_ns(MOUNT_PAUSE_NS);
	}
}

static void hold_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t began;

	if (fd < 0)
		die(path);
	while (!stop) {
		if (flock(fd, LOCK_EX))
			continue;
		began = mono_ns();
		sleep_ns(FLOCK_HELD_NS);
		flock(fd, LOCK_UN);
		told(began);
		sleep_ns(FLOCK_FREE_NS);
	}
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_term };

	if (argc != 4) {
		fprintf(stderr, "usage: holder rtnl|mounts|flock WHAT LOG\n");
		return 2;
	}
	sigaction(SIGTERM, &sa, NULL);
	out = fopen(argv[3], "we");
	if (!out)
		die(argv[3]);
	if (!strcmp(argv[1], "rtnl"))
		hold_rtnl(atoi(argv[2]));
	else if (!strcmp(argv[1], "mounts"))
		hold_mounts(atoi(argv[2]));
	else
		hold_file(argv[2]);
	return 0;
}
