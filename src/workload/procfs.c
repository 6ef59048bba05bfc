/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int parse_cpu_ticks(const char *text, struct cpu_ticks *out)
{
	uint64_t v[8] = { 0 };
	int n;

	if (strncmp(text, "cpu ", 4))
		return -EINVAL;
	n = sscanf(text + 4,
		   "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64,
		   &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]);
	if (n < 4)
		return -EINVAL;
	out->busy = v[0] + v[1] + v[2] + v[5] + v[6];
	out->steal = v[7];
	out->total = out->busy + v[3] + v[4] + v[7];
	return 0;
}

int read_cpu_ticks(struct cpu_ticks *out)
{
	char buf[512];
	int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n <= 0)
		return -EIO;
	buf[n] = '\0';
	return parse_cpu_ticks(buf, out);
}

uint64_t steal_ns(void)
{
	struct cpu_ticks t;
	long hz = sysconf(_SC_CLK_TCK);

	if (hz <= 0 || read_cpu_ticks(&t))
		return 0;
	return t.steal * (1000000000u / (uint64_t)hz);
}

int64_t parse_meminfo(const char *text, const char *key)
{
	size_t n = strlen(key);

	for (const char *p = text; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
		long long v;

		if (!strncmp(p, key, n) && p[n] == ':')
			return sscanf(p + n + 1, "%lld", &v) == 1 ? v : -1;
	}
	return -1;
}

/* mountinfo writes blanks, tabs, newlines and backslashes as \ooo. */
static int unescape(char *dst, size_t size, const char *s, size_t n)
{
	size_t j = 0;

	for (size_t i = 0; i < n; i++) {
		char c = s[i];

		if (c == '\\' && i + 3 < n && s[i + 1] >= '0' && s[i + 1] <= '3') {
			c = (char)((s[i + 1] - '0') << 6 | (s[i + 2] - '0') << 3 |
				   (s[i + 3] - '0'));
			i += 3;
		}
		if (j + 1 >= size)
			return -E2BIG;
		dst[j++] = c;
	}
	dst[j] = '\0';
	return 0;
}

int parse_mountinfo(const char *line, struct mount_line *out)
{
	const char *p = line, *sep;
	size_t n;
	int off = 0, rc;

	memset(out, 0, sizeof(*out));
	if (sscanf(p, "%*d %*d %u:%u %n", &out->major, &out->minor, &off) != 2 || !off)
		return -EINVAL;
	p += off;
	n = strcspn(p, " \n");
	rc = unescape(out->root, sizeof(out->root), p, n);
	if (rc || p[n] != ' ')
		return rc ? rc : -EINVAL;
	p += n + 1;
	n = strcspn(p, " \n");
	rc = unescape(out->point, sizeof(out->point), p, n);
	if (rc || p[n] != ' ')
		return rc ? rc : -EINVAL;
	p += n;
	sep = strstr(p, " - ");
	if (!sep)
		return -EINVAL;
	n = (size_t)(sep - p);
	out->shared = memmem(p, n, " shared:", 8) != NULL;
	sep += 3;
	n = strcspn(sep, " \n");
	return unescape(out->type, sizeof(out->type), sep, n);
}

uint64_t parse_ns_root(const char *root)
{
	uint64_t ino;
	char end;

	if (sscanf(root, "net:[%" SCNu64 "%c", &ino, &end) != 2 || end != ']')
		return 0;
	return ino;
}

char *read_file(const char *path, size_t *len)
{
	size_t n = 0, cap = 65536;
	char *buf = malloc(cap);
	int fd, err = 0;

	fd = buf ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0) {
		err = errno;
		free(buf);
		errno = err;
		return NULL;
	}
	for (;;) {
		ssize_t got;

		if (cap - n < 4096) {
			char *more = realloc(buf, cap * 2);

			if (!more) {
				err = ENOMEM;
				break;
			}
			buf = more;
			cap *= 2;
		}
		got = read(fd, buf + n, cap - n - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			err = errno;
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	close(fd);
	if (err) {
		free(buf);
		errno = err;
		return NULL;
	}
	buf[n] = '\0';
	if (len)
		*len = n;
	return buf;
}

uint64_t count_lines(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t n = 0;
	char buf[16384];
	ssize_t got;

	while (fd >= 0 && (got = read(fd, buf, sizeof(buf))) > 0)
		for (ssize_t i = 0; i < got; i++)
			n += buf[i] == '\n';
	if (fd >= 0)
		close(fd);
	return n;
}

int64_t read_number(const char *path)
{
	char buf[64], *end;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;
	long long v;

	if (fd < 0)
		return -1;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n <= 0)
		return -1;
	buf[n] = '\0';
	errno = 0;
	v = strtoll(buf, &end, 10);
	return end == buf || errno ? -1 : v;
}
