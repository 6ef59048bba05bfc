/* SPDX-License-Identifier: BSD-2-Clause */
/* Records and tables from files and pipes: told apart without losing a byte. */
#include "record/input.h"
#include "record/record.h"
#include "record_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TABLE "from,to,a\n0,250,7.5\n"

static char err[512];

/* Gives data to whoever reads the pipe, its first bytes one by one. */
struct feed {
	const char *path;
	const void *data;
	size_t n;
};

static void *feed_main(void *arg)
{
	const struct feed *d = arg;
	FILE *f = fopen(d->path, "w");

	for (size_t i = 0; f && i < d->n; i++) {
		putc(((const char *)d->data)[i], f);
		if (i < 3) {
			fflush(f);
			usleep(2000);
		}
	}
	if (f)
		fclose(f);
	return NULL;
}

static struct input *open_fifo(struct feed *d, pthread_t *thread)
{
	static char path[128];
	struct input *in;

	snprintf(path, sizeof(path), "%s", in_dir("pipe"));
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	d->path = path;
	assert_int_equal(pthread_create(thread, NULL, feed_main, d), 0);
	assert_int_equal(input__open(path, &in, err, sizeof(err)), 0);
	return in;
}

static void table_from_a_pipe(void **state)
{
	struct feed d = { .data = TABLE, .n = strlen(TABLE) };
	char *text = NULL;
	size_t len = 0;
	pthread_t t;
	struct input *in = open_fifo(&d, &t);

	(void)state;
	assert_true(input__is_table(in));
	assert_int_equal(input__text(in, &text, &len, err, sizeof(err)), 0);
	pthread_join(t, NULL);
	assert_int_equal(len, strlen(TABLE));
	assert_memory_equal(text, TABLE, len);
	free(text);
	input__close(in);
}

static void put_record(const char *path)
{
	struct frt_dead dead = { .task = 7, .t = 1 };
	struct record_writer *w;
	json_t *h = json_object();

	unlink(path);
	assert_int_equal(record__create(path, -1, -1, &w), 0);
	assert_int_equal(record__header(w, h), 0);
	assert_int_equal(record__put(w, FRT_REC_DEAD, &dead), 0);
	assert_int_equal(record__finish(w, NULL), 0);
	record__free(w);
	json_decref(h);
}

static void record_from_a_pipe(void **state)
{
	struct frt_trail trail;
	struct feed d = { 0 };
	struct input *in;
	pthread_t t;

	(void)state;
	put_record(in_dir("r.frt"));
	d.data = get_file(in_dir("r.frt"), &d.n);
	in = open_fifo(&d, &t);
	assert_false(input__is_table(in));
	assert_int_equal(input__trail(in, &trail, err, sizeof(err)), 0);
	pthread_join(t, NULL);
	assert_int_equal(trail.dead.n, 1);
	assert_int_equal(trail.dead.v[0].task, 7);
	trail__free(&trail);
	input__close(in);
	free((void *)d.data);
}

static void standard_input(void **state)
{
	int was = dup(0);
	char *text = NULL;
	struct input *in;
	size_t len;

	(void)state;
	put_file(in_dir("t.csv"), TABLE, strlen(TABLE));
	assert_non_null(freopen(in_dir("t.csv"), "r", stdin));
	assert_int_equal(input__open("-", &in, err, sizeof(err)), 0);
	assert_string_equal(input__name(in), "standard input");
	assert_true(input__is_table(in));
	assert_int_equal(input__text(in, &text, &len, err, sizeof(err)), 0);
	assert_int_equal(len, strlen(TABLE));
	free(text);
	input__close(in);
	dup2(was, 0);
	close(was);
}

static void kind(const char *data, size_t n, bool table)
{
	struct input *in;

	put_file(in_dir("kind"), data, n);
	assert_int_equal(input__open(in_dir("kind"), &in, err, sizeof(err)), 0);
	assert_int_equal(input__is_table(in), table);
	input__close(in);
}

static void kinds(void **state)
{
	(void)state;
	kind("", 0, false);
	kind("x", 1, true);
	kind("\x1f", 1, true);
	kind("\x1f\x8b", 2, false);
	kind("{", 1, false);
	kind("# remark\n", 9, true);
}

static void errors(void **state)
{
	struct frt_trail t;
	char *text = NULL;
	struct input *in;
	size_t len;

	(void)state;
	assert_int_equal(input__open(in_dir("none\n"), &in, err, sizeof(err)), -ENOENT);
	assert_non_null(strstr(err, "none\\x0a: cannot open: No such file"));
	assert_int_equal(input__open(record_dir, &in, err, sizeof(err)), -EISDIR);
	assert_int_equal(trail__read(in_dir("none"), &t, err, sizeof(err)), -ENOENT);
	/* opens, and then cannot be read */
	assert_int_equal(input__open("/proc/self/mem", &in, err, sizeof(err)), -EIO);
	assert_non_null(strstr(err, "cannot read"));
	/* far too large, and mostly a hole */
	put_file(in_dir("huge"), "x", 1);
	assert_int_equal(truncate(in_dir("huge"), 65 << 20), 0);
	assert_int_equal(input__open(in_dir("huge"), &in, err, sizeof(err)), 0);
	assert_int_equal(input__text(in, &text, &len, err, sizeof(err)), -EFBIG);
	assert_null(text);
	input__close(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_from_a_pipe),
		cmocka_unit_test(record_from_a_pipe),
		cmocka_unit_test(standard_input),
		cmocka_unit_test(kinds),
		cmocka_unit_test(errors),
	};

	return cmocka_run_group_tests(tests, record_help__setup, record_help__teardown);
}
