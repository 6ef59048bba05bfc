/* SPDX-License-Identifier: BSD-2-Clause */
#include "record_help.h"
#include "record/source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char record_dir[64];

int record_help__setup(void **state)
{
	(void)state;
	snprintf(record_dir, sizeof(record_dir), "/tmp/frtrace-record-XXXXXX");
	return mkdtemp(record_dir) ? 0 : -1;
}

int record_help__teardown(void **state)
{
	char cmd[100];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", record_dir);
	return system(cmd);
}

const char *in_dir(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", record_dir, name);
	return path;
}

void put_file(const char *path, const void *data, size_t n)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

char *get_file(const char *path, size_t *n)
{
	FILE *f = fopen(path, "r");
	char *data = malloc(1 << 20);

	assert_non_null(f);
	*n = fread(data, 1, 1 << 20, f);
	fclose(f);
	return data;
}

static uint64_t random_state = 88172645463325252ull;

uint64_t random_u64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

int read_bytes(const void *data, size_t n, struct frt_trail *t, char *err, size_t errlen)
{
	struct record_source src = { .fd = -1, .mem = data, .left = n };

	return trail__read_source(&src, "x.frt", t, err, errlen);
}

int read_text(const char *text, struct frt_trail *t, char *err, size_t errlen)
{
	return read_bytes(text, strlen(text), t, err, errlen);
}
