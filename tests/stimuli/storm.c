/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * storm N LINKS: N processes, each in a network namespace of its own with LINKS
 * pairs of links, turn forwarding on and off there as fast as they can, until
 * their parent ends. Each turn holds the RTNL while it walks the links; who
 * writes such a key meanwhile does not get it, and its system call is restarted
 * again and again. Prints "ready" once all of them turn; ends at end of input.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what)
{
	fprintf(stderr, "storm: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void add_links(int links)
{
	FILE *f = popen("ip -batch -", "w");

	if (!f)
		die("ip");
	for (int i = 0; i < links; i++)
		fprintf(f, "link add a%d type veth peer name b%d\n", i, i);
	if (pclose(f))
		die("ip -batch");
}

/* One on each CPU: only who runs beside a holder finds the lock taken. */
static void pin(int i)
{
	cpu_set_t all, one;
	int cpu = 0;

	if (sched_getaffinity(0, sizeof(all), &all))
		return;
	for (i %= CPU_COUNT(&all); !CPU_ISSET((unsigned)cpu, &all) || i--; cpu++)
		;
	CPU_ZERO(&one);
	CPU_SET((unsigned)cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void turn(int ready)
{
	int fd = open("/proc/sys/net/ipv4/conf/all/forwarding", O_WRONLY);
	char c = 'r';

	if (fd < 0)
		die("/proc/sys/net/ipv4/conf/all/forwarding");
	if (write(ready, &c, 1) != 1)
		die("ready");
	for (;; c = c == '1' ? '0' : '1')
		if (c != 'r' && pwrite(fd, &c, 1, 0) != 1)
			die("forwarding");
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 2, links = argc > 2 ? atoi(argv[2]) : 50;
	int ready[2];
	pid_t pids[64];
	char c;

	if (n < 1 || n > 64 || links < 0 || pipe(ready))
		die("arguments");
	for (int i = 0; i < n; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			die("fork");
		if (pids[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWNET))
			die("unshare");
		add_links(links);
		pin(i);
		turn(ready[1]);
	}
	close(ready[1]);
	for (int i = 0; i < n; i++)
		if (read(ready[0], &c, 1) != 1)
			die("a storm did not begin");
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	for (int i = 0; i < n; i++) {
		if (waitpid(pids[i], NULL, WNOHANG) == pids[i])
			die("a storm ended early");
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	return 0;
}
