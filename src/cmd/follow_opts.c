/* SPDX-License-Identifier: BSD-2-Clause */
/* Options that `frtrace run` and `frtrace attach` share. */
#include "cmd/cli.h"
#include "cmd/follow.h"
#include "cmd/option.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

enum {
	OPT_BY = 512,
	OPT_STEP,
	OPT_EVERY,
	OPT_LIVE,
	OPT_REPORT,
	OPT_ARGV,
	OPT_FREQ,
	OPT_PROBES,
	OPT_PROBE,
	OPT_PREDICT,
	OPT_JSON,
	OPT_STRICT,
	OPT_QUIET,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "What a step is:", 2 },
	{ "by", OPT_BY, "WHAT", 0,
	  "command: a process; action: what a thread asks of the kernel; auto: for each what fits "
	  "(auto)",
	  2 },
	{ "step", OPT_STEP, "NAME=PATTERN", 0,
	  "commands that fit are the step NAME, such as 'tc=ip netns exec * tc'; repeatable, the "
	  "first that fits counts",
	  2 },
	{ "every", OPT_EVERY, "N", 0, "existing namespaces to a row of the report (250)", 2 },
	{ NULL, 0, NULL, 0, "What is traced:", 3 },
	{ "freq", OPT_FREQ, "HZ", 0, "samples a second; 0 for none (999)", 3 },
	{ "probes", OPT_PROBES, "RUNG", 0, "auto, none, fentry, multi or kprobe (auto)", 3 },
	{ "probe", OPT_PROBE, "FUNC", 0, "one more kernel function, or a 'PATTERN*'; repeatable",
	  3 },
	{ NULL, 0, NULL, 0, "What comes out:", 4 },
	{ "live", OPT_LIVE, NULL, 0, "show on the terminal what is being done, every second", 4 },
	{ "report", OPT_REPORT, "FILE", 0, "the report goes there", 4 },
	{ "predict", OPT_PREDICT, "N,…", 0, "existing namespaces to predict for (10000)", 4 },
	{ "argv", OPT_ARGV, NULL, 0,
	  "record whole arguments; otherwise only programs and the words that rules ask for", 4 },
	{ "output", 'o', "FILE", 0, "the record; none for no record (frtrace-DATE.frt)", 4 },
	{ "json", OPT_JSON, NULL, 0, "the report as JSON; errors are JSON too", 4 },
	{ "strict", OPT_STRICT, NULL, 0, "exit 4 when any data was lost", 4 },
	{ "quiet", OPT_QUIET, NULL, 0, "no remarks", 4 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static void add_step(struct follow_opts *o, const char *arg)
{
	struct rules *r = rules__new();
	char err[256];
	int rc;

	if (o->nsteps == FOLLOW_STEPS_MAX)
		exit(cli__error(CLI_USAGE, "--step: more than %d; give fewer", FOLLOW_STEPS_MAX));
	rc = r ? rules__add(r, arg, err, sizeof(err)) : 0;
	rules__free(r);
	if (rc)
		option__wrong(err);
	o->step[o->nsteps++] = arg;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct follow_opts *o = state->input;

	switch (key) {
	case OPT_BY:
		o->by = (enum foreign_by)option__choice("--by", foreign__by_names, arg);
		return 0;
	case OPT_STEP:
		add_step(o, arg);
		return 0;
	case OPT_EVERY:
		o->every = option__uint("--every", arg, 1, 100000000);
		return 0;
	case OPT_LIVE:
		o->live = true;
		return 0;
	case OPT_REPORT:
		o->report = arg;
		return 0;
	case OPT_ARGV:
		o->argv = true;
		return 0;
	case OPT_FREQ:
		o->freq = option__uint("--freq", arg, 0, 20000);
		return 0;
	case OPT_PROBES:
		o->backend = (enum trace_backend)option__choice("--probes", option__backends, arg);
		return 0;
	case OPT_PROBE:
		if (o->nprobes == FOLLOW_PROBES_MAX)
			exit(cli__error(CLI_USAGE, "--probe: more than %d; use a 'PATTERN*'",
					FOLLOW_PROBES_MAX));
		o->probes[o->nprobes++] = arg;
		return 0;
	case OPT_PREDICT:
		option__predict(arg, o->predict, ARRAY_SIZE(o->predict), &o->npredict);
		return 0;
	case 'o':
		o->output = arg;
		return 0;
	case OPT_JSON:
		o->json = true;
		cli__errors_as_json(true);
		return 0;
	case OPT_STRICT:
		o->strict = true;
		return 0;
	case OPT_QUIET:
		o->quiet = true;
		cli__quiet(true);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp follow__argp = { .options = options, .parser = parse };

void follow__defaults(struct follow_opts *o)
{
	o->by = FOREIGN_AUTO;
	o->every = 250;
	o->freq = 999;
	o->predict[0] = 10000;
	o->npredict = 1;
}
