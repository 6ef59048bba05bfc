/* SPDX-License-Identifier: BSD-2-Clause */
/* frtrace compare: records and rate tables side by side. */
#include "analyze/analyze.h"
#include "analyze/compare.h"
#include "cmd/cli.h"
#include "cmd/load.h"
#include "cmd/option.h"
#include "cmd/present.h"
#include "record/record.h"
#include "report/compare.h"
#include "util/util.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_JSON = 256, OPT_PREDICT };

struct compare_args {
	const char **file;
	size_t nfiles, cap;
	uint64_t predict[RATE_PREDICT_MAX];
	size_t npredict;
	bool json;
};

/* What one file turned out to be, with what must live as long as the comparison. */
struct source {
	struct rate *rate;
	struct frt_profile *profile;
	json_t *header;
};

static const struct argp_option options[] = {
	{ "json", OPT_JSON, NULL, 0, "JSON on stdout; errors are JSON too", 0 },
	{ "predict", OPT_PREDICT, "N,…", 0, "existing routers to predict rates for (10000)", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct compare_args *a = state->input;

	switch (key) {
	case OPT_JSON:
		a->json = true;
		cli__errors_as_json(true);
		return 0;
	case OPT_PREDICT:
		option__predict(arg, a->predict, ARRAY_SIZE(a->predict), &a->npredict);
		return 0;
	case ARGP_KEY_ARG:
		if (grow(&a->file, a->nfiles, &a->cap, sizeof(*a->file)))
			return ENOMEM;
		a->file[a->nfiles++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->nfiles)
			exit(cli__error(CLI_USAGE,
					"no files; give records (.frt) or rate tables (.csv)"));
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int load_record(struct input *in, const struct compare_args *a, struct source *s, char *err,
		       size_t errlen)
{
	struct analyze_opts ao = { .npredict = a->npredict };
	const char *path = input__name(in);
	struct frt_trail t = { 0 };
	int rc = load__trail(in, &t, err, errlen);

	if (rc)
		return rc;
	memcpy(ao.predict, a->predict, sizeof(ao.predict));
	s->header = json_incref(t.header);
	if (t.rate.n || t.point.n)
		rc = analyze__rate(&t, NULL, a->predict, a->npredict, &s->rate);
	else if (!t.level.n && !(t.truncated && t.router.n))
		rc = -ENODATA;
	else
		rc = analyze__profile(&t, &ao, &s->profile);
	trail__free(&t);
	if (rc == -ENODATA)
		return fail(err, errlen, rc,
			    "%s: holds neither a level nor a row of rates: nothing was measured",
			    path);
	return rc ? fail(err, errlen, rc, "%s: %s", path, strerror(-rc)) : 0;
}

static int load(const char *path, const struct compare_args *a, struct source *s, char *err,
		size_t errlen)
{
	struct input *in;
	int rc = input__open(path, &in, err, errlen);

	if (rc)
		return rc;
	if (input__is_table(in))
		rc = load__table(in, a->predict, a->npredict, &s->rate, err, errlen);
	else
		rc = load_record(in, a, s, err, errlen);
	input__close(in);
	return rc;
}

static int print(const struct compare *c, bool json)
{
	struct report_opts ro = { .color = cli__color(1), .width = present__width() };
	int rc;

	if (json)
		return present__json(report__compare_json(c));
	rc = report__compare_text(stdout, c, &ro);
	if (!rc && (fflush(stdout) || ferror(stdout)))
		rc = errno == EPIPE ? 0 : -errno;
	return rc;
}

static int compare_files(const struct compare_args *a, struct source *s, struct compare_input *in)
{
	struct compare *c = NULL;
	char err[512];
	int rc;

	for (size_t i = 0; i < a->nfiles; i++) {
		if (load(a->file[i], a, &s[i], err, sizeof(err)))
			return cli__error(CLI_FAILED, "%s", err);
		in[i] = (struct compare_input){ .path = a->file[i],
						.rate = s[i].rate,
						.profile = s[i].profile,
						.options = json_object_get(s[i].header,
									   "options") };
	}
	rc = analyze__compare(in, a->nfiles, &c, err, sizeof(err));
	if (rc)
		return cli__error(rc == -EINVAL ? CLI_USAGE : CLI_FAILED, "%s", err);
	rc = print(c, a->json);
	compare__free(c);
	return rc ? cli__error(CLI_FAILED, "the comparison: %s", strerror(-rc)) : CLI_OK;
}

int cmd_compare(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "FILE FILE…",
		.doc = "Sets records and rate tables side by side: kernels, machines, before and after. The "
		       "first column of each kind is what the others are compared with.",
	};
	struct compare_args a = { .predict = { 10000 }, .npredict = 1 };
	struct compare_input *in;
	struct source *s;
	int status = cli__parse(&argp, argc, argv, "compare", &a);

	if (status) {
		free(a.file);
		return status - 1000;
	}
	s = calloc(a.nfiles, sizeof(*s));
	in = calloc(a.nfiles, sizeof(*in));
	status = s && in ? compare_files(&a, s, in) : cli__error(CLI_FAILED, "out of memory");
	for (size_t i = 0; s && i < a.nfiles; i++) {
		rate__free(s[i].rate);
		if (s[i].profile)
			profile__free(s[i].profile);
		json_decref(s[i].header);
	}
	free(s);
	free(in);
	free(a.file);
	return status;
}
