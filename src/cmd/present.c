/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/present.h"

#include "analyze/analyze.h"
#include "cmd/cli.h"
#include "report/report.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

unsigned present__width(void)
{
	struct winsize ws;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) || !ws.ws_col || ws.ws_col > 100)
		return 100;
	return ws.ws_col < 60 ? 60 : ws.ws_col;
}

static int put_json(FILE *out, struct json_t *j)
{
	int rc = j ? 0 : -ENOMEM;

	if (j &&
	    (json_dumpf(j, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) || putc('\n', out) == EOF))
		rc = -errno;
	json_decref(j);
	if (!rc && (fflush(out) || ferror(out)))
		rc = -errno;
	return rc == -EPIPE ? 0 : rc;
}

int present__json(struct json_t *j)
{
	return put_json(stdout, j);
}

int present__trail(const struct frt_trail *t, const struct present_opts *o)
{
	struct analyze_opts ao = { .npredict = o->npredict };
	FILE *out = o->out ? o->out : stdout;
	struct report_opts ro = { .color = cli__color(fileno(out)),
				  .width = present__width(),
				  .view = o->view };
	struct frt_profile *p = NULL;
	int rc;

	if (t->rate.n || t->point.n)
		return present__rate(t, o, false);
	memcpy(ao.predict, o->predict, sizeof(ao.predict));
	rc = analyze__profile(t, &ao, &p);
	if (rc)
		return rc;
	if (o->json) {
		rc = put_json(out, report__json(p));
	} else {
		rc = report__text(out, p, &ro);
	}
	if (!rc && (fflush(out) || ferror(out)))
		rc = -errno;
	profile__free(p);
	return rc == -EPIPE ? 0 : rc;
}
