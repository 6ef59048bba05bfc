/* SPDX-License-Identifier: BSD-2-Clause */
/* Rates and comparisons as text, JSON and CSV. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rate_tables.h"
#include "report/compare.h"
#include "report/rate.h"

#define assert_near(is, should, tolerance)                                           \
	do {                                                                         \
		double is_ = (is), should_ = (should);                               \
		if (!(fabs(is_ - should_) <= (tolerance)))                           \
			fail_msg("%s is %.12g, should be %.12g", #is, is_, should_); \
	} while (0)

/* Columns a terminal needs for a line of UTF-8. */
static size_t columns(const char *s, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)s[i] & 0xc0) != 0x80;
	return n;
}

static void test_text_and_json(void **state)
{
	struct rate *rates = rate_of_file(RATES_2014);
	struct rate *streams = rate_of_file(STREAMS_2014);
	struct compare_input in[] = { { .path = "r", .rate = rates },
				      { .path = "s", .rate = streams } };
	struct compare *c = compare_inputs(in, 2);
	struct report_opts o = { .width = 100 };
	json_t *j = report__compare_json(c), *row;
	char *text = NULL;
	size_t size = 0, i;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	assert_int_equal(report__compare_text(f, c, &o), 0);
	fclose(f);
	for (const char *p = text; *p;) {
		size_t len = strcspn(p, "\n");

		if (columns(p, len) > 100)
			fail_msg("%zu columns: %.*s", columns(p, len), (int)len, p);
		p += len + (p[len] != '\0');
	}
	assert_non_null(strstr(text, "0–250"));
	assert_null(strchr(text, '\x1b')); /* no colour was asked for */
	assert_string_equal(json_string_value(json_object_get(j, "schema")), "frtrace-compare/1");
	assert_string_equal(json_string_value(json_object_get(j, "base")), "r");
	assert_int_equal(json_array_size(json_object_get(j, "files")), 2);
	/* two columns of rates against the first, four of counts: one row each */
	assert_true(json_array_size(json_object_get(j, "rows")) >= 2 * 16);
	json_array_foreach(json_object_get(j, "rows"), i, row)
	{
		const char *verdict = json_string_value(json_object_get(row, "verdict"));

		assert_int_equal(json_array_size(json_object_get(row, "values")), 8);
		assert_non_null(json_object_get(row, "ratio"));
		assert_true(!strcmp(verdict, "unknown") || !strcmp(verdict, "same") ||
			    !strcmp(verdict, "slower") || !strcmp(verdict, "faster"));
	}
	json_decref(j);
	free(text);
	compare__free(c);
	rate__free(rates);
	rate__free(streams);
}

/* What is written in a layout reads back as what it was. */
static void csv_round_trip(const char *path, const char *head)
{
	struct rate *a = rate_of_file(path), *b;
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	assert_int_equal(report__rate_csv(f, a), 0);
	fclose(f);
	assert_int_equal(strncmp(text, head, strlen(head)), 0);
	assert_null(strchr(text, '#'));
	b = rate_of_text(text, size);
	assert_int_equal(a->ncurves, b->ncurves);
	for (size_t i = 0; i < a->ncurves; i++) {
		const struct rate_curve *x = &a->curves[i], *y = &b->curves[i];

		assert_string_equal(x->label, y->label);
		assert_int_equal(x->nrows, y->nrows);
		assert_int_equal(x->npoints, y->npoints);
		for (size_t k = 0; k < x->nrows; k++)
			assert_near(x->rows[k].rate, y->rows[k].rate, 1e-9);
		for (size_t k = 0; k < x->npoints; k++)
			assert_int_equal(x->points[k].count, y->points[k].count);
	}
	free(text);
	rate__free(a);
	rate__free(b);
}

static void test_csv_round_trip(void **state)
{
	(void)state;
	csv_round_trip(RATES_2014, "from,to,3.5.0-44+,3.12.9,3.13.0\n0,250,7.580,5.560,");
	csv_round_trip(STREAMS_2014, "Time,3.5.0-44+ 4streams,");
}

/* A row that was cut short stands in a table of one curve, but not beside the
 * whole row of another, which it would overlap. */
static void test_csv_cut_short(void **state)
{
	struct frt_raterow rows[] = { live_row(FRT_WORK_SCRIPT, 1, 10000, 10),
				      live_row(FRT_WORK_LEAN, 1, 1000, 10) };
	struct rate *r;
	char *text = NULL;
	size_t size = 0;
	FILE *f;

	(void)state;
	rows[1].to = 40;
	rows[1].n = 40;
	rows[1].elapsed_ns = 40000000;
	rows[1].failed = 1;
	r = rate_of_rows(rows, 2);
	f = open_memstream(&text, &size);
	assert_int_equal(report__rate_csv(f, r), 0);
	fclose(f);
	assert_string_equal(text, "from,to,6.1 script,6.1 lean\n0,100,100.000,\n");
	free(text);
	rate__free(r);
	r = rate_of_rows(&rows[1], 1);
	f = open_memstream(&text, &size);
	assert_int_equal(report__rate_csv(f, r), 0);
	fclose(f);
	assert_string_equal(text, "from,to,6.1 lean\n0,40,1000.000\n");
	free(text);
	rate__free(r);
}

static void test_rate_text_and_json(void **state)
{
	struct frt_raterow rows[] = { live_row(FRT_WORK_SCRIPT, 1, 10000, 10),
				      live_row(FRT_WORK_LEAN, 1, 1000, 10) };
	struct rate *r = rate_of_rows(rows, 2);
	struct compare_input in = { .path = "", .rate = r };
	struct compare *c = compare_inputs(&in, 1);
	struct report_opts o = { .width = 100 };
	json_t *j = report__rate_json(r), *row;
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	assert_int_equal(report__rate_text(f, r, c, &o), 0);
	fclose(f);
	assert_non_null(strstr(text, "6.1 lean"));
	assert_non_null(strstr(text, "ROUTERS/s"));
	assert_string_equal(json_string_value(json_object_get(j, "schema")), "frtrace-rate/1");
	row = json_array_get(json_object_get(j, "rows"), 1);
	assert_int_equal(json_integer_value(json_object_get(row, "n")), 100);
	assert_int_equal(json_integer_value(json_object_get(row, "elapsed_ns")), 100000000);
	assert_near(json_number_value(json_object_get(row, "rate_per_s")), 1000, 1e-6);
	assert_string_equal(json_string_value(json_object_get(row, "mode")), "lean");
	assert_true(json_is_null(json_object_get(json_object_get(row, "steps"), "veth")));
	assert_true(json_is_null(json_object_get(j, "fit"))); /* one row has none */
	json_decref(j);
	free(text);
	compare__free(c);
	rate__free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_and_json),
		cmocka_unit_test(test_csv_round_trip),
		cmocka_unit_test(test_csv_cut_short),
		cmocka_unit_test(test_rate_text_and_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
