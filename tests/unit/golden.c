/* SPDX-License-Identifier: BSD-2-Clause */
#include "golden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The directories above path. */
static void make_dirs(const char *path)
{
	char dir[300];

	for (const char *p = strchr(path, '/'); p; p = strchr(p + 1, '/')) {
		snprintf(dir, sizeof(dir), "%.*s", (int)(p - path), path);
		if (mkdir(dir, 0755) && errno != EEXIST)
			fail_msg("%s: %s", dir, strerror(errno));
	}
}

static void update(const char *path, const char *data, size_t n)
{
	FILE *f;

	make_dirs(path);
	f = fopen(path, "w");
	if (!f || fwrite(data, 1, n, f) != n || fclose(f))
		fail_msg("%s: %s", path, strerror(errno));
}

void golden__check(const char *name, const char *data, size_t n)
{
	const char *set = getenv("UPDATE_GOLDEN");
	unsigned line = 1;
	size_t want, i;
	char path[300], *old;
	FILE *f;

	snprintf(path, sizeof(path), "tests/golden/%s", name);
	if (set && strcmp(set, "1") == 0) {
		update(path, data, n);
		return;
	}
	f = fopen(path, "r");
	if (!f)
		fail_msg("%s: %s (UPDATE_GOLDEN=1 writes it)", path, strerror(errno));
	old = malloc(n + 2);
	want = fread(old, 1, n + 1, f);
	fclose(f);
	for (i = 0; i < want && i < n && old[i] == data[i]; i++)
		line += data[i] == '\n';
	if (i == want && i == n) {
		free(old);
		return;
	}
	old[want] = '\0';
	while (i && data[i - 1] != '\n')
		i--;
	fail_msg("%s: line %u is \"%.*s\", was \"%.*s\"", path, line, (int)strcspn(data + i, "\n"),
		 data + i, (int)strcspn(old + i, "\n"), old + i);
}
