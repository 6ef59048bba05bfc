/* SPDX-License-Identifier: BSD-2-Clause */
/* A network namespace by its inode number, which is all that a ledger has of it. */
#include "workload/internal.h"
#include "workload/netlink.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* The one that path stands for, if it is the one looked for: a descriptor, or -1. */
static int open_if(const char *path, const struct stat *own, uint64_t ino)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && st.st_dev == own->st_dev && st.st_ino == ino)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int netns__open(uint64_t ino)
{
	static const struct {
		const char *dir, *rest;
	} places[] = { { "/proc", "/ns/net" }, { WL_RUN_DIR, "" } };
	struct stat own;
	int fd = -1;

	if (stat("/proc/thread-self/ns/net", &own))
		return -errno;
	for (size_t i = 0; fd < 0 && i < ARRAY_SIZE(places); i++) {
		DIR *d = opendir(places[i].dir);
		struct dirent *e;
		char path[512];

		while (d && fd < 0 && (e = readdir(d))) {
			if (e->d_name[0] == '.' ||
			    (*places[i].rest && !isdigit((unsigned char)e->d_name[0])))
				continue;
			snprintf(path, sizeof(path), "%s/%s%s", places[i].dir, e->d_name,
				 places[i].rest);
			fd = open_if(path, &own, ino);
		}
		if (d)
			closedir(d);
	}
	return fd < 0 ? -ESRCH : fd;
}

int netns__netlink(int ns, struct netlink **out)
{
	int own = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC), rc;

	if (own < 0)
		return -errno;
	rc = setns(ns, CLONE_NEWNET) ? -errno : 0;
	if (!rc) {
		rc = netlink__open(out);
		if (setns(own, CLONE_NEWNET) && !rc) {
			rc = -errno;
			netlink__close(*out);
		}
	}
	close(own);
	return rc;
}
