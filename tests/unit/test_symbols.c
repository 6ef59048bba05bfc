// SPDX-License-Identifier: BSD-2-Clause
/* Kernel symbols from kallsyms text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyze/symbols.h"

static struct symbols *table(const char *const *lines)
{
	struct symbols *s = symbols__new();

	assert_non_null(s);
	for (; *lines; lines++)
		assert_true(symbols__add(s, *lines) >= 0);
	symbols__finish(s);
	return s;
}

static void assert_name(const struct symbols *s, uint64_t addr, const char *want)
{
	char buf[128];
	bool known = symbols__name(s, addr, buf, sizeof(buf));

	assert_string_equal(buf, want);
	assert_int_equal(known, strcmp(want, "[unknown]") != 0);
}

static const char *const some[] = {
	"ffffffff81000000 T _stext\n",
	"ffffffff81002000 t copy_tree\n",
	"ffffffff81001000 T setup_net\n", /* the list is not sorted by address */
	"ffffffff81001000 T alias_of_setup_net\n",
	"ffffffff82000000 D init_net\n",
	"ffffffff81003000 t do_exit.cold\n",
	"ffffffffc0000000 t veth_newlink\t[veth]\n",
	"ffffffffc0000800 t veth_setup\t[veth]\n",
	"ffffffffc0100000 t copy_tree [other]\n",
	"0000000000000000 t hidden\n",
	NULL,
};

static void test_names(void **state)
{
	struct symbols *s = table(some);

	(void)state;
	assert_int_equal(symbols__count(s), 8);
	assert_name(s, 0xffffffff81000000, "_stext");
	assert_name(s, 0xffffffff81000fff, "_stext");
	assert_name(s, 0xffffffff81001000, "setup_net");
	assert_name(s, 0xffffffff81001fff, "setup_net");
	assert_name(s, 0xffffffff81002004, "copy_tree");
	assert_name(s, 0xffffffff81003001, "do_exit.cold");
	assert_name(s, 0xffffffffc00007ff, "veth_newlink [veth]");
	assert_name(s, 0xffffffffc0000800, "veth_setup [veth]");
	assert_name(s, 0xffffffffc0100010, "copy_tree [other]");
	symbols__free(s);
}

static void test_outside(void **state)
{
	struct symbols *s = table(some);

	(void)state;
	assert_name(s, 0, "[unknown]");
	assert_name(s, 0xffffffff80ffffff, "[unknown]");
	/* Data is no function, and code does not reach that far. */
	assert_name(s, 0xffffffff82000000, "[unknown]");
	assert_name(s, 0xffffffffffffffff, "[unknown]");
	symbols__free(s);
}

static void test_empty(void **state)
{
	struct symbols *s = symbols__new();

	(void)state;
	symbols__finish(s);
	assert_name(s, 0xffffffff81000000, "[unknown]");
	assert_int_equal(symbols__find(s, "setup_net", NULL, 0), 0);
	symbols__free(s);
}

/* As an unprivileged reader sees the file: every address 0. */
static void test_hidden(void **state)
{
	struct symbols *s = symbols__new();

	(void)state;
	assert_int_equal(symbols__add(s, "0000000000000000 T setup_net"), 0);
	symbols__finish(s);
	assert_int_equal(symbols__count(s), 0);
	assert_name(s, 0x1000, "[unknown]");
	symbols__free(s);
}

static void test_malformed(void **state)
{
	static const char *const bad[] = {
		"",
		"\n",
		"setup_net",
		"ffffffff81000000",
		"ffffffff81000000 T",
		"ffffffff81000000 T ",
		"ffffffff81000000 TT setup_net",
		"ffffffff81000000T setup_net",
		"fffffffff81000000 T too_long",
		"ffffffff81000000 T setup_net [veth",
		"ffffffff81000000 T setup_net []",
		"ffffffff81000000 T setup_net veth",
		"-1 T setup_net",
	};
	struct symbols *s = symbols__new();

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(symbols__add(s, bad[i]), -EINVAL);
	assert_int_equal(symbols__count(s), 0);
	assert_int_equal(symbols__add(s, "1000 w weak_one"), 1);
	symbols__finish(s);
	assert_name(s, 0x1000, "weak_one");
	symbols__free(s);
}

static void test_find(void **state)
{
	struct symbols *s = table(some);
	uint64_t v[2] = { 0, 0 };

	(void)state;
	assert_int_equal(symbols__find(s, "copy_tree", v, 2), 2);
	assert_true(v[0] == 0xffffffff81002000 && v[1] == 0xffffffffc0100000);
	v[1] = 7;
	assert_int_equal(symbols__find(s, "copy_tree", v, 1), 2);
	assert_true(v[1] == 7);
	assert_int_equal(symbols__find(s, "copy", v, 2), 0);
	symbols__free(s);
}

static void test_bounded(void **state)
{
	struct symbols *s = table(some);
	char buf[8];

	(void)state;
	assert_true(symbols__name(s, 0xffffffffc0000000, buf, sizeof(buf)));
	assert_string_equal(buf, "veth_ne");
	symbols__free(s);
}

static void test_many(void **state)
{
	struct symbols *s = symbols__new();
	char line[64], want[32];

	(void)state;
	for (unsigned i = 0; i < 130000; i++) {
		/* every second, downwards and upwards */
		unsigned k = i % 2 ? i : 130000 - i;

		snprintf(line, sizeof(line), "%016llx t f%u", 0xffffffff81000000ULL + k * 64ULL, k);
		assert_int_equal(symbols__add(s, line), 1);
	}
	symbols__finish(s);
	for (unsigned k = 1; k < 130000; k += 997) {
		snprintf(want, sizeof(want), "f%u", k);
		assert_name(s, 0xffffffff81000000ULL + k * 64ULL + 63, want);
	}
	symbols__free(s);
}

static void test_fold(void **state)
{
	static const struct {
		const char *name, *want;
	} v[] = {
		{ "copy_tree", "copy_tree" },
		{ "copy_tree.isra.0", "copy_tree" },
		{ "copy_tree.isra.0.cold", "copy_tree" },
		{ "copy_tree.constprop.12.isra.3 [veth]", "copy_tree [veth]" },
		{ "copy_tree.part.0", "copy_tree" },
		{ "copy_tree.cold", "copy_tree" },
		{ "copy_tree.cold.4", "copy_tree" },
		{ "copy_tree.llvm.1234567890", "copy_tree" },
		{ "copy_tree.isra", "copy_tree" },
		/* not what a compiler adds */
		{ "copy.partly.0", "copy.partly.0" },
		{ "icmp_out_count.data", "icmp_out_count.data" },
		{ "x.colder", "x.colder" },
		{ "", "" },
	};
	char buf[64];

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		assert_string_equal(symbols__fold(buf, sizeof(buf), v[i].name), v[i].want);
	strcpy(buf, "do_exit.isra.0");
	assert_string_equal(symbols__fold(buf, sizeof(buf), buf), "do_exit");
	assert_string_equal(symbols__fold(buf, 4, "do_exit.isra.0"), "do_");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	  cmocka_unit_test(test_outside),
		cmocka_unit_test(test_empty),	  cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_malformed), cmocka_unit_test(test_find),
		cmocka_unit_test(test_bounded),	  cmocka_unit_test(test_many),
		cmocka_unit_test(test_fold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
