/* SPDX-License-Identifier: BSD-2-Clause */
/* frtrace doctor: what works here, why not, what would help. */
#include "cmd/cli.h"
#include "cmd/present.h"
#include "report/doctor.h"
#include "trace/trace.h"
#include "util/util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_JSON = 256, OPT_HAS };

struct doctor_args {
	bool json;
	const char *has;
};

static const struct argp_option options[] = {
	{ "json", OPT_JSON, NULL, 0, "JSON on stdout; errors are JSON too", 0 },
	{ "has", OPT_HAS, "FEATURE", 0, "exit 0 when FEATURE works here, 3 when not; prints why",
	  0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct doctor_args *a = state->input;

	switch (key) {
	case OPT_JSON:
		a->json = true;
		cli__errors_as_json(true);
		return 0;
	case OPT_HAS:
		a->has = arg;
		return 0;
	case ARGP_KEY_ARG:
		exit(cli__error(CLI_USAGE,
				"'%s': not an option; `frtrace doctor --help` lists them", arg));
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const char *const state_names[] = {
	[TRACE_NO] = "no", [TRACE_PARTLY] = "partly", [TRACE_YES] = "yes"
};

static int answer_has(const struct trace_feature *v, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(v[i].name, name) != 0)
			continue;
		printf("%s: %s%s%s\n", name, state_names[v[i].state], *v[i].reason ? ": " : "",
		       v[i].reason);
		return v[i].state == TRACE_NO ? CLI_UNABLE : CLI_OK;
	}
	return cli__error(CLI_USAGE, "--has '%s': no such feature; `frtrace doctor` lists them",
			  name);
}

int cmd_doctor(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.doc = "Asks the kernel, by trying, for everything frtrace can use."
	};
	static struct trace_feature v[64];
	struct doctor_row rows[ARRAY_SIZE(v)];
	struct doctor_args a = { 0 };
	size_t n;
	int rc = cli__parse(&argp, argc, argv, "doctor", &a);

	if (rc)
		return rc - 1000;
	n = trace__features(v, ARRAY_SIZE(v));
	if (n > ARRAY_SIZE(v))
		n = ARRAY_SIZE(v);
	if (a.has)
		return answer_has(v, n, a.has);
	for (size_t i = 0; i < n; i++)
		rows[i] = (struct doctor_row){ v[i].name, state_names[v[i].state], v[i].reason,
					       v[i].remedy };
	if (a.json)
		rc = present__json(report__doctor_json(rows, n));
	else
		rc = report__doctor_text(stdout, rows, n, cli__color(STDOUT_FILENO));
	if (!rc && (fflush(stdout) || ferror(stdout)))
		rc = -errno;
	return rc ? cli__error(CLI_FAILED, "%s", strerror(-rc)) : CLI_OK;
}
