/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables where the machine has a UTF-8 locale and where it has none. Which locales
 * there are the test says. */
#include <locale.h>

static enum { ALL, NONE, C_ONLY } locales;
static unsigned asked;

static locale_t some_locale(int mask, const char *name, locale_t base)
{
	asked++;
	return locales == NONE ? (locale_t)0
			       : newlocale(mask, locales == C_ONLY ? "C" : name, base);
}

#define newlocale some_locale
#include "util/utf8.c"
#undef newlocale

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

static void becomes(const char *s, const char *want)
{
	char buf[128];

	snprintf(buf, sizeof(buf), "%s", s);
	assert_ptr_equal(utf8__to_ascii(buf), buf);
	assert_string_equal(buf, want);
}

static void ascii(void **state)
{
	(void)state;
	becomes("", "");
	becomes("plain \\ ~", "plain \\ ~");
	becomes("±95 % × FIRST 2.2–3.4 Δ ms …", "+-95 % x FIRST 2.2-3.4 d ms ~");
	becomes("0 → 4000 ≤ 5 µs · 1", "0 -> 4000 <= 5 us * 1");
	becomes("naïve 漢字 🙂", "na?ve ?? ?");
	becomes("…", "~");
	/* what is cut short or no UTF-8 at all ends, and is ASCII */
	becomes("a\xe2\x80", "a?");
	becomes("\x80\x80z", "?z");
	becomes("\xff", "?");
}

/* Without any locale: said so, and beginning and ending change nothing. */
static void no_locale(void **state)
{
	locale_t before = uselocale((locale_t)0);
	struct utf8 u;

	(void)state;
	locales = NONE;
	asked = 0;
	utf8__begin(&u);
	assert_true(uselocale((locale_t)0) == before);
	utf8__end(&u);
	assert_true(uselocale((locale_t)0) == before);
	assert_in_range(asked, 2, 10);
	assert_false(utf8__available());
	/* the answer is kept */
	asked = 0;
	assert_false(utf8__available());
	assert_int_equal(asked, 0);
}

/* One that is there under every name but has another character set is none. */
static void another_charset(void **state)
{
	locale_t before = uselocale((locale_t)0);
	struct utf8 u;

	(void)state;
	locales = C_ONLY;
	utf8__begin(&u);
	assert_true(uselocale((locale_t)0) == before);
	utf8__end(&u);
}

static void a_locale(void **state)
{
	locale_t before = uselocale((locale_t)0);
	struct utf8 u;

	(void)state;
	locales = ALL;
	utf8__begin(&u);
	if (uselocale((locale_t)0) == before) {
		puts("no UTF-8 locale on this machine");
		skip();
	}
	assert_string_equal(nl_langinfo(CODESET), "UTF-8");
	utf8__end(&u);
	assert_true(uselocale((locale_t)0) == before);
	utf8__end(&u); /* twice is once */
	assert_true(uselocale((locale_t)0) == before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_locale),
		cmocka_unit_test(another_charset),
		cmocka_unit_test(a_locale),
		cmocka_unit_test(ascii),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
