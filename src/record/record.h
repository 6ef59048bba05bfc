/* SPDX-License-Identifier: BSD-2-Clause */
/* The record file: the only code that knows bytes on disk. */
#ifndef FRTRACE_RECORD_H
#define FRTRACE_RECORD_H

#include <frtrace/trail.h>
#include <stdio.h>

struct record_writer;

/* Opens a record. path NULL: an unlinked temporary file (for -o none), read
 * back through record__reopen. The file is created exclusively under a
 * temporary name beside path with mode 0600, handed to uid/gid (-1: leave),
 * and renamed to path by the first flush, so that what stands there is always
 * a readable record. Returns 0 or -errno. */
int record__create(const char *path, int uid, int gid, struct record_writer **out);

/* The header line; must come first. fields is borrowed: an object with
 * "created", "command", "environment", "options", "probes"…; the writer adds
 * "format", "version" and the clock pair. */
int record__header(struct record_writer *w, struct json_t *fields);

/* One line. Matches frt_sink.put. */
int record__put(void *w, enum frt_rec type, const void *item);
struct frt_sink record__sink(struct record_writer *w);

/* Makes all lines put so far readable by others (Z_SYNC_FLUSH, write). */
int record__flush(struct record_writer *w);

/* The end line, then closes the file but keeps w for record__load. end is
 * borrowed and may be NULL (no end line: the record reads as truncated). */
int record__finish(struct record_writer *w, struct json_t *end);

/* Reads back what was written (also of an unlinked file). */
int record__load(struct record_writer *w, struct frt_trail *out);

const char *record__path(const struct record_writer *w); /* NULL for none */
void record__free(struct record_writer *w);

/* Reads a record. On error returns -errno (-EINVAL: not a record or malformed)
 * and puts one clear line, with the line number where there is one, into err.
 * A missing end line is no error: trail->truncated. */
int trail__read(const char *path, struct frt_trail *out, char *err, size_t errlen);
void trail__free(struct frt_trail *t);

#endif
