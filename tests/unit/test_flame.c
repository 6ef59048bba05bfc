/* SPDX-License-Identifier: BSD-2-Clause */
/* Names, numbers and merged stacks: what all exporters stand on. */
#include "util/util.h" /* before cmocka, which makes a macro of fail() */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/emit.h"
#include "report/flame.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_emitted(void (*emit)(FILE *f, const char *s), const char *in, const char *want)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	emit(f, in);
	fclose(f);
	assert_string_equal(text, want);
	free(text);
}

static void test_escapes(void **state)
{
	(void)state;
	check_emitted(emit_xml, "a<b>&\"'\x01\xff", "a&lt;b&gt;&amp;&quot;&#39;\\x01\\xff");
	check_emitted(emit_xml, NULL, "");
	check_emitted(emit_json, "a\"\\</script>\n", "\"a\\\"\\\\\\u003c/script>\\\\x0a\"");
	check_emitted(emit_json, NULL, "null");
	check_emitted(emit_csv, "plain", "plain");
	check_emitted(emit_csv, "a,\"b\"", "\"a,\"\"b\"\"\"");
}

static void check_name(const char *in, const char *want)
{
	char buf[EMIT_NAME_MAX + 8];

	assert_string_equal(clean_name(buf, in), want);
}

static void test_clean_name(void **state)
{
	char longer[5000], buf[EMIT_NAME_MAX + 8];

	(void)state;
	check_name("copy_tree", "copy_tree");
	check_name("add", "add"); /* not a number */
	check_name("decade", "decade");
	check_name("a;b", "a:b");
	check_name("", "[unknown]");
	check_name("   ", "[unknown]");
	check_name(NULL, "[unknown]");
	check_name("0xffffffff81234567", "[unknown]");
	check_name("ffffffff81234567", "[unknown]");
	check_name("ffffffffc0001234 [veth]", "[unknown] [veth]");
	check_name("0x12", "[unknown]");
	check_name("copy_tree+0x1b/0x80", "copy_tree");
	check_name("veth_newlink+0x1b/0x80 [veth]", "veth_newlink [veth]");
	check_name("a\nb", "a\\x0ab");
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	clean_name(buf, longer);
	assert_true(strlen(buf) < sizeof(buf));
	assert_string_equal(buf + strlen(buf) - strlen("…"), "…");
}

static void test_numbers(void **state)
{
	char b[64];

	(void)state;
	assert_string_equal(format_ns(b, sizeof(b), 0), "0 ns");
	assert_string_equal(format_ns(b, sizeof(b), 999), "999 ns");
	assert_string_equal(format_ns(b, sizeof(b), 1234), "1.23 µs");
	assert_string_equal(format_ns(b, sizeof(b), -12345678), "-12.3 ms");
	assert_string_equal(format_ns(b, sizeof(b), 123456789012.0), "123 s");
	assert_string_equal(format_ns(b, sizeof(b), NAN), "unknown");
	assert_string_equal(format_count(b, sizeof(b), 0), "0");
	assert_string_equal(format_count(b, sizeof(b), 1234567), "1,234,567");
	assert_string_equal(format_share(b, sizeof(b), 1, 8), "12.5 %");
	assert_string_equal(format_share(b, sizeof(b), 0, 0), "0.0 %");
	assert_string_equal(format_fixed(b, sizeof(b), -0.0004, 3), "0.000");
	assert_string_equal(format_fixed(b, sizeof(b), -1.0005, 3), "-1.001");
}

/* A language with a decimal comma must not change a byte. */
static void test_locale(void **state)
{
	static const char *const locales[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "nl_NL.UTF-8" };
	char b[64];
	bool set = false;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(locales) && !set; i++)
		set = setlocale(LC_ALL, locales[i]) != NULL;
	if (!set) {
		print_message("no locale with a decimal comma is installed\n");
		skip();
	}
	format_fixed(b, sizeof(b), 1.5, 2);
	setlocale(LC_ALL, "C");
	assert_string_equal(b, "1.50");
}

/* Rows by hand: one step, one action. */
static const char *frames_ab[] = { "a", "b" }, *frames_ac[] = { "a", "c" }, *frames_a[] = { "a" };

static void fill_step(struct frt_steprow *s, struct frt_action *act, struct frt_stackrow *rows,
		      size_t n)
{
	*act = (struct frt_action){ .action = "call" };
	*s = (struct frt_steprow){ .step = "exec",
				   .creation = true,
				   .n = 7,
				   .traced = true,
				   .actions = act,
				   .nactions = 1,
				   .stacks = rows,
				   .nstacks = n };
}

#define CPU(f, len, value)                                                           \
	{                                                                            \
		.kind = FRT_STACK_CPU, .frames = f, .nframes = len, .tip = "kernel", \
		.in_kernel = true, .sampled = true, .ns = value, .n = 1              \
	}

static struct flame *flame_of(const struct frt_steprow *s, unsigned kinds, uint32_t routers)
{
	struct flame *f = flame__new(1, false);

	assert_non_null(f);
	assert_int_equal(flame__add_stacks(f, s, kinds, 0, routers), 0);
	assert_int_equal(flame__finish(f), 0);
	return f;
}

static uint64_t leaf_value(const struct flame *f, const char *path)
{
	for (size_t i = 0; i < f->nleaves; i++) {
		char text[1024] = "";

		for (unsigned d = 0; d < f->leaves[i].depth; d++) {
			strcat(text, d ? ";" : "");
			strcat(text, f->names[f->paths[f->leaves[i].first + d]].text);
		}
		if (strcmp(text, path) == 0)
			return f->ns[i];
	}
	fail_msg("no path %s", path);
	return 0;
}

static void test_merge(void **state)
{
	struct frt_stackrow rows[] = {
		CPU(frames_ac, 2, 30),
		CPU(frames_ab, 2, 10),
		CPU(frames_ab, 2, 5),
		CPU(frames_a, 1, 2),
		{ .kind = FRT_STACK_CPU, .tip = "user", .ns = 100, .n = 1 },
		{ .kind = FRT_STACK_CPU, .tip = "kernel", .in_kernel = true, .ns = 3 },
		{ .kind = FRT_STACK_OFF,
		  .tip = "lock:x",
		  .frames = frames_ab,
		  .nframes = 2,
		  .in_kernel = true,
		  .ns = 40,
		  .n = 2 },
		{ .kind = FRT_STACK_OFF, .tip = "runqueue", .ns = 7, .n = 1 },
		{ .kind = FRT_STACK_CPU, .action = 99, .tip = "user", .ns = 1 },
	};
	struct frt_action act;
	struct frt_steprow s;
	struct flame *f;

	(void)state;
	fill_step(&s, &act, rows, ARRAY_SIZE(rows));
	f = flame_of(&s, FLAME_WALL, 1);
	assert_int_equal(f->total[0], 198);
	assert_int_equal(leaf_value(f, "exec;call;a_[k];b_[k]"), 15);
	assert_int_equal(leaf_value(f, "exec;call;a_[k];c_[k]"), 30);
	assert_int_equal(leaf_value(f, "exec;call;a_[k]"), 2);
	assert_int_equal(leaf_value(f, "exec;call;a_[k];b_[k];[lock:x]"), 40);
	assert_int_equal(leaf_value(f, "exec;call;[runqueue]"), 7);
	assert_int_equal(leaf_value(f, "exec;call;[user]"), 100);
	assert_int_equal(leaf_value(f, "exec;call;[not sampled]"), 3);
	assert_int_equal(leaf_value(f, "exec;[unknown];[user]"), 1);
	flame__free(f);
	f = flame_of(&s, FLAME_OFF, 1);
	assert_int_equal(f->total[0], 47);
	flame__free(f);
}

/* 10, 20, 31 over 7: 61 / 7 = 8.7, so 9 in all; the floors 1, 2, 4 leave 2, which go
 * to the remainders 6 (of 20) and 3 (the first of 10 and 31). */
static void test_largest_remainder(void **state)
{
	struct frt_stackrow rows[] = { CPU(frames_ab, 2, 10), CPU(frames_ac, 2, 20),
				       CPU(frames_a, 1, 31) };
	struct frt_action act;
	struct frt_steprow s;
	struct flame *f;

	(void)state;
	fill_step(&s, &act, rows, ARRAY_SIZE(rows));
	f = flame_of(&s, FLAME_CPU, 7);
	assert_int_equal(f->total[0], 9);
	assert_int_equal(leaf_value(f, "exec;call;a_[k];b_[k]"), 2);
	assert_int_equal(leaf_value(f, "exec;call;a_[k];c_[k]"), 3);
	assert_int_equal(leaf_value(f, "exec;call;a_[k]"), 4);
	flame__free(f);
}

static void test_pruned_tree(void **state)
{
	struct frt_stackrow rows[] = { CPU(frames_ab, 2, 990), CPU(frames_ac, 2, 4),
				       CPU(frames_a, 1, 6) };
	struct frt_action act;
	struct flame_tree t;
	struct frt_steprow s;
	struct flame *f;

	(void)state;
	fill_step(&s, &act, rows, ARRAY_SIZE(rows));
	f = flame_of(&s, FLAME_CPU, 1);
	assert_int_equal(flame__tree(f, 0.005, &t), 0);
	/* root, exec, call, a, b; c is gone, but not its time */
	assert_int_equal(t.nnodes, 5);
	assert_int_equal(t.pruned, 1);
	assert_int_equal(t.depth, 4);
	assert_int_equal(t.ns[0], 1000);
	assert_int_equal(t.ns[3], 1000);
	assert_int_equal(t.ns[4], 990);
	assert_int_equal(t.n[0], 3);
	assert_int_equal(t.nodes[0].next, 5);
	flame_tree__free(&t);
	assert_int_equal(flame__tree(f, 0, &t), 0);
	assert_int_equal(t.nnodes, 6);
	assert_int_equal(t.pruned, 0);
	flame_tree__free(&t);
	flame__free(f);
}

static void test_deep_and_empty(void **state)
{
	const char **deep = calloc(2000, sizeof(*deep));
	struct frt_stackrow row = CPU(deep, 2000, 10);
	struct frt_action act;
	struct flame_tree t;
	struct frt_steprow s;
	struct flame *f;

	(void)state;
	for (int i = 0; i < 2000; i++)
		deep[i] = i % 2 ? "odd" : "even";
	fill_step(&s, &act, &row, 1);
	f = flame_of(&s, FLAME_CPU, 1);
	assert_int_equal(f->total[0], 10);
	assert_true(f->leaves[0].depth <= FLAME_DEPTH + 3);
	assert_int_equal(flame__tree(f, 0, &t), 0);
	assert_int_equal(t.ns[t.nnodes - 1], 10);
	flame_tree__free(&t);
	flame__free(f);
	free(deep);
	s.nstacks = 0;
	f = flame_of(&s, FLAME_WALL, 3);
	assert_int_equal(f->nleaves, 0);
	assert_int_equal(flame__tree(f, 0.1, &t), 0);
	assert_int_equal(t.nnodes, 1);
	flame_tree__free(&t);
	flame__free(f);
}

/* Names by the thousand, equal ones at different addresses. */
static void test_many_names(void **state)
{
	enum { N = 5000 };
	struct frt_stackrow *rows = calloc(N, sizeof(*rows));
	const char **names = calloc(N, sizeof(*names));
	struct frt_action act;
	struct frt_steprow s;
	struct flame *f;

	(void)state;
	for (int i = 0; i < N; i++) {
		char text[32];

		snprintf(text, sizeof(text), "f%d", i % (N / 2));
		names[i] = strdup(text);
		rows[i] = (struct frt_stackrow)CPU(&names[i], 1, (uint64_t)i + 1);
	}
	fill_step(&s, &act, rows, N);
	f = flame_of(&s, FLAME_CPU, 1);
	assert_int_equal(f->nleaves, N / 2);
	assert_int_equal(f->total[0], (uint64_t)N * (N + 1) / 2);
	assert_int_equal(leaf_value(f, "exec;call;f17_[k]"), 18 + 18 + N / 2);
	flame__free(f);
	for (int i = 0; i < N; i++)
		free((char *)names[i]);
	free(names);
	free(rows);
}

/* Self time is what the children leave; n is the function's own. */
static void test_functions(void **state)
{
	struct frt_fn child = { .function = "copy_tree", .n = 5, .total_ns = 70.4, .cpu_ns = 60 };
	struct frt_fn top = { .function = "copy_mnt_ns",
			      .n = 3,
			      .total_ns = 100.2,
			      .cpu_ns = 80,
			      .children = &child,
			      .nchildren = 1 };
	struct frt_action act = { .action = "unshare(NEWNS)", .functions = &top, .nfunctions = 1 };
	struct frt_steprow s = { .step = "exec", .actions = &act, .nactions = 1 };
	struct flame *f = flame__new(2, true);
	struct flame_tree t;

	(void)state;
	assert_true(step_has_functions(&s));
	assert_int_equal(flame__add_functions(f, &s, FLAME_WALL, 0, 1), 0);
	assert_int_equal(flame__add_functions(f, &s, FLAME_OFF, 1, 1), 0);
	assert_int_equal(flame__finish(f), 0);
	assert_int_equal(f->total[0], 100);
	assert_int_equal(f->total[1], 20);
	assert_int_equal(flame__tree(f, 0, &t), 0);
	/* root, exec, unshare, copy_mnt_ns, copy_tree */
	assert_int_equal(t.nnodes, 5);
	assert_int_equal(t.ns[3 * 2], 100);
	assert_int_equal(t.ns[4 * 2], 70);
	assert_int_equal(t.ns[4 * 2 + 1], 10);
	assert_int_equal(t.n[3 * 2], 3);
	assert_int_equal(t.n[4 * 2], 5);
	flame_tree__free(&t);
	flame__free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_escapes),	    cmocka_unit_test(test_clean_name),
		cmocka_unit_test(test_numbers),	    cmocka_unit_test(test_locale),
		cmocka_unit_test(test_merge),	    cmocka_unit_test(test_largest_remainder),
		cmocka_unit_test(test_pruned_tree), cmocka_unit_test(test_deep_and_empty),
		cmocka_unit_test(test_many_names),  cmocka_unit_test(test_functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
