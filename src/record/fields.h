/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a line of a record holds: one table per line type, in the order the
 * values are written. The tables drive the writer, the reader and the
 * description of the format; a new field is a row here and a member of its
 * struct in trail.h. Private to src/record and its tests.
 */
#ifndef RECORD_FIELDS_H
#define RECORD_FIELDS_H

#include <frtrace/trail.h>
#include <stdint.h>

#define RECORD_FORMAT 1		   /* the header's "frtrace" */
#define RECORD_LINE_MAX (1u << 20) /* bytes of a line, its newline included */

enum field_type {
	FIELD_U32,
	FIELD_I32,
	FIELD_U64,
	FIELD_I64,
	FIELD_TIME, /* u64, written relative to the header's clock: see time__encode */
	FIELD_TEXT, /* const char *, never NULL when read; NULL is written as "" */
	FIELD_TEXT_OR_NULL,
};

struct record_field {
	const char *name;
	uint16_t offset;
	uint16_t type;	/* enum field_type */
	uint32_t limit; /* values from here on are refused when read; 0: the type's own range */
};

struct record_type {
	const char *name; /* the line's key */
	const char *what; /* for the description of the format */
	const struct record_field *fields;
	uint32_t nfields;
	uint32_t size;	/* of the struct */
	uint32_t array; /* offset of its array in struct frt_trail */
};

extern const struct record_type record_types[FRT_RECS];

/* Any array of a trail: they all have this layout. */
struct record_array {
	void *v;
	size_t n, cap;
};

/*
 * Times are short numbers because they are relative: 0 is "none", n > 0 stands
 * for base + n - 1, n < 0 for base + n. base is the header's clock.mono.
 * Returns the magnitude, *negative its sign.
 */
static inline uint64_t time__encode(uint64_t t, uint64_t base, int *negative)
{
	*negative = t && t < base;
	if (!t)
		return 0;
	return *negative ? base - t : t - base + 1;
}

/* The reverse; -1 when there is no such time. */
static inline int time__decode(uint64_t n, int negative, uint64_t base, uint64_t *t)
{
	if (negative) {
		if (n > base)
			return -1;
		*t = base - n;
		return 0;
	}
	if (n && n - 1 > UINT64_MAX - base)
		return -1;
	*t = n ? base + n - 1 : 0;
	return 0;
}

/*
 * Text as a JSON string, quotes included. What is not valid UTF-8 is kept, byte
 * by byte: the byte b (0x80 … 0xff) becomes the code point U+EF00 + b (the
 * private-use range that MirBSD's OPTU-8 uses for the same), and a real
 * character of U+EF80 … U+EFFF is written as its three bytes, so that reading
 * gives back exactly what was written. out needs room for 6 * strlen(s) + 2
 * bytes. Returns the end.
 */
char *text__encode(char *out, const char *s);

/* Decodes the JSON string whose opening quote is at p, in place; the line's
 * newline ends it at the latest. Returns what follows the closing quote and
 * puts the text, terminated, into *text; NULL when it is malformed, with the
 * reason in *why. */
char *text__decode(char *p, char **text, const char **why);

#endif
