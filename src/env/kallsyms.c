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

static struct {
	char *text;    /* of /proc/kallsyms */
	char *modules; /* that it holds the symbols of: /proc/modules, read before */
} kept;

static struct kallsyms *over(FILE *f)
{
	struct kallsyms *k = f ? calloc(1, sizeof(*k)) : NULL;

	if (k)
		k->f = f;
	else if (f)
		fclose(f);
	return k;
}

struct kallsyms *kallsyms__open(void)
{
	return over(fopen("/proc/kallsyms", "re"));
}

/* A file of text, whole, to be freed; NULL when it cannot be read or is empty. */
static char *whole(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t cap = 0;

	if (!f)
		return NULL;
	if (getdelim(&text, &cap, '\0', f) <= 0) {
		free(text);
		text = NULL;
	}
	fclose(f);
	return text;
}

static bool same_modules(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

struct kallsyms *kallsyms__open_kept(void)
{
	char *modules = whole("/proc/modules");

	if (kept.text && same_modules(kept.modules, modules)) {
		free(modules);
	} else {
		kallsyms__forget();
		kept.modules = modules;
		kept.text = whole("/proc/kallsyms");
	}
	return kept.text ? over(fmemopen(kept.text, strlen(kept.text), "r")) : NULL;
}

void kallsyms__forget(void)
{
	free(kept.text);
	free(kept.modules);
	kept.text = kept.modules = NULL;
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
