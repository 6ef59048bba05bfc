/* SPDX-License-Identifier: BSD-2-Clause */
/* The screen of --live: every call is counted in a row, whatever their number. */
#include "cmd/live.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

static unsigned height = 40;

static char *drawn(uint64_t existing, double s)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	draw(f, existing, s, height);
	fclose(f);
	return text;
}

static unsigned lines_of(const char *text)
{
	unsigned n = 0;

	while ((text = strstr(text, "\033[2K"))) {
		text++;
		n++;
	}
	return n;
}

static void starts(const char *text, const char *with)
{
	assert_true(strlen(text) >= strlen(with));
	assert_memory_equal(text, with, strlen(with));
}

/* The table is taken away, and the screen is the command's again. */
static void ends(const char *want)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	give_back(f);
	fclose(f);
	assert_string_equal(text, want);
	free(text);
	live__end();
}

static void named_rows(void **state)
{
	char *text;

	(void)state;
	for (int i = 0; i < 3; i++)
		count("add", 2000000);
	count("exec", 500000);
	text = drawn(12, 2);
	assert_non_null(strstr(text, "12 existing"));
	assert_non_null(strstr(text, "add                               3        1.5      2.000"));
	assert_null(strstr(text, "other"));
	assert_int_equal(lines_of(text), 4);
	/* room is made for four lines, which are the last ones; the cursor stays */
	starts(text, "\033D\033D\033D\033D\033[4A\0337\033[1;36r\0338\0337");
	assert_non_null(strstr(text, "\033[37;1H\033[2K12 existing"));
	assert_non_null(strstr(text, "\033[40;1H\033[2Kexec "));
	assert_string_equal(text + strlen(text) - 2, "\0338");
	free(text);
	/* the rate is since the last time, n and the mean are of all */
	count("add", 2000000);
	text = drawn(13, 2);
	assert_non_null(strstr(text, "add                               4        0.5      2.000"));
	/* there is room already; a new row needs one line more */
	starts(text, "\0337\033[?7l\033[37;1H");
	free(text);
	count("veth", 1000000);
	text = drawn(13, 1);
	starts(text, "\033D\033[1A\0337\033[1;35r\0338");
	free(text);
	/* the window was made smaller: all lines again, the command keeps some */
	height = 8;
	text = drawn(13, 1);
	starts(text,
	       "\0337\033[r\033[36;1H\033[J\0338\033D\033D\033D\033D\033[4A\0337\033[1;4r\0338");
	assert_int_equal(lines_of(text), 4);
	assert_null(strstr(text, "veth"));
	free(text);
	ends("\0337\033[r\033[5;1H\033[J\0338");
	height = 40;
}

/* The rows that have a name keep their own figures when there are more names. */
static void more_names_than_rows(void **state)
{
	static char name[ROWS + 3][16];
	uint64_t sum = 0;
	char *text;

	(void)state;
	for (int i = 0; i < ROWS + 3; i++) {
		snprintf(name[i], sizeof(name[i]), "step%02d", i);
		count(name[i], 1000000);
	}
	count(name[ROWS + 1], 5000000);
	count(name[ROWS - 1], 1000000);
	assert_int_equal(live.row[ROWS - 1].n, 2);
	assert_string_equal(live.row[ROWS - 1].name, name[ROWS - 1]);
	for (int i = 0; i <= ROWS; i++)
		sum += live.row[i].n;
	assert_int_equal(sum, ROWS + 5);
	text = drawn(0, 0);
	/* three of one name each and one of 5 ms */
	assert_non_null(strstr(text, "other                             4        0.0      2.000"));
	assert_int_equal(lines_of(text), 2 + ROWS + 1);
	assert_int_equal(live.lines, 2 + ROWS + 1);
	free(text);
	ends("\0337\033[r\033[14;1H\033[J\0338");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(named_rows),
		cmocka_unit_test(more_names_than_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
