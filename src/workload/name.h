/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of a fake router. Pure, but for the random bytes. */
#ifndef FRTRACE_WORKLOAD_NAME_H
#define FRTRACE_WORKLOAD_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UUID_TEXT 37
#define KEY_LEN 11

struct router_name {
	uint8_t uuid[16];
	char uuid_text[UUID_TEXT];
	char ns[4 + UUID_TEXT];	       /* bar-UUID */
	char link[2][3 + KEY_LEN + 1]; /* ro-KEY, go-KEY: in the first namespace */
	char peer[2][3 + KEY_LEN + 1]; /* ri-KEY, gi-KEY: in the router's */
};

/* A fresh random (version 4) UUID. 0 or -errno. */
int uuid__new(uint8_t uuid[16]);
void name__from_uuid(struct router_name *n, const uint8_t uuid[16]);
/* From bar-UUID in lower case and nothing behind it; false: not such a name. */
bool name__parse(struct router_name *n, const char *ns);

/* Copies a template with {i} and {uuid} replaced, other braces kept (the shell's).
 * 0, or -E2BIG when it does not fit. */
int template__expand(char *dst, size_t size, const char *t, unsigned i, const char *uuid);

#endif
