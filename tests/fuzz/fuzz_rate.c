/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as a record of rates or as a table of them: no crash, and what can
 * be read can be compared with itself, printed and written as a table again. */
#include "analyze/compare.h"
#include "analyze/rate.h"
#include "lines.h"
#include "record/record.h"
#include "report/compare.h"
#include "report/rate.h"

#include <jansson.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint64_t predict[] = { 10000, 100000000 };

static void print_all(const struct rate *r)
{
	struct compare_input in[] = { { .path = "a", .rate = r }, { .path = "b", .rate = r } };
	struct report_opts o = { .width = 100 };
	struct compare *c = NULL;
	char *out = NULL, err[256] = "";
	size_t n;
	FILE *f = open_memstream(&out, &n);
	json_t *j = report__rate_json(r);

	require(f && j);
	json_decref(j);
	require(report__rate_csv(f, r) == 0);
	require(report__rate_text(f, r, NULL, &o) == 0);
	if (analyze__compare(in, 2, &c, err, sizeof(err))) {
		require(err[0] && !strchr(err, '\n'));
	} else {
		j = report__compare_json(c);
		require(j != NULL);
		json_decref(j);
		require(report__compare_text(f, c, &o) == 0);
		compare__free(c);
	}
	require(fclose(f) == 0);
	free(out);
}

static struct rate *from_table(const uint8_t *data, size_t size)
{
	struct rate *r = NULL;
	char err[200] = "";
	struct csv_table t;

	if (csv__parse((const char *)data, size, "fuzz", &t, err, sizeof(err))) {
		require(err[0] && !strchr(err, '\n') && strlen(err) < sizeof(err));
		require(!t.arena && !t.nrows);
		return NULL;
	}
	require(t.nrows && t.ncols);
	require(analyze__rate_table(&t, predict, 2, &r) == 0);
	csv__free(&t);
	return r;
}

static struct rate *from_record(const uint8_t *data, size_t size)
{
	struct rate *r = NULL;
	char *text;
	struct record_source src = fuzz_source(data, size, &text);
	struct frt_trail t;

	if (!trail__read_source(&src, "fuzz", &t, NULL, 0)) {
		analyze__rate(&t, NULL, predict, 2, &r);
		trail__free(&t);
	}
	free(text);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rate *r = from_record(data, size);

	if (!r)
		r = from_table(data, size);
	if (r)
		print_all(r);
	rate__free(r);
	return 0;
}
