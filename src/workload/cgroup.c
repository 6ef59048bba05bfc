/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A cgroup of the run's own, where cgroup v2 can be written: commands started
 * from it stay in it, whatever they start, so that what a killed run leaves
 * running can be killed as one. Best effort: without it the parent-death signal
 * covers the commands themselves.
 */
#include "workload/internal.h"
#include "workload/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PREFIX "frtrace-"

static int write_text(const char *dir, const char *file, const char *text)
{
	char path[512];
	int fd, rc = 0;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, file) >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

/* Where cgroup v2 is mounted (its root); "" when nowhere. */
static void v2_mount(char *dst, size_t size)
{
	char *text = read_file("/proc/thread-self/mountinfo", NULL), *save = NULL;

	dst[0] = '\0';
	if (!text)
		return;
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		struct mount_line m;

		if (!strstr(l, " - cgroup2 ") || parse_mountinfo(l, &m) || strcmp(m.root, "/"))
			continue;
		snprintf(dst, size, "%s", m.point);
		break;
	}
	free(text);
}

/* Our own directory in it. */
static bool own_dir(char *dst, size_t size)
{
	char *text = read_file("/proc/self/cgroup", NULL), *p, mount[300];
	bool ok = false;

	v2_mount(mount, sizeof(mount));
	p = text ? strstr(text, "0::/") : NULL;
	if (p && *mount) {
		p += 3;
		p[strcspn(p, "\n")] = '\0';
		ok = (size_t)snprintf(dst, size, "%s%s", mount, strcmp(p, "/") ? p : "") < size;
	}
	free(text);
	return ok;
}

void cgroup__enter(struct workload *w)
{
	char back[400], dir[480];

	if (!own_dir(back, sizeof(back)))
		return;
	snprintf(dir, sizeof(dir), "%s/" PREFIX "%s", back, w->run_id);
	/* the ledger first: nothing is made that it does not name */
	if (ledger__write(&w->ledger, "cgroup %s", dir) || mkdir(dir, 0755))
		return;
	w->cgroup = arena__strdup(w->arena, dir);
	w->cgroup_back = arena__strdup(w->arena, back);
	if (!w->cgroup || !w->cgroup_back || write_text(dir, "cgroup.procs", "0")) {
		rmdir(dir);
		w->cgroup = NULL;
	}
}

static int kill_listed(const char *dir)
{
	char path[512];
	int n = 0, pid;
	FILE *f;

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	f = fopen(path, "re");
	while (f && fscanf(f, "%d", &pid) == 1) {
		int fd = pid > 0 && pid != getpid() ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

		if (fd < 0)
			continue;
		syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
		close(fd);
		n++;
	}
	if (f)
		fclose(f);
	return n;
}

/* Kills what is in a run's cgroup and removes it. Only ever one of ours. */
void cgroup__kill(const char *dir)
{
	const char *base = strrchr(dir, '/');

	if (!base || strncmp(base + 1, PREFIX, strlen(PREFIX)))
		return;
	for (int i = 0; i < 100; i++) {
		if (!rmdir(dir) || errno != EBUSY)
			return;
		if (write_text(dir, "cgroup.kill", "1")) /* since Linux 5.14 */
			kill_listed(dir);
		usleep(10000);
	}
}

#define NESTED_MAX 8 /* runs of runs */

/* Removes what is empty among the runs' cgroups in fd, innermost first. fd is closed. */
static void sweep(int fd, int depth)
{
	struct dirent *e;
	DIR *d = fdopendir(fd);

	if (!d) {
		close(fd);
		return;
	}
	while ((e = readdir(d))) {
		if (strncmp(e->d_name, PREFIX, strlen(PREFIX)))
			continue;
		if (!unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR) || depth == NESTED_MAX)
			continue;
		/* busy: a task is in it, or the cgroup of a run that was started in it */
		fd = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			continue;
		sweep(fd, depth + 1);
		unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
	}
	closedir(d);
}

/* A run that lives is in its cgroup, so one that can be removed is nobody's: what
 * is left when the ledger that named it has gone (with its /run, say). */
void cgroup__sweep(void)
{
	char own[400];
	int fd;

	if (!own_dir(own, sizeof(own)))
		return;
	fd = open(own, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		sweep(fd, 0);
}

void cgroup__leave(struct workload *w, bool kill)
{
	if (!w->cgroup)
		return;
	/* We cannot kill a cgroup that we are in; each of its tasks we can. */
	if (write_text(w->cgroup_back, "cgroup.procs", "0")) {
		if (kill)
			kill_listed(w->cgroup);
		return;
	}
	if (kill)
		cgroup__kill(w->cgroup);
	else
		rmdir(w->cgroup);
	w->cgroup = NULL;
}
