/* SPDX-License-Identifier: BSD-2-Clause */
/* From any bytes, read as what `frtrace run` or --create recorded, to steps and
 * their report. */
#include "analyze/analyze.h"
#include "analyze/foreign.h"
#include "lines.h"
#include "record/record.h"
#include "report/report.h"

#include <jansson.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(struct frt_trail *t, const char *mode, enum foreign_by by)
{
	static const char *const rule = "tc=ip netns exec * tc";
	struct foreign_opts fo = { .by = by, .every = 3, .step = &rule, .nsteps = 1 };
	struct analyze_opts ao = { .predict = { 10000 }, .npredict = 1 };
	struct report_opts ro = { .width = 100 };
	struct frt_profile *p = NULL;
	char *out = NULL;
	size_t n;
	FILE *f;

	json_object_set_new(t->header, "mode", json_string(mode));
	json_object_del(t->header, "steps");
	if (foreign__name(t, &fo, NULL, 0) || analyze__profile(t, &ao, &p))
		return;
	f = open_memstream(&out, &n);
	require(f != NULL);
	require(report__text(f, p, &ro) == 0);
	require(fclose(f) == 0);
	free(out);
	profile__free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const modes[] = { "run", "attach", "create" };
	unsigned kind = size ? data[size - 1] : 0;
	char *text;
	struct record_source src = fuzz_source(data, size, &text);
	struct frt_trail t;

	if (!trail__read_source(&src, "fuzz", &t, NULL, 0)) {
		take(&t, modes[kind % 3], (enum foreign_by)(kind / 3 % 4));
		trail__free(&t);
	}
	free(text);
	return 0;
}
