/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/cli.h"
#include "cmd/option.h"
#include "cmd/rate.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

enum {
	OPT_TO = 256,
	OPT_EVERY,
	OPT_STREAMS,
	OPT_INTERVAL,
	OPT_STALL,
	OPT_SAMPLE,
	OPT_AT,
	OPT_SETTLE,
	OPT_REPEAT,
	OPT_MODE,
	OPT_PREDICT,
	OPT_IP,
	OPT_SUDO,
	OPT_KEEP,
	OPT_CSV,
	OPT_TRACE,
	OPT_JSON,
	OPT_STRICT,
	OPT_QUIET,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "What is made:", 1 },
	{ "to", OPT_TO, "N", 0, "routers to create (4000)", 1 },
	{ "every", OPT_EVERY, "K", 0, "a row for every K of them (250)", 1 },
	{ "mode", OPT_MODE, "MODE,…", 0,
	  "script, exact, lean, batch, or several: each a case of its own (script)", 1 },
	{ "streams", OPT_STREAMS, "S,S,…", 0,
	  "concurrent creators, each number a case from a clean start", 1 },
	{ "sample", OPT_SAMPLE, "K", 0,
	  "fill by lean and measure only K routers in the middle of each row", 1 },
	{ "at", OPT_AT, "N,…", 0, "with --sample, only the rows that begin with N routers", 1 },
	{ "settle", OPT_SETTLE, "S", 0, "wait at most so many seconds for a quiet machine (15)",
	  1 },
	{ "ip", OPT_IP, "PATH", 0, "another ip binary", 1 },
	{ "sudo", OPT_SUDO, "CMD", OPTION_ARG_OPTIONAL, "prefix for every command (sudo)", 1 },
	{ "stall", OPT_STALL, "S", 0,
	  "no router for so many seconds is a stall: reported, the case ended (30)", 1 },
	{ "keep", OPT_KEEP, NULL, 0, "leave the routers; `frtrace clean` removes them", 1 },
	{ NULL, 0, NULL, 0, "What comes out:", 2 },
	{ "interval", OPT_INTERVAL, "S", 0, "with --streams, read the count every S seconds (30)",
	  2 },
	{ "trace", OPT_TRACE, NULL, 0, "also account for the time of each row (needs BPF)", 2 },
	{ "predict", OPT_PREDICT, "N,…", 0, "existing routers to predict for (10000)", 2 },
	{ "repeat", OPT_REPEAT, "N", 0, "do it all N times (1)", 2 },
	{ "csv", OPT_CSV, "FILE", 0, "the table as comma-separated values", 2 },
	{ "output", 'o', "FILE", 0, "the record; none for no record (frtrace-DATE.frt)", 2 },
	{ "json", OPT_JSON, NULL, 0, "JSON on stdout; errors are JSON too", 2 },
	{ "strict", OPT_STRICT, NULL, 0, "exit 4 when any data was lost", 2 },
	{ "quiet", OPT_QUIET, NULL, 0, "no progress", 2 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static const struct option_number numbers[] = {
	{ OPT_TO, "--to", 1, 1000000, offsetof(struct rate_opts, to) },
	{ OPT_EVERY, "--every", 1, 1000000, offsetof(struct rate_opts, every) },
	{ OPT_INTERVAL, "--interval", 1, 86400, offsetof(struct rate_opts, interval) },
	{ OPT_STALL, "--stall", 1, 86400, offsetof(struct rate_opts, stall) },
	{ OPT_SAMPLE, "--sample", 1, 1000000, offsetof(struct rate_opts, sample) },
	{ OPT_SETTLE, "--settle", 0, 3600, offsetof(struct rate_opts, settle) },
	{ OPT_REPEAT, "--repeat", 1, 1000, offsetof(struct rate_opts, repeat) },
};

static void parse_modes(struct rate_opts *o, const char *arg)
{
	o->nmodes = 0;
	for (const char *p = arg;; p += strcspn(p, ",") + 1) {
		size_t len = strcspn(p, ",");
		int mode = -1;

		for (int m = 0; m < FRT_WORK_FOREIGN; m++)
			if (strlen(rate__mode_name(m)) == len &&
			    strncmp(rate__mode_name(m), p, len) == 0)
				mode = m;
		if (mode < 0)
			exit(cli__error(
				CLI_USAGE,
				"--mode '%.*s': unknown; give script, exact, lean, batch or "
				"several with commas",
				len < 60 ? (int)len : 60, p));
		for (size_t i = 0; i < o->nmodes; i++)
			if ((int)o->mode[i] == mode)
				exit(cli__error(CLI_USAGE,
						"--mode: %s stands twice; give each once",
						rate__mode_name(mode)));
		o->mode[o->nmodes++] = (enum frt_workmode)mode;
		if (!p[len])
			return;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct rate_opts *o = state->input;
	char err[256];

	if (option__number(numbers, ARRAY_SIZE(numbers), key, arg, o))
		return 0;
	switch (key) {
	case OPT_STREAMS:
		option__list("--streams", arg, 1, RATE_STREAMS_MAX, o->streams, RATE_CASES_MAX,
			     &o->nstreams);
		o->over_time = true;
		return 0;
	case OPT_AT:
		option__list("--at", arg, 0, 1000000, o->at, RATE_AT_MAX, &o->nat);
		return 0;
	case OPT_PREDICT:
		option__predict(arg, o->predict, RATE_PREDICT_MAX, &o->npredict);
		return 0;
	case OPT_MODE:
		parse_modes(o, arg);
		return 0;
	case OPT_IP:
		o->ip = arg;
		return 0;
	case OPT_SUDO:
		o->sudo = arg ? arg : "sudo";
		return 0;
	case OPT_KEEP:
		o->keep = true;
		return 0;
	case OPT_CSV:
		o->csv = arg;
		return 0;
	case 'o':
		o->output = arg;
		return 0;
	case OPT_TRACE:
		o->trace = true;
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
	case ARGP_KEY_ARG:
		snprintf(err, sizeof(err), "'%s': not an option; `frtrace rate --help` lists them",
			 arg);
		option__wrong(err);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The rows asked for are rows of the table. */
static int check_at(const struct rate_opts *o)
{
	if (o->nat && !o->sample)
		return cli__error(CLI_USAGE,
				  "--at: without --sample every row is made; give both or neither");
	for (size_t i = 0; i < o->nat; i++)
		if (o->at[i] % o->every || o->at[i] >= o->to)
			return cli__error(
				CLI_USAGE,
				"--at %llu: no row begins there; rows begin at multiples of "
				"--every %llu below --to %llu",
				(unsigned long long)o->at[i], (unsigned long long)o->every,
				(unsigned long long)o->to);
	return 0;
}

/* What each number allows alone and two together do not. */
static int check(const struct rate_opts *o)
{
	unsigned long long to = o->to, every = o->every;

	if (every > to)
		return cli__error(CLI_USAGE, "--every %llu: larger than --to %llu; lower it", every,
				  to);
	if (to % every)
		return cli__error(
			CLI_USAGE,
			"--every %llu: does not divide --to %llu; the last row would be of "
			"%llu: take another",
			every, to, to % every);
	if (o->sample > every)
		return cli__error(CLI_USAGE, "--sample %llu: larger than --every %llu; lower it",
				  (unsigned long long)o->sample, every);
	if (o->sample && o->over_time)
		return cli__error(
			CLI_USAGE,
			"--sample: a count over time needs every router; drop it or --streams");
	if (o->streams[o->nstreams - 1] > to)
		return cli__error(
			CLI_USAGE,
			"--streams %llu: more streams than --to %llu; lower one or raise the "
			"other",
			(unsigned long long)o->streams[o->nstreams - 1], to);
	for (size_t i = 0; o->sample && i < o->nmodes; i++)
		if (o->mode[i] == FRT_WORK_LEAN && o->nmodes == 1)
			return cli__error(CLI_USAGE,
					  "--sample: with --mode lean nothing is saved; drop one");
	if (o->keep && (o->nmodes > 1 || o->nstreams > 1 || o->repeat > 1))
		return cli__error(CLI_USAGE,
				  "--keep: each case begins clean; give one mode, one number of "
				  "streams and no --repeat");
	return check_at(o);
}

int rate__options(int argc, char **argv, struct rate_opts *o)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.doc = "Creates fake routers and shows how many a second, as their number grows, with "
		       "one stream or many.\v"
		       "Exit status: 0 fine, 1 something failed or stalled, 2 wrong usage, 3 cannot run "
		       "here, 4 data lost under --strict, 130 interrupted.",
	};
	int rc;

	*o = (struct rate_opts){
		.to = 4000,
		.every = 250,
		.interval = 30,
		.stall = 30,
		.settle = 15,
		.repeat = 1,
		.streams = { 1 },
		.nstreams = 1,
		.mode = { FRT_WORK_SCRIPT },
		.nmodes = 1,
		.predict = { 10000 },
		.npredict = 1,
	};
	rc = cli__parse(&argp, argc, argv, "rate", o);
	if (rc)
		return rc;
	rc = check(o);
	return rc ? rc + 1000 : 0;
}
