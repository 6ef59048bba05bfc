/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/input.h"
#include "record/record.h"
#include "record/source.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whatever is larger is no table of rates. */
#define TABLE_MAX (64u << 20)

struct input {
	int fd;
	size_t nhead;
	unsigned char head[2]; /* what tells its kind; a pipe cannot be wound back */
	char name[200];
};

/* Up to n bytes, all of them but at the end: how many, or -errno. */
static ssize_t read_whole(int fd, void *buf, size_t n)
{
	size_t have = 0;

	while (have < n) {
		ssize_t r = read(fd, (char *)buf + have, n - have);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (r == 0)
			break;
		have += (size_t)r;
	}
	return (ssize_t)have;
}

int input__open(const char *path, struct input **out, char *err, size_t errlen)
{
	struct input *in = calloc(1, sizeof(*in));
	bool std = strcmp(path, "-") == 0;
	struct stat st;
	ssize_t n;

	*out = NULL;
	if (!in)
		return fail(err, errlen, -ENOMEM, "out of memory");
	printable(in->name, sizeof(in->name), std ? "standard input" : path);
	in->fd = std ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC);
	if (in->fd < 0) {
		n = fail(err, errlen, -errno, "%s: cannot open: %s", in->name, strerror(errno));
		goto out;
	}
	if (!fstat(in->fd, &st) && S_ISDIR(st.st_mode)) {
		n = fail(err, errlen, -EISDIR, "%s: a directory, not a record", in->name);
		goto out;
	}
	n = read_whole(in->fd, in->head, sizeof(in->head));
	if (n < 0) {
		fail(err, errlen, (int)n, "%s: cannot read: %s", in->name, strerror((int)-n));
		goto out;
	}
	in->nhead = (size_t)n;
	*out = in;
	return 0;
out:
	input__close(in);
	return (int)n;
}

const char *input__name(const struct input *in)
{
	return in->name;
}

bool input__is_table(const struct input *in)
{
	bool gzip = in->nhead == 2 && in->head[0] == 0x1f && in->head[1] == 0x8b;

	return in->nhead && !gzip && in->head[0] != '{';
}

int input__trail(struct input *in, struct frt_trail *out, char *err, size_t errlen)
{
	struct record_source src = { .fd = in->fd, .mem = in->head, .left = in->nhead };

	return trail__read_source(&src, in->name, out, err, errlen);
}

int input__text(struct input *in, char **text, size_t *len, char *err, size_t errlen)
{
	size_t have = in->nhead, cap = 65536;
	char *buf = malloc(cap);
	ssize_t n;

	if (!buf)
		return fail(err, errlen, -ENOMEM, "%s: out of memory", in->name);
	memcpy(buf, in->head, have);
	for (;;) {
		char *more;

		n = read_whole(in->fd, buf + have, cap - have);
		if (n < 0) {
			fail(err, errlen, (int)n, "%s: cannot read: %s", in->name,
			     strerror((int)-n));
			break;
		}
		have += (size_t)n;
		if (have < cap) {
			*text = buf;
			*len = have;
			return 0;
		}
		if (cap >= TABLE_MAX) {
			n = fail(err, errlen, -EFBIG, "%s: above %u MiB, not a table of rates",
				 in->name, TABLE_MAX >> 20);
			break;
		}
		more = realloc(buf, cap * 2);
		if (!more) {
			n = fail(err, errlen, -ENOMEM, "%s: out of memory", in->name);
			break;
		}
		buf = more;
		cap *= 2;
	}
	free(buf);
	return (int)n;
}

void input__close(struct input *in)
{
	if (!in)
		return;
	if (in->fd >= 0)
		close(in->fd);
	free(in);
}

int trail__read(const char *path, struct frt_trail *out, char *err, size_t errlen)
{
	struct input *in;
	int rc = input__open(path, &in, err, errlen);

	memset(out, 0, sizeof(*out));
	if (rc)
		return rc;
	rc = input__trail(in, out, err, errlen);
	input__close(in);
	return rc;
}
