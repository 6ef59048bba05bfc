// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sorted table of kernel symbols. 120,000 of them are normal, and the table
 * lives as long as a run: 16 bytes an entry, and all names in one block.
 */
#include "analyze/symbols.h"
#include "util/util.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct symbol {
	uint64_t addr;
	uint32_t name;	 /* offset in names */
	uint32_t module; /* offset in names of the module's; 0: none */
};

struct symbols {
	struct symbol *v;
	size_t n, cap;
	char *names;
	size_t len, room;
	uint32_t last_module; /* lines of one module follow each other */
	bool sorted;
};

/* Behind the last symbol of a region no code is further away than this. */
#define SYMBOL_REACH (1U << 20)

struct symbols *symbols__new(void)
{
	struct symbols *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->room = 1 << 16;
	s->names = malloc(s->room);
	if (!s->names) {
		free(s);
		return NULL;
	}
	s->names[0] = 0; /* offset 0: no name */
	s->len = 1;
	return s;
}

void symbols__free(struct symbols *s)
{
	if (!s)
		return;
	free(s->v);
	free(s->names);
	free(s);
}

/* Offset of a copy of text[0..n), 0 when there is no memory. */
static uint32_t keep(struct symbols *s, const char *text, size_t n)
{
	uint32_t at = s->len;
	char *p;

	if (s->len + n + 1 > UINT32_MAX)
		return 0;
	if (s->len + n + 1 > s->room) {
		p = realloc(s->names, s->room + s->room / 2 + n + 1);
		if (!p)
			return 0;
		s->names = p;
		s->room += s->room / 2 + n + 1;
	}
	memcpy(s->names + s->len, text, n);
	s->names[s->len + n] = 0;
	s->len += n + 1;
	return at;
}

int symbols__add(struct symbols *s, const char *line)
{
	const char *name, *mod = NULL;
	size_t name_len, mod_len = 0;
	uint64_t addr = 0;
	struct symbol sym;
	const char *p;
	int err;

	for (p = line; isxdigit((unsigned char)*p); p++) {
		if (p - line >= 16)
			return -EINVAL;
		addr = addr << 4 |
		       (uint64_t)(isdigit((unsigned char)*p) ? *p - '0' : (*p | 32) - 'a' + 10);
	}
	if (p == line || p[0] != ' ' || !isalpha((unsigned char)p[1]) || p[2] != ' ')
		return -EINVAL;
	name = p + 3;
	name_len = strcspn(name, " \t\n");
	if (!name_len)
		return -EINVAL;
	p = name + name_len + strspn(name + name_len, " \t");
	if (*p == '[') {
		mod = p + 1;
		mod_len = strcspn(mod, "]\n");
		if (!mod_len || mod[mod_len] != ']')
			return -EINVAL;
	} else if (*p && *p != '\n') {
		return -EINVAL;
	}
	if (!addr || !strchr("tTwW", name[-2]))
		return 0;

	err = grow(&s->v, s->n, &s->cap, sizeof(*s->v));
	if (err)
		return err;
	sym.addr = addr;
	sym.name = keep(s, name, name_len);
	sym.module = 0;
	if (mod && s->last_module && strlen(s->names + s->last_module) == mod_len &&
	    !memcmp(s->names + s->last_module, mod, mod_len))
		sym.module = s->last_module;
	else if (mod)
		sym.module = s->last_module = keep(s, mod, mod_len);
	if (!sym.name || (mod && !sym.module))
		return -ENOMEM;
	s->v[s->n++] = sym;
	s->sorted = false;
	return 1;
}

/* By address; equal ones as listed, which is the order of their names' offsets. */
static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

void symbols__finish(struct symbols *s)
{
	struct symbol *v;
	char *names;

	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_address);
	s->sorted = true;
	/* The table does not grow any more: give back what growing took ahead. */
	v = s->n ? realloc(s->v, s->n * sizeof(*s->v)) : s->v;
	if (v) {
		s->v = v;
		s->cap = s->n;
	}
	names = realloc(s->names, s->len);
	if (names) {
		s->names = names;
		s->room = s->len;
	}
}

size_t symbols__count(const struct symbols *s)
{
	return s->n;
}

bool symbols__name(const struct symbols *s, uint64_t addr, char *buf, size_t size)
{
	size_t lo = 0, hi = s->n, mid;
	const struct symbol *sym;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (s->v[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!s->sorted || !lo || addr - s->v[lo - 1].addr >= SYMBOL_REACH) {
		snprintf(buf, size, "[unknown]");
		return false;
	}
	sym = &s->v[lo - 1];
	while (sym > s->v && sym[-1].addr == sym->addr)
		sym--;
	if (sym->module)
		snprintf(buf, size, "%s [%s]", s->names + sym->name, s->names + sym->module);
	else
		snprintf(buf, size, "%s", s->names + sym->name);
	return true;
}

size_t symbols__find(const struct symbols *s, const char *name, uint64_t *v, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (strcmp(s->names + s->v[i].name, name))
			continue;
		if (n < max)
			v[n] = s->v[i].addr;
		n++;
	}
	return n;
}

/* Length of a compiler's suffix at p (which points at a dot), 0: none. */
static size_t suffix_len(const char *p)
{
	static const char *const suffixes[] = { ".isra", ".constprop", ".part", ".llvm", ".cold" };
	size_t n, digits;

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		n = strlen(suffixes[i]);
		if (strncmp(p, suffixes[i], n))
			continue;
		digits = p[n] == '.' ? strspn(p + n + 1, "0123456789") : 0;
		if (digits)
			n += digits + 1;
		if (!p[n] || p[n] == '.' || p[n] == ' ')
			return n;
	}
	return 0;
}

char *symbols__fold(char *dst, size_t size, const char *name)
{
	size_t n = 0, skip;

	if (!size)
		return dst;
	while (*name && n + 1 < size) {
		skip = *name == '.' ? suffix_len(name) : 0;
		if (skip) {
			name += skip;
			continue;
		}
		dst[n++] = *name++;
	}
	dst[n] = 0;
	return dst;
}
