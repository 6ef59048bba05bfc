/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/emit.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "util/util.h"

static void emit_escaped(FILE *f, const char *s, const char *(*escape)(char c))
{
	char buf[EMIT_TEXT_MAX];
	const char *from, *p, *e;

	printable(buf, sizeof(buf), s);
	for (from = p = buf; *p; p++) {
		e = escape(*p);
		if (!e)
			continue;
		fwrite(from, 1, (size_t)(p - from), f);
		fputs(e, f);
		from = p + 1;
	}
	fwrite(from, 1, (size_t)(p - from), f);
}

static const char *xml_escape(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

static const char *json_escape(char c)
{
	switch (c) {
	case '"':
		return "\\\"";
	case '\\':
		return "\\\\";
	case '<':
		return "\\u003c";
	default:
		return NULL;
	}
}

void emit_xml(FILE *f, const char *s)
{
	if (s)
		emit_escaped(f, s, xml_escape);
}

void emit_json(FILE *f, const char *s)
{
	if (!s) {
		fputs("null", f);
		return;
	}
	putc('"', f);
	emit_escaped(f, s, json_escape);
	putc('"', f);
}

void emit_csv(FILE *f, const char *s)
{
	char buf[EMIT_TEXT_MAX];
	bool formula;

	if (!s)
		return;
	printable(buf, sizeof(buf), s);
	/* Spreadsheets run what begins so, and a name may be anybody's. */
	formula = *buf && strchr("=+-@", *buf);
	if (!strpbrk(buf, ",\"")) {
		fprintf(f, "%s%s", formula ? "'" : "", buf);
		return;
	}
	fputs(formula ? "\"'" : "\"", f);
	for (const char *p = buf; *p; p++) {
		if (*p == '"')
			putc('"', f);
		putc(*p, f);
	}
	putc('"', f);
}

/* Digits by hand: printf would follow the locale's decimal point. */
char *format_fixed(char *buf, size_t size, double v, unsigned decimals)
{
	static const double pow10[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9 };
	unsigned long long scaled, unit = (unsigned long long)pow10[decimals];
	bool negative = v < 0;

	if (!isfinite(v) || fabs(v) * pow10[decimals] > 9e18) {
		snprintf(buf, size, "%s", isnan(v) ? "" : negative ? "-inf" : "inf");
		return buf;
	}
	scaled = (unsigned long long)llround(fabs(v) * pow10[decimals]);
	if (decimals)
		snprintf(buf, size, "%s%llu.%0*llu", negative && scaled ? "-" : "", scaled / unit,
			 (int)decimals, scaled % unit);
	else
		snprintf(buf, size, "%s%llu", negative && scaled ? "-" : "", scaled);
	return buf;
}

void emit_fixed(FILE *f, double v, unsigned decimals)
{
	char buf[40];

	fputs(format_fixed(buf, sizeof(buf), v, decimals), f);
}

void emit_short(FILE *f, double v, unsigned decimals)
{
	char buf[40];
	size_t n;

	format_fixed(buf, sizeof(buf), v, decimals);
	n = strlen(buf);
	if (strchr(buf, '.')) {
		while (buf[n - 1] == '0')
			n--;
		if (buf[n - 1] == '.')
			n--;
	}
	fwrite(buf, 1, n, f);
}

char *format_ns(char *buf, size_t size, double ns)
{
	static const struct {
		double from, unit;
		const char *name;
	} units[] = { { 1e9, 1e9, "s" }, { 1e6, 1e6, "ms" }, { 1e3, 1e3, "µs" }, { 0, 1, "ns" } };
	char digits[40];
	double a = fabs(ns), v;
	size_t u = 0;

	if (isnan(ns)) {
		snprintf(buf, size, "unknown");
		return buf;
	}
	while (a < units[u].from)
		u++;
	v = ns / units[u].unit;
	a /= units[u].unit;
	format_fixed(digits, sizeof(digits), v,
		     units[u].unit == 1 || a >= 100 ? 0
		     : a >= 10			    ? 1
						    : 2);
	snprintf(buf, size, "%s %s", digits, units[u].name);
	return buf;
}

char *format_count(char *buf, size_t size, uint64_t n)
{
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
	size_t o = 0;

	for (size_t i = 0; i < len && o + 2 < size; i++) {
		if (i && (len - i) % 3 == 0)
			buf[o++] = ',';
		buf[o++] = digits[i];
	}
	buf[o] = '\0';
	return buf;
}

char *format_share(char *buf, size_t size, double part, double whole)
{
	char digits[40];

	format_fixed(digits, sizeof(digits), whole != 0 ? 100.0 * part / whole : 0, 1);
	snprintf(buf, size, "%s %%", digits);
	return buf;
}

/* The address at s, in bytes; 0: a name. A name such as "add" is hexadecimal
 * too, but a kernel address has 16 digits. */
static size_t address_length(const char *s)
{
	bool prefixed = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
	size_t n = 0, p = prefixed ? 2 : 0;

	while (isxdigit((unsigned char)s[p + n]))
		n++;
	if ((s[p + n] != '\0' && s[p + n] != ' ' && s[p + n] != '+') || n < (prefixed ? 1 : 12))
		return 0;
	return p + n;
}

char *clean_name(char *dst, const char *s)
{
	char *p;
	size_t n;

	printable(dst, EMIT_NAME_MAX + 1, s ? s : "");
	n = strlen(dst);
	if (s && n + 4 > EMIT_NAME_MAX && strlen(s) > n)
		memcpy(dst + n, "…", sizeof("…"));
	for (p = dst; *p; p++)
		if (*p == ';')
			*p = ':';
	p = strstr(dst, "+0x");
	if (p) {
		n = strspn(p + 1, "0123456789abcdefABCDEFx/");
		memmove(p, p + 1 + n, strlen(p + 1 + n) + 1);
	}
	n = address_length(dst);
	if (n) {
		/* What stands behind it, a module, is known all the same. */
		memmove(dst + strlen("[unknown]"), dst + n, strlen(dst + n) + 1);
		memcpy(dst, "[unknown]", strlen("[unknown]"));
	}
	if (dst[strspn(dst, " ")] == '\0')
		strcpy(dst, "[unknown]");
	return dst;
}
