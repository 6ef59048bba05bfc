/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/utf8.h"

#include <langinfo.h>
#include <string.h>

static locale_t utf8_locale(void)
{
	/* C.UTF-8 comes with glibc 2.35 itself and with Debian's always */
	static const char *const names[] = { "C.UTF-8", "C.utf8", "en_US.UTF-8", "" };
	locale_t l = (locale_t)0;

	for (size_t i = 0; !l && i < sizeof(names) / sizeof(names[0]); i++) {
		l = newlocale(LC_CTYPE_MASK, names[i], (locale_t)0);
		if (l && strcmp(nl_langinfo_l(CODESET, l), "UTF-8") != 0) {
			freelocale(l);
			l = (locale_t)0;
		}
	}
	return l;
}

void utf8__begin(struct utf8 *u)
{
	u->here = utf8_locale();
	u->before = u->here ? uselocale(u->here) : (locale_t)0;
}

void utf8__end(struct utf8 *u)
{
	if (!u->here)
		return;
	uselocale(u->before);
	freelocale(u->here);
	u->here = (locale_t)0;
}

bool utf8__available(void)
{
	static int known = -1;
	locale_t l;

	if (known < 0) {
		l = utf8_locale();
		known = l != (locale_t)0;
		if (l)
			freelocale(l);
	}
	return known;
}

/* What the report itself writes; anything else is a '?'. No replacement is
 * longer than what it replaces; "…" is one column, as a cut counts it. */
static const struct {
	const char *utf8, *ascii;
} same[] = {
	{ "…", "~" }, { "±", "+-" }, { "–", "-" }, { "−", "-" }, { "→", "->" }, { "×", "x" },
	{ "÷", "/" }, { "µ", "u" },  { "μ", "u" }, { "·", "*" }, { "≤", "<=" }, { "≥", ">=" },
	{ "²", "2" }, { "▲", "^" },  { "▼", "v" }, { "Δ", "d" },
};

char *utf8__to_ascii(char *s)
{
	char *to = s;
	const char *from = s;

	while (*from) {
		const char *ascii = "?";
		size_t len = 1;

		if (!(*from & 0x80)) {
			*to++ = *from++;
			continue;
		}
		while ((from[len] & 0xc0) == 0x80)
			len++;
		for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
			if (strlen(same[i].utf8) == len && !memcmp(from, same[i].utf8, len))
				ascii = same[i].ascii;
		memcpy(to, ascii, strlen(ascii));
		to += strlen(ascii);
		from += len;
	}
	*to = '\0';
	return s;
}
