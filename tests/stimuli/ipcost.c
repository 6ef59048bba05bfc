/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stands in for `ip` (frtrace --ip) where the cost of a router must be known:
 * `netns add` makes a real network namespace, `netns del` removes it, every other
 * command makes nothing, and each lasts for as long as its configuration says,
 * counted from its start.
 *
 * The configuration is the file cost.conf beside the program:
 *
 *	base 4000     µs that every command lasts
 *	add 8000      µs that `netns add` lasts instead (0: base)
 *	slope 10000   ns that `netns add` lasts longer for each router that exists
 *	hang 20       `netns add` never returns once so many exist (0: never)
 *
 * cost.log beside it gets the ns of each run, one a line.
 */
#include "stim.h"

#include <dirent.h>
#include <sched.h>
#include <sys/mount.h>

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
	uint64_t began = mono_ns(), end;
	unsigned long long base = 0, add = 0, slope = 0, hang = 0, v;
	const char *what = argc > 3 && !strcmp(argv[1], "netns") ? argv[2] : "";
	char dir[200], path[300], word[32];
	unsigned routers;
	struct timespec ts;
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
	}
	end = began + base;
	ts = (struct timespec){ .tv_sec = (time_t)(end / 1000000000u),
				.tv_nsec = (long)(end % 1000000000u) };
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
	write_log(dir, mono_ns() - began);
	return 0;
}
