/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of options. What is wrong is said in one line and ends the program with
 * CLI_USAGE: nothing has been done by then. */
#ifndef FRTRACE_CMD_OPTION_H
#define FRTRACE_CMD_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An option that is one number: its key, its name, its bounds, and where in the
 * options' struct it goes. */
struct option_number {
	int key;
	const char *name;
	uint64_t min, max;
	size_t offset;
};

/* Takes arg if key is one of v. */
bool option__number(const struct option_number *v, size_t n, int key, const char *arg, void *opts);

/* As cli__number, as cli__list in ascending order. */
uint64_t option__uint(const char *name, const char *arg, uint64_t min, uint64_t max);
void option__list(const char *name, const char *arg, uint64_t min, uint64_t max, uint64_t *v,
		  size_t cap, size_t *n);
/* --predict */
void option__predict(const char *arg, uint64_t *v, size_t cap, size_t *n);

/* The index of arg in names, which NULL ends; "" is no choice. */
int option__choice(const char *name, const char *const *names, const char *arg);
/* auto, none, fentry, multi, kprobe: by enum trace_backend. */
extern const char *const option__backends[];

/* line is what is wrong. */
_Noreturn void option__wrong(const char *line);

#endif
