/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writing names and numbers into the formats of the exporters. Names come from
 * records, so they are data: every function bounds them, shows control bytes
 * and broken UTF-8 as \xNN and escapes what the format gives a meaning to.
 * Numbers are written the same in every locale.
 */
#ifndef FRTRACE_REPORT_EMIT_H
#define FRTRACE_REPORT_EMIT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define EMIT_NAME_MAX 200  /* bytes kept of a frame, step or action */
#define EMIT_TEXT_MAX 4096 /* bytes kept of any other text */

/* Text for SVG and HTML, in elements and in quoted attributes. NULL: nothing. */
void emit_xml(FILE *f, const char *s);
/* A JSON string with its quotes; "<" is escaped too, so that the text can stand
 * inside a script element. NULL: null. */
void emit_json(FILE *f, const char *s);
/* One field as RFC 4180 wants it. NULL: an empty field. */
void emit_csv(FILE *f, const char *s);

/* v rounded half away from zero to decimals (0..9) places, trailing zeros kept;
 * NAN: nothing. */
void emit_fixed(FILE *f, double v, unsigned decimals);
/* The same without trailing zeros: the shortest text for coordinates. */
void emit_short(FILE *f, double v, unsigned decimals);

/* "1.23 ms" and the like, three or four digits; NAN "unknown". Returns buf. */
char *format_ns(char *buf, size_t size, double ns);
/* "12,345,678". Returns buf. */
char *format_count(char *buf, size_t size, uint64_t n);
/* "12.3 %"; 0 of 0 is "0.0 %". Returns buf. */
char *format_share(char *buf, size_t size, double part, double whole);
/* v with decimals places. Returns buf. */
char *format_fixed(char *buf, size_t size, double v, unsigned decimals);

/* A name fit to be a frame of any format: bounded by EMIT_NAME_MAX, no ";", no
 * address (an unresolved one is "[unknown]", "+0x…" behind a symbol goes), never
 * empty. dst holds at least EMIT_NAME_MAX + 8 bytes. Returns dst. */
char *clean_name(char *dst, const char *s);

#endif
