/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/load.h"

#include "analyze/analyze.h"
#include "analyze/foreign.h"
#include "record/record.h"
#include "util/util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int load__table(struct input *in, const uint64_t *predict, size_t npredict, struct rate **out,
		char *err, size_t errlen)
{
	const char *name = input__name(in);
	struct csv_table t = { 0 };
	char *text = NULL;
	size_t len = 0;
	int rc = input__text(in, &text, &len, err, errlen);

	if (!rc)
		rc = csv__parse(text, len, name, &t, err, errlen);
	free(text);
	if (rc)
		return rc;
	rc = analyze__rate_table(&t, predict, npredict, out);
	csv__free(&t);
	return rc ? fail(err, errlen, rc, "%s: %s", name, strerror(-rc)) : 0;
}

int load__trail(struct input *in, struct frt_trail *out, char *err, size_t errlen)
{
	int rc = input__trail(in, out, err, errlen);

	if (!rc && foreign__is(out)) {
		rc = foreign__name(out, NULL, err, errlen);
		if (rc)
			trail__free(out);
	}
	return rc;
}
