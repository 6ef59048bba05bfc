/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From a process's arguments to the step it is (design: Words). A rule is a
 * pattern of words over the arguments:
 *
 *   - the first word is the program, by its last path component unless the word
 *     has a slash;
 *   - a word alone `*` stands for any number of arguments, none included;
 *   - every other word is a shell pattern for one argument, `a|b` is a or b;
 *   - arguments behind the last word may be anything.
 *
 * The user's rules come first, in their order, then the built-in table: the
 * first that fits counts. Pure, apart from the counts a set of rules keeps.
 */
#ifndef FRTRACE_ANALYZE_RULES_H
#define FRTRACE_ANALYZE_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RULE_NAME_MAX 24

enum rule_kind {
	RULE_STEP,    /* the process is a step */
	RULE_WRAPPER, /* it starts another command: what that is counts */
	RULE_ACTIONS, /* many steps in one process: what it asks of the kernel counts */
};

struct rule {
	const char *name; /* of the step */
	const char *pattern;
	enum rule_kind kind;
	bool user;     /* from --step */
	uint64_t hits; /* commands that it named */
	uint64_t also; /* that it would have named, had not an earlier one */
};

struct rules;

/* The built-in table alone. NULL: no memory. */
struct rules *rules__new(void);
/* Adds NAME=PATTERN behind the user's rules so far. -EINVAL with a line in err
 * when it cannot be read, -ENOMEM. */
int rules__add(struct rules *r, const char *spec, char *err, size_t errlen);
void rules__free(struct rules *r);

/* args: arguments joined by \x1f, as in the record. NULL: no rule fits. Counts
 * the hit, and the rules of the user that would have fitted too. */
const struct rule *rules__match(struct rules *r, const char *args);

/* All rules, in the order they are asked. */
const struct rule *rules__list(const struct rules *r, size_t *n);

/* "ip netns add": the program and the words that say what it does, without names
 * and values, for lists of commands. Writes at most size bytes into buf. */
char *rules__summary(const char *args, char *buf, size_t size);

/* The same arguments without what rules do not ask for: the program, its short
 * options and every argument that is a word of a rule stay, any other becomes "*".
 * Writes at most size bytes into buf. */
char *rules__mask(const struct rules *r, const char *args, char *buf, size_t size);

#endif
