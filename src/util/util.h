/* SPDX-License-Identifier: BSD-2-Clause */
/* Small things every part needs: an arena, growing arrays, bounded text. */
#ifndef FRTRACE_UTIL_H
#define FRTRACE_UTIL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Memory that is freed as a whole. Allocation is zeroed, NULL when there is
 * none left. */
struct arena;
struct arena *arena__new(void);
void *arena__alloc(struct arena *a, size_t size);
char *arena__strdup(struct arena *a, const char *s); /* NULL stays NULL */
char *arena__strndup(struct arena *a, const char *s, size_t n);
char *arena__printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void arena__free(struct arena *a);

/* One pointer per distinct string, so that equal strings compare by pointer. */
struct intern;
struct intern *intern__new(struct arena *a);
const char *intern__get(struct intern *in, const char *s);
void intern__free(struct intern *in);

/* Room for one more in v (elements of size bytes): 0 or -ENOMEM. */
int grow(void *v_pp, size_t n, size_t *cap, size_t size);

/* snprintf that returns -EINVAL style errors cleanly: writes a line into err
 * (bounded, always terminated) and gives rc back, so that
 * `return fail(err, errlen, -EINVAL, "…", …)` is one statement. err may be NULL. */
int fail(char *err, size_t errlen, int rc, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

uint64_t now_ns(void); /* CLOCK_MONOTONIC */

/* Copies s with control bytes and invalid UTF-8 as \xNN, and what changes the
 * direction of text as \uNNNN; bounded. Returns dst. */
char *printable(char *dst, size_t size, const char *s);
char *arena__printable(struct arena *a, const char *s); /* whole; NULL stays NULL */
bool is_utf8(const char *s); /* beyond ASCII as printable() takes it; JSON can hold it */

#endif
