/* SPDX-License-Identifier: BSD-2-Clause */
/* What every part of the text report is written with. */
#include "report/text.h"
#include "report/emit.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define NAME_MAX_BYTES 300
#define LABEL_WIDTH 10

const char *text__printf(struct text *t, const char *fmt, ...)
{
	va_list ap;
	char *s = NULL, *copy;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	copy = n < 0 ? NULL : arena__strdup(t->a, s);
	if (n >= 0)
		free(s);
	if (!copy) {
		t->err = t->err ? t->err : -ENOMEM;
		return "";
	}
	return copy;
}

const char *text__name(struct text *t, const char *s)
{
	char buf[NAME_MAX_BYTES];

	if (!s || !*s)
		return "-";
	return text__printf(t, "%s", printable(buf, sizeof(buf), s));
}

/* Minus zero and what rounds to it would print as "-0.00". */
static double without_minus_zero(double v, unsigned decimals)
{
	static const double half[] = { 0.5, 0.05, 0.005, 0.0005 };

	return fabs(v) < half[decimals & 3] ? 0 : v;
}

const char *text__ms(struct text *t, double ns)
{
	if (!isfinite(ns))
		return "-";
	return text__printf(t, "%.*f", (int)t->decimals, without_minus_zero(ns / 1e6, t->decimals));
}

const char *text__ms_plus(struct text *t, double ns)
{
	if (!isfinite(ns))
		return "-";
	return text__printf(t, "%+.*f", (int)t->decimals,
			    without_minus_zero(ns / 1e6, t->decimals));
}

const char *text__ms_unit(struct text *t, double ns)
{
	char buf[32];

	return isfinite(ns) ? text__printf(t, "%s", format_ns(buf, sizeof(buf), ns)) : "unknown";
}

const char *text__count(struct text *t, uint64_t n)
{
	char buf[32];

	return text__printf(t, "%s", format_count(buf, sizeof(buf), n));
}

const char *text__existing(struct text *t, const struct frt_levelrow *l)
{
	bool runs = false;

	for (size_t i = 0; i < t->p->nlevels; i++)
		runs |= t->p->levels[i].run > 1;
	if (runs)
		return text__printf(t, "%s%s run %u", text__count(t, l->existing),
				    l->again ? " again" : "", l->run);
	return text__printf(t, "%s%s", text__count(t, l->existing), l->again ? " again" : "");
}

static const char *color_on(const struct text *t, const char *color)
{
	return t->color && color ? color : "";
}

static const char *color_off(const struct text *t, const char *color)
{
	return t->color && color ? TEXT_RESET : "";
}

void text__blank(struct text *t)
{
	fputc('\n', t->f);
}

static unsigned char_width(const char *s, size_t *len)
{
	mbstate_t state = { 0 };
	wchar_t wc;
	int w;

	*len = mbrtowc(&wc, s, strlen(s), &state);
	if (*len == (size_t)-1 || *len == (size_t)-2 || *len == 0) {
		*len = 1;
		return 1;
	}
	w = wcwidth(wc);
	return wc == TEXT_HARD_BLANK ? 1 : w > 0 ? (unsigned)w : 0;
}

/* Bytes of the word at s, and of the unit or "%" behind a number that must not
 * begin a line. */
static size_t word_length(const char *s)
{
	size_t n = strcspn(s, " ");

	if (s[n] == ' ' && (s[n + 1] == '%' || strncmp(s + n + 1, "ms", 2) == 0 ||
			    strncmp(s + n + 1, "ns", 2) == 0 || strncmp(s + n + 1, "µs", 3) == 0))
		n += 1 + strcspn(s + n + 1, " ");
	return n;
}

/* Prints s from column at on, further lines from column indent on. Words that
 * are longer than a line stay whole. */
static void put_wrapped(struct text *t, unsigned at, unsigned indent, const char *s)
{
	bool begun = false;

	while (*s) {
		size_t blanks = strspn(s, " "), n = word_length(s + blanks), len;
		unsigned width = 0;

		s += blanks;
		if (!*s)
			break;
		for (size_t i = 0; i < n; i += len)
			width += char_width(s + i, &len);
		if (begun && at + 1 + width > t->width) {
			fprintf(t->f, "\n%*s", (int)indent, "");
			at = indent;
		} else if (begun) {
			fputc(' ', t->f);
			at++;
		}
		for (size_t i = 0; i < n; i++)
			fputc(s[i] == TEXT_HARD_BLANK ? ' ' : s[i], t->f);
		at += width;
		s += n;
		begun = true;
	}
}

void text__wrapped(struct text *t, unsigned at, const char *text)
{
	put_wrapped(t, at, at, text);
	fputc('\n', t->f);
}

void text__paragraph(struct text *t, unsigned indent, const char *text)
{
	fprintf(t->f, "%*s", (int)indent, "");
	put_wrapped(t, indent, indent, text);
	fputc('\n', t->f);
}

void text__heading(struct text *t, const char *heading, const char *beside)
{
	unsigned indent = 0;
	size_t len;

	fprintf(t->f, "%s%s%s", color_on(t, TEXT_BOLD), heading, color_off(t, TEXT_BOLD));
	for (size_t i = 0; i < strlen(heading); i += len)
		indent += char_width(heading + i, &len);
	if (beside) {
		fputs("  ", t->f);
		put_wrapped(t, indent + 2, indent + 2, beside);
	}
	fputc('\n', t->f);
}

void text__item(struct text *t, const char *label, const char *color, const char *text)
{
	fprintf(t->f, "%s%-*s%s", color_on(t, TEXT_BOLD), LABEL_WIDTH, label,
		color_off(t, TEXT_BOLD));
	fputs(color_on(t, color), t->f);
	put_wrapped(t, LABEL_WIDTH, LABEL_WIDTH, text);
	fprintf(t->f, "%s\n", color_off(t, color));
}

const struct frt_steprow *text__step(const struct frt_levelrow *l, const char *step)
{
	for (size_t i = 0; l && i < l->nsteps; i++)
		if (strcmp(l->steps[i].step, step) == 0)
			return &l->steps[i];
	return NULL;
}

const struct frt_action *text__action(const struct frt_steprow *s, const char *action)
{
	for (size_t i = 0; s && i < s->nactions; i++)
		if (strcmp(s->actions[i].action, action) == 0)
			return &s->actions[i];
	return NULL;
}
