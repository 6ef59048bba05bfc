/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's own list of symbols, line by line. */
#ifndef FRTRACE_KALLSYMS_H
#define FRTRACE_KALLSYMS_H

#include <stdbool.h>
#include <stdint.h>

struct kallsym {
	uint64_t addr; /* 0: hidden from us */
	char type;     /* as nm has it: t and T are code */
	char name[512];
	char module[64]; /* "": the kernel's own */
	char *line;	 /* all of it, until the next */
};

struct kallsyms;

/* NULL: it cannot be read (errno), or there is no memory. */
struct kallsyms *kallsyms__open(void);
/* The list as it was when this was first called, or first since a module came or went: to print
 * it costs the kernel more than most else that a start does, and several look things up in it.
 * Not for who needs what the kernel itself adds meanwhile (BPF programs, trampolines). Not for
 * several threads at once. */
struct kallsyms *kallsyms__open_kept(void);
void kallsyms__forget(void); /* what is kept; ten megabytes, say */
/* The next one; false at the end, and for k NULL. */
bool kallsyms__next(struct kallsyms *k, struct kallsym *out);
void kallsyms__close(struct kallsyms *k); /* NULL: nothing */

/* One line of it; false when it is none. line is not kept but pointed to. */
bool kallsyms__parse(char *line, struct kallsym *out);

#endif
