/* SPDX-License-Identifier: BSD-2-Clause */
/* What is said on stderr: whole lines from any thread, and a bar whose figures are
 * of this world. */
#include "cmd/cli.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>

#define THREADS 6
#define LINES 200

static int real_stderr;
static char path[] = "/tmp/frtrace-test-XXXXXX";

static int set_up(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	real_stderr = dup(STDERR_FILENO);
	return fd < 0 || dup2(fd, STDERR_FILENO) < 0 || close(fd);
}

static int tear_down(void **state)
{
	(void)state;
	fflush(stderr);
	dup2(real_stderr, STDERR_FILENO);
	close(real_stderr);
	return unlink(path);
}

/* All that was said since forget(). */
static FILE *said(void)
{
	FILE *f = fopen(path, "r");

	fflush(stderr);
	assert_non_null(f);
	return f;
}

static void forget(void)
{
	fflush(stderr);
	assert_int_equal(ftruncate(STDERR_FILENO, 0), 0);
	lseek(STDERR_FILENO, 0, SEEK_SET);
}

static void *talk(void *arg)
{
	unsigned id = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < LINES; i++) {
		cli__error(CLI_FAILED, "thread %u says number %u, and all of it", id, i);
		pthread_mutex_lock(&saying);
		show_progress("creating", i, LINES, now_ns(), true);
		pthread_mutex_unlock(&saying);
	}
	return NULL;
}

/* Each line is one error, whole, whatever the others draw meanwhile. */
static void whole_lines(void **state)
{
	pthread_t t[THREADS];
	unsigned seen[THREADS] = { 0 };
	char line[4096];
	FILE *f;

	(void)state;
	forget();
	cli__errors_as_json(true);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, talk, (void *)i), 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	cli__progress_end();
	cli__errors_as_json(false);
	f = said();
	while (fgets(line, sizeof(line), f)) {
		/* a bar is overwritten: what counts is behind the last carriage return */
		const char *last = strrchr(line, '\r'), *s = last ? last + 1 : line;
		unsigned id, i;
		char text[128];
		json_t *o;

		s += strncmp(s, "\033[K", 3) ? 0 : 3;
		if (!*s)
			continue; /* the last bar's end */
		o = json_loads(s, 0, NULL);
		assert_non_null(o);
		assert_int_equal(json_integer_value(json_object_get(o, "status")), CLI_FAILED);
		assert_int_equal(sscanf(json_string_value(json_object_get(o, "error")),
					"thread %u says number %u, and %127[^\n]", &id, &i, text),
				 3);
		assert_string_equal(text, "all of it");
		assert_in_range(id, 0, THREADS - 1);
		assert_int_equal(i, seen[id]++);
		json_decref(o);
	}
	fclose(f);
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(seen[i], LINES);
}

static void bar(uint64_t done, uint64_t total, const char *want)
{
	static char text[4096];
	uint64_t t = now_ns();
	size_t n;
	FILE *f;

	forget();
	progress.what[0] = '\0';
	show_progress("work", 0, total, t, true);
	show_progress("work", done, total, t + 1000000000ull, true);
	f = said();
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	if (!strstr(text, want))
		fail_msg("'%s' is not in '%s'", want, text);
	cli__progress_end();
}

static void bars(void **state)
{
	(void)state;
	bar(0, 10, "[....................] 0/10");
	bar(5, 10, "[##########..........] 5/10  5/s  1 s left");
	bar(10, 10, "[####################] 10/10  10/s  0 s left");
	/* one more than announced */
	bar(11, 10, "[####################] 10/10  10/s  0 s left");
}

static void worse(void **state)
{
	(void)state;
	assert_int_equal(cli__worse(CLI_FAILED, CLI_INTERRUPTED), CLI_INTERRUPTED);
	assert_int_equal(cli__worse(CLI_LOST, CLI_FAILED), CLI_FAILED);
	assert_int_equal(cli__worse(CLI_UNABLE, CLI_LOST), CLI_LOST);
	assert_int_equal(cli__worse(CLI_OK, CLI_UNABLE), CLI_UNABLE);
	assert_int_equal(cli__worse(CLI_OK, CLI_OK), CLI_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_lines),
		cmocka_unit_test(bars),
		cmocka_unit_test(worse),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
