/* SPDX-License-Identifier: BSD-2-Clause */
/* frtrace export: pictures and other tools' formats, from a record alone. */
#include "analyze/analyze.h"
#include "analyze/rate.h"
#include "cmd/cli.h"
#include "cmd/load.h"
#include "cmd/replace.h"
#include "record/record.h"
#include "report/report.h"
#include "util/util.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OUT_BUFFER (1u << 18)

enum { OPT_STEP = 256, OPT_AT, OPT_KIND, OPT_DIFF, OPT_ICICLE };

struct export_args {
	const struct exporter *exporter;
	struct export_opts o;
	const char *out;
	const char **files;
	size_t nfiles, cap;
};

/* What the files hold; the profile is the first one's. */
struct sources {
	struct frt_trail trail;
	struct frt_profile *profile;
	struct rate **rates;
	size_t nrates;
};

static const struct argp_option options[] = {
	{ "format", 'f', "FORMAT", 0, "one of the formats below (or by the name of -o)", 0 },
	{ "output", 'o', "FILE", 0, "write FILE, replaced only when complete; - is stdout", 0 },
	{ "step", OPT_STEP, "STEP", 0, "one step (folded, svg: else the whole router)", 0 },
	{ "at", OPT_AT, "N", 0,
	  "one level (folded: else the highest; svg: else all, to one scale; others: else all)",
	  0 },
	{ "kind", OPT_KIND, "KIND", 0,
	  "cpu, off (waiting), wall (both), functions (probed), or rate for svg and csv", 0 },
	{ "diff", OPT_DIFF, "N0,N1", 0, "folded, svg: what grew from level N0 to N1, per router",
	  0 },
	{ "icicle", OPT_ICICLE, NULL, 0, "svg: the root on top", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static const struct exporter *find_exporter(const char *format)
{
	for (const struct exporter *e = report__exporters; e->format; e++)
		if (strcmp(e->format, format) == 0)
			return e;
	return NULL;
}

/* The format whose suffix the output's name ends in. */
static const struct exporter *guess_exporter(const char *out)
{
	size_t n = out ? strlen(out) : 0;

	for (const struct exporter *e = report__exporters; e->format; e++) {
		size_t k = strlen(e->suffix);

		if (n > k + 1 && out[n - k - 1] == '.' && strcmp(out + n - k, e->suffix) == 0)
			return e;
	}
	return NULL;
}

static void list_formats(char *buf, size_t size)
{
	size_t o = 0;

	for (const struct exporter *e = report__exporters; e->format && o < size; e++)
		o += (size_t)snprintf(buf + o, size - o, "%s%s", o ? ", " : "", e->format);
}

static error_t parse_diff(struct export_args *a, const char *arg)
{
	uint64_t v[2];
	char err[256];
	size_t n;

	if (cli__list("--diff", arg, 0, 1000000, false, v, 2, &n, err, sizeof(err)))
		exit(cli__error(CLI_USAGE, "%s", err));
	if (n != 2 || v[0] == v[1])
		exit(cli__error(CLI_USAGE,
				"--diff '%s': needs two different levels; give them as 0,4000",
				arg));
	a->o.diff[0] = (int64_t)v[0];
	a->o.diff[1] = (int64_t)v[1];
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct export_args *a = state->input;
	char err[256], formats[256];
	uint64_t v;

	switch (key) {
	case 'f':
		a->exporter = find_exporter(arg);
		list_formats(formats, sizeof(formats));
		if (!a->exporter)
			exit(cli__error(CLI_USAGE, "--format '%s': unknown; choose from %s", arg,
					formats));
		return 0;
	case 'o':
		a->out = arg;
		return 0;
	case OPT_STEP:
		if (!*arg)
			exit(cli__error(CLI_USAGE, "--step '': empty; give a step's name"));
		a->o.step = arg;
		return 0;
	case OPT_AT:
		if (cli__number("--at", arg, 0, 1000000, &v, err, sizeof(err)))
			exit(cli__error(CLI_USAGE, "%s; one level at a time here", err));
		a->o.at = (int64_t)v;
		return 0;
	case OPT_KIND:
		a->o.kind = arg;
		return 0;
	case OPT_DIFF:
		return parse_diff(a, arg);
	case OPT_ICICLE:
		a->o.icicle = true;
		return 0;
	case ARGP_KEY_ARG:
		if (grow(&a->files, a->nfiles, &a->cap, sizeof(*a->files)))
			return ENOMEM;
		a->files[a->nfiles++] = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static bool wants_rate(const struct export_args *a)
{
	return a->o.kind && strcmp(a->o.kind, "rate") == 0;
}

/* What the options mean together: 0 or CLI_USAGE, said. */
static int check(struct export_args *a)
{
	char formats[256];

	list_formats(formats, sizeof(formats));
	if (!a->exporter)
		a->exporter = guess_exporter(a->out);
	if (!a->nfiles)
		return cli__error(CLI_USAGE, "no record; give a FILE.frt");
	if (!a->exporter)
		return cli__error(CLI_USAGE, "no format; give --format, one of %s", formats);
	if (a->nfiles > 1 && !wants_rate(a))
		return cli__error(CLI_USAGE,
				  "'%s': one record at a time; only --kind rate takes several",
				  a->files[1]);
	if (a->o.diff[0] >= 0 && a->o.at >= 0)
		return cli__error(CLI_USAGE,
				  "--at with --diff: --diff names both levels; drop --at");
	if (a->o.diff[0] >= 0 && !(a->exporter->takes & EXPORT_DIFF))
		return cli__error(
			CLI_USAGE,
			"--diff: format %s holds all levels; drop it, or take folded or svg",
			a->exporter->format);
	if (wants_rate(a) && !(a->exporter->takes & EXPORT_RATE))
		return cli__error(CLI_USAGE, "--kind rate: not in format %s; take svg or csv",
				  a->exporter->format);
	if (wants_rate(a) && (a->o.step || a->o.at >= 0 || a->o.diff[0] >= 0))
		return cli__error(CLI_USAGE,
				  "--kind rate: is of whole routers; drop --step, --at and --diff");
	if (a->o.kind && !wants_rate(a) && !(a->exporter->takes & EXPORT_KIND))
		return cli__error(CLI_USAGE, "--kind %s: format %s holds every kind; drop it",
				  a->o.kind, a->exporter->format);
	if ((a->o.step && !(a->exporter->takes & EXPORT_STEP)) ||
	    (a->o.at >= 0 && !(a->exporter->takes & EXPORT_AT)))
		return cli__error(CLI_USAGE, "--step, --at: format %s holds everything; drop them",
				  a->exporter->format);
	if ((a->exporter->takes & EXPORT_BINARY) && (!a->out || strcmp(a->out, "-") == 0) &&
	    isatty(STDOUT_FILENO))
		return cli__error(CLI_USAGE,
				  "format %s: not for a terminal; give -o FILE.%s or a pipe",
				  a->exporter->format, a->exporter->suffix);
	return 0;
}

static int load_record(struct input *in, const struct export_args *a, struct sources *s, bool first,
		       char *err, size_t errlen)
{
	struct analyze_opts ao = { .npredict = 0 };
	struct frt_trail t = { 0 };
	int rc = load__trail(in, &t, err, errlen);

	if (rc)
		return rc;
	if (t.truncated)
		cli__note("%s: cut short; exported as far as it goes", input__name(in));
	if (t.rate.n || t.point.n) {
		rc = analyze__rate(&t, NULL, NULL, 0, &s->rates[s->nrates]);
		if (!rc)
			s->nrates++;
	}
	if ((!rc || rc == -ENODATA) && first)
		rc = analyze__profile(&t, &ao, &s->profile);
	if (rc)
		fail(err, errlen, rc, "%s: %s", input__name(in), strerror(-rc));
	if (!rc && first && (a->exporter->takes & EXPORT_TRAIL))
		s->trail = t;
	else
		trail__free(&t); /* it is the larger part of the memory */
	return rc;
}

static int load(struct export_args *a, struct sources *s, char *err, size_t errlen)
{
	int rc = 0;

	s->rates = calloc(a->nfiles, sizeof(*s->rates));
	if (!s->rates)
		return fail(err, errlen, -ENOMEM, "export: out of memory");
	for (size_t i = 0; i < a->nfiles && !rc; i++) {
		struct input *in;

		rc = input__open(a->files[i], &in, err, errlen);
		if (!rc && wants_rate(a) && input__is_table(in)) {
			rc = load__table(in, NULL, 0, &s->rates[s->nrates], err, errlen);
			s->nrates += !rc;
		} else if (!rc) {
			rc = load_record(in, a, s, i == 0, err, errlen);
		}
		input__close(in);
	}
	a->o.rates = (const struct rate *const *)s->rates;
	a->o.nrates = s->nrates;
	a->o.trail = &s->trail;
	return rc;
}

static int write_out(const struct export_args *a, const struct sources *s)
{
	static const struct frt_profile none;
	const char *name = a->out && strcmp(a->out, "-") != 0 ? a->out : "standard output";
	char err[512] = "";
	struct replace r;
	int rc = replace__open(&r, a->out);

	if (rc)
		return cli__error(CLI_FAILED, "%s: %s; choose another -o", name, strerror(-rc));
	setvbuf(r.out, NULL, _IOFBF, OUT_BUFFER);
	rc = a->exporter->write(r.out, s->profile ? s->profile : &none, &a->o, err, sizeof(err));
	if (rc) {
		replace__abort(&r);
		return cli__error(rc == -EINVAL ? CLI_USAGE : CLI_FAILED, "%s: %s", a->files[0],
				  err);
	}
	rc = replace__commit(&r);
	if (rc && rc != -EPIPE)
		return cli__error(CLI_FAILED, "%s: %s; nothing was replaced, choose another -o",
				  name, strerror(-rc));
	return CLI_OK;
}

/* The table of exporters as the end of --help. */
static char *add_formats(int key, const char *text, void *input)
{
	char *out = NULL;
	size_t size;
	FILE *f;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)text;
	f = open_memstream(&out, &size);
	if (!f)
		return (char *)text;
	fputs("Formats:\n", f);
	for (const struct exporter *e = report__exporters; e->format; e++)
		fprintf(f, "  %-10s  %s\n", e->format, e->what);
	fprintf(f, "\n%s", text);
	return fclose(f) ? (char *)text : out;
}

int cmd_export(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.help_filter = add_formats,
		.args_doc = "FILE.frt",
		.doc = "Turns a record into pictures and into what other tools read.\v"
		       "Frames are named, never numbered: _[k] marks the kernel's, [user], [not sampled] "
		       "and [CLASS OF WAIT] stand for time without a stack of its own.",
	};
	struct export_args a = { .o = { .at = -1, .diff = { -1, -1 } } };
	struct sources s = { .nrates = 0 };
	char err[512];
	int status = cli__parse(&argp, argc, argv, "export", &a);

	if (status) {
		status -= 1000;
		goto out;
	}
	status = check(&a);
	if (status)
		goto out;
	signal(SIGPIPE, SIG_IGN);
	status = load(&a, &s, err, sizeof(err)) ? cli__error(CLI_FAILED, "%s", err)
						: write_out(&a, &s);
out:
	for (size_t i = 0; i < s.nrates; i++)
		rate__free(s.rates[i]);
	free(s.rates);
	if (s.profile)
		profile__free(s.profile);
	trail__free(&s.trail);
	free(a.files);
	return status;
}
