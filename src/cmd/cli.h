/* SPDX-License-Identifier: BSD-2-Clause */
/* What the subcommands share: exit statuses, error lines, number lists, the
 * record's name and owner, progress, signals. */
#ifndef FRTRACE_CLI_H
#define FRTRACE_CLI_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cli_status {
	CLI_OK = 0,
	CLI_FAILED = 1,	       /* a step, file, record or the kernel failed */
	CLI_USAGE = 2,	       /* every malformed or impossible list or number */
	CLI_UNABLE = 3,	       /* found before anything was created; a probe not attached */
	CLI_LOST = 4,	       /* data lost under --strict */
	CLI_OWN_FAILURE = 125, /* run: frtrace itself failed */
	CLI_INTERRUPTED = 130,
};

/* Of two statuses the one to exit with: 130, 1, 4, 3. */
int cli__worse(int a, int b);

/* From here on errors are JSON objects {"error":…,"status":…}, one a line. */
void cli__errors_as_json(bool on);
/* One line on stderr, "frtrace: …", control bytes escaped; gives status back. */
int cli__error(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A remark on stderr, unless quiet. */
void cli__note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void cli__quiet(bool on);

/* Whole decimal number in [min, max]: 0, or -EINVAL and a line in err that
 * starts with what. */
int cli__number(const char *what, const char *s, uint64_t min, uint64_t max, uint64_t *out,
		char *err, size_t errlen);
/* Comma-separated numbers in [min, max]; strictly ascending when asked. At most
 * cap values; *n how many. 0 or -EINVAL and a line in err. */
int cli__list(const char *what, const char *s, uint64_t min, uint64_t max, bool ascending,
	      uint64_t *v, size_t cap, size_t *n, char *err, size_t errlen);

/* Who the files shall belong to: SUDO_UID and SUDO_GID, or -1. */
void cli__owner(int *uid, int *gid);
/* frtrace-DATE.frt in the current folder, one that does not exist yet. */
void cli__record_name(char *buf, size_t size);
/* The command line as one string for the record (malloc'ed). */
char *cli__command_line(int argc, char **argv);

/* Colour on this stream? A terminal, and NO_COLOR not set. */
bool cli__color(int fd);

/* Bar, rate and time left on a terminal's stderr, one line per tenth when not. */
void cli__progress(const char *what, uint64_t done, uint64_t total);
void cli__progress_end(void);

/* SIGINT, SIGTERM, SIGHUP: calls stop(ctx) once (async-signal-safe), notes it; a
 * second one too. SIGPIPE is ignored. */
void cli__on_signal(void (*stop)(void *ctx), void *ctx);
bool cli__interrupted(void);

/* argp with our conventions: usage errors exit 2. Returns 0 or a status + 1000. */
int cli__parse(const struct argp *argp, int argc, char **argv, const char *name, void *input);

/* The subcommands; argv[0] is the subcommand's name. Return the exit status. */
int cmd_profile(int argc, char **argv);
int cmd_rate(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_clean(int argc, char **argv);

#endif
