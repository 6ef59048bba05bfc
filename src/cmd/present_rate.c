/* SPDX-License-Identifier: BSD-2-Clause */
/* From a record of rates to what stands on stdout. */
#include "analyze/analyze.h"
#include "analyze/compare.h"
#include "analyze/rate.h"
#include "cmd/cli.h"
#include "cmd/present.h"
#include "report/rate.h"
#include "util/util.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What the record asked to predict, unless the command line says otherwise. */
static size_t predictions(const struct frt_trail *t, const struct present_opts *o, uint64_t *v)
{
	const json_t *asked = json_object_get(json_object_get(t->header, "options"), "predict");
	size_t n = 0;

	if (o->npredict) {
		memcpy(v, o->predict, sizeof(o->predict));
		return o->npredict;
	}
	for (; n < json_array_size(asked) && n < RATE_PREDICT_MAX; n++)
		v[n] = (uint64_t)json_integer_value(json_array_get(asked, n));
	return n;
}

static int print_rate(const struct rate *r, const struct present_opts *o, bool rows_done)
{
	struct report_opts ro = { .color = cli__color(STDOUT_FILENO), .width = present__width() };
	struct compare_input in = { .path = "", .rate = r };
	struct compare *sides = NULL;
	int rc;

	if (o->json)
		return present__json(report__rate_json(r));
	rc = analyze__compare(&in, 1, &sides, NULL, 0);
	if (rc && rc != -EINVAL) /* one case has nothing beside it */
		return rc;
	rc = rows_done ? report__rate_summary(stdout, r, sides, &ro)
		       : report__rate_text(stdout, r, sides, &ro);
	compare__free(sides);
	if (!rc && (fflush(stdout) || ferror(stdout)))
		rc = -errno;
	return rc == -EPIPE ? 0 : rc;
}

int present__rate(const struct frt_trail *t, const struct present_opts *o, bool rows_done)
{
	struct analyze_opts ao = { .npredict = 0 };
	struct frt_profile *p = NULL;
	uint64_t predict[RATE_PREDICT_MAX];
	struct rate *r = NULL;
	int rc = 0;

	if (o->view)
		return -EINVAL;
	if (t->level.n && t->proc.n) /* traced */
		rc = analyze__profile(t, &ao, &p);
	if (!rc)
		rc = analyze__rate(t, p, predict, predictions(t, o, predict), &r);
	if (!rc)
		rc = print_rate(r, o, rows_done);
	rate__free(r);
	if (p)
		profile__free(p);
	return rc;
}
