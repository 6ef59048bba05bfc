/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes to JSON strings and back, without losing one. */
#include "record/fields.h"

#include <stddef.h>
#include <string.h>

/* Raw bytes stand at U+EF80 … U+EFFF. */
#define RAW_FIRST 0xef80u
#define RAW_LAST 0xefffu

/* Length of the valid UTF-8 sequence at s (terminated by a byte below 0x80 at
 * the latest) and its code point; 0 when there is none. */
static size_t utf8_decode(const unsigned char *s, uint32_t *cp)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	uint32_t c;

	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	c = s[0] & (0xffu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*cp = c;
	return n;
}

static char *put_escape(char *out, unsigned unit)
{
	static const char hex[] = "0123456789abcdef";

	*out++ = '\\';
	*out++ = 'u';
	for (int shift = 12; shift >= 0; shift -= 4)
		*out++ = hex[unit >> shift & 15];
	return out;
}

char *text__encode(char *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	uint32_t cp;
	size_t n;

	*out++ = '"';
	while (*s) {
		if (*s == '"' || *s == '\\') {
			*out++ = '\\';
			*out++ = (char)*s++;
		} else if (*s < 0x20 || *s == 0x7f) {
			out = put_escape(out, *s++);
		} else if (*s < 0x80) {
			*out++ = (char)*s++;
		} else {
			n = utf8_decode(s, &cp);
			if (n && (cp < RAW_FIRST || cp > RAW_LAST)) {
				memcpy(out, s, n);
				out += n;
				s += n;
			} else {
				out = put_escape(out, 0xef00u + *s++);
			}
		}
	}
	*out++ = '"';
	return out;
}

static int hex_unit(const char *p, uint32_t *unit)
{
	uint32_t u = 0;

	for (int i = 0; i < 4; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c >= '0' && c <= '9')
			u = u << 4 | (c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			u = u << 4 | ((c | 0x20) - 'a' + 10);
		else
			return -1;
	}
	*unit = u;
	return 0;
}

/* The code point of the \u escape at p (behind the backslash); the end or NULL. */
static const char *read_escape(const char *p, uint32_t *cp)
{
	uint32_t low;

	if (hex_unit(p + 1, cp))
		return NULL;
	p += 5;
	if (*cp < 0xd800 || *cp > 0xdfff)
		return p;
	if (*cp > 0xdbff || p[0] != '\\' || p[1] != 'u' || hex_unit(p + 2, &low) || low < 0xdc00 ||
	    low > 0xdfff)
		return NULL;
	*cp = 0x10000 + ((*cp - 0xd800) << 10) + (low - 0xdc00);
	return p + 6;
}

static char *put_utf8(char *out, uint32_t cp)
{
	if (cp < 0x80) {
		*out++ = (char)cp;
	} else if (cp < 0x800) {
		*out++ = (char)(0xc0 | cp >> 6);
		*out++ = (char)(0x80 | (cp & 0x3f));
	} else if (cp < 0x10000) {
		*out++ = (char)(0xe0 | cp >> 12);
		*out++ = (char)(0x80 | (cp >> 6 & 0x3f));
		*out++ = (char)(0x80 | (cp & 0x3f));
	} else {
		*out++ = (char)(0xf0 | cp >> 18);
		*out++ = (char)(0x80 | (cp >> 12 & 0x3f));
		*out++ = (char)(0x80 | (cp >> 6 & 0x3f));
		*out++ = (char)(0x80 | (cp & 0x3f));
	}
	return out;
}

char *text__decode(char *p, char **text, const char **why)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *end, *short_form;
	char *out = ++p;
	uint32_t cp;
	size_t n;

	*text = out;
	for (;;) {
		unsigned char c = (unsigned char)*p;

		if (c == '"')
			break;
		if (c < 0x20) {
			*why = c == '\n' ? "text without its closing quote"
					 : "control character in a text";
			return NULL;
		}
		if (c == '\\') {
			if (p[1] == 'u') {
				end = read_escape(p + 1, &cp);
				if (!end || !cp) {
					*why = "bad \\u escape";
					return NULL;
				}
				p += end - p;
			} else {
				short_form = p[1] ? strchr(from, p[1]) : NULL;
				if (!short_form) {
					*why = "bad escape";
					return NULL;
				}
				cp = (unsigned char)to[short_form - from];
				p += 2;
			}
		} else if (c < 0x80) {
			*out++ = *p++;
			continue;
		} else {
			n = utf8_decode((const unsigned char *)p, &cp);
			if (!n) {
				*why = "text that is not UTF-8";
				return NULL;
			}
			p += n;
		}
		if (cp >= RAW_FIRST && cp <= RAW_LAST)
			*out++ = (char)(cp & 0xff);
		else
			out = put_utf8(out, cp);
	}
	*out = '\0';
	return p + 1;
}
