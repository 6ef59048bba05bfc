/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "rate_tables.h"

static char err[512];

struct rate *rate_of_text(const char *text, size_t len)
{
	struct csv_table t;
	struct rate *r;

	if (csv__parse(text, len, "t.csv", &t, err, sizeof(err)))
		fail_msg("%s", err);
	assert_int_equal(analyze__rate_table(&t, NULL, 0, &r), 0);
	csv__free(&t);
	return r;
}

struct rate *rate_of_file(const char *path)
{
	static char text[65536];
	FILE *f = fopen(path, "r");
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, sizeof(text), f);
	fclose(f);
	return rate_of_text(text, n);
}

const struct compare_row *find_row(const struct compare *c, const char *key)
{
	for (size_t i = 0; i < c->nrows; i++)
		if (strcmp(c->row[i].key, key) == 0)
			return &c->row[i];
	fail_msg("no row %s", key);
	return NULL;
}

bool has_line(const char **v, size_t n, const char *piece)
{
	for (size_t i = 0; i < n; i++)
		if (strstr(v[i], piece))
			return true;
	return false;
}

struct compare *compare_inputs(const struct compare_input *in, size_t n)
{
	struct compare *c;

	if (analyze__compare(in, n, &c, err, sizeof(err)))
		fail_msg("%s", err);
	return c;
}

/* 100 routers of 10 ms with a known spread: walls alternate 10 ± s. */
struct frt_raterow live_row(uint32_t mode, uint32_t run, double mean_us, double s_us)
{
	return (struct frt_raterow){
		.from = 0,
		.to = 100,
		.streams = 1,
		.mode = mode,
		.run = run,
		.n = 100,
		.elapsed_ns = (uint64_t)(mean_us * 1e3) * 100,
		.add_ns = (uint64_t)(mean_us * 1e3) * 100,
		.wall_sq_us2 = (uint64_t)(100 * (mean_us * mean_us + s_us * s_us)),
		.wall_lag_us2 = (uint64_t)(99 * mean_us * mean_us),
		.wall_ends_us = (uint64_t)(2 * mean_us),
	};
}

struct rate *rate_of_rows(struct frt_raterow *rows, size_t n)
{
	struct frt_trail t = { .header = json_pack("{s:{s:s,s:i}}", "environment", "kernel", "6.1",
						   "cpus", 2),
			       .rate = { rows, n, n } };
	struct rate *r;

	assert_int_equal(analyze__rate(&t, NULL, NULL, 0, &r), 0);
	json_decref(t.header);
	return r;
}
