/* SPDX-License-Identifier: BSD-2-Clause */
/* System call numbers as names. */
#ifndef FRTRACE_ANALYZE_SYSCALLS_H
#define FRTRACE_ANALYZE_SYSCALLS_H

#include <stddef.h>
#include <stdint.h>

struct syscalls {
	const char **name; /* by number; NULL where there is none */
	size_t n;
	void *text;
};

/* machine as uname says: "x86_64", "aarch64"; anything else (NULL too) is taken
 * for x86_64. 0 or -ENOMEM. */
int syscalls__open(struct syscalls *s, const char *machine);
void syscalls__close(struct syscalls *s);

/* NULL: not known, or not a call (FRT_NR_*, FRT_NR_COMPAT). */
const char *syscalls__name(const struct syscalls *s, int32_t nr);

#endif
