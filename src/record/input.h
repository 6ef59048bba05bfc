/* SPDX-License-Identifier: BSD-2-Clause */
/* A file, pipe or standard input that is a record or a table: opened once, told by
 * its first bytes, and then read from its first byte on. */
#ifndef RECORD_INPUT_H
#define RECORD_INPUT_H

#include <frtrace/trail.h>
#include <stdbool.h>
#include <stddef.h>

struct input;

/* path "-": standard input. 0, or -errno and one line in err. */
int input__open(const char *path, struct input **out, char *err, size_t errlen);
/* What it is called in messages: path, printable, or "standard input". */
const char *input__name(const struct input *in);
/* Neither compressed nor JSON, and not empty: no record, so a table. */
bool input__is_table(const struct input *in);
/* The rest, once, as trail__read does, or as text (malloc'ed, of *len bytes). */
int input__trail(struct input *in, struct frt_trail *out, char *err, size_t errlen);
int input__text(struct input *in, char **text, size_t *len, char *err, size_t errlen);
void input__close(struct input *in); /* NULL: nothing */

#endif
