/* SPDX-License-Identifier: BSD-2-Clause */
/* The record of a measuring subcommand: its file, its header and its end. */
#ifndef FRTRACE_CMD_RECORDING_H
#define FRTRACE_CMD_RECORDING_H

#include "cmd/session.h"

struct json_t;

struct recording {
	const char *output; /* -o; "none": a record without a name; NULL: frtrace-DATE.frt */
	const char *command, *mode;
	const char *ip, *sudo;		/* NULL: ip, and none */
	struct json_t *options, *notes; /* both taken */
};

/* Opens s->rec and writes its header. 0 or the exit status, said. */
int recording__begin(struct session *s, const struct recording *r);

/* Says what failed in the session, once. CLI_FAILED. */
int recording__failed(struct session *s);

/* Ends the record with what every one ends with and `end` (taken; may be NULL). False:
 * there is none that could be read; said, and *status is the worse. */
bool recording__end(struct session *s, struct json_t *end, int *status);

/* Unless quiet: where it is. */
void recording__tell(const struct session *s, bool quiet);

#endif
