/* SPDX-License-Identifier: BSD-2-Clause */
/* From any bytes to every report: what can be read can be analyzed and printed. */
#include "analyze/analyze.h"
#include "lines.h"
#include "record/record.h"
#include "report/report.h"

#include <jansson.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void print_all(const struct frt_profile *p)
{
	struct report_opts o = { .width = 100 };
	json_t *j = report__json(p);
	char *out = NULL;
	size_t n;
	FILE *f = open_memstream(&out, &n);

	require(f && j);
	json_decref(j);
	require(report__text(f, p, &o) == 0);
	for (size_t i = 0; report__views[i]; i++) {
		o.view = report__views[i];
		require(report__text(f, p, &o) == 0);
	}
	require(fclose(f) == 0);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct analyze_opts o = { .predict = { 10000 }, .npredict = 1 };
	struct frt_profile *p = NULL;
	char *text;
	struct record_source src = fuzz_source(data, size, &text);
	struct frt_trail t;

	if (!trail__read_source(&src, "fuzz", &t, NULL, 0)) {
		if (!analyze__profile(&t, &o, &p)) {
			print_all(p);
			profile__free(p);
		}
		trail__free(&t);
	}
	free(text);
	return 0;
}
