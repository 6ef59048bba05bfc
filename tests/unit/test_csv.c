/* SPDX-License-Identifier: BSD-2-Clause */
/* The reader of rate tables: what the 2014 files hold, and one clear line for
 * everything that is not such a table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/csv.h"

#ifndef FRT_DATA
#define FRT_DATA "data"
#endif

static char err[256];

static int parse(const char *text, struct csv_table *t)
{
	err[0] = '\0';
	return csv__parse(text, strlen(text), "t.csv", t, err, sizeof(err));
}

static void parse_file(const char *path, struct csv_table *t)
{
	static char text[65536];
	FILE *f = fopen(path, "r");
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, sizeof(text), f);
	fclose(f);
	assert_int_equal(csv__parse(text, n, path, t, err, sizeof(err)), 0);
}

/* The text is refused and the error holds every piece named (NULL ends). */
static void refused(const char *text, ...)
{
	struct csv_table t;
	const char *piece;
	va_list ap;

	assert_int_equal(parse(text, &t), -EINVAL);
	assert_null(t.arena);
	assert_null(strchr(err, '\n'));
	assert_non_null(strstr(err, "t.csv"));
	va_start(ap, text);
	while ((piece = va_arg(ap, const char *)))
		if (!strstr(err, piece))
			fail_msg("\"%s\" is not in: %s", piece, err);
	va_end(ap);
}

static void test_rates_2014(void **state)
{
	struct csv_table t;

	(void)state;
	parse_file(FRT_DATA "/rates-2014.csv", &t);
	assert_int_equal(t.layout, CSV_RATES);
	assert_int_equal(t.ncols, 3);
	assert_int_equal(t.nrows, 16);
	assert_string_equal(t.label[0], "3.5.0-44+");
	assert_string_equal(t.label[2], "3.13.0");
	assert_true(t.from[0] == 0 && t.to[0] == 250);
	assert_true(t.from[15] == 3750 && t.to[15] == 4000);
	/* exactly what strtod makes of the same digits */
	assert_true(t.value[0] == 7.58);
	assert_true(t.value[15 * 3 + 1] == 2.48);
	assert_true(t.value[15 * 3 + 2] == 1.87);
	csv__free(&t);
}

static void test_streams_2014(void **state)
{
	struct csv_table t;

	(void)state;
	parse_file(FRT_DATA "/streams-2014.csv", &t);
	assert_int_equal(t.layout, CSV_STREAMS);
	assert_int_equal(t.ncols, 5);
	assert_int_equal(t.nrows, 24);
	assert_string_equal(t.label[0], "3.5.0-44+ 4streams");
	assert_true(t.from[1] == 30 && isnan(t.to[1]));
	assert_true(t.value[1 * 5 + 3] == 1357);
	/* "210,,2347,3359,3830,3542": no reading of the first, not a zero */
	assert_true(t.from[7] == 210 && isnan(t.value[7 * 5]) && t.value[7 * 5 + 1] == 2347);
	/* "330,,,,,": a row without any reading is a row */
	assert_true(t.from[14] == 330 && isnan(t.value[14 * 5 + 4]));
	csv__free(&t);
}

static void test_what_spreadsheets_write(void **state)
{
	struct csv_table t;

	(void)state;
	assert_int_equal(parse("\xef\xbb\xbf"
			       "From,To,\"a, \"\"b\"\"\"\r\n"
			       "\r\n"
			       "0, 250 ,\"1.5\"\r\n"
			       "# in between\r\n"
			       "500,750,.25",
			       &t),
			 0);
	assert_int_equal(t.nrows, 2);
	assert_string_equal(t.label[0], "a, \"b\"");
	assert_true(t.to[0] == 250 && t.value[0] == 1.5 && t.value[1] == 0.25);
	csv__free(&t);
}

static void test_not_a_table(void **state)
{
	(void)state;
	refused("", "no header", NULL);
	refused("# only a remark\n\n", "no header", NULL);
	refused("from,to,a\n", "no rows", NULL);
	refused("Time,a\n# nothing\n", "no rows", NULL);
	refused("a,b,c\n1,2,3\n", ":1:", "'a'", "from,to", NULL);
	refused("from,till,a\n1,2,3\n", ":1:", NULL);
	refused("from;to;a\n0;250;1\n", ":1:", "semicolons", "commas", NULL);
	refused("Time\ta\n0\t1\n", ":1:", "tabs", NULL);
	refused("from|to|a\n0|250|1\n", ":1:", "vertical bars", NULL);
	refused("from,to\n0,250\n", ":1:", "no column", NULL);
	refused("Time\n0\n", ":1:", "no column", NULL);
	refused("from,to,a,\n0,250,1,1\n", ":1:", "column 4 has no name", NULL);
	refused("from,to,a,a\n0,250,1,1\n", ":1:", "two columns", "'a'", NULL);
}

static void test_rows_that_are_wrong(void **state)
{
	(void)state;
	refused("# r\nfrom,to,a,b\n0,250,1.0,2.0\n250,500,1.0\n", ":4:", "3 fields", "has 4", "'b'",
		NULL);
	refused("from,to,a\n0,250,1,2\n", ":2:", "4 fields", "has 3", NULL);
	refused("from,to,a\n0,250,fast\n", ":2:", "'fast'", "'a'", "not a number", NULL);
	refused("from,to,a\n0,x,1\n", ":2:", "'x'", "'to'", NULL);
	refused("from,to,a\n,250,1\n", ":2:", "'from' is empty", NULL);
	refused("Time,a\n,1\n", ":2:", "'Time' is empty", NULL);
	refused("from,to,a\n0,250,\"7,58\"\n", ":2:", "'7,58'", "not a number", NULL);
	refused("from,to,a\n0;250;1\n", ":2:", "1 field,", NULL);
	for (size_t i = 0; i < 9; i++) {
		static const char *const no[] = { "nan",   "inf", "0x10",
						  "1e3",   "-1",  "+1",
						  "1.2.3", ".",	  "1234567890123456789" };
		char text[80];

		snprintf(text, sizeof(text), "from,to,a\n0,250,%s\n", no[i]);
		refused(text, ":2:", no[i], "not a number", NULL);
	}
	refused("from,to,a\n250,250,1\n", ":2:", "empty or runs backwards", NULL);
	refused("from,to,a\n0,250,1\n200,500,1\n", ":3:", "lies in the row before", NULL);
	refused("from,to,a\n0,250.5,1\n", ":2:", "whole numbers", NULL);
	refused("from,to,a\n0,250,0\n", ":2:", "no cost", NULL);
	refused("Time,a\n0,0\n30,10\n30,20\n", ":4:", "does not come after", NULL);
	refused("Time,a\n0,5\n30,4\n", ":3:", "falls from 5 to 4", NULL);
	refused("Time,a\n0,0.5\n", ":2:", "whole number", NULL);
	refused("from,to,a,b\n0,250,1,\n250,500,1,\n", "'b' has no reading", NULL);
	refused("from,to,a\n0,250,\"1\n", ":2:", "quoted", NULL);
	refused("from,to,a\n0,250,\"1\"2\n", ":2:", "closing quote", NULL);
}

/* Bytes that are no text come out escaped, never raw on a terminal. */
static void test_hostile_bytes(void **state)
{
	static const char nul[] = "from,to,a\n0,2\0 50,1\n";
	struct csv_table t;

	(void)state;
	refused("from,to,a\n0,250,\x1b[31m\n", "\\x1b[31m", NULL);
	refused("\x1f\x8b\x08\n", "\\x1f\\x8b", NULL);
	assert_int_equal(csv__parse(nul, sizeof(nul) - 1, "t.csv", &t, err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, ":2: a NUL byte"));
}

/* Every prefix of a good table is read or refused, none crashes (run under the
 * sanitizers, too). */
static void test_every_prefix(void **state)
{
	static const char text[] = "# r\nTime,\"a\",b\n0,0,0\n30,1,\n60,,\"7\"\n";

	(void)state;
	for (size_t n = 0; n < sizeof(text); n++) {
		char copy[sizeof(text)];
		struct csv_table t;
		int rc;

		memcpy(copy, text, n);
		rc = csv__parse(copy, n, "t.csv", &t, err, sizeof(err));
		assert_true(rc == 0 || rc == -EINVAL);
		csv__free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rates_2014),
		cmocka_unit_test(test_streams_2014),
		cmocka_unit_test(test_what_spreadsheets_write),
		cmocka_unit_test(test_not_a_table),
		cmocka_unit_test(test_rows_that_are_wrong),
		cmocka_unit_test(test_hostile_bytes),
		cmocka_unit_test(test_every_prefix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
