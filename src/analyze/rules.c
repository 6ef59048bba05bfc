/* SPDX-License-Identifier: BSD-2-Clause */
#include "analyze/rules.h"

#include "util/util.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 32 /* of a pattern */
#define ARGS_MAX 260 /* arguments looked at: more do not fit into what is recorded */
#define PATTERN_MAX 256

/* A new command is a row. iproute2 takes abbreviations; the usual ones are here.
 * For `ip` the options before the object are left out first (see plain_ip). */
static const struct rule builtin[] = {
	{ .kind = RULE_STEP, .name = "sysctl", .pattern = "ip net|netns exec|e ?* sysctl" },
	{ .kind = RULE_STEP, .name = "add", .pattern = "ip net|netns add|a" },
	{ .kind = RULE_STEP, .name = "exec", .pattern = "ip net|netns exec|e" },
	{ .kind = RULE_STEP, .name = "delete", .pattern = "ip net|netns delete|del|d" },
	{ .kind = RULE_STEP, .name = "veth", .pattern = "ip link|l|li add|a * type veth" },
	{ .kind = RULE_STEP, .name = "link-add", .pattern = "ip link|l|li add|a" },
	{ .kind = RULE_STEP, .name = "veth-move", .pattern = "ip link|l|li set|s * netns" },
	{ .kind = RULE_STEP, .name = "link-up", .pattern = "ip link|l|li set|s * up" },
	{ .kind = RULE_STEP, .name = "link-set", .pattern = "ip link|l|li set|s" },
	{ .kind = RULE_STEP, .name = "link-del", .pattern = "ip link|l|li delete|del|d" },
	{ .kind = RULE_STEP,
	  .name = "addr",
	  .pattern = "ip address|addr|a|ad add|a|replace|del|d" },
	{ .kind = RULE_STEP, .name = "route", .pattern = "ip route|r|ro add|a|replace|del|d" },
	{ .kind = RULE_STEP, .name = "sysctl", .pattern = "sysctl" },
	{ .kind = RULE_STEP,
	  .name = "iptables",
	  .pattern = "iptables*|ip6tables*|xtables-*|ebtables*|arptables*" },
	{ .kind = RULE_STEP, .name = "nft", .pattern = "nft" },
	{ .kind = RULE_STEP, .name = "unshare", .pattern = "unshare" },
	{ .kind = RULE_STEP, .name = "nsenter", .pattern = "nsenter" },
	{ .kind = RULE_STEP, .name = "mnexec", .pattern = "mnexec" },
	{ .kind = RULE_WRAPPER,
	  .name = "wrapper",
	  .pattern = "sudo|doas|*rootwrap|*rootwrap-daemon|env|nice|ionice|flock|timeout|setsid|"
		     "nohup|stdbuf|taskset|chrt|time|runuser|su|setpriv" },
	{ .kind = RULE_WRAPPER, .name = "wrapper", .pattern = "python* *rootwrap*" },
};

static const char *const shells[] = { "sh", "dash", "bash", "ash", "ksh", "zsh", "busybox" };

struct rules {
	struct rule *v; /* the user's, then the built-in */
	size_t n, nuser;
	struct arena *arena;
};

/* The arguments of a command, cut at the separators. */
struct argv {
	const char *v[ARGS_MAX];
	size_t n;
	char text[ARGS_MAX * 2 + 1];
};

static void split_args(struct argv *a, const char *args)
{
	size_t len = strlen(args);
	char *p = a->text;

	if (len >= sizeof(a->text))
		len = sizeof(a->text) - 1;
	memcpy(p, args, len);
	p[len] = '\0';
	for (a->n = 0; a->n < ARGS_MAX;) {
		char *end = strchr(p, '\x1f');

		a->v[a->n++] = p;
		if (!end)
			break;
		*end = '\0';
		p = end + 1;
	}
}

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	path = slash && slash[1] ? slash + 1 : path;
	return *path == '-' ? path + 1 : path; /* a login shell */
}

static bool is_any(const char *s, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(s, list[i]) == 0)
			return true;
	return false;
}

/* A shell that is told its commands: -c among its options. */
static bool is_shell_command(const struct argv *a)
{
	size_t i = 1;

	if (!is_any(last_component(a->v[0]), shells, ARRAY_SIZE(shells)))
		return false;
	if (strcmp(last_component(a->v[0]), "busybox") == 0)
		i = 2;
	for (; i < a->n && (a->v[i][0] == '-' || a->v[i][0] == '+'); i++) {
		if (a->v[i][1] == '-') /* a long option */
			continue;
		if (strchr(a->v[i], 'c'))
			return true;
		if (strchr(a->v[i], 'o') || strchr(a->v[i], 'O'))
			i++; /* takes a name */
	}
	return false;
}

/* Options of ip that take a value. */
static const char *const ip_valued[] = { "-n",	"-netns",  "-f", "-family",
					 "-rc", "-rcvbuf", "-l", "-loops" };
static const char *const ip_batch[] = { "-b", "-batch" };
static const char *const ip_netns[] = { "-n", "-netns" };

/* `ip OPTIONS OBJECT …` as `ip OBJECT …`, `ip -n NAME …` as `ip netns exec NAME
 * ip …`, which is what it does. True when it is a batch. */
static bool plain_ip(struct argv *a)
{
	const char *program = last_component(a->v[0]);
	size_t i = 1, at = 0;

	if (strcmp(program, "ip") != 0)
		return false;
	a->v[0] = program;
	for (; i < a->n && a->v[i][0] == '-'; i++) {
		const char *option = a->v[i][1] == '-' ? a->v[i] + 1 : a->v[i];

		if (is_any(option, ip_batch, ARRAY_SIZE(ip_batch)))
			return true;
		if (is_any(option, ip_netns, ARRAY_SIZE(ip_netns)))
			at = i + 1;
		if (is_any(option, ip_valued, ARRAY_SIZE(ip_valued)))
			i++;
	}
	if (i > a->n)
		i = a->n;
	if (at && at < a->n) {
		const char *as[] = { "netns", "exec", a->v[at], "ip" };
		size_t rest = a->n - i;

		if (rest > ARGS_MAX - 5)
			rest = ARGS_MAX - 5;
		memmove(&a->v[5], &a->v[i], rest * sizeof(a->v[0]));
		memcpy(&a->v[1], as, sizeof(as));
		a->n = rest + 5;
		return false;
	}
	memmove(&a->v[1], &a->v[i], (a->n - i) * sizeof(a->v[0]));
	a->n -= i - 1;
	return false;
}

/* One word of a pattern against one argument: a shell pattern, or several. A
 * program may be given by its path, also one behind `ip netns exec NAME`. */
static bool word_fits(const char *word, size_t len, const char *arg, bool program)
{
	char one[PATTERN_MAX + 1];

	while (len) {
		const char *bar = memchr(word, '|', len);
		size_t n = bar ? (size_t)(bar - word) : len;

		memcpy(one, word, n);
		one[n] = '\0';
		if ((!program || strchr(one, '/')) && fnmatch(one, arg, 0) == 0)
			return true;
		if ((program || *arg == '/') && !strchr(one, '/') &&
		    fnmatch(one, last_component(arg), 0) == 0)
			return true;
		word += bar ? n + 1 : n;
		len -= bar ? n + 1 : n;
	}
	return false;
}

struct word {
	const char *s;
	size_t len;
};

static size_t split_words(const char *p, struct word *w, size_t max)
{
	size_t n = 0;

	for (;;) {
		p += strspn(p, " \t");
		if (!*p)
			return n;
		if (n == max)
			return max + 1;
		w[n].s = p;
		w[n].len = strcspn(p, " \t");
		p += w[n++].len;
	}
}

static bool is_star(const struct word *w)
{
	return w->len == 1 && *w->s == '*';
}

/* A star takes as few arguments as it can, and more when what follows does not
 * fit: one place to go back to is enough, as with shell patterns. */
static bool words_fit(const struct word *w, size_t n, const struct argv *a)
{
	size_t i = 0, k = 0, star = SIZE_MAX, resume = 0;

	while (i < n) {
		const char *arg = k < a->n ? a->v[k] : NULL;

		if (is_star(&w[i])) {
			star = ++i;
			resume = k;
			continue;
		}
		if (arg && word_fits(w[i].s, w[i].len, arg, k == 0)) {
			i++;
			k++;
			continue;
		}
		if (!arg || star == SIZE_MAX)
			return false;
		i = star;
		k = ++resume;
	}
	return true;
}

static bool rule_fits(const struct rule *r, const struct argv *raw, const struct argv *plain)
{
	struct word w[WORDS_MAX];
	size_t n = split_words(r->pattern, w, WORDS_MAX);

	return (r->user && words_fit(w, n, raw)) || words_fit(w, n, plain);
}

struct rules *rules__new(void)
{
	struct rules *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->arena = arena__new();
	r->n = ARRAY_SIZE(builtin);
	r->v = malloc(sizeof(builtin));
	if (!r->arena || !r->v) {
		rules__free(r);
		return NULL;
	}
	memcpy(r->v, builtin, sizeof(builtin));
	return r;
}

void rules__free(struct rules *r)
{
	if (!r)
		return;
	if (r->arena)
		arena__free(r->arena);
	free(r->v);
	free(r);
}

static int check_name(const char *spec, size_t len, char *err, size_t errlen)
{
	static const char *const taken[] = { "router",	"gap",	"true",	 "other",
					     "wrapper", "rest", "create" };
	char name[RULE_NAME_MAX + 1], shown[80];

	printable(shown, sizeof(shown), spec);
	if (!len || len > RULE_NAME_MAX ||
	    strspn(spec, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-") <
		    len)
		return fail(err, errlen, -EINVAL,
			    "--step '%s': the name before = must be 1 to %d letters, digits or "
			    "._+-",
			    shown, RULE_NAME_MAX);
	memcpy(name, spec, len);
	name[len] = '\0';
	if (is_any(name, taken, ARRAY_SIZE(taken)))
		return fail(err, errlen, -EINVAL,
			    "--step '%s': '%s' is a row of its own; choose another name", shown,
			    name);
	return 0;
}

int rules__add(struct rules *r, const char *spec, char *err, size_t errlen)
{
	const char *eq = strchr(spec, '=');
	struct word w[WORDS_MAX];
	struct rule rule = { .kind = RULE_STEP, .user = true };
	char shown[80];
	struct rule *v;
	size_t n;
	int rc;

	printable(shown, sizeof(shown), spec);
	if (!eq)
		return fail(err, errlen, -EINVAL,
			    "--step '%s': no =; give NAME=PATTERN, such as 'tc=ip netns exec * tc'",
			    shown);
	rc = check_name(spec, (size_t)(eq - spec), err, errlen);
	if (rc)
		return rc;
	if (!is_utf8(eq + 1)) /* a record could not keep it */
		return fail(err, errlen, -EINVAL,
			    "--step '%s': bytes that are no UTF-8; write * for them", shown);
	n = strlen(eq + 1) > PATTERN_MAX ? WORDS_MAX + 1 : split_words(eq + 1, w, WORDS_MAX);
	if (!n)
		return fail(err, errlen, -EINVAL,
			    "--step '%s': no pattern behind =; give the command's words", shown);
	if (n > WORDS_MAX)
		return fail(err, errlen, -EINVAL,
			    "--step '%s': the pattern is longer than %d words or %d bytes", shown,
			    WORDS_MAX, PATTERN_MAX);
	for (size_t i = 0; i < n; i++)
		if (memchr(w[i].s, '[', w[i].len) && !memchr(w[i].s, ']', w[i].len))
			return fail(err, errlen, -EINVAL,
				    "--step '%s': [ without ] in '%.*s'; write \\[ ] for the "
				    "character itself",
				    shown, (int)w[i].len, w[i].s);
	rule.name = arena__strndup(r->arena, spec, (size_t)(eq - spec));
	rule.pattern = arena__strdup(r->arena, eq + 1);
	v = realloc(r->v, (r->n + 1) * sizeof(*v));
	if (v)
		r->v = v;
	if (!v || !rule.name || !rule.pattern)
		return fail(err, errlen, -ENOMEM, "--step: out of memory");
	memmove(&v[r->nuser + 1], &v[r->nuser], (r->n - r->nuser) * sizeof(*v));
	v[r->nuser++] = rule;
	r->n++;
	return 0;
}

const struct rule *rules__match(struct rules *r, const char *args)
{
	static const struct rule shell = { .kind = RULE_WRAPPER, .name = "wrapper" };
	static const struct rule batch = { .kind = RULE_ACTIONS, .name = "batch" };
	struct argv raw, plain;
	struct rule *first = NULL;
	bool many;

	split_args(&raw, args);
	plain = raw;
	for (size_t i = 0; i < raw.n; i++) /* the copy has text of its own */
		plain.v[i] = plain.text + (raw.v[i] - raw.text);
	many = plain_ip(&plain);
	for (size_t i = 0; i < r->n; i++) {
		if ((first && i >= r->nuser) || (!r->v[i].user && many) ||
		    !rule_fits(&r->v[i], &raw, &plain))
			continue;
		if (first) {
			r->v[i].also++;
			continue;
		}
		first = &r->v[i];
		first->hits++;
	}
	if (first)
		return first;
	if (many)
		return &batch;
	return is_shell_command(&raw) ? &shell : NULL;
}

const struct rule *rules__list(const struct rules *r, size_t *n)
{
	*n = r->n;
	return r->v;
}

char *rules__summary(const char *args, char *buf, size_t size)
{
	struct argv a;
	char raw[128];
	size_t n = 0;

	split_args(&a, args);
	plain_ip(&a);
	a.v[0] = *a.v[0] ? last_component(a.v[0]) : "?";
	/* a program, then at most two plain lower-case words */
	for (size_t i = 0; i < a.n && i < 3; i++) {
		size_t len = strlen(a.v[i]);

		if (i && (!len || len > 12 || strspn(a.v[i], "abcdefghijklmnopqrstuvwxyz") < len))
			break;
		if (len > 40)
			len = 40;
		if (n + len + 2 > sizeof(raw))
			break;
		if (i)
			raw[n++] = ' ';
		memcpy(raw + n, a.v[i], len);
		n += len;
	}
	raw[n] = '\0';
	return printable(buf, size, n ? raw : "?");
}

/* Is it a word of some rule, other than one that anything fits? */
static bool is_word(const struct rules *r, const char *arg)
{
	struct word w[WORDS_MAX];

	for (size_t i = 0; i < r->n; i++) {
		size_t n = split_words(r->v[i].pattern, w, WORDS_MAX);

		for (size_t k = 0; k < n; k++)
			if (*w[k].s != '*' && *w[k].s != '?' &&
			    word_fits(w[k].s, w[k].len, arg, false))
				return true;
	}
	return false;
}

static bool is_plain_option(const char *arg)
{
	size_t n = strlen(arg);

	return arg[0] == '-' &&
	       (n <= 2 || strcmp(arg, "-all") == 0 ||
		is_any(arg, ip_valued, ARRAY_SIZE(ip_valued)) ||
		is_any(arg, ip_batch, ARRAY_SIZE(ip_batch)) || (n <= 4 && strchr(arg, 'c')));
}

char *rules__mask(const struct rules *r, const char *args, char *buf, size_t size)
{
	struct argv a;
	size_t at = 0;

	split_args(&a, args);
	for (size_t i = 0; i < a.n; i++) {
		const char *s = a.v[i];
		size_t n;

		if (i && *s && !is_plain_option(s) && !is_word(r, s))
			s = "*";
		n = strlen(s);
		if (at + n + 2 > size)
			break;
		if (i)
			buf[at++] = '\x1f';
		memcpy(buf + at, s, n);
		at += n;
	}
	if (size)
		buf[at] = '\0';
	return buf;
}
