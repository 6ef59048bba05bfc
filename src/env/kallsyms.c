/* SPDX-License-Identifier: BSD-2-Clause */
#include "env/kallsyms.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kallsyms {
	FILE *f;
	char *line;
	size_t cap;
};

struct kallsyms *kallsyms__open(void)
{
	struct kallsyms *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->f = fopen("/proc/kallsyms", "re");
	if (k->f)
		return k;
	free(k);
	return NULL;
}

/* Copies up to one of ends, as far as there is room. Returns where it ended. */
static char *take(char *dst, size_t size, char *from, const char *ends)
{
	size_t n = strcspn(from, ends), copy = n < size ? n : size - 1;

	memcpy(dst, from, copy);
	dst[copy] = '\0';
	return from + n;
}

/* By hand: a kernel has some 200,000 lines, and each may be read more than once. */
bool kallsyms__parse(char *line, struct kallsym *out)
{
	char *p;

	out->line = line;
	out->addr = strtoull(line, &p, 16);
	if (p == line || p[0] != ' ' || !p[1] || p[2] != ' ')
		return false;
	out->type = p[1];
	p = take(out->name, sizeof(out->name), p + 3, " \t\n");
	p += strspn(p, " \t");
	out->module[0] = '\0';
	if (*p == '[')
		take(out->module, sizeof(out->module), p + 1, "]\n");
	return *out->name;
}

bool kallsyms__next(struct kallsyms *k, struct kallsym *out)
{
	while (k && getline(&k->line, &k->cap, k->f) > 0)
		if (kallsyms__parse(k->line, out))
			return true;
	return false;
}

void kallsyms__close(struct kallsyms *k)
{
	if (!k)
		return;
	fclose(k->f);
	free(k->line);
	free(k);
}
