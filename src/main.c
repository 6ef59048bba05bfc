/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of subcommands. */
#include "cmd/cli.h"

#include "util/util.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct subcommand {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *what;
} subcommands[] = {
	{ "profile", cmd_profile,
	  "where does the time go, step by step, at 0 and at N namespaces" },
	{ "rate", cmd_rate, "routers per second as their number grows, one or many streams" },
	{ "run", cmd_run, "start somebody's loop, follow it and report its steps" },
	{ "attach", cmd_attach, "join a loop that is running already, and report its steps" },
	{ "report", cmd_report, "print what a record holds" },
	{ "compare", cmd_compare, "records and rate tables side by side" },
	{ "export", cmd_export, "flame graphs, html, pprof, speedscope, trace, csv from a record" },
	{ "doctor", cmd_doctor,
	  "what this kernel and these privileges allow, and what would help" },
	{ "clean", cmd_clean, "remove what an earlier run left behind, never anything else" },
};

static void print_usage(FILE *f)
{
	fputs("Usage: frtrace [SUBCOMMAND] [OPTION...]\n\n"
	      "Shows which step of creating network namespaces got slower, and why.\n"
	      "Without a subcommand: frtrace profile --at 0,4000\n\n",
	      f);
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
		fprintf(f, "  %-9s %s\n", subcommands[i].name, subcommands[i].what);
	fputs("\n`frtrace SUBCOMMAND --help` lists the options; `frtrace --version` the version.\n",
	      f);
}

/* What is opened next would be a standard stream that the caller has closed, and
 * messages would go into the record. Of no use in the stream's own direction: that
 * it is closed remains an error. */
static int hold_streams(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	if (hold_streams())
		return CLI_FAILED;
	if (name &&
	    (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)) {
		print_usage(stdout);
		return CLI_OK;
	}
	if (name && (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)) {
		puts("frtrace " FRT_VERSION);
		return CLI_OK;
	}
	if (!name || name[0] == '-')
		return cmd_profile(argc, argv);
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
		if (strcmp(subcommands[i].name, name) == 0)
			return subcommands[i].run(argc - 1, argv + 1);
	return cli__error(CLI_USAGE, "%s: no such subcommand; `frtrace --help` lists them", name);
}
