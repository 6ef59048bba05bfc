/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/profile.h"

#include "cmd/cli.h"
#include "cmd/option.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

enum {
	OPT_AT = 256,
	OPT_ROUTERS,
	OPT_WARMUP,
	OPT_STREAMS,
	OPT_MODE,
	OPT_FILL,
	OPT_SETTLE,
	OPT_IP,
	OPT_SUDO,
	OPT_CREATE,
	OPT_DESTROY,
	OPT_FREQ,
	OPT_PROBES,
	OPT_PROBE,
	OPT_PREDICT,
	OPT_OVERHEAD,
	OPT_REPEAT,
	OPT_UNTRACED,
	OPT_CORE,
	OPT_ARGV,
	OPT_TIMELINE,
	OPT_STEP_TIMEOUT,
	OPT_KEEP,
	OPT_JSON,
	OPT_STRICT,
	OPT_QUIET,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "What is made:", 1 },
	{ "at", OPT_AT, "N,N,…", 0, "levels: existing fake routers to measure at (0,4000)", 1 },
	{ "routers", OPT_ROUTERS, "K", 0, "routers measured per level (60)", 1 },
	{ "warmup", OPT_WARMUP, "W", 0, "routers made before them and not counted (3)", 1 },
	{ "streams", OPT_STREAMS, "S", 0, "concurrent creators (1)", 1 },
	{ "mode", OPT_MODE, "MODE", 0, "script, exact, lean or batch (script)", 1 },
	{ "fill", OPT_FILL, "MODE", 0, "how the levels are filled: lean, exact or script (lean)",
	  1 },
	{ "settle", OPT_SETTLE, "S", 0, "wait at most so many seconds for a quiet machine (15)",
	  1 },
	{ "ip", OPT_IP, "PATH", 0, "another ip binary", 1 },
	{ "sudo", OPT_SUDO, "CMD", OPTION_ARG_OPTIONAL, "prefix for every command (sudo)", 1 },
	{ "create", OPT_CREATE, "CMD", 0,
	  "your own create command instead of the fake router; {i} and {uuid} are replaced", 1 },
	{ "destroy", OPT_DESTROY, "CMD", 0, "the command that removes what --create made", 1 },
	{ "step-timeout", OPT_STEP_TIMEOUT, "S", 0,
	  "a step that hangs longer is reported and killed (30)", 1 },
	{ "keep", OPT_KEEP, NULL, 0, "leave the routers; `frtrace clean` removes them", 1 },
	{ NULL, 0, NULL, 0, "What is traced:", 2 },
	{ "freq", OPT_FREQ, "HZ", 0, "samples a second in every second router; 0 for none (999)",
	  2 },
	{ "probes", OPT_PROBES, "RUNG", 0, "auto, none, fentry, multi or kprobe (auto)", 2 },
	{ "probe", OPT_PROBE, "FUNC", 0, "one more kernel function, or a 'PATTERN*'; repeatable",
	  2 },
	{ "untraced", OPT_UNTRACED, NULL, 0, "without BPF: walls and growth by step only", 2 },
	{ "core", OPT_CORE, NULL, 0,
	  "calls, scheduler and tasks only: no stacks and locks of waits", 2 },
	{ "timeline", OPT_TIMELINE, "K", 0,
	  "show the last K routers of each level in the timeline export (0: the worst three alone)",
	  2 },
	{ "overhead", OPT_OVERHEAD, NULL, 0, "also measure what looking costs", 2 },
	{ NULL, 0, NULL, 0, "What comes out:", 3 },
	{ "predict", OPT_PREDICT, "N,…", 0, "existing namespaces to predict for (10000)", 3 },
	{ "repeat", OPT_REPEAT, "N", 0, "do it all N times (1)", 3 },
	{ "output", 'o', "FILE", 0, "the record; none for no record (frtrace-DATE.frt)", 3 },
	{ "json", OPT_JSON, NULL, 0, "JSON on stdout; errors are JSON too", 3 },
	{ "argv", OPT_ARGV, NULL, 0,
	  "with --create: record whole arguments, not only programs and the words of rules", 3 },
	{ "strict", OPT_STRICT, NULL, 0, "exit 4 when any data was lost", 3 },
	{ "quiet", OPT_QUIET, NULL, 0, "no progress", 3 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static const char *const mode_names[] = {
	[FRT_WORK_SCRIPT] = "script",
	[FRT_WORK_EXACT] = "exact",
	[FRT_WORK_LEAN] = "lean",
	[FRT_WORK_BATCH] = "batch",
	NULL,
};
static const char *const fill_names[] = {
	[FRT_WORK_SCRIPT] = "script",
	[FRT_WORK_EXACT] = "exact",
	[FRT_WORK_LEAN] = "lean",
	NULL,
};

static const struct option_number numbers[] = {
	{ OPT_ROUTERS, "--routers", 1, 1000000, offsetof(struct profile_opts, routers) },
	{ OPT_WARMUP, "--warmup", 0, 100000, offsetof(struct profile_opts, warmup) },
	{ OPT_STREAMS, "--streams", 1, 256, offsetof(struct profile_opts, streams) },
	{ OPT_SETTLE, "--settle", 0, 3600, offsetof(struct profile_opts, settle) },
	{ OPT_FREQ, "--freq", 0, 20000, offsetof(struct profile_opts, freq) },
	{ OPT_REPEAT, "--repeat", 1, 1000, offsetof(struct profile_opts, repeat) },
	{ OPT_TIMELINE, "--timeline", 0, 1000000, offsetof(struct profile_opts, timeline) },
	{ OPT_STEP_TIMEOUT, "--step-timeout", 1, 86400,
	  offsetof(struct profile_opts, step_timeout) },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct profile_opts *o = state->input;
	char err[256];

	if (option__number(numbers, ARRAY_SIZE(numbers), key, arg, o))
		return 0;
	switch (key) {
	case OPT_AT:
		option__list("--at", arg, 0, 1000000, o->at, PROFILE_LEVELS_MAX, &o->nat);
		return 0;
	case OPT_PREDICT:
		option__predict(arg, o->predict, PROFILE_PREDICT_MAX, &o->npredict);
		return 0;
	case OPT_MODE:
		o->mode = (enum frt_workmode)option__choice("--mode", mode_names, arg);
		return 0;
	case OPT_FILL:
		o->fill = (enum frt_workmode)option__choice("--fill", fill_names, arg);
		return 0;
	case OPT_PROBES:
		o->backend = (enum trace_backend)option__choice("--probes", option__backends, arg);
		return 0;
	case OPT_PROBE:
		if (!*arg)
			option__wrong(
				"--probe: the name is empty; give a kernel function or a 'pattern*'");
		if (o->nprobes == PROFILE_PROBES_MAX)
			option__wrong("--probe: more than 64; use a 'pattern*'");
		o->probes[o->nprobes++] = arg;
		return 0;
	case OPT_IP:
		o->ip = arg;
		return 0;
	case OPT_SUDO:
		o->sudo = arg ? arg : "sudo";
		return 0;
	case OPT_CREATE:
		o->create = arg;
		return 0;
	case OPT_DESTROY:
		o->destroy = arg;
		return 0;
	case 'o':
		o->output = arg;
		return 0;
	case OPT_KEEP:
		o->keep = true;
		return 0;
	case OPT_UNTRACED:
		o->untraced = true;
		return 0;
	case OPT_CORE:
		o->core = true;
		return 0;
	case OPT_OVERHEAD:
		o->overhead = true;
		return 0;
	case OPT_JSON:
		o->json = true;
		cli__errors_as_json(true);
		return 0;
	case OPT_ARGV:
		o->argv = true;
		return 0;
	case OPT_STRICT:
		o->strict = true;
		return 0;
	case OPT_QUIET:
		o->quiet = true;
		cli__quiet(true);
		return 0;
	case ARGP_KEY_ARG:
		snprintf(err, sizeof(err),
			 "'%s': not an option; `frtrace profile --help` lists them", arg);
		option__wrong(err);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int profile__options(int argc, char **argv, struct profile_opts *o)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.doc = "Creates fake routers at each level of existing ones and shows where the time of "
		       "their steps goes.\v"
		       "Exit status: 0 fine, 1 something failed, 2 wrong usage, 3 cannot run here or a "
		       "probe could not be attached, 4 data lost under --strict, 130 interrupted.",
	};
	int rc;

	*o = (struct profile_opts){
		.at = { 0, 4000 },
		.nat = 2,
		.routers = 60,
		.warmup = 3,
		.streams = 1,
		.settle = 15,
		.freq = 999,
		.repeat = 1,
		.step_timeout = 30,
		.predict = { 10000 },
		.npredict = 1,
		.mode = FRT_WORK_SCRIPT,
		.fill = FRT_WORK_LEAN,
	};
	rc = cli__parse(&argp, argc, argv, "profile", o);
	if (rc)
		return rc;
	if (o->streams > o->routers)
		return 1000 +
		       cli__error(
			       CLI_USAGE,
			       "--streams %llu: more streams than --routers %llu; lower one or raise the other",
			       (unsigned long long)o->streams, (unsigned long long)o->routers);
	if (o->untraced && (o->nprobes || o->overhead || o->backend != TRACE_AUTO))
		return 1000 +
		       cli__error(
			       CLI_USAGE,
			       "--untraced: does not go with --probe, --probes or --overhead; drop one");
	if (o->destroy && !o->create)
		return 1000 + cli__error(CLI_USAGE, "--destroy: needs --create; give both");
	return 0;
}
