/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/replace.h"

#include "cmd/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where the file will stand: the target of a link, or path itself. */
static char *resolve(const char *path)
{
	char *real = realpath(path, NULL);

	return real || errno != ENOENT ? real : strdup(path);
}

/* The folder of path, malloc'ed. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

/* A name beside path that nothing has: the open file gets it by fd, or -1 and it
 * is made. Returns the descriptor or -errno. */
static int name_beside(struct replace *r, int fd)
{
	for (unsigned i = 0; i < 1000; i++) {
		char proc[40];
		int rc;

		free(r->temp);
		r->temp = NULL;
		if (asprintf(&r->temp, "%s.%d-%u.tmp", r->path, getpid(), i) < 0) {
			r->temp = NULL;
			return -ENOMEM;
		}
		if (fd < 0) {
			rc = open(r->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		} else {
			snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
			rc = linkat(AT_FDCWD, proc, AT_FDCWD, r->temp, AT_SYMLINK_FOLLOW);
			rc = rc ? rc : fd;
		}
		if (rc >= 0)
			return rc;
		if (errno != EEXIST)
			break;
	}
	free(r->temp);
	r->temp = NULL;
	return -errno;
}

static int open_unnamed(struct replace *r)
{
	char *folder = folder_of(r->path);
	int fd, err;

	if (!folder)
		return -ENOMEM;
	fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	err = errno;
	free(folder);
	if (fd >= 0)
		return fd;
	if (err == EOPNOTSUPP || err == EISDIR || err == EINVAL)
		return name_beside(r, -1);
	return -err;
}

int replace__open(struct replace *r, const char *path)
{
	struct stat st;
	int fd;

	*r = (struct replace){ .out = stdout, .uid = -1, .gid = -1 };
	if (!path || strcmp(path, "-") == 0)
		return 0;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return -EISDIR;
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		r->out = fopen(path, "we");
		return r->out ? 0 : -errno;
	}
	r->path = resolve(path);
	if (!r->path)
		return -errno;
	cli__owner(&r->uid, &r->gid);
	fd = open_unnamed(r);
	if (fd >= 0) {
		r->out = fdopen(fd, "w");
		if (r->out)
			return 0;
		close(fd);
		fd = -ENOMEM;
	}
	r->out = NULL;
	replace__abort(r);
	return fd;
}

static mode_t creation_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

static int put_in_place(struct replace *r)
{
	int fd = fileno(r->out), rc;

	if (fchmod(fd, creation_mode()))
		return -errno;
	if ((r->uid >= 0 || r->gid >= 0) && fchown(fd, (uid_t)r->uid, (gid_t)r->gid) &&
	    errno != EPERM)
		return -errno;
	if (!r->temp) {
		rc = name_beside(r, fd);
		if (rc < 0)
			return rc;
	}
	return rename(r->temp, r->path) ? -errno : 0;
}

int replace__commit(struct replace *r)
{
	int err = 0;

	errno = 0;
	if (fflush(r->out) || ferror(r->out))
		err = errno ? -errno : -EIO;
	if (!err && r->path)
		err = put_in_place(r);
	if (!err && r->temp) {
		/* It has its name; there is nothing to take away any more. */
		free(r->temp);
		r->temp = NULL;
	}
	replace__abort(r);
	return err;
}

void replace__abort(struct replace *r)
{
	if (r->out && r->out != stdout)
		fclose(r->out);
	if (r->temp)
		unlink(r->temp);
	free(r->temp);
	free(r->path);
	*r = (struct replace){ .uid = -1, .gid = -1 };
}
