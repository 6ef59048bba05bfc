/* SPDX-License-Identifier: BSD-2-Clause */
/* Records that end before a level's line: its routers are not lost. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/analyze.h"
#include "build_trail.h"

#include <stdlib.h>
#include <string.h>

#define HEADER(options) "{\"mode\":\"script\",\"options\":{" options "}}"

/* As many levels as there are numbers in existing, each of n routers after a warm-up,
 * and no line for the last. */
static void build(struct frt_trail *t, const char *header, const uint64_t *existing, size_t nlevels,
		  unsigned n)
{
	uint64_t at = 1000;

	memset(t, 0, sizeof(*t));
	trail__header(t, header);
	for (size_t l = 0; l < nlevels; l++) {
		trail__level(t, (uint32_t)(l * 1000), existing[l]);
		for (unsigned i = 0; i <= n; i++, at += 5000) {
			trail__router(t, at)->flags = FRT_ROUTER_UNTRACED |
						      (i ? 0 : FRT_ROUTER_WARMUP);
			trail__step(t, FRT_STEP_ADD, 1000 * (l + 1), 0);
		}
	}
	t->level.n--;
	t->truncated = true;
}

static struct frt_profile *profile_of(const struct frt_trail *t)
{
	struct analyze_opts o = { 0 };
	struct frt_profile *p = NULL;

	assert_int_equal(analyze__profile(t, &o, &p), 0);
	return p;
}

static bool has_note(const struct frt_profile *p, const char *text)
{
	for (size_t i = 0; i < p->nnotes; i++)
		if (strstr(p->notes[i], text))
			return true;
	return false;
}

static void in_the_first_level(void **state)
{
	static const uint64_t existing[] = { 7 };
	struct frt_profile *p;
	struct frt_trail t;

	(void)state;
	build(&t, HEADER("\"at\":[0,4000],\"streams\":2"), existing, 1, 6);
	assert_int_equal(t.level.n, 0);
	p = profile_of(&t);
	assert_int_equal(p->nlevels, 1);
	assert_int_equal(p->levels[0].asked, 0);
	assert_int_equal(p->levels[0].streams, 2);
	assert_int_equal(p->levels[0].routers, 6); /* the warm-up is none of them */
	assert_false(p->levels[0].again);
	assert_false(p->complete);
	assert_true(has_note(p, "level 0 was cut short"));
	assert_true(p->nfinding > 0);
	assert_null(strstr(p->finding[0], "No router was measured"));
	profile__free(p);
	trail__drop(&t);
}

static void in_a_later_level(void **state)
{
	static const uint64_t existing[] = { 7, 1007, 7 };
	struct frt_profile *p;
	struct frt_trail t;

	(void)state;
	/* the second */
	build(&t, HEADER("\"at\":[0,1000],\"streams\":1"), existing, 2, 6);
	p = profile_of(&t);
	assert_int_equal(p->nlevels, 2);
	assert_int_equal(p->levels[1].asked, 1000);
	assert_int_equal(p->levels[1].run, 1);
	assert_false(p->levels[1].again);
	assert_true(has_note(p, "level 1000 was cut short"));
	profile__free(p);
	trail__drop(&t);
	/* the first once more */
	build(&t, HEADER("\"at\":[0,1000]"), existing, 3, 6);
	p = profile_of(&t);
	assert_int_equal(p->nlevels, 3);
	assert_true(p->levels[2].again);
	assert_int_equal(p->levels[2].asked, 0);
	profile__free(p);
	trail__drop(&t);
	/* with --keep there is no such, so it is the first of the second run */
	build(&t, HEADER("\"at\":[0,1000],\"keep\":true"), existing, 3, 6);
	p = profile_of(&t);
	assert_int_equal(p->nlevels, 3);
	for (size_t i = 0; i < 3; i++)
		assert_false(p->levels[i].again);
	profile__free(p);
	trail__drop(&t);
}

/* Without options: what was there when it began. */
static void without_options(void **state)
{
	static const uint64_t existing[] = { 7 };
	struct frt_profile *p;
	struct frt_trail t;

	(void)state;
	build(&t, "{}", existing, 1, 3);
	p = profile_of(&t);
	assert_int_equal(p->nlevels, 1);
	assert_int_equal(p->levels[0].asked, 7);
	profile__free(p);
	trail__drop(&t);
}

/* A whole record says itself which levels there are. */
static void only_when_cut(void **state)
{
	static const uint64_t existing[] = { 7, 8 };
	struct frt_profile *p;
	struct frt_trail t;

	(void)state;
	build(&t, HEADER("\"at\":[0,1000]"), existing, 2, 6);
	t.truncated = false;
	p = profile_of(&t);
	assert_int_equal(p->nlevels, 1);
	profile__free(p);
	trail__drop(&t);
	/* cut, but between two levels */
	build(&t, HEADER("\"at\":[0,1000]"), existing, 2, 6);
	t.level.n++;
	p = profile_of(&t);
	assert_int_equal(p->nlevels, 2);
	assert_false(has_note(p, "was cut short: what"));
	profile__free(p);
	trail__drop(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_the_first_level),
		cmocka_unit_test(in_a_later_level),
		cmocka_unit_test(without_options),
		cmocka_unit_test(only_when_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
