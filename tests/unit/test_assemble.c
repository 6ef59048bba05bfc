/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walls from hand-written event lists. Times are plain numbers; the creator is
 * task 1, the step is instance 7. Every expectation is worked out by hand in the
 * comment above it, from t1 backwards.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/assemble.h"
#include "build_trail.h"

#include <stdlib.h>
#include <string.h>

#define CREATOR 1
#define STEP 7

/* Numbers of calls that no rule here looks at. */
#define NR_READ 0
#define NR_WRITE 1
#define NR_A 39
#define NR_VFORK 58
#define NR_WAITID 247
#define NR_POLL 7
#define NR_PAUSE 34
#define NR_EXECVE 59
#define NR_WAIT4 61

#define creator(t) trail__creator(t, CREATOR)
#define born(t, ...) trail__born(t, STEP, __VA_ARGS__)
#define slept(t, ...) trail__slept(t, STEP, __VA_ARGS__)
#define preempted(t, ...) trail__preempted(t, STEP, __VA_ARGS__)
#define call(t, ...) trail__call(t, STEP, __VA_ARGS__)
#define dead(t, ...) trail__dead(t, STEP, __VA_ARGS__)

static const struct used nobody = { 0 };

/* The creator before and after: idle from 50 to 60 (960 used, 590 of it user),
 * and from `out` on with u used. */
static void idle(struct frt_trail *t, uint64_t out, struct used u)
{
	slept(t, CREATOR, NR_A, 50, 55, 60, (struct used){ 960, 590 }, 0, nobody);
	slept(t, CREATOR, NR_A, out, out + 5, out + 10, u, 0, nobody);
}

static struct wall_sums sums_of(struct frt_trail *t, uint64_t t0, uint64_t t1)
{
	struct index ix;
	struct wall w = { 0 };
	struct wall_sums s;
	uint64_t at = t1;

	assert_int_equal(index__build(&ix, t), 0);
	assert_int_equal(wall__assemble(&ix, t0, t1, CREATOR, STEP, &w), 0);
	s = wall__sums(&w);
	for (size_t i = 0; i < w.n; i++) { /* without gaps, back to t0 */
		assert_int_equal(w.v[i].b, at);
		assert_true(w.v[i].a < w.v[i].b);
		at = w.v[i].a;
	}
	assert_int_equal(at, t0);
	assert_int_equal(s.user + s.kernel + s.blocked + s.runq + s.unaccounted, t1 - t0);
	free(w.v);
	index__free(&ix);
	trail__drop(t);
	return s;
}

#define expect(s, u, k, b, r, x)                      \
	do {                                          \
		struct wall_sums got = (s);           \
		assert_int_equal(got.user, u);        \
		assert_int_equal(got.kernel, k);      \
		assert_int_equal(got.blocked, b);     \
		assert_int_equal(got.runq, r);        \
		assert_int_equal(got.unaccounted, x); \
	} while (0)

/*
 * The creator forks (call 110-150) a child that runs from 160, in call A from 300
 * to 400, exits from 450 on and wakes the creator at 500; it dies at 530, after t1.
 */
static void build_plain(struct frt_trail *t)
{
	creator(t);
	idle(t, 600, (struct used){ 1160, 730 });
	call(t, CREATOR, NR_VFORK, 110, 150, 40);
	call(t, CREATOR, NR_WAITID, 155, 515, 20);
	slept(t, CREATOR, NR_WAITID, 170, 500, 510, (struct used){ 1070, 645 }, 2,
	      (struct used){ 340, 185 });
	born(t, 2, CREATOR, 120, 140, 160, (struct used){ 1040, 640 });
	call(t, 2, FRT_NR_START, 120, 165, 5);
	call(t, 2, NR_A, 300, 400, 100);
	call(t, 2, FRT_NR_EXIT, 450, 530, 80);
	dead(t, 2, 530, (struct used){ 370, 185 });
}

/*
 * 510-520 creator: waitid to 515 (5 kernel), then 5 user; 500-510 runqueue (10);
 * 160-500 child: start 5, user 135, A 100, user 50, exit 50; 140-160 its birth on the
 * runqueue (20); 100-140 creator: user 10, fork 30.
 */
static void plain(void **state)
{
	struct frt_trail t = { 0 };

	(void)state;
	build_plain(&t);
	expect(sums_of(&t, 100, 520), 200, 190, 0, 30, 0);
}

/* What the child does between waking its parent (500) and its death (530) is in
 * no segment, although the wall goes on to 520. */
static void child_dies_after_waking(void **state)
{
	struct frt_trail t = { 0 };
	struct index ix;
	struct wall w = { 0 };

	(void)state;
	build_plain(&t);
	assert_int_equal(index__build(&ix, &t), 0);
	assert_int_equal(wall__assemble(&ix, 100, 520, CREATOR, STEP, &w), 0);
	for (size_t i = 0; i < w.n; i++)
		assert_false(w.v[i].task->serial == 2 && w.v[i].b > 500);
	/* creator, its runqueue, child, its birth, creator */
	assert_int_equal(w.n, 5);
	assert_int_equal(w.v[2].task->serial, 2);
	assert_int_equal(w.v[2].a, 160);
	assert_int_equal(w.v[2].b, 500);
	assert_int_equal(task__cpu(w.v[2].task), 370);
	free(w.v);
	index__free(&ix);
	trail__drop(&t);
}

/*
 * The creator waits in vfork until the child's execve (200-300) wakes it at 250,
 * runs beside it from 260 and sleeps in waitid at 280 until 480.
 * 490-505: waitid 10, user 5; 480-490 runqueue; 160-480 child: start 10, user 30,
 * execve 100, user 100, exit 80; 140-160 runqueue; 100-140: user 10, vfork 30.
 */
static void vforked(void **state)
{
	struct frt_trail t = { 0 };

	(void)state;
	creator(&t);
	idle(&t, 600, (struct used){ 1180, 745 });
	call(&t, CREATOR, NR_VFORK, 110, 265, 45);
	slept(&t, CREATOR, NR_VFORK, 150, 250, 260, (struct used){ 1050, 640 }, 2,
	      (struct used){ 90, 30 });
	call(&t, CREATOR, NR_WAITID, 270, 500, 20);
	slept(&t, CREATOR, NR_WAITID, 280, 480, 490, (struct used){ 1070, 645 }, 2,
	      (struct used){ 320, 130 });
	born(&t, 2, CREATOR, 120, 140, 160, (struct used){ 1040, 640 });
	call(&t, 2, FRT_NR_START, 120, 170, 10);
	call(&t, 2, NR_EXECVE, 200, 300, 100);
	call(&t, 2, FRT_NR_EXIT, 400, 520, 120);
	dead(&t, 2, 520, (struct used){ 360, 130 });
	expect(sums_of(&t, 100, 505), 145, 230, 0, 30, 0);
}

/*
 * The command forks once more and waits with wait4: 3 works from 260 to 400 (user
 * 130, exit 10 until it wakes 2 at 400), 2 goes on from 420 (wait4 to 425, user 25,
 * exit from 450), wakes the creator at 470.
 * 475-480: 3 kernel, 2 user; 470-475 runqueue 5; 2 in 420-470: 5 + 25 user + 20; its
 * runqueue 400-420 20; 3 in 260-400: user 130, exit 10; birth 230-260 runqueue 30;
 * 2 in 160-230: start 10, user 30, fork 30; birth 140-160 20; creator 10 + 30.
 */
static void wait4_chain(void **state)
{
	struct frt_trail t = { 0 };

	(void)state;
	creator(&t);
	idle(&t, 600, (struct used){ 1195, 767 });
	call(&t, CREATOR, NR_VFORK, 110, 150, 40);
	call(&t, CREATOR, NR_WAITID, 155, 478, 18);
	slept(&t, CREATOR, NR_WAITID, 170, 470, 475, (struct used){ 1070, 645 }, 2,
	      (struct used){ 130, 55 });
	born(&t, 2, CREATOR, 120, 140, 160, (struct used){ 1040, 640 });
	call(&t, 2, FRT_NR_START, 120, 170, 10);
	call(&t, 2, NR_VFORK, 200, 235, 35);
	call(&t, 2, NR_WAIT4, 235, 425, 10);
	born(&t, 3, 2, 210, 230, 260, (struct used){ 70, 30 });
	slept(&t, 2, NR_WAIT4, 240, 400, 420, (struct used){ 80, 30 }, 3,
	      (struct used){ 140, 130 });
	call(&t, 2, FRT_NR_EXIT, 450, 490, 40);
	dead(&t, 2, 490, (struct used){ 150, 55 });
	call(&t, 3, FRT_NR_EXIT, 390, 410, 20);
	dead(&t, 3, 410, (struct used){ 150, 130 });
	/* start of 3 was sent with no time on the CPU: it went on in user mode */
	call(&t, 3, FRT_NR_START, 210, 260, 0);
	expect(sums_of(&t, 100, 480), 2 + 25 + 130 + 30 + 10, 3 + 5 + 20 + 10 + 10 + 30 + 30, 0,
	       5 + 20 + 30 + 20, 0);
}

/*
 * sudo with a pty: 2 polls for the monitor 3, which polls for the command 4. The
 * command (220-400) wakes the monitor, which tells sudo (450), which exits and wakes
 * the creator (500).
 * 505-510 creator: 3 + 2; 500-505 runqueue; sudo 460-500: poll 5, user 15, exit 20;
 * runqueue 450-460; monitor 410-450: poll 10, user 25, write 5; runqueue 400-410; command
 * 220-400: start 5, user 165, exit 10; birth 210-220; monitor 185-210: start 5, user 10,
 * fork 10; birth 180-185; sudo 160-180: start 5, user 5, fork 10; birth 140-160; creator
 * 10 + 30.
 */
static void sudo_joined_by_poll(void **state)
{
	struct frt_trail t = { 0 };

	(void)state;
	creator(&t);
	idle(&t, 600, (struct used){ 1165, 737 });
	call(&t, CREATOR, NR_VFORK, 110, 150, 40);
	call(&t, CREATOR, NR_WAITID, 155, 508, 18);
	slept(&t, CREATOR, NR_WAITID, 170, 500, 505, (struct used){ 1070, 645 }, 2,
	      (struct used){ 72, 25 });
	born(&t, 2, CREATOR, 120, 140, 160, (struct used){ 1040, 640 });
	call(&t, 2, FRT_NR_START, 120, 165, 5);
	call(&t, 2, NR_VFORK, 170, 182, 12);
	born(&t, 3, 2, 172, 180, 185, (struct used){ 20, 5 });
	call(&t, 2, NR_POLL, 187, 465, 10);
	slept(&t, 2, NR_POLL, 192, 450, 460, (struct used){ 32, 10 }, 3, (struct used){ 77, 38 });
	call(&t, 2, FRT_NR_EXIT, 480, 520, 40);
	dead(&t, 2, 520, (struct used){ 92, 25 });
	call(&t, 3, FRT_NR_START, 172, 190, 5);
	call(&t, 3, NR_VFORK, 200, 212, 12);
	born(&t, 4, 3, 202, 210, 220, (struct used){ 25, 10 });
	call(&t, 3, NR_POLL, 215, 420, 17);
	slept(&t, 3, NR_POLL, 222, 400, 410, (struct used){ 37, 13 }, 4, (struct used){ 180, 165 });
	call(&t, 3, NR_A, 445, 455, 10);
	call(&t, 4, FRT_NR_START, 202, 225, 5);
	call(&t, 4, FRT_NR_EXIT, 390, 415, 25);
	dead(&t, 4, 415, (struct used){ 195, 165 });
	/* the monitor's own end, beside sudo's */
	call(&t, 3, FRT_NR_EXIT, 470, 490, 20);
	dead(&t, 3, 490, (struct used){ 117, 53 });
	expect(sums_of(&t, 100, 510), 2 + 15 + 25 + 165 + 10 + 5 + 10,
	       3 + 5 + 20 + 10 + 5 + 5 + 10 + 5 + 10 + 5 + 10 + 30, 0, 5 + 10 + 10 + 10 + 5 + 20,
	       0);
}

/*
 * 2 forks 3 and 4 and waits for both; they run on two CPUs. 3 (195-300) ends first and
 * wakes 2, which goes back to sleep (310-320 on the CPU) until 4 (225-400) ends.
 * 425-430 creator: 3 + 2; 420-425 runqueue; 2 in 405-420: wait4 5, exit 10; runqueue
 * 400-405; 4 in 225-400: user 165, exit 10; birth 215-225 10; 2 in 160-215: start 5, user
 * 25 (5 + 10 + 10), forks 25; birth 20; creator 10 + 30. Nothing of 3.
 */
static void two_children_in_parallel(void **state)
{
	struct frt_trail t = { 0 };

	(void)state;
	creator(&t);
	idle(&t, 600, (struct used){ 1245, 817 });
	call(&t, CREATOR, NR_VFORK, 110, 150, 40);
	call(&t, CREATOR, NR_WAITID, 155, 428, 18);
	slept(&t, CREATOR, NR_WAITID, 170, 420, 425, (struct used){ 1070, 645 }, 2,
	      (struct used){ 95, 25 });
	born(&t, 2, CREATOR, 120, 140, 160, (struct used){ 1040, 640 });
	call(&t, 2, FRT_NR_START, 120, 165, 5);
	call(&t, 2, NR_VFORK, 170, 190, 20);
	call(&t, 2, NR_VFORK, 200, 220, 20);
	born(&t, 3, 2, 175, 185, 195, (struct used){ 25, 5 });
	born(&t, 4, 2, 205, 215, 225, (struct used){ 55, 15 });
	call(&t, 2, NR_WAIT4, 230, 410, 25);
	slept(&t, 2, NR_WAIT4, 240, 300, 310, (struct used){ 80, 25 }, 3,
	      (struct used){ 105, 100 });
	slept(&t, 2, NR_WAIT4, 320, 400, 405, (struct used){ 90, 25 }, 4,
	      (struct used){ 175, 165 });
	call(&t, 2, FRT_NR_EXIT, 410, 440, 30);
	dead(&t, 2, 440, (struct used){ 125, 25 });
	call(&t, 3, FRT_NR_EXIT, 295, 305, 10);
	dead(&t, 3, 305, (struct used){ 110, 100 });
	call(&t, 4, FRT_NR_EXIT, 390, 415, 25);
	dead(&t, 4, 415, (struct used){ 190, 165 });
	expect(sums_of(&t, 100, 430), 2 + 165 + (5 + 10) + 10, 3 + 15 + 10 + 5 + 20 + 15 + 30, 0,
	       5 + 5 + 10 + 20, 0);
}

/*
 * 2 leaves a daemon (3) behind that runs on after t1 and wakes nobody: the wall knows
 * only 2. In the next step (instance 8) the daemon wakes the creator: of another step,
 * so that wait is the creator's own.
 * 305-310: 3 + 2; 300-305 runqueue; 2 in 160-300: start 5, fork 20, exit 50, user 65;
 * birth 20; creator 10 + 30. Second step 1000-1100: blocked 1020-1070 (50), runqueue
 * 1070-1080, on the CPU 40, all user (no call was sent, no snapshot follows).
 */
static void daemonised_grandchild(void **state)
{
	struct frt_trail t = { 0 };
	struct index ix;
	struct wall w = { 0 };
	struct wall_sums s;

	(void)state;
	creator(&t);
	idle(&t, 600, (struct used){ 1365, 937 });
	call(&t, CREATOR, NR_VFORK, 110, 150, 40);
	call(&t, CREATOR, NR_WAITID, 155, 308, 18);
	slept(&t, CREATOR, NR_WAITID, 170, 300, 305, (struct used){ 1070, 645 }, 2,
	      (struct used){ 140, 65 });
	born(&t, 2, CREATOR, 120, 140, 160, (struct used){ 1040, 640 });
	call(&t, 2, FRT_NR_START, 120, 165, 5);
	call(&t, 2, NR_VFORK, 180, 200, 20);
	born(&t, 3, 2, 185, 195, 210, (struct used){ 35, 15 });
	call(&t, 2, FRT_NR_EXIT, 250, 320, 70);
	dead(&t, 2, 320, (struct used){ 160, 65 });
	slept(&t, 3, NR_A, 500, 900, 910, (struct used){ 290, 200 }, 0, nobody);
	slept(&t, CREATOR, NR_A, 1020, 1070, 1080, (struct used){ 1785, 1357 }, 3,
	      (struct used){ 450, 300 });

	assert_int_equal(index__build(&ix, &t), 0);
	assert_int_equal(wall__assemble(&ix, 1000, 1100, CREATOR, STEP + 1, &w), 0);
	s = wall__sums(&w);
	assert_int_equal(s.blocked, 50);
	assert_int_equal(s.runq, 10);
	assert_int_equal(s.user + s.kernel, 40);
	assert_int_equal(s.unaccounted, 0);
	free(w.v);
	index__free(&ix);
	expect(sums_of(&t, 100, 310), 2 + 65 + 10, 3 + 75 + 30, 0, 5 + 20, 0);
}

/*
 * The child sleeps in pause (call 290, off 300) and is killed from outside at 400. The
 * call ends with the signal (415), its exit runs from there and wakes the creator at 460.
 * 465-470: 3 + 2; 460-465 runqueue; child 410-460: pause 5, exit 45; 400-410 runqueue;
 * 300-400 blocked; 160-300: start 5, user 125, pause 10; birth 20; creator 10 + 30.
 */
static void killed(void **state)
{
	struct frt_trail t = { 0 };

	(void)state;
	creator(&t);
	idle(&t, 600, (struct used){ 1205, 777 });
	call(&t, CREATOR, NR_VFORK, 110, 150, 40);
	call(&t, CREATOR, NR_WAITID, 155, 468, 18);
	slept(&t, CREATOR, NR_WAITID, 170, 460, 465, (struct used){ 1070, 645 }, 2,
	      (struct used){ 190, 125 });
	born(&t, 2, CREATOR, 120, 140, 160, (struct used){ 1040, 640 });
	call(&t, 2, FRT_NR_START, 120, 165, 5);
	call(&t, 2, NR_PAUSE, 290, 415, 15);
	slept(&t, 2, NR_PAUSE, 300, 400, 410, (struct used){ 140, 125 }, 0, nobody);
	call(&t, 2, FRT_NR_EXIT, 415, 480, 65);
	dead(&t, 2, 480, (struct used){ 210, 125 });
	expect(sums_of(&t, 100, 470), 2 + 125 + 10, 3 + 50 + 15 + 30, 100, 5 + 10 + 20, 0);
}

/*
 * Plain, but a switch-out of the child from 200 to 260 was lost: it looks as if it had
 * been on the CPU, the snapshots say 60 less. Outside the calls its piece 160-500 is 185
 * long and 125 of that was used: the difference is what nobody knows.
 */
static void event_lost(void **state)
{
	struct frt_trail t = { 0 };

	(void)state;
	build_plain(&t);
	for (size_t i = 0; i < t.off.n; i++)
		if (t.off.v[i].waker == 2) {
			t.off.v[i].waker_cpu_ns = 280;
			t.off.v[i].waker_user_ns = 125;
		}
	t.dead.v[0].cpu_ns = 310;
	t.dead.v[0].user_ns = 125;
	expect(sums_of(&t, 100, 520), 140, 190, 0, 30, 60);
}

/* The lost one was inside call A (300-400), which says that it ran for 40 only. */
static void event_lost_in_call(void **state)
{
	struct frt_trail t = { 0 };

	(void)state;
	build_plain(&t);
	for (size_t i = 0; i < t.off.n; i++)
		if (t.off.v[i].waker == 2)
			t.off.v[i].waker_cpu_ns = 280;
	t.dead.v[0].cpu_ns = 310;
	for (size_t i = 0; i < t.call.n; i++)
		if (t.call.v[i].nr == NR_A)
			t.call.v[i].cpu_ns = 40;
	expect(sums_of(&t, 100, 520), 200, 130, 0, 30, 60);
}

/*
 * Plain without the birth: the fork (120) is known, the first switch-in not. From the
 * fork on the child may have been on the CPU: 380 to 500, 340 used. 45 of it lies in
 * start, which says 5: 40 are missing. The creator carries before 120.
 */
static void birth_lost(void **state)
{
	struct frt_trail t = { 0 };

	(void)state;
	build_plain(&t);
	for (size_t i = 0; i < t.off.n; i++)
		if (t.off.v[i].why == FRT_OFF_BIRTH)
			t.off.v[i] = t.off.v[--t.off.n];
	expect(sums_of(&t, 100, 520), 200, 5 + 5 + 100 + 50 + 10, 0, 10, 40);
}

/* Neither fork nor birth: nothing is said of the time before the child's waking
 * of its parent, where it is not even known to be of this step. */
static void task_unknown(void **state)
{
	struct frt_trail t = { 0 };

	(void)state;
	creator(&t);
	slept(&t, CREATOR, NR_WAITID, 170, 500, 510, (struct used){ 1070, 645 }, 2,
	      (struct used){ 340, 185 });
	expect(sums_of(&t, 100, 520), 10, 0, 0, 10, 400);
}

/* A creator of which nothing is known at all. */
static void creator_unknown(void **state)
{
	struct frt_trail t = { 0 };

	(void)state;
	dead(&t, 9, 1, nobody);
	expect(sums_of(&t, 100, 520), 0, 0, 0, 0, 420);
}

/*
 * Plain, but the child loses its CPU from 200 to 260 (in user mode): 60 more on the
 * runqueue, 60 less user time.
 */
static void preempted_in_between(void **state)
{
	struct frt_trail t = { 0 };

	(void)state;
	build_plain(&t);
	preempted(&t, 2, 200, 260, (struct used){ 40, 35 });
	for (size_t i = 0; i < t.off.n; i++)
		if (t.off.v[i].waker == 2) {
			t.off.v[i].waker_cpu_ns = 280;
			t.off.v[i].waker_user_ns = 125;
		}
	t.dead.v[0].cpu_ns = 310;
	t.dead.v[0].user_ns = 125;
	expect(sums_of(&t, 100, 520), 140, 190, 0, 90, 0);
}

/* Plain, but A slept from 310 to 390, woken by an interrupt at 380: a wait of its own. */
static void woken_by_interrupt(void **state)
{
	struct frt_trail t = { 0 };

	(void)state;
	build_plain(&t);
	slept(&t, 2, NR_A, 310, 380, 390, (struct used){ 150, 135 }, 0, nobody);
	for (size_t i = 0; i < t.off.n; i++)
		if (t.off.v[i].waker == 2)
			t.off.v[i].waker_cpu_ns = 260;
	t.dead.v[0].cpu_ns = 290;
	for (size_t i = 0; i < t.call.n; i++)
		if (t.call.v[i].nr == NR_A)
			t.call.v[i].cpu_ns = 20;
	expect(sums_of(&t, 100, 520), 200, 110, 70, 40, 0);
}

/* The waking was not seen: all of it is a wait. */
static void waking_not_seen(void **state)
{
	struct frt_trail t = { 0 };

	(void)state;
	build_plain(&t);
	for (size_t i = 0; i < t.off.n; i++)
		if (t.off.v[i].waker == 2) {
			t.off.v[i].waking = 0;
			t.off.v[i].waker = 0;
		}
	/* 510-520: 5 + 5; 170-510 blocked; 155-170 waitid 15, 150-155 user 5, 110-150 fork 40,
	 * 100-110 user 10 */
	expect(sums_of(&t, 100, 520), 20, 60, 340, 0, 0);
}

/* Short calls that were only summed: of the child's 185 outside the calls sent, the
 * snapshots say that 150 were user. */
static void calls_only_summed(void **state)
{
	struct frt_trail t = { 0 };

	(void)state;
	build_plain(&t);
	for (size_t i = 0; i < t.off.n; i++)
		if (t.off.v[i].waker == 2)
			t.off.v[i].waker_user_ns = 150;
	t.dead.v[0].user_ns = 150;
	expect(sums_of(&t, 100, 520), 165, 225, 0, 30, 0);
}

/* In-process: the creator alone, one call; 40 of 100 in it, the rest user. */
static void creator_alone(void **state)
{
	struct frt_trail t = { 0 };

	(void)state;
	creator(&t);
	idle(&t, 600, (struct used){ 1500, 1090 });
	call(&t, CREATOR, NR_A, 130, 170, 40);
	expect(sums_of(&t, 100, 200), 60, 40, 0, 0, 0);
}

/*
 * A process that serves all steps (`ip -batch`): its tag is of none. The creator writes
 * (115-125) and wakes it at 120, sleeps in a read until it answers at 300.
 * 310-320 creator: read 5, user 5; 300-310 runqueue; the server 130-300: read 5, user 45,
 * A 100, user 10, write 10; 120-130 its runqueue; 100-120 creator: user 15, write 5.
 */
static void one_process_serves_all(void **state)
{
	struct frt_trail t = { 0 };

	(void)state;
	creator(&t);
	trail__born(&t, 0, 2, CREATOR, 20, 30, 40, (struct used){ 940, 570 });
	idle(&t, 600, (struct used){ 1325, 930 });
	call(&t, CREATOR, NR_WRITE, 115, 125, 10);
	trail__slept(&t, 0, 2, NR_READ, 70, 120, 130, (struct used){ 30, 20 }, CREATOR,
		     (struct used){ 1020, 645 });
	call(&t, CREATOR, NR_READ, 130, 315, 15);
	slept(&t, CREATOR, NR_READ, 140, 300, 310, (struct used){ 1040, 650 }, 2,
	      (struct used){ 200, 75 });
	trail__call(&t, 0, 2, NR_READ, 65, 135, 10);
	trail__call(&t, 0, 2, NR_A, 180, 280, 100);
	trail__call(&t, 0, 2, NR_WRITE, 290, 310, 20);
	expect(sums_of(&t, 100, 320), 5 + 45 + 10 + 15, 5 + 5 + 100 + 10 + 5, 0, 10 + 10, 0);
}

/* t1 falls into a wait (clocks that disagree): up to there it is a wait. */
static void end_in_a_wait(void **state)
{
	struct frt_trail t = { 0 };

	(void)state;
	creator(&t);
	idle(&t, 150, (struct used){ 1050, 680 });
	expect(sums_of(&t, 100, 152), 50, 0, 2, 0, 0);
	creator(&t);
	idle(&t, 150, (struct used){ 1050, 680 });
	expect(sums_of(&t, 100, 157), 50, 0, 5, 2, 0);
}

/* Tasks that wake and bear each other in a circle, all at one moment: it ends. */
static void circles(void **state)
{
	struct frt_trail t = { 0 };

	(void)state;
	creator(&t);
	for (int i = 0; i < 100; i++) {
		slept(&t, CREATOR, NR_A, 200, 200, 200, nobody, 2, nobody);
		slept(&t, 2, NR_A, 200, 200, 200, nobody, CREATOR, nobody);
	}
	born(&t, 2, 3, 200, 200, 200, nobody);
	born(&t, 3, 2, 200, 200, 200, nobody);
	sums_of(&t, 100, 300);
}

/* Events made of dice: whatever they say, every ns is given out once, no part is
 * larger than the whole (checked in sums_of), and it ends. */
static void dice(void **state)
{
	uint32_t s = 12345;

	(void)state;
#define ROLL(n) ((uint32_t)((noise(&s) + 1) / 2 * (n)))
	for (int round = 0; round < 2000; round++) {
		struct frt_trail t = { 0 };
		uint32_t tasks = 1 + ROLL(5);

		creator(&t);
		for (uint32_t i = ROLL(40); i; i--) {
			uint64_t at = ROLL(1000);
			uint32_t task = 1 + ROLL(tasks), other = ROLL(tasks + 1);
			struct used a = { ROLL(1000), ROLL(1000) }, b = { ROLL(1000), ROLL(1000) };

			switch (ROLL(6)) {
			case 0:
				born(&t, task, other, at, at + ROLL(50), at + ROLL(100), a);
				break;
			case 1:
				preempted(&t, task, at, at + ROLL(100), a);
				break;
			case 2:
				call(&t, task, (int32_t)ROLL(300), at, at + ROLL(300), ROLL(300));
				break;
			case 3:
				dead(&t, task, at, a);
				break;
			default:
				slept(&t, task, NR_A, at, ROLL(3) ? at + ROLL(200) : ROLL(1000),
				      at + ROLL(300), a, other, b);
			}
		}
		sums_of(&t, ROLL(400), 400 + ROLL(600));
	}
#undef ROLL
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain),
		cmocka_unit_test(child_dies_after_waking),
		cmocka_unit_test(vforked),
		cmocka_unit_test(wait4_chain),
		cmocka_unit_test(sudo_joined_by_poll),
		cmocka_unit_test(two_children_in_parallel),
		cmocka_unit_test(daemonised_grandchild),
		cmocka_unit_test(killed),
		cmocka_unit_test(event_lost),
		cmocka_unit_test(event_lost_in_call),
		cmocka_unit_test(birth_lost),
		cmocka_unit_test(task_unknown),
		cmocka_unit_test(creator_unknown),
		cmocka_unit_test(preempted_in_between),
		cmocka_unit_test(woken_by_interrupt),
		cmocka_unit_test(waking_not_seen),
		cmocka_unit_test(calls_only_summed),
		cmocka_unit_test(creator_alone),
		cmocka_unit_test(one_process_serves_all),
		cmocka_unit_test(end_in_a_wait),
		cmocka_unit_test(circles),
		cmocka_unit_test(dice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
