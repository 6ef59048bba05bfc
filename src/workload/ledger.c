/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload/ledger.h"
#include "workload/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LEDGER_VERSION 1

struct line_def {
	const char *word;
	const char *format; /* what follows: n name, s rest of the line, t time, d dev:ino, i ino,
			     * u number, f two ifindexes */
};

static const struct line_def lines[] = {
	[LEDGER_HEAD] = { "frtrace-ledger", "u" }, [LEDGER_RUN] = { "run", "s" },
	[LEDGER_BOOT] = { "boot", "s" },	   [LEDGER_PID] = { "pid", "ut" },
	[LEDGER_FIRST] = { "first", "i" },	   [LEDGER_DIR] = { "dir", "d" },
	[LEDGER_CGROUP] = { "cgroup", "s" },	   [LEDGER_DESTROY] = { "destroy", "s" },
	[LEDGER_WANT] = { "want", "nt" },	   [LEDGER_HAVE] = { "have", "ndf" },
	[LEDGER_GONE] = { "gone", "n" },	   [LEDGER_CREATE] = { "create", "nu" },
	[LEDGER_DESTROYED] = { "destroyed", "n" },
};

static bool take_u64(const char **p, char end, uint64_t *v)
{
	char *e;

	if (**p < '0' || **p > '9')
		return false;
	errno = 0;
	*v = strtoull(*p, &e, 10);
	if (errno || (*e != end && !(end == ' ' && !*e)))
		return false;
	*p = *e ? e + 1 : e;
	return true;
}

static bool take_field(char f, const char **p, struct ledger_line *out)
{
	uint64_t a, b;
	size_t n;

	switch (f) {
	case 'n':
		n = strcspn(*p, " ");
		if (!n || n >= sizeof(out->name))
			return false;
		memcpy(out->name, *p, n);
		out->name[n] = '\0';
		*p += n + ((*p)[n] == ' ');
		return true;
	case 's':
		n = strlen(*p);
		if (!n || n >= sizeof(out->text))
			return false;
		memcpy(out->text, *p, n + 1);
		*p += n;
		return true;
	case 't':
		return take_u64(p, ' ', &out->time_ns);
	case 'i':
		return take_u64(p, ' ', &out->ino);
	case 'd':
		return take_u64(p, ':', &out->dev) && take_u64(p, ' ', &out->ino);
	case 'u':
		if (!take_u64(p, ' ', &a) || a > UINT32_MAX)
			return false;
		out->id = (uint32_t)a;
		return true;
	case 'f':
		if (!take_u64(p, ' ', &a) || !take_u64(p, ' ', &b) || a > INT32_MAX ||
		    b > INT32_MAX)
			return false;
		out->ifindex[0] = (int)a;
		out->ifindex[1] = (int)b;
		return true;
	}
	return false;
}

int ledger__parse(const char *line, struct ledger_line *out)
{
	size_t n = strcspn(line, " ");

	memset(out, 0, sizeof(*out));
	for (size_t k = 0; k < ARRAY_SIZE(lines); k++) {
		const char *p = line + n + (line[n] == ' ');
		const char *f;

		if (strlen(lines[k].word) != n || strncmp(line, lines[k].word, n))
			continue;
		out->kind = (enum ledger_kind)k;
		for (f = lines[k].format; *f; f++)
			if (!take_field(*f, &p, out))
				return -EINVAL;
		if (*p)
			return -EINVAL;
		out->version = k == LEDGER_HEAD ? (int)out->id : 0;
		return 0;
	}
	return -EINVAL;
}

uint64_t start_time(int pid)
{
	char path[64], buf[1024], *p;
	unsigned long long start = 0;
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, buf, sizeof(buf) - 1);
		close(fd);
	}
	buf[n > 0 ? n : 0] = '\0';
	p = strrchr(buf, ')'); /* the name before it may hold anything */
	if (!p || sscanf(p + 1,
			 " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
			 "%*d %llu",
			 &start) != 1)
		return 0;
	return start;
}

void boot_id(char *dst, size_t size)
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, dst, size - 1);

	dst[n > 0 ? n : 0] = '\0';
	dst[strcspn(dst, "\n")] = '\0';
	if (fd >= 0)
		close(fd);
}

int statedir__lock(void)
{
	for (;;) {
		struct stat a, b;
		int fd;

		if (mkdir(WL_STATE_DIR, 0700) && errno != EEXIST)
			return -errno;
		fd = open(WL_STATE_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0) {
			if (errno == ENOENT)
				continue;
			return -errno;
		}
		while (flock(fd, LOCK_EX) && errno == EINTR)
			;
		/* A ledger says what to remove, and --destroy's commands to run: as root. So
		 * nobody else may have written there. */
		if (!fstat(fd, &a) && (a.st_uid != geteuid() || a.st_mode & 022)) {
			close(fd);
			return -EPERM;
		}
		/* another may have removed it between our open and our lock */
		if (!fstat(fd, &a) && !stat(WL_STATE_DIR, &b) && a.st_dev == b.st_dev &&
		    a.st_ino == b.st_ino)
			return fd;
		close(fd);
	}
}

static bool is_ledger(const char *name)
{
	size_t n = strlen(name);

	return n > 7 && !strcmp(name + n - 7, ".ledger");
}

int statedir__live(const char *own)
{
	DIR *d = opendir(WL_STATE_DIR);
	struct dirent *e;
	int live = 0;

	if (!d)
		return 0;
	while ((e = readdir(d))) {
		int fd;

		if (!is_ledger(e->d_name) || (own && !strcmp(own, e->d_name)))
			continue;
		fd = openat(dirfd(d), e->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0)
			continue;
		live += flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
		close(fd);
	}
	closedir(d);
	return live;
}

void statedir__rmdir(void)
{
	rmdir(WL_STATE_DIR);
}

int ledger__write(struct ledger *l, const char *fmt, ...)
{
	char buf[LEDGER_TEXT_MAX + 64];
	va_list ap;
	ssize_t n;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(buf, sizeof(buf) - 1, fmt, ap);
	va_end(ap);
	if (len < 0 || (size_t)len >= sizeof(buf) - 1)
		return -E2BIG;
	if (memchr(buf, '\n', (size_t)len)) /* would be two lines */
		return -EINVAL;
	buf[len++] = '\n';
	do
		n = write(l->fd, buf, (size_t)len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n == len ? 0 : -ENOSPC;
}

int ledger__want(struct ledger *l, const char *name)
{
	struct timespec t;

	/* the clock that stamps inodes: a file made after this is not older */
	clock_gettime(CLOCK_REALTIME_COARSE, &t);
	return ledger__write(l, "want %s %" PRIu64, name,
			     (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec);
}

int ledger__have(struct ledger *l, const char *name, uint64_t dev, uint64_t ino,
		 const int ifindex[2])
{
	return ledger__write(l, "have %s %" PRIu64 ":%" PRIu64 " %d %d", name, dev, ino, ifindex[0],
			     ifindex[1]);
}

int ledger__gone(struct ledger *l, const char *name)
{
	return ledger__write(l, "gone %s", name);
}

int ledger__create(struct ledger *l, const char *run_id, uint64_t first_ino, char *err,
		   size_t errlen)
{
	struct stat st = { 0 };
	char boot[64];
	int dir, rc;

	l->fd = -1;
	dir = statedir__lock();
	if (dir < 0)
		return fail(err, errlen, dir,
			    dir == -EPERM
				    ? "%s: others may write there; make it root's alone (mode 0700)"
				    : "%s: %s; frtrace keeps its ledger there: make it writable",
			    WL_STATE_DIR, strerror(-dir));
	snprintf(l->path, sizeof(l->path), "%s/%s.ledger", WL_STATE_DIR, run_id);
	l->fd = open(l->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
		     0600);
	if (l->fd < 0 || flock(l->fd, LOCK_EX | LOCK_NB)) {
		rc = -errno;
		goto out;
	}
	boot_id(boot, sizeof(boot));
	if (stat(WL_RUN_DIR, &st))
		memset(&st, 0, sizeof(st));
	rc = ledger__write(l, "frtrace-ledger %d", LEDGER_VERSION);
	if (!rc)
		rc = ledger__write(l, "run %s", run_id);
	if (!rc)
		rc = ledger__write(l, "boot %s", boot);
	if (!rc)
		rc = ledger__write(l, "pid %d %" PRIu64, (int)getpid(), start_time(getpid()));
	if (!rc)
		rc = ledger__write(l, "first %" PRIu64, first_ino);
	if (!rc)
		rc = ledger__write(l, "dir %" PRIu64 ":%" PRIu64, (uint64_t)st.st_dev,
				   (uint64_t)st.st_ino);
out:
	if (rc) {
		fail(err, errlen, rc, "%s: %s; frtrace keeps its ledger there: make room for it",
		     l->path, strerror(-rc));
		if (l->fd >= 0)
			ledger__close(l, true);
		statedir__rmdir();
	}
	close(dir);
	return rc;
}

void ledger__close(struct ledger *l, bool remove)
{
	if (l->fd < 0)
		return;
	if (remove)
		unlink(l->path);
	close(l->fd);
	l->fd = -1;
}
