/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of /proc/kallsyms. */
#include "env/kallsyms.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct kallsym parsed(const char *text, bool ok)
{
	static char line[2048];
	struct kallsym s = { 0 };

	snprintf(line, sizeof(line), "%s", text);
	assert_int_equal(kallsyms__parse(line, &s), ok);
	assert_string_equal(line, text); /* and is still whole */
	return s;
}

static void lines(void **state)
{
	struct kallsym s = parsed("ffffffff81000000 T _text\n", true);

	(void)state;
	assert_int_equal(s.addr, 0xffffffff81000000);
	assert_int_equal(s.type, 'T');
	assert_string_equal(s.name, "_text");
	assert_string_equal(s.module, "");
	s = parsed("ffffffffc0a1b2c3 t veth_newlink\t[veth]\n", true);
	assert_string_equal(s.name, "veth_newlink");
	assert_string_equal(s.module, "veth");
	s = parsed("0000000000000000 D init_net", true);
	assert_int_equal(s.addr, 0);
	assert_string_equal(s.name, "init_net");
	s = parsed("ffffffff81000010 t foo.constprop.0.isra.0\n", true);
	assert_string_equal(s.name, "foo.constprop.0.isra.0");
}

static void no_lines(void **state)
{
	(void)state;
	parsed("", false);
	parsed("\n", false);
	parsed("zz T x\n", false);
	parsed("ffff\n", false);
	parsed("ffff T", false);
	parsed("ffff T \n", false);
	parsed("ffff TT x\n", false);
}

/* A name as long as the kernel's longest fits, one beyond it is cut. */
static void long_names(void **state)
{
	char text[2048] = "ffff t ";
	struct kallsym s;

	(void)state;
	memset(text + 7, 'n', 511);
	strcpy(text + 7 + 511, "\t[m]\n");
	s = parsed(text, true);
	assert_int_equal(strlen(s.name), 511);
	assert_string_equal(s.module, "m");
	memset(text + 7, 'n', 900);
	strcpy(text + 7 + 900, "\t[");
	memset(text + 7 + 902, 'm', 200);
	strcpy(text + 7 + 902 + 200, "]\n");
	s = parsed(text, true);
	assert_int_equal(strlen(s.name), sizeof(s.name) - 1);
	assert_int_equal(strlen(s.module), sizeof(s.module) - 1);
}

static void of_this_kernel(void **state)
{
	struct kallsyms *k = kallsyms__open();
	struct kallsym s;
	unsigned n = 0;

	(void)state;
	if (!k) {
		puts("/proc/kallsyms cannot be read here");
		skip();
	}
	while (kallsyms__next(k, &s))
		n++;
	kallsyms__close(k);
	assert_in_range(n, 1000, 10000000);
	assert_false(kallsyms__next(NULL, &s));
	kallsyms__close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),
		cmocka_unit_test(no_lines),
		cmocka_unit_test(long_names),
		cmocka_unit_test(of_this_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
