/* SPDX-License-Identifier: BSD-2-Clause */
/* Who held a lock: lists of contentions and wakings written by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include "analyze/locks.h"
#include "util/util.h"

#include <cmocka.h>

#include "build_trail.h"

#include <stdio.h>
#include <string.h>

#define ADDR 0x1000

struct fixture {
	struct frt_trail t;
	struct index ix;
	struct arena *arena;
	struct intern *strings;
	struct stacks stacks;
	struct locks l;
	char held[256]; /* "task/kind:ns …" */
};

static void begin(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	trail__creator(&f->t, 1);
	for (uint32_t task = 2; task <= 4; task++) {
		struct frt_proc *p = trail_add(&f->t, proc);

		p->task = task;
		p->parent = 1;
		p->instance = task;
		p->comm = task == 2 ? "ip" : task == 3 ? "sysctl" : "sh";
	}
}

static void ready(struct fixture *f)
{
	assert_int_equal(index__build(&f->ix, &f->t), 0);
	f->arena = arena__new();
	f->strings = intern__new(f->arena);
	assert_int_equal(stacks__open(&f->stacks, &f->t, f->arena, f->strings), 0);
	assert_int_equal(locks__open(&f->l, &f->t, &f->ix, &f->stacks, f->strings), 0);
}

static void end(struct fixture *f)
{
	locks__close(&f->l);
	stacks__close(&f->stacks);
	index__free(&f->ix);
	intern__free(f->strings);
	arena__free(f->arena);
	trail__drop(&f->t);
}

/* A contention of task over [t0, t1), the owner read at t0; tid 0: unreadable. */
static struct frt_lock *contends(struct fixture *f, uint32_t task, uint64_t t0, uint64_t t1,
				 uint32_t tid, const char *owner)
{
	struct frt_lock *k = trail_add(&f->t, lock);

	*k = (struct frt_lock){ .task = task,
				.instance = task,
				.flags = FRT_LCB_MUTEX,
				.t0 = t0,
				.t1 = t1,
				.t_owner = t0,
				.addr = ADDR,
				.owner_tid = tid,
				.owner_comm = owner,
				.name = "" };
	return k;
}

static struct frt_lock *woken(struct fixture *f, uint32_t task, uint64_t out, uint64_t waking,
			      uint32_t tid, const char *waker, uint32_t stack)
{
	struct frt_lock *k = contends(f, task, out, waking, tid, waker);

	k->flags = FRT_LOCK_WAKER;
	k->addr = 0;
	k->stack = stack;
	return k;
}

static uint32_t stack_of(struct fixture *f, const char *const *root_first, size_t n)
{
	uint32_t node = 0;

	for (size_t i = 0; i < n; i++)
		node = trail__frame(&f->t, node, root_first[i]);
	return node;
}

static uint32_t unlock_stack(struct fixture *f)
{
	static const char *const v[] = { "worker_thread", "process_one_work", "bpf_trampoline_64",
					 "cleanup_net",	  "mutex_unlock",     "wake_up_q" };

	return stack_of(f, v, 6);
}

static struct frt_off *slept(struct fixture *f, uint32_t task, uint64_t out, uint64_t waking)
{
	static const char *const v[] = { "rtnl_newlink", "__mutex_lock", "schedule" };
	struct frt_off *o = trail__slept(&f->t, task, task, 46, out, waking, waking + 5,
					 (struct used){ 0 }, 0, (struct used){ 0 });

	o->stack = stack_of(f, v, 3);
	return o;
}

static void each(void *ctx, const struct lock_holder *h, uint64_t ns)
{
	struct fixture *f = ctx;
	size_t n = strlen(f->held);

	snprintf(f->held + n, sizeof(f->held) - n, "%s%s/%s:%llu", n ? " " : "", h->task, h->kind,
		 (unsigned long long)ns);
}

/* Who held it while the off at this place was blocked. */
static const char *held(struct fixture *f, size_t off)
{
	const struct frt_off *o = &f->t.off.v[off];

	f->held[0] = '\0';
	locks__held(&f->l, locks__at(&f->l, o->task, o->out), o, o->out, o->waking, each, f);
	return f->held;
}

static void by_owner(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	contends(&f, 2, 90, 310, 77, "udevd");
	slept(&f, 2, 100, 300);
	ready(&f);
	assert_string_equal(held(&f, 0), "udevd/outside:200");
	assert_string_equal(locks__name(&f.l, locks__at(&f.l, 2, 100)), "rtnl_mutex");
	assert_null(locks__at(&f.l, 2, 80));
	assert_null(locks__at(&f.l, 2, 311));
	assert_null(locks__at(&f.l, 3, 100));
	end(&f);
}

/* Three wait; each that gets it holds it for the next. */
static void a_queue(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	contends(&f, 2, 90, 200, 77, "kworker/0:1")->owner_kind = FRT_OWNER_WORKER;
	contends(&f, 3, 110, 250, 77, "kworker/0:1")->owner_kind = FRT_OWNER_WORKER;
	contends(&f, 4, 120, 300, 0, "");
	slept(&f, 2, 100, 200);
	slept(&f, 3, 110, 250);
	slept(&f, 4, 120, 300);
	ready(&f);
	assert_string_equal(held(&f, 0), "kworker/0:1/workqueue:10 kworker/0:1/workqueue:10 "
					 "unknown/unknown:80");
	assert_string_equal(held(&f, 1),
			    "kworker/0:1/workqueue:10 unknown/unknown:80 ip/stream:50");
	assert_string_equal(held(&f, 2), "unknown/unknown:80 ip/stream:50 sysctl/stream:50");
	end(&f);
}

/* Nobody could be read: the waker, when its stack lets go of a lock. */
static void by_waker(void **state)
{
	static const char *const other[] = { "do_exit", "complete" };
	struct fixture f;

	(void)state;
	begin(&f);
	contends(&f, 2, 90, 310, 0, "");
	woken(&f, 2, 100, 300, 55, "cleanup_net", unlock_stack(&f))->owner_kind = FRT_OWNER_WORKER;
	slept(&f, 2, 100, 300);
	contends(&f, 3, 1090, 1310, 0, "");
	woken(&f, 3, 1100, 1300, 55, "cleanup_net", stack_of(&f, other, 2));
	slept(&f, 3, 1100, 1300);
	/* no contention is told at all: an older kernel */
	woken(&f, 4, 2100, 2300, 55, "kworker/0:1", unlock_stack(&f))->owner_kind =
		FRT_OWNER_WORKER;
	slept(&f, 4, 2100, 2300);
	ready(&f);
	assert_string_equal(held(&f, 0), "cleanup_net/workqueue:200");
	assert_string_equal(held(&f, 1), "unknown/unknown:200");
	assert_string_equal(held(&f, 2), "cleanup_net/workqueue:200");
	end(&f);
}

/* A waiter is not its own holder, a reader not the only one, and who gave up has
 * not got it. */
static void not_holders(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	contends(&f, 2, 90, 200, 12, "ip")->owner = 2; /* handed over already */
	contends(&f, 3, 95, 150, 77, "udevd")->flags = FRT_LCB_READ;
	contends(&f, 4, 95, 160, 77, "udevd")->flags |= FRT_LOCK_AGAIN;
	slept(&f, 2, 100, 190);
	ready(&f);
	/* udevd by the two others; what they read came last */
	assert_string_equal(held(&f, 0), "udevd/outside:90");
	end(&f);
}

static void names(void **state)
{
	static const char *const rcu[] = { "namespace_unlock", "synchronize_rcu_expedited",
					   "exp_funnel_lock", "__mutex_lock", "schedule" };
	static const char *const odd[] = { "odd_fn [mod]", "__mutex_lock", "schedule" };
	struct fixture f;
	struct frt_lock *k;

	(void)state;
	begin(&f);
	k = contends(&f, 2, 90, 200, 0, "");
	k->name = "rcu_state";
	k->addr = 1;
	slept(&f, 2, 100, 190)->stack = stack_of(&f, rcu, 5);
	k = contends(&f, 3, 90, 200, 0, "");
	k->addr = 2;
	slept(&f, 3, 100, 190)->stack = stack_of(&f, odd, 3);
	k = contends(&f, 4, 90, 200, 0, "");
	k->addr = 3;
	k->name = "some_mutex";
	slept(&f, 4, 100, 190);
	k = contends(&f, 4, 390, 500, 0, "");
	k->addr = 4; /* nothing slept for it */
	ready(&f);
	assert_string_equal(locks__name(&f.l, locks__at(&f.l, 2, 100)), "rcu_state.exp_mutex");
	assert_string_equal(locks__name(&f.l, locks__at(&f.l, 3, 100)), "in odd_fn");
	/* the symbol is the kernel's own word, whatever the table says of the taker */
	assert_string_equal(locks__name(&f.l, locks__at(&f.l, 4, 100)), "some_mutex");
	assert_null(locks__name(&f.l, locks__at(&f.l, 4, 400)));
	assert_null(locks__name(&f.l, NULL));
	end(&f);
}

/* Several takers of one address have one name: the one that the table knows. */
static void one_address(void **state)
{
	static const char *const odd[] = { "some_inlined_caller", "__mutex_lock", "schedule" };
	struct fixture f;

	(void)state;
	begin(&f);
	contends(&f, 2, 90, 200, 0, "");
	slept(&f, 2, 100, 190)->stack = stack_of(&f, odd, 3);
	contends(&f, 3, 1090, 1200, 0, "");
	slept(&f, 3, 1100, 1190);
	ready(&f);
	assert_string_equal(locks__name(&f.l, locks__at(&f.l, 2, 100)), "rtnl_mutex");
	end(&f);
}

static void nothing(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	slept(&f, 2, 100, 300);
	ready(&f);
	assert_string_equal(held(&f, 0), "unknown/unknown:200");
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_owner), cmocka_unit_test(a_queue),
		cmocka_unit_test(by_waker), cmocka_unit_test(not_holders),
		cmocka_unit_test(names),    cmocka_unit_test(one_address),
		cmocka_unit_test(nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
