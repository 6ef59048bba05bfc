/* SPDX-License-Identifier: BSD-2-Clause */
/* The finding: sentences from figures, and no claim without an interval. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef fail /* cmocka's; util.h has one of its own */
#include "analyze/finding.h"

/* Two levels; exec from 3 to 12 ms, add and the control as they were. */
struct story {
	struct frt_steprow rows[4];
	struct frt_levelrow levels[2];
	struct frt_stepgrowth steps[4];
	struct frt_growthrow growth[4];
	struct frt_prediction at;
	struct frt_profile p;
	struct arena *arena;
	char text[2048];
};

static struct frt_stepgrowth grown(const char *step, double a, double b, double half)
{
	return (struct frt_stepgrowth){ .step = step,
					.first_ns = a,
					.last_ns = b,
					.ratio = b / a,
					.ratio_lo = b / a * 0.99,
					.ratio_hi = b / a * 1.01,
					.delta_ns = b - a,
					.lo = b - a - half,
					.hi = b - a + half,
					.grew = b - a - half > 0,
					.shrank = b - a + half < 0,
					.shape = "unknown" };
}

static void set_up(struct story *s)
{
	memset(s, 0, sizeof(*s));
	s->arena = arena__new();
	assert_non_null(s->arena);
	s->rows[0] = (struct frt_steprow){ .step = "add", .creation = true, .n = 60 };
	s->rows[1] = (struct frt_steprow){ .step = "exec", .creation = true, .n = 60 };
	s->rows[2] = (struct frt_steprow){ .step = "router", .n = 60 };
	s->rows[3] = (struct frt_steprow){ .step = "true", .control = true, .n = 60 };
	s->rows[0].wall.mean = 5e6;
	s->rows[1].wall.mean = 3e6;
	s->rows[2].wall.mean = 8e6;
	for (int i = 0; i < 2; i++)
		s->levels[i] = (struct frt_levelrow){
			.asked = i ? 4000 : 0, .routers = 60, .steps = s->rows, .nsteps = 4
		};
	s->steps[0] = grown("add", 5e6, 5.01e6, 1e5);
	s->steps[1] = grown("exec", 3e6, 12e6, 2e5);
	s->steps[2] = grown("router", 8e6, 17.01e6, 3e5);
	s->steps[3] = grown("true", 1e6, 1.01e6, 1e5);
	s->at = (struct frt_prediction){ .at = 10000, .ns = 30.5e6, .lo = 29e6, .hi = 32e6 };
	s->steps[2].predicted = &s->at;
	s->steps[2].npredicted = 1;
	s->growth[0] = (struct frt_growthrow){ .step = "exec",
					       .action = "unshare(NEWNS)",
					       .where = "copy_tree",
					       .kind = FRT_KIND_KERNEL,
					       .sampled = true,
					       .n = 212,
					       .delta_ns = 6.3e6,
					       .lo = 6e6,
					       .hi = 6.6e6,
					       .share = 0.7 };
	s->growth[1] = (struct frt_growthrow){ .step = "exec",
					       .action = "exit",
					       .where = "rcu:expedited",
					       .kind = FRT_KIND_BLOCKED,
					       .n = 60,
					       .delta_ns = 1.8e6,
					       .lo = 1.5e6,
					       .hi = 2.1e6,
					       .share = 0.2 };
	s->growth[2] = (struct frt_growthrow){ .step = "rest", .delta_ns = 0.9e6 };
	s->p = (struct frt_profile){ .levels = s->levels,
				     .nlevels = 2,
				     .stepgrowth = s->steps,
				     .nstepgrowth = 4,
				     .growth = s->growth,
				     .ngrowth = 3 };
}

static const char *told(struct story *s)
{
	s->text[0] = '\0';
	assert_int_equal(finding__write(&s->p, s->arena), 0);
	assert_in_range(s->p.nfinding, 1, 3);
	for (size_t i = 0; i < s->p.nfinding; i++) {
		size_t n = strlen(s->text);

		assert_int_equal(s->p.finding[i][strlen(s->p.finding[i]) - 1], '.');
		snprintf(s->text + n, sizeof(s->text) - n, "%s ", s->p.finding[i]);
	}
	return s->text;
}

static void says(const char *text, const char *what)
{
	if (!strstr(text, what))
		print_message("not in \"%s\": %s\n", text, what);
	assert_non_null(strstr(text, what));
}

static void says_not(const char *text, const char *what)
{
	if (strstr(text, what))
		print_message("in \"%s\": %s\n", text, what);
	assert_null(strstr(text, what));
}

static void growth_is_named(void **state)
{
	struct story s;
	const char *t;

	(void)state;
	set_up(&s);
	t = told(&s);
	says(t, "A router takes 17.0 ms at 4,000, 2.13 times the 8.00 ms at 0");
	says(t, "exec +9.00 ms");
	says_not(t, "add");
	says(t, "exec costs 9.00 ms more at 4,000: 70 % of it is kernel time in copy_tree under "
		"unshare(NEWNS) (sampled, n=212), 20 % is waiting (rcu:expedited) in exit "
		"(measured, n=60).");
	says(t, "At 10,000 expect 30.5 ms per router (29.0 ms to 32.0 ms, 95 %) if it is linear.");
	s.steps[2].shape = "superlinear";
	t = told(&s);
	says(t, "; the growth is superlinear.");
	says_not(t, "if it is");
	s.at.refused = true;
	says(told(&s), "10,000 is more than five times the highest level");
	arena__free(s.arena);
}

/* A part inside its interval, or a twentieth of the step at most, is not named; nor is
 * one of another step. */
static void only_what_holds(void **state)
{
	struct story s;
	const char *t;

	(void)state;
	set_up(&s);
	s.growth[0].lo = -1;
	t = told(&s);
	says_not(t, "copy_tree");
	says(t, "20 % of it is waiting");
	s.growth[1].delta_ns = 0.4e6;
	says_not(told(&s), "waiting");
	s.growth[1].delta_ns = 1.8e6;
	s.growth[1].step = "add";
	says_not(told(&s), "costs");
	/* untraced: the steps, without parts */
	s.p.ngrowth = 0;
	t = told(&s);
	says(t, "exec +9.00 ms");
	says_not(t, "costs");
	says(t, "At 10,000 expect");
	arena__free(s.arena);
}

static void kinds_in_words(void **state)
{
	struct story s;

	(void)state;
	set_up(&s);
	s.growth[0].where = NULL;
	s.growth[0].sampled = false;
	says(told(&s), "kernel time in unshare(NEWNS) (measured");
	s.growth[0].where = "[other frames]";
	says(told(&s), "kernel time in other functions under unshare(NEWNS)");
	s.growth[0].kind = FRT_KIND_USER;
	s.growth[0].action = "user code";
	says(told(&s), "70 % of it is user code (measured");
	s.growth[0].kind = FRT_KIND_RUNQ;
	says(told(&s), "waiting for a CPU in user code");
	arena__free(s.arena);
}

static void no_growth_is_claimed(void **state)
{
	struct story s;
	const char *t;

	(void)state;
	set_up(&s);
	s.steps[1] = grown("exec", 3e6, 3.1e6, 2e5);
	s.steps[2] = grown("router", 8e6, 8.1e6, 3e5);
	s.steps[2].predicted = &s.at;
	s.steps[2].npredicted = 1;
	t = told(&s);
	says(t, "no growth that the interval supports");
	says(t, "no step grew");
	says_not(t, "expect");
	says_not(t, "costs");
	/* no interval at all */
	s.steps[2].lo = s.steps[2].hi = NAN;
	t = told(&s);
	says(t, "fewer than 5");
	says_not(t, "expect");
	/* the machine */
	s.steps[2] = grown("router", 8e6, 16e6, 3e5);
	s.steps[2].grew = false;
	t = told(&s);
	says(t, "the machine that got slower");
	says_not(t, "expect");
	/* faster */
	s.steps[1] = grown("exec", 12e6, 3e6, 2e5);
	s.steps[2] = grown("router", 17e6, 8e6, 3e5);
	t = told(&s);
	says(t, "faster: exec -9.00 ms");
	says_not(t, "expect");
	arena__free(s.arena);
}

static void one_level(void **state)
{
	struct story s;

	(void)state;
	set_up(&s);
	s.p.nlevels = 1;
	s.p.nstepgrowth = s.p.ngrowth = 0;
	says(told(&s), "At 0 a router takes 8.00 ms, most of it in add (5.00 ms).");
	s.p.nlevels = 0;
	says(told(&s), "No router was measured");
	arena__free(s.arena);
}

static void figures(void **state)
{
	char b[24];

	(void)state;
	assert_string_equal(finding__ms(b, sizeof(b), 1234567), "1.23 ms");
	assert_string_equal(finding__ms(b, sizeof(b), 9.996e6), "10.0 ms");
	assert_string_equal(finding__ms(b, sizeof(b), 99.96e6), "100 ms");
	assert_string_equal(finding__ms(b, sizeof(b), 12345), "0.012 ms");
	assert_string_equal(finding__ms(b, sizeof(b), -5e6), "-5.00 ms");
	assert_string_equal(finding__ms(b, sizeof(b), NAN), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(growth_is_named), cmocka_unit_test(only_what_holds),
		cmocka_unit_test(kinds_in_words),  cmocka_unit_test(no_growth_is_claimed),
		cmocka_unit_test(one_level),	   cmocka_unit_test(figures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
