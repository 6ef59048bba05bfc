/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernel symbols: from the text of /proc/kallsyms to names of addresses. Pure:
 * the caller reads the file, line by line. */
#ifndef FRTRACE_SYMBOLS_H
#define FRTRACE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbols;

struct symbols *symbols__new(void); /* NULL: no memory */
void symbols__free(struct symbols *s);

/* Takes one line, "ADDRESS TYPE NAME" with "[MODULE]" behind it for a module's;
 * a newline at the end is ignored. Only code (types t and w) is kept. Returns 1
 * when it was kept, 0 when not (data; address 0, as the kernel shows it to
 * whoever may not know), -EINVAL for a line of another form, -ENOMEM. */
int symbols__add(struct symbols *s, const char *line);

/* After the last line, before the first question. */
void symbols__finish(struct symbols *s);

size_t symbols__count(const struct symbols *s);

/* The function an address lies in, as "name" or "name [module]", into buf
 * (bounded, always terminated). Where several names share the address the
 * first listed wins. False, and "[unknown]", when there is none: below the
 * first, or further behind the last symbol before it than code reaches. */
bool symbols__name(const struct symbols *s, uint64_t addr, char *buf, size_t size);

/* Addresses of functions named `name` (no module behind it): up to max into v.
 * Returns how many there are. A static name can occur more than once. */
size_t symbols__find(const struct symbols *s, const char *name, uint64_t *v, size_t max);

/* Copies a function's name without what compilers put behind it (.isra.N,
 * .constprop.N, .part.N, .cold, .llvm.N), so that builds compare; a " [module]"
 * stays. Returns dst; dst may be name. */
char *symbols__fold(char *dst, size_t size, const char *name);

#endif
