/* SPDX-License-Identifier: BSD-2-Clause */
/* The text report, its views and the JSON, of profiles made by hand. */
#include "util/util.h" /* before cmocka, which makes a macro of fail() */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/analyze.h"
#include "golden.h"
#include "report/report.h"
#include "sample_profile.h"

#include <errno.h>
#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

static const struct {
	const char *name;
	struct frt_profile *(*make)(void);
} samples[] = {
	{ "traced", sample__traced },	    { "untraced", sample__untraced },
	{ "one-level", sample__one_level }, { "three-levels", sample__three_levels },
	{ "empty", sample__empty },
};

static char *print(const struct frt_profile *p, const char *view, unsigned width, bool color,
		   size_t *n)
{
	struct report_opts o = { .view = view, .width = width, .color = color };
	char *text = NULL;
	FILE *f = open_memstream(&text, n);

	assert_int_equal(report__text(f, p, &o), 0);
	assert_int_equal(fclose(f), 0);
	return text;
}

static void test_golden_text(void **state)
{
	char name[100], *text;
	size_t n;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		struct frt_profile *p = samples[i].make();

		text = print(p, NULL, 100, false, &n);
		snprintf(name, sizeof(name), "report/%s.txt", samples[i].name);
		golden__check(name, text, n);
		free(text);
		for (size_t v = 0; report__views[v]; v++) {
			text = print(p, report__views[v], 100, false, &n);
			snprintf(name, sizeof(name), "report/%s-%s.txt", samples[i].name,
				 report__views[v]);
			golden__check(name, text, n);
			free(text);
		}
		profile__free(p);
	}
}

static void test_golden_variants(void **state)
{
	struct frt_profile *p = sample__traced();
	size_t n;
	char *text;

	(void)state;
	text = print(p, NULL, 100, true, &n);
	golden__check("report/traced-color.txt", text, n);
	free(text);
	text = print(p, NULL, 80, false, &n);
	golden__check("report/traced-80.txt", text, n);
	free(text);
	text = print(p, NULL, 60, false, &n);
	golden__check("report/traced-60.txt", text, n);
	free(text);
	profile__free(p);
}

static const json_t *at(const json_t *j, const char *key)
{
	const json_t *v = json_object_get(j, key);

	if (!v)
		fail_msg("no %s", key);
	return v;
}

static void test_golden_json(void **state)
{
	char name[100], *text;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		struct frt_profile *p = samples[i].make();
		json_t *j = report__json(p), *far, *rest;

		assert_non_null(j);
		if (samples[i].make == sample__three_levels) { /* long, and little of it new */
			rest = json_array_get(at(j, "growth"),
					      json_array_size(at(j, "growth")) - 1);
			assert_string_equal(json_string_value(at(rest, "where")), "rest");
			assert_true(json_is_null(at(rest, "step")) &&
				    json_is_null(at(rest, "kind")));
			far = json_array_get(at(j, "step_growth"), 4);
			assert_string_equal(json_string_value(at(far, "shape")), "linear");
			assert_true(json_is_null(at(at(at(far, "predicted"), "1000000"), "ns")));
			assert_true(json_is_null(at(j, "status")));
			json_decref(j);
			profile__free(p);
			continue;
		}
		text = json_dumps(j, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
		assert_non_null(text);
		snprintf(name, sizeof(name), "report/%s.json", samples[i].name);
		golden__check(name, text, strlen(text));
		free(text);
		json_decref(j);
		profile__free(p);
	}
}

/* Columns of each line, and nothing but printable text in it. */
static void check_lines(const char *text, unsigned width, const char *what)
{
	mbstate_t mb = { 0 };
	unsigned columns = 0;
	wchar_t wc;
	size_t len;

	for (const char *s = text; *s; s += len) {
		len = mbrtowc(&wc, s, strlen(s), &mb);
		if (len == (size_t)-1 || len == (size_t)-2)
			fail_msg("%s: not UTF-8 at \"%.20s\"", what, s);
		if (wc == L'\n') {
			if (s > text && s[-1] == ' ')
				fail_msg("%s: a line ends in blanks", what);
			columns = 0;
			continue;
		}
		if (wcwidth(wc) < 0)
			fail_msg("%s: control character \\x%02x", what, (unsigned)wc);
		columns += (unsigned)wcwidth(wc);
		if (columns > width)
			fail_msg("%s: wider than %u: …%.20s", what, width, s);
	}
}

static void test_width(void **state)
{
	static const unsigned widths[] = { 100, 90, 80, 72, 60 };
	char what[100], *text;
	size_t n;

	(void)state;
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		struct frt_profile *p = samples[i].make();

		for (size_t w = 0; w < ARRAY_SIZE(widths); w++) {
			for (size_t v = 0; v == 0 || report__views[v - 1]; v++) {
				const char *view = v ? report__views[v - 1] : NULL;

				text = print(p, view, widths[w], false, &n);
				snprintf(what, sizeof(what), "%s %s at %u", samples[i].name,
					 view ? view : "report", widths[w]);
				check_lines(text, widths[w], what);
				assert_true(n > 0);
				free(text);
			}
		}
		profile__free(p);
	}
	setlocale(LC_CTYPE, "C");
}

/* Wider than 100 is 100, 0 is 100; locale and colors change no letter. */
static void test_same_everywhere(void **state)
{
	struct frt_profile *p = sample__traced();
	char *a, *b, *to;
	size_t n, m;

	(void)state;
	a = print(p, NULL, 100, false, &n);
	b = print(p, NULL, 250, false, &m);
	assert_string_equal(a, b);
	free(b);
	b = print(p, NULL, 0, false, &m);
	assert_string_equal(a, b);
	free(b);
	setlocale(LC_ALL, "C.UTF-8");
	b = print(p, NULL, 100, false, &m);
	setlocale(LC_ALL, "C");
	assert_string_equal(a, b);
	free(b);
	b = to = print(p, NULL, 100, true, &m);
	for (const char *s = b; *s;) {
		if (*s == '\033')
			s += strcspn(s, "m") + 1;
		else
			*to++ = *s++;
	}
	*to = '\0';
	assert_true(m > n);
	/* padding before a reset stays; letters do not change */
	for (char *x = a, *y = b; *x || *y; x++, y++) {
		while (*y == ' ' && *x == '\n')
			y++;
		assert_int_equal(*x, *y);
	}
	free(a);
	free(b);
	profile__free(p);
}

/* Long lists are cut and say so; what was not sampled stays. */
static void test_long_lists(void **state)
{
	struct frt_profile *p = sample__traced();
	struct frt_action *a = &p->levels[1].steps[0].actions[0];
	struct frt_frame frames[40];
	struct frt_wait waits[40];
	char names[40][24], *text, *row;
	size_t n;

	(void)state;
	for (int i = 0; i < 40; i++) {
		snprintf(names[i], sizeof(names[i]), "name_%02d", i);
		frames[i] = (struct frt_frame){ names[i], 1, 1e6, 1e6 };
		waits[i] = (struct frt_wait){ .class = names[i], .n = 1, .ns = 6e9 };
	}
	frames[39].frame = "[not sampled]";
	a->frames = frames;
	a->waits = waits;
	a->nframes = a->nwaits = 40;
	text = print(p, "functions", 100, false, &n);
	assert_non_null(strstr(text, "name_14"));
	assert_null(strstr(text, "name_15"));
	row = strstr(text, "name_14");
	row = strchr(row, '\n') + 1;
	assert_int_equal(strncmp(row, "├─[not sampled] ", strlen("├─[not sampled] ")), 0);
	row = strchr(row, '\n') + 1;
	assert_int_equal(strncmp(row, "└─(more: --json)", strlen("└─(more: --json)")), 0);
	free(text);
	text = print(p, NULL, 100, false, &n);
	assert_non_null(strstr(text, "(39 more: --view waits)"));
	free(text);
	text = print(p, "waits", 100, false, &n);
	assert_non_null(strstr(text, "name_39"));
	free(text);
	profile__free(p);
}

static void test_errors(void **state)
{
	struct frt_profile *p = sample__traced();
	struct report_opts o = { .view = "nothing", .width = 100 };
	FILE *f = fopen("/dev/full", "w");

	(void)state;
	assert_int_equal(report__text(f, p, &o), -EINVAL);
	o.view = NULL;
	setvbuf(f, NULL, _IONBF, 0);
	assert_int_equal(report__text(f, p, &o), -EIO);
	fclose(f);
	profile__free(p);
}

static json_int_t integer(const json_t *j, const char *key)
{
	const json_t *v = at(j, key);

	if (!json_is_integer(v))
		fail_msg("%s is no integer", key);
	return json_integer_value(v);
}

/* What the schema promises, and that the figures are the profile's. */
static void test_json_schema(void **state)
{
	static const char *const top[] = { "schema",   "created", "command",  "environment",
					   "probes",   "loss",	  "levels",   "growth",
					   "deferred", "outside", "overhead", "drift",
					   "finding" };
	struct frt_profile *p = sample__traced();
	json_t *j = report__json(p), *step, *action;
	const json_t *level;
	size_t i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(top); i++)
		at(j, top[i]);
	assert_string_equal(json_string_value(at(j, "schema")), "frtrace-report/1");
	level = json_array_get(at(j, "levels"), 1);
	assert_int_equal(integer(level, "level"), 4000);
	assert_int_equal(integer(level, "existing"), 4003);
	assert_true(json_is_false(at(level, "again")));
	assert_true(json_is_true(at(json_array_get(at(j, "levels"), 2), "again")));
	assert_true(json_is_null(at(json_array_get(at(j, "levels"), 0), "memory_per_router")));
	json_array_foreach(at(level, "steps"), i, step)
	{
		json_int_t sum = integer(step, "user_ns") + integer(step, "kernel_ns") +
				 integer(step, "blocked_ns") + integer(step, "runqueue_ns") +
				 integer(step, "unaccounted_ns");
		json_int_t wall = integer(at(step, "wall_ns"), "mean");
		bool router = strcmp(json_string_value(at(step, "step")), "router") == 0;

		/* the router's wall has the gaps in it */
		assert_true(llabs(sum - wall) <= (router ? 21010 : 1));
		sum = 0;
		json_array_foreach(at(step, "actions"), k, action)
			sum += integer(action, "wall_ns");
		assert_true(router || llabs(sum + integer(step, "unaccounted_ns") - wall) <= 1);
	}
	profile__free(p);
	json_decref(j);
}

static void test_json_unknown_is_null(void **state)
{
	struct frt_profile *p = sample__untraced();
	json_t *j = report__json(p);
	const json_t *step = json_array_get(at(json_array_get(at(j, "levels"), 0), "steps"), 0);

	(void)state;
	assert_true(json_is_null(at(step, "blocked_ns")));
	assert_true(json_is_null(at(step, "runqueue_ns")));
	assert_true(json_is_null(at(step, "unaccounted_ns")));
	assert_string_equal(json_string_value(at(step, "source")), "rusage");
	assert_true(json_is_null(at(j, "overhead")));
	json_decref(j);
	p->levels[0].steps[0].wall.n = 3;
	p->levels[0].steps[0].wall.lo = p->levels[0].steps[0].wall.hi = NAN;
	p->levels[0].rate_per_s = INFINITY;
	j = report__json(p);
	step = json_array_get(at(json_array_get(at(j, "levels"), 0), "steps"), 0);
	assert_true(json_is_null(at(at(step, "wall_ns"), "ci95")));
	assert_true(json_is_null(at(json_array_get(at(j, "levels"), 0), "rate_per_s")));
	json_decref(j);
	profile__free(p);
}

/* Few values, figures that are missing, names that are not there: no "nan". */
static void test_gaps_in_the_profile(void **state)
{
	struct frt_profile *p = sample__traced();
	size_t n;
	char *text;

	(void)state;
	for (size_t i = 0; i < p->nlevels; i++) {
		struct frt_levelrow *l = &p->levels[i];

		l->rate_per_s = l->steal = NAN;
		l->nworst = 0;
		for (size_t s = 0; s < l->nsteps; s++) {
			l->steps[s].wall.mean = l->steps[s].wall.lo = l->steps[s].wall.hi = NAN;
			l->steps[s].kernel_in_user_ns = l->steps[s].parallel_ns = NAN;
			l->steps[s].unaccounted_ns = l->steps[s].restarts = NAN;
			for (int k = 0; k < FRT_KINDS; k++)
				l->steps[s].kind_ns[k] = NAN;
		}
	}
	for (size_t i = 0; i < p->nstepgrowth; i++) {
		p->stepgrowth[i].ratio = p->stepgrowth[i].ratio_lo = p->stepgrowth[i].delta_ns =
			NAN;
		p->stepgrowth[i].lo = p->stepgrowth[i].hi = p->stepgrowth[i].ns_per_existing = NAN;
		p->stepgrowth[i].shape = NULL;
		p->stepgrowth[i].predicted[0].lo = NAN;
	}
	for (size_t i = 0; i < p->ngrowth; i++) {
		p->growth[i].share = p->growth[i].delta_ns = p->growth[i].lo = NAN;
		p->growth[i].ns_per_existing = NAN;
		p->growth[i].shape = NULL;
	}
	p->growth_ns = p->growth_lo = NAN;
	p->outside[0].cpu_ns = p->outside[0].per_router_ns = NAN;
	p->levels[2].routers = 0;
	p->created = p->command = p->mode = p->backend = NULL;
	for (size_t v = 0; v == 0 || report__views[v - 1]; v++) {
		text = print(p, v ? report__views[v - 1] : NULL, 100, false, &n);
		assert_null(strstr(text, "nan"));
		assert_null(strstr(text, "(null)"));
		free(text);
	}
	/* levels that no router belongs to */
	for (size_t i = 0; i < p->nlevels; i++)
		p->levels[i].routers = 0;
	for (size_t v = 0; v == 0 || report__views[v - 1]; v++) {
		text = print(p, v ? report__views[v - 1] : NULL, 100, false, &n);
		assert_true(n > 0);
		free(text);
	}
	profile__free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden_text),
		cmocka_unit_test(test_golden_variants),
		cmocka_unit_test(test_golden_json),
		cmocka_unit_test(test_width),
		cmocka_unit_test(test_same_everywhere),
		cmocka_unit_test(test_long_lists),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_json_schema),
		cmocka_unit_test(test_json_unknown_is_null),
		cmocka_unit_test(test_gaps_in_the_profile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
