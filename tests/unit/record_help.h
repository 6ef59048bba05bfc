/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of records share. */
#ifndef RECORD_HELP_H
#define RECORD_HELP_H

#include <frtrace/trail.h>

/* The header of records written by hand: mono 1000, some fields in an order of
 * its own, some unknown, some missing. */
#define HEAD                                                                \
	"{\"frtrace\":1,\"clock\":{\"mono\":1000,\"wall\":5},\"fields\":{"  \
	"\"node\":[\"id\",\"parent\",\"frame\"],"                           \
	"\"sample\":[\"new\",\"t\",\"stack\",\"newer\",\"task\",\"mode\"]," \
	"\"dead\":[\"task\",\"code\",\"t\"],"                               \
	"\"level\":[\"id\",\"mode\"],"                                      \
	"\"outside\":[\"comm\",\"woken_by\"],"                              \
	"\"later\":[\"a\",\"b\"]}}\n"

/* A directory of the test program's own. */
extern char record_dir[64];
int record_help__setup(void **state);
int record_help__teardown(void **state);
/* The path of a file in it; valid until the next call. */
const char *in_dir(const char *name);

void put_file(const char *path, const void *data, size_t n);
/* At most 1 MiB; the caller frees it. */
char *get_file(const char *path, size_t *n);

/* As trail__read, from memory. */
int read_bytes(const void *data, size_t n, struct frt_trail *t, char *err, size_t errlen);
int read_text(const char *text, struct frt_trail *t, char *err, size_t errlen);

/* The same numbers in every run. */
uint64_t random_u64(void);

#endif
