/* SPDX-License-Identifier: BSD-2-Clause */
/* The record file: the only code that knows bytes on disk. */
#ifndef FRTRACE_RECORD_H
#define FRTRACE_RECORD_H

#include <frtrace/trail.h>
#include <stdio.h>

struct record_writer;

/* Opens a record. path NULL: an unlinked temporary file (for -o none), read
 * back through record__load. The file gets mode 0600, is handed to uid/gid
 * (-1: leave) and stays without a name until the first flush gives it path, so
 * that what stands there is always a readable record and nothing is left of one
 * that never began. An existing path is never touched: -EEXIST, here or at the
 * first flush. Returns 0 or -errno. */
int record__create(const char *path, int uid, int gid, struct record_writer **out);

/* The header line; must come first. fields is borrowed: an object with
 * "created", "command", "environment", "options", "probes"…; the writer puts
 * "frtrace" (format version), "version" (of the program), "clock": {"mono",
 * "wall"} (ns, read at the same moment) and "fields" before them. */
int record__header(struct record_writer *w, struct json_t *fields);

/* One line. Matches frt_sink.put. After the first error (-ENOSPC…) every call
 * returns it again; what was written before stays readable. */
int record__put(void *w, enum frt_rec type, const void *item);
struct frt_sink record__sink(struct record_writer *w);

/* Makes all lines put so far readable by others (Z_SYNC_FLUSH, write). */
int record__flush(struct record_writer *w);

/* The end line, then closes the stream but keeps w for record__load. end is
 * borrowed and may be NULL (no end line: the record reads as truncated). */
int record__finish(struct record_writer *w, struct json_t *end);

/* Reads back what was flushed or finished (also of an unlinked file). Returns
 * what trail__read does. */
int record__load(struct record_writer *w, struct frt_trail *out);

const char *record__path(const struct record_writer *w); /* NULL for none */
uint64_t record__bytes(const struct record_writer *w);	 /* on disk so far */
void record__free(struct record_writer *w);

/* Reads a record, compressed or not; path "-" is standard input. On error returns -errno (-EINVAL: not a
 * record or malformed, -EFBIG: beyond what is read), puts one clear line, with
 * the line number where there is one, into err, and leaves out empty. Without
 * its end line it is no error: trail->truncated. Node ids are dense, level ids
 * ascend, parents and stacks point backwards, enumerations are in range: what
 * is read may be indexed without further tests. */
int trail__read(const char *path, struct frt_trail *out, char *err, size_t errlen);
void trail__free(struct frt_trail *t);

/* The format's line types and their fields, as doc/record.md has them. */
void record__describe(FILE *f);

#endif
