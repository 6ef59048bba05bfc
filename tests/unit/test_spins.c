/* SPDX-License-Identifier: BSD-2-Clause */
/* Contended spinlocks: counted by the kernel, told with a stack up to a limit. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/analyze.h"
#include "build_trail.h"

#include <string.h>

#define MS 1000000u

static void level(struct world *w, uint32_t asked)
{
	struct plan p = { .user = MS };

	trail__level(&w->t, asked, asked);
	for (int i = 0; i < 6; i++) {
		world__pass(w, 1000);
		trail__router(&w->t, w->now);
		world__step(w, FRT_STEP_EXEC, &p);
	}
}

static uint32_t stack_of(struct world *w, const char *const *root_first, size_t n)
{
	uint32_t node = 0;

	for (size_t i = 0; i < n; i++)
		node = trail__frame(&w->t, node, root_first[i]);
	return node;
}

static void spins(struct world *w, uint32_t stack, size_t n)
{
	for (size_t i = 0; i < n; i++)
		*trail_add(&w->t, lock) = (struct frt_lock){ .task = 2,
							     .flags = FRT_LCB_SPIN,
							     .t0 = w->now,
							     .t1 = w->now,
							     .t_owner = w->now,
							     .addr = 7,
							     .stack = stack,
							     .owner_comm = "",
							     .name = "" };
}

static void by_level_and_place(void **state)
{
	static const char *const handler[] = { "proc_sys_call_handler", "_raw_spin_lock",
					       "native_queued_spin_lock_slowpath" };
	static const char *const bare[] = { "_raw_spin_lock", "queued_write_lock_slowpath" };
	struct analyze_opts o = { 0 };
	struct frt_profile *p = NULL;
	struct frt_loss *loss;
	struct world w;

	(void)state;
	world__open(&w);
	level(&w, 0);
	spins(&w, stack_of(&w, bare, 2), 2);
	spins(&w, 0, 1);
	level(&w, 1000);
	spins(&w, stack_of(&w, handler, 3), 3);
	spins(&w, stack_of(&w, bare, 2), 1);
	w.t.lock.v[w.t.lock.n - 1].name = "sysctl_lock"; /* it has a symbol */
	loss = trail_add(&w.t, loss);
	loss->level = w.t.level.v[1].id;
	loss->spins = 5000; /* most without a stack */
	assert_int_equal(analyze__profile(&w.t, &o, &p), 0);
	assert_int_equal(p->nlevels, 2);
	assert_int_equal(p->levels[0].spins, 0);
	assert_int_equal(p->levels[0].spins_told, 3);
	assert_int_equal(p->levels[0].nspin, 1);
	assert_string_equal(p->levels[0].spin[0].where, "[unknown]");
	assert_int_equal(p->levels[1].spins, 5000);
	assert_int_equal(p->levels[1].spins_told, 4);
	assert_int_equal(p->levels[1].nspin, 2);
	assert_string_equal(p->levels[1].spin[0].where, "proc_sys_call_handler");
	assert_int_equal(p->levels[1].spin[0].n, 3);
	assert_string_equal(p->levels[1].spin[1].where, "[unknown] (sysctl_lock)");
	/* nobody sleeps for them: they are no waits */
	for (size_t i = 0; i < p->levels[1].nsteps; i++)
		for (size_t k = 0; k < p->levels[1].steps[i].nactions; k++)
			assert_int_equal(p->levels[1].steps[i].actions[k].nwaits, 0);
	profile__free(p);
	trail__drop(&w.t);
}

/* More places than are shown: the most frequent, the sum of all. */
static void the_first_five(void **state)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g" };
	struct analyze_opts o = { 0 };
	struct frt_profile *p = NULL;
	struct world w;

	(void)state;
	world__open(&w);
	level(&w, 0);
	for (size_t i = 0; i < 7; i++)
		spins(&w, stack_of(&w, &names[i], 1), i + 1);
	assert_int_equal(analyze__profile(&w.t, &o, &p), 0);
	assert_int_equal(p->levels[0].nspin, 5);
	assert_int_equal(p->levels[0].spins_told, 28);
	assert_string_equal(p->levels[0].spin[0].where, "g");
	assert_string_equal(p->levels[0].spin[4].where, "c");
	profile__free(p);
	trail__drop(&w.t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_level_and_place),
		cmocka_unit_test(the_first_five),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
