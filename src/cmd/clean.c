/* SPDX-License-Identifier: BSD-2-Clause */
/* frtrace clean: removes what earlier runs left behind. */
#include "cmd/cli.h"
#include "env/kevents.h"
#include "util/util.h"
#include "workload/workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_DRY_RUN = 256 };

static const struct argp_option options[] = {
	{ "dry-run", OPT_DRY_RUN, NULL, 0, "only say what would be removed", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case OPT_DRY_RUN:
		*(bool *)state->input = true;
		return 0;
	case ARGP_KEY_ARG:
		exit(cli__error(CLI_USAGE, "'%s': not an option; clean takes only --dry-run", arg));
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void say(void *ctx, const char *line)
{
	char shown[1024];

	(void)ctx;
	puts(printable(shown, sizeof(shown), line));
}

int cmd_clean(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.doc = "Removes the fake routers, links and ledgers of runs that are no longer alive. "
		       "Only what a ledger in /run/frtrace names is touched."
	};
	bool dry_run = false;
	int n, events, rc = cli__parse(&argp, argc, argv, "clean", &dry_run);

	if (rc)
		return rc - 1000;
	if (geteuid())
		return cli__error(
			CLI_UNABLE,
			"not root: removing namespaces needs CAP_SYS_ADMIN; run it with sudo");
	n = workload__clean(dry_run, say, NULL);
	events = kevents__clean(dry_run, say, NULL);
	fflush(stdout); /* "the lines above" */
	if (n < 0)
		rc = cli__error(CLI_FAILED, "/run/frtrace: %s; see the lines above", strerror(-n));
	if (events < 0)
		rc = cli__error(CLI_FAILED, "kprobe_events of tracefs: %s; see the lines above",
				strerror(-events));
	if (rc)
		return rc;
	n += events;
	printf("%s %d object%s\n", dry_run ? "would remove" : "removed", n, n == 1 ? "" : "s");
	return CLI_OK;
}
