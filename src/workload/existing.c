/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Network namespaces that exist besides the first, as far as they can be seen
 * from outside the kernel: those a process is in and those mounted here. One
 * held open by a descriptor only, mounted in another mount namespace only, or
 * dying is not seen; the tracer's count from the kernel's own list is exact.
 */
#include "workload/internal.h"
#include "workload/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct inodes {
	uint64_t *v;
	size_t n, cap;
};

static int add(struct inodes *s, uint64_t ino)
{
	int rc = grow(&s->v, s->n, &s->cap, sizeof(*s->v));

	if (!rc)
		s->v[s->n++] = ino;
	return rc;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int from_processes(struct inodes *s)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int rc = 0;

	if (!d)
		return -errno;
	while (!rc && (e = readdir(d))) {
		char path[300];
		struct stat st;

		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "%s/ns/net", e->d_name);
		/* gone meanwhile, or not ours to look at */
		if (!fstatat(dirfd(d), path, &st, 0))
			rc = add(s, st.st_ino);
	}
	closedir(d);
	return rc;
}

/* Line by line: of 16,000 mounts the text alone is megabytes. */
static int from_mounts(struct inodes *s)
{
	FILE *f = fopen("/proc/thread-self/mountinfo", "re");
	char *line = NULL;
	size_t size = 0;
	ssize_t n;
	int rc = 0;

	if (!f)
		return -errno;
	while (!rc && (n = getline(&line, &size, f)) > 0) {
		struct mount_line m;
		uint64_t ino;

		line[strcspn(line, "\n")] = '\0';
		if (!strstr(line, " net:[") || parse_mountinfo(line, &m))
			continue;
		ino = parse_ns_root(m.root);
		if (ino)
			rc = add(s, ino);
	}
	if (!rc && ferror(f))
		rc = -EIO;
	free(line);
	fclose(f);
	return rc;
}

int existing__count(uint64_t *n)
{
	struct inodes s = { 0 };
	struct stat self;
	uint64_t distinct = 0;
	int rc;

	rc = stat("/proc/thread-self/ns/net", &self) ? -errno : add(&s, self.st_ino);
	if (!rc)
		rc = from_processes(&s);
	if (!rc)
		rc = from_mounts(&s);
	if (!rc) {
		qsort(s.v, s.n, sizeof(*s.v), by_value);
		for (size_t i = 0; i < s.n; i++)
			distinct += !i || s.v[i] != s.v[i - 1];
		*n = distinct - 1;
	}
	free(s.v);
	return rc;
}
