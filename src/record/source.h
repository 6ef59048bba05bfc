/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines out of a file, a pipe or memory, compressed or not. */
#ifndef RECORD_SOURCE_H
#define RECORD_SOURCE_H

#include <frtrace/trail.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text that is read at most: far above any run, and a bomb ends here. */
#define RECORD_TEXT_MAX (1ull << 30)
/* Structs take more than the shortest lines that make them. */
#define RECORD_DATA_MAX (1ull << 30)

/* Where the bytes come from; the reader's state is in struct record_lines. */
struct record_source {
	int fd;	       /* behind mem; -1: mem is all */
	bool seekable; /* read from pos on, leaving the descriptor's own position alone */
	int64_t pos;
	const void *mem;   /* comes first */
	size_t left;	   /* of mem */
	uint64_t text_max; /* 0: RECORD_TEXT_MAX */
	uint64_t data_max; /* 0: RECORD_DATA_MAX */
};

struct record_lines;

/* Takes what src says; src must outlive it. 0 or -errno. */
int record_lines__new(struct record_source *src, struct record_lines **out);
void record_lines__free(struct record_lines *l);

/* The next line: 1, *line ends before its newline, which is kept (*len without
 * it). 0 at the end, *cut then tells whether bytes are missing: the last line
 * without its newline, a stream cut short. -errno on damage, the reason in
 * why; -EFBIG beyond a limit. The line may be changed in place and lives until
 * the next call. */
int record_lines__next(struct record_lines *l, char **line, size_t *len, bool *cut, char *why,
		       size_t whylen);
/* Nothing at all could be read: an empty file. */
bool record_lines__empty(const struct record_lines *l);

int trail__read_source(struct record_source *src, const char *name, struct frt_trail *out,
		       char *err, size_t errlen);

#endif
