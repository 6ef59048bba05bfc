/* SPDX-License-Identifier: BSD-2-Clause */
/* Text of others on its way out: what a terminal or a spreadsheet gets to
 * see of it. */
#include "report/emit.h"
#include "util/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void shows(const char *s, const char *want)
{
	char buf[128];

	assert_string_equal(printable(buf, sizeof(buf), s), want);
}

static void control_bytes(void **state)
{
	(void)state;
	shows("plain … ü 漢 🙂", "plain … ü 漢 🙂");
	shows("\033[31m\n\x7f", "\\x1b[31m\\x0a\\x7f");
	shows("\xff\xc3", "\\xff\\xc3");
	shows("\xc0\xaf", "\\xc0\\xaf");	  /* overlong */
	shows("\xed\xa0\x80", "\\xed\\xa0\\x80"); /* a surrogate */
	shows("\xc2\x85", "\\xc2\\x85");	  /* C1 */
}

/* Every one that turns text round, and its neighbours, which do not. */
static void direction(void **state)
{
	static const struct {
		unsigned from, to;
	} turn[] = { { 0x61c, 0x61c }, { 0x200e, 0x200f }, { 0x202a, 0x202e }, { 0x2066, 0x2069 } };

	(void)state;
	for (unsigned c = 0x600; c < 0x2100; c++) {
		char s[8] = { 0 }, want[8];
		bool turns = false;

		if (c < 0x800) {
			s[0] = (char)(0xc0 | c >> 6);
			s[1] = (char)(0x80 | (c & 0x3f));
		} else {
			s[0] = (char)(0xe0 | c >> 12);
			s[1] = (char)(0x80 | (c >> 6 & 0x3f));
			s[2] = (char)(0x80 | (c & 0x3f));
		}
		for (size_t i = 0; i < ARRAY_SIZE(turn); i++)
			turns |= c >= turn[i].from && c <= turn[i].to;
		snprintf(want, sizeof(want), "\\u%04x", c);
		shows(s, turns ? want : s);
	}
	shows("a\xe2\x80\xae"
	      "b",
	      "a\\u202eb");
}

static void bounded(void **state)
{
	char buf[16];

	(void)state;
	for (size_t size = 0; size <= 8; size++) {
		memset(buf, '#', sizeof(buf));
		printable(buf, size,
			  "a\xe2\x80\xae"
			  "b");
		if (size)
			assert_in_range(strlen(buf), 0, size - 1);
		assert_int_equal(buf[size], '#');
		/* whole or not at all */
		if (size > 1)
			assert_string_equal(buf, size < 8 ? "a" : "a\\u202e");
	}
}

static void in_csv(const char *s, const char *want)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	emit_csv(f, s);
	fclose(f);
	assert_string_equal(text, want);
	free(text);
}

static void formulas(void **state)
{
	(void)state;
	in_csv("", "");
	in_csv("exec", "exec");
	in_csv("a=b+c-d@e", "a=b+c-d@e");
	in_csv("=1+1", "'=1+1");
	in_csv("+1", "'+1");
	in_csv("-1", "'-1");
	in_csv("@SUM(A1)", "'@SUM(A1)");
	in_csv("=HYPERLINK(\"x\",1)", "\"'=HYPERLINK(\"\"x\"\",1)\"");
	in_csv("a,\"b\"", "\"a,\"\"b\"\"\"");
	/* what would hide the sign is seen */
	in_csv("\t=1", "\\x09=1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(control_bytes),
		cmocka_unit_test(direction),
		cmocka_unit_test(bounded),
		cmocka_unit_test(formulas),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
