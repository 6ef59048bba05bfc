/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/util.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct chunk {
	struct chunk *next;
	size_t used, size;
	_Alignas(max_align_t) char mem[];
};

struct arena {
	struct chunk *head;
};

#define CHUNK 65536

struct arena *arena__new(void)
{
	return calloc(1, sizeof(struct arena));
}

void *arena__alloc(struct arena *a, size_t size)
{
	struct chunk *c = a->head;
	size_t need = (size + 15) & ~(size_t)15;

	if (need < size)
		return NULL;
	if (!c || c->size - c->used < need) {
		size_t room = need > CHUNK ? need : CHUNK;

		c = calloc(1, sizeof(*c) + room);
		if (!c)
			return NULL;
		c->size = room;
		c->next = a->head;
		a->head = c;
	}
	c->used += need;
	return c->mem + c->used - need;
}

char *arena__strndup(struct arena *a, const char *s, size_t n)
{
	char *d;

	n = strnlen(s, n);
	d = arena__alloc(a, n + 1);
	if (d)
		memcpy(d, s, n);
	return d;
}

char *arena__strdup(struct arena *a, const char *s)
{
	return s ? arena__strndup(a, s, strlen(s)) : NULL;
}

char *arena__printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *d;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return NULL;
	d = arena__alloc(a, (size_t)n + 1);
	if (!d)
		return NULL;
	va_start(ap, fmt);
	vsnprintf(d, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return d;
}

void arena__free(struct arena *a)
{
	struct chunk *c, *next;

	if (!a)
		return;
	for (c = a->head; c; c = next) {
		next = c->next;
		free(c);
	}
	free(a);
}

/* Open addressing, grown at half full; the strings live in the arena. */
struct intern {
	struct arena *arena;
	const char **slot;
	size_t n, cap;
};

static uint64_t hash_string(const char *s)
{
	uint64_t h = 14695981039346656037ull; /* FNV-1a */

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211ull;
	return h;
}

struct intern *intern__new(struct arena *a)
{
	struct intern *in = calloc(1, sizeof(*in));

	if (!in)
		return NULL;
	in->arena = a;
	in->cap = 256;
	in->slot = calloc(in->cap, sizeof(*in->slot));
	if (!in->slot) {
		free(in);
		return NULL;
	}
	return in;
}

static size_t intern__find(const struct intern *in, const char *s)
{
	size_t i = hash_string(s) & (in->cap - 1);

	while (in->slot[i] && strcmp(in->slot[i], s) != 0)
		i = (i + 1) & (in->cap - 1);
	return i;
}

static int intern__double(struct intern *in)
{
	struct intern bigger = { .cap = in->cap * 2 };

	bigger.slot = calloc(bigger.cap, sizeof(*bigger.slot));
	if (!bigger.slot)
		return -ENOMEM;
	for (size_t i = 0; i < in->cap; i++)
		if (in->slot[i])
			bigger.slot[intern__find(&bigger, in->slot[i])] = in->slot[i];
	free(in->slot);
	in->slot = bigger.slot;
	in->cap = bigger.cap;
	return 0;
}

const char *intern__get(struct intern *in, const char *s)
{
	size_t i;

	if (!s)
		return NULL;
	i = intern__find(in, s);
	if (in->slot[i])
		return in->slot[i];
	if ((in->n + 1) * 2 > in->cap) {
		if (intern__double(in))
			return NULL;
		i = intern__find(in, s);
	}
	in->slot[i] = arena__strdup(in->arena, s);
	if (in->slot[i])
		in->n++;
	return in->slot[i];
}

void intern__free(struct intern *in)
{
	if (!in)
		return;
	free(in->slot);
	free(in);
}

int grow(void *v_pp, size_t n, size_t *cap, size_t size)
{
	void *old, *bigger;
	size_t c;

	if (n < *cap)
		return 0;
	c = *cap ? *cap * 2 : 16;
	memcpy(&old, v_pp, sizeof(old));
	bigger = reallocarray(old, c, size);
	if (!bigger)
		return -ENOMEM; /* the caller still has the old one */
	memcpy(v_pp, &bigger, sizeof(bigger));
	*cap = c;
	/* cppcheck-suppress memleak; it is the caller's now */
	return 0;
}

int fail(char *err, size_t errlen, int rc, const char *fmt, ...)
{
	va_list ap;

	if (err && errlen) {
		va_start(ap, fmt);
		vsnprintf(err, errlen, fmt, ap);
		va_end(ap);
	}
	return rc;
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* Length of the valid UTF-8 sequence at s (no overlong forms, no surrogates,
 * at most U+10FFFF; C1 controls count as invalid), or 0. */
static size_t utf8_length(const unsigned char *s)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;

	if (s[0] < 0x80)
		return s[0] >= 0x20 && s[0] != 0x7f;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xc2 && s[1] < 0xa0) || (s[0] == 0xe0 && s[1] < 0xa0) ||
	    (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
	    (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/* The code point of the n bytes at s if it changes the direction of the text
 * around it, which shows one name as another; 0. */
static unsigned bidi_control(const unsigned char *s, size_t n)
{
	unsigned c = n == 2   ? (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu)
		     : n == 3 ? (s[0] & 0x0fu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu)
			      : 0;

	return c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
			       (c >= 0x2066 && c <= 0x2069)
		       ? c
		       : 0;
}

char *printable(char *dst, size_t size, const char *s)
{
	size_t o = 0;

	while (*s && size) {
		size_t n = utf8_length((const unsigned char *)s);
		unsigned bidi = bidi_control((const unsigned char *)s, n);

		if (o + (bidi ? 6 : n ? n : 4) + 1 > size)
			break;
		if (bidi) {
			snprintf(dst + o, size - o, "\\u%04x", bidi);
			o += 6;
			s += n;
		} else if (n) {
			memcpy(dst + o, s, n);
			o += n;
			s += n;
		} else {
			snprintf(dst + o, size - o, "\\x%02x", (unsigned char)*s++);
			o += 4;
		}
	}
	if (size)
		dst[o] = '\0';
	return dst;
}

char *arena__printable(struct arena *a, const char *s)
{
	size_t size = s ? 4 * strlen(s) + 1 : 0;
	char *d = s ? arena__alloc(a, size) : NULL;

	return d ? printable(d, size, s) : NULL;
}

bool is_utf8(const char *s)
{
	for (size_t n; *s; s += n) {
		n = (unsigned char)*s < 0x80 ? 1 : utf8_length((const unsigned char *)s);
		if (!n)
			return false;
	}
	return true;
}
