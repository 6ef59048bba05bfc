/* SPDX-License-Identifier: BSD-2-Clause */
/* What is printed is UTF-8, whatever the caller's locale. libsmartcols asks the
 * locale how wide a character is, and up to 2.38 never returns when that locale
 * is C and the text is not ASCII. */
#ifndef FRTRACE_UTF8_H
#define FRTRACE_UTF8_H

#include <locale.h>
#include <stdbool.h>

struct utf8 {
	locale_t here, before;
};

/* The calling thread's characters are UTF-8 until utf8__end(), where the machine
 * has a locale for that. */
void utf8__begin(struct utf8 *u);
void utf8__end(struct utf8 *u);

/* Does the machine have one? The answer is kept. */
bool utf8__available(void);

/* s, in place, as ASCII that reads the same: how a table's cell is written where
 * utf8__available() is false. Returns s. */
char *utf8__to_ascii(char *s);

#endif
