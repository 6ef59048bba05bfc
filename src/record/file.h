/* SPDX-License-Identifier: BSD-2-Clause */
/* The file a record is written to: without a name until it is readable. */
#ifndef RECORD_FILE_H
#define RECORD_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct record_file {
	int fd, dir;
	char *path;	  /* as asked for; NULL: never gets a name */
	const char *name; /* the last part of path */
	char *temp;	  /* name in dir where files without one are not supported */
	bool published;
};

/* Returns 0 or -errno; f->fd and f->dir must be -1, the rest 0. */
int record_file__create(struct record_file *f, const char *path, int uid, int gid);
/* All of it, or -errno. */
int record_file__write(struct record_file *f, const void *data, size_t n);
/* Gives the file its name, once; -EEXIST when that is taken by now. */
int record_file__publish(struct record_file *f);
void record_file__close(struct record_file *f);

#endif
