// SPDX-License-Identifier: BSD-2-Clause
/* Tracepoints that lack a parameter, or have another: their programs stay away. */
#include "trace/internal.h"

#include <bpf/btf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

/* A kernel's types in small, with one tracepoint: its own parameter, then these. */
static struct btf *kernel_with(const char *tracepoint, const int *params, size_t n)
{
	struct btf *btf = btf__new_empty();
	char name[64];
	int id;

	assert_non_null(btf);
	assert_int_equal(btf__add_int(btf, "int", 4, BTF_INT_SIGNED), 1);
	assert_int_equal(btf__add_ptr(btf, 0), 2);
	assert_int_equal(btf__add_struct(btf, "work_struct", 8), 3);
	assert_int_equal(btf__add_ptr(btf, 3), 4);
	assert_int_equal(btf__add_typedef(btf, "u32", 1), 5);
	assert_int_equal(btf__add_struct(btf, "pool_workqueue", 8), 6);
	assert_int_equal(btf__add_ptr(btf, 6), 7);
	id = btf__add_func_proto(btf, 0);
	assert_int_equal(btf__add_func_param(btf, "__data", 2), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(btf__add_func_param(btf, "p", params[i]), 0);
	id = btf__add_ptr(btf, id);
	snprintf(name, sizeof(name), "btf_trace_%s", tracepoint);
	assert_true(btf__add_typedef(btf, name, id) > 0);
	return btf;
}

enum { INT = 1, POINTER = 2, WORK = 4, U32 = 5, POOL = 7 };

static bool fits(const char *tracepoint, const int *params, size_t n)
{
	struct btf *btf = kernel_with(tracepoint, params, n);
	bool yes = programs__fits(btf, tracepoint);

	assert_false(programs__fits(btf, "something_else"));
	btf__free(btf);
	return yes;
}
#define FITS(tracepoint, ...)                          \
	fits(tracepoint, (const int[]){ __VA_ARGS__ }, \
	     sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))

static void contention(void **state)
{
	(void)state;
	assert_true(FITS("contention_begin", POINTER, INT));
	assert_true(FITS("contention_begin", POINTER, U32));
	assert_true(FITS("contention_begin", POINTER, U32, POINTER));
	assert_false(FITS("contention_begin", POINTER));
	assert_false(FITS("contention_begin", U32, POINTER));
	assert_false(FITS("contention_end", POINTER, POINTER));
}

static void workqueue(void **state)
{
	(void)state;
	assert_true(FITS("workqueue_queue_work", INT, POOL, WORK));
	assert_false(FITS("workqueue_queue_work", POOL, WORK));
	assert_false(FITS("workqueue_queue_work", INT, WORK, POOL));
	assert_true(FITS("workqueue_execute_start", WORK));
	assert_true(FITS("workqueue_execute_end", WORK, POINTER));
	assert_false(FITS("workqueue_execute_end", POINTER, WORK));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contention),
		cmocka_unit_test(workqueue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
