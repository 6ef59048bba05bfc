/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODE 0600

static int record_file__anonymous(struct record_file *f)
{
	const char *tmp = secure_getenv("TMPDIR");
	char *name;

	if (!tmp || tmp[0] != '/')
		tmp = "/tmp";
	/* O_EXCL: it can never be given a name */
	f->fd = open(tmp, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, MODE);
	if (f->fd >= 0)
		return 0;
	if (asprintf(&name, "%s/frtrace-XXXXXX", tmp) < 0)
		return -ENOMEM;
	f->fd = mkostemp(name, O_CLOEXEC);
	if (f->fd >= 0)
		unlink(name);
	free(name);
	if (f->fd < 0)
		f->fd = memfd_create("frtrace", MFD_CLOEXEC);
	return f->fd < 0 ? -errno : 0;
}

/* Where the file system has no files without a name (-EOPNOTSUPP; older ones
 * say -EISDIR or -EINVAL): a hidden one beside path. */
static int record_file__named(struct record_file *f)
{
	if (asprintf(&f->temp, ".%s.%ld", f->name, (long)getpid()) < 0) {
		f->temp = NULL;
		return -ENOMEM;
	}
	f->fd = openat(f->dir, f->temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, MODE);
	if (f->fd < 0) {
		int err = -errno;

		free(f->temp);
		f->temp = NULL;
		return err;
	}
	return 0;
}

static int record_file__open_dir(struct record_file *f, const char *path)
{
	char *slash;

	f->path = strdup(path);
	if (!f->path)
		return -ENOMEM;
	slash = strrchr(f->path, '/');
	f->name = slash ? slash + 1 : f->path;
	if (!*f->name)
		return *path ? -EISDIR : -ENOENT;
	if (slash && slash != f->path) {
		*slash = '\0';
		f->dir = open(f->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		*slash = '/';
	} else {
		f->dir = open(slash ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	return f->dir < 0 ? -errno : 0;
}

int record_file__create(struct record_file *f, const char *path, int uid, int gid)
{
	struct stat st;
	int err;

	if (!path)
		return record_file__anonymous(f);
	err = record_file__open_dir(f, path);
	if (err)
		return err;
	if (!fstatat(f->dir, f->name, &st, AT_SYMLINK_NOFOLLOW))
		return -EEXIST;
	f->fd = openat(f->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, MODE);
	if (f->fd < 0) {
		if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL && errno != ENOENT)
			return -errno;
		err = record_file__named(f);
		if (err)
			return err;
	}
	/* file systems without owners refuse; the record is of use all the same */
	if ((uid != -1 || gid != -1) && fchown(f->fd, (uid_t)uid, (gid_t)gid) && errno != EPERM &&
	    errno != EINVAL && errno != EOPNOTSUPP)
		return -errno;
	return 0;
}

int record_file__write(struct record_file *f, const void *data, size_t n)
{
	const char *p = data;
	ssize_t w;

	while (n) {
		w = write(f->fd, p, n);
		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -errno;
		if (w == 0)
			return -ENOSPC;
		p += w;
		n -= (size_t)w;
	}
	return 0;
}

static int record_file__rename(struct record_file *f)
{
	int err;

	if (!renameat2(f->dir, f->temp, f->dir, f->name, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* not every file system knows the flag; a link never replaces either */
	if (linkat(f->dir, f->temp, f->dir, f->name, 0))
		return -errno;
	err = unlinkat(f->dir, f->temp, 0) ? -errno : 0;
	return err;
}

int record_file__publish(struct record_file *f)
{
	char fd[40];
	int err = 0;

	if (f->published || !f->path)
		return 0;
	if (f->temp) {
		err = record_file__rename(f);
	} else {
		snprintf(fd, sizeof(fd), "/proc/self/fd/%d", f->fd);
		if (linkat(AT_FDCWD, fd, f->dir, f->name, AT_SYMLINK_FOLLOW)) {
			err = -errno;
			/* without /proc, root may still link the descriptor itself */
			if (err == -ENOENT && !linkat(f->fd, "", f->dir, f->name, AT_EMPTY_PATH))
				err = 0;
		}
	}
	f->published = !err;
	return err;
}

void record_file__close(struct record_file *f)
{
	if (f->temp && !f->published)
		unlinkat(f->dir, f->temp, 0);
	if (f->fd >= 0)
		close(f->fd);
	if (f->dir >= 0)
		close(f->dir);
	free(f->temp);
	free(f->path);
	f->fd = f->dir = -1;
	f->temp = f->path = NULL;
}
