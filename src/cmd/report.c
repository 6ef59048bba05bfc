/* SPDX-License-Identifier: BSD-2-Clause */
/* frtrace report: what a record holds, without root, on any machine. */
#include "analyze/foreign.h"
#include "analyze/rules.h"
#include "cmd/cli.h"
#include "cmd/option.h"
#include "cmd/present.h"
#include "record/record.h"
#include "report/report.h"
#include "util/util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 64

enum { OPT_JSON = 256, OPT_VIEW, OPT_PREDICT, OPT_STEP, OPT_BY, OPT_EVERY };

struct report_args {
	struct present_opts po;
	struct foreign_opts fo;
	const char *step[STEPS_MAX];
	const char *file;
};

static const struct argp_option options[] = {
	{ "json", OPT_JSON, NULL, 0, "JSON on stdout; errors are JSON too", 0 },
	{ "view", OPT_VIEW, "VIEW", 0,
	  "one part: steps, actions, functions, growth, waits, deferred or environment", 0 },
	{ "predict", OPT_PREDICT, "N,…", 0,
	  "existing namespaces to predict for (as the record asked)", 0 },
	{ NULL, 0, NULL, 0, "Of a loop that `frtrace run` or `frtrace attach` followed:", 1 },
	{ "step", OPT_STEP, "NAME=PATTERN", 0,
	  "commands that fit are the step NAME; repeatable, before those of the record", 1 },
	{ "by", OPT_BY, "WHAT", 0, "steps by command, action or auto (as recorded)", 1 },
	{ "every", OPT_EVERY, "N", 0, "existing namespaces to a row (as recorded)", 1 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static bool is_view(const char *name)
{
	for (size_t i = 0; report__views[i]; i++)
		if (strcmp(report__views[i], name) == 0)
			return true;
	return false;
}

static void add_step(struct report_args *a, const char *arg)
{
	struct rules *r = rules__new();
	char err[256];
	int rc;

	if (a->fo.nsteps == STEPS_MAX)
		exit(cli__error(CLI_USAGE, "--step: more than %d; give fewer", STEPS_MAX));
	rc = r ? rules__add(r, arg, err, sizeof(err)) : 0;
	rules__free(r);
	if (rc)
		exit(cli__error(CLI_USAGE, "%s", err));
	a->step[a->fo.nsteps++] = arg;
	a->fo.step = a->step;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct report_args *a = state->input;

	switch (key) {
	case OPT_JSON:
		a->po.json = true;
		cli__errors_as_json(true);
		return 0;
	case OPT_VIEW:
		if (!is_view(arg))
			exit(cli__error(
				CLI_USAGE,
				"--view '%s': unknown; `frtrace report --help` lists the views",
				arg));
		a->po.view = arg;
		return 0;
	case OPT_PREDICT:
		option__predict(arg, a->po.predict, ARRAY_SIZE(a->po.predict), &a->po.npredict);
		return 0;
	case OPT_STEP:
		add_step(a, arg);
		return 0;
	case OPT_BY:
		a->fo.by = (enum foreign_by)option__choice("--by", foreign__by_names, arg);
		return 0;
	case OPT_EVERY:
		a->fo.every = option__uint("--every", arg, 1, 100000000);
		return 0;
	case ARGP_KEY_ARG:
		if (a->file)
			exit(cli__error(
				CLI_USAGE,
				"'%s': one record at a time; `frtrace compare` takes several",
				arg));
		a->file = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->file)
			exit(cli__error(CLI_USAGE, "no record; give a FILE.frt"));
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cmd_report(int argc, char **argv)
{
	static const struct argp argp = { .options = options,
					  .parser = parse,
					  .args_doc = "FILE.frt",
					  .doc = "Prints the report of a record." };
	struct report_args a = { 0 };
	struct frt_trail t = { 0 };
	char err[512];
	int rc = cli__parse(&argp, argc, argv, "report", &a);

	if (rc)
		return rc - 1000;
	rc = trail__read(a.file, &t, err, sizeof(err));
	if (rc)
		return cli__error(CLI_FAILED, "%s", err);
	if (a.po.view && (t.rate.n || t.point.n)) {
		trail__free(&t);
		return cli__error(CLI_USAGE,
				  "--view: %s holds rates, which have no views; leave it out",
				  a.file);
	}
	if (foreign__is(&t)) {
		rc = foreign__name(&t, &a.fo, err, sizeof(err));
		if (rc) {
			trail__free(&t);
			return cli__error(CLI_FAILED, "%s: %s", a.file, err);
		}
	}
	rc = present__trail(&t, &a.po);
	trail__free(&t);
	return rc ? cli__error(CLI_FAILED, "%s: %s", a.file, strerror(-rc)) : CLI_OK;
}
