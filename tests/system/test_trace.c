// SPDX-License-Identifier: BSD-2-Clause
/*
 * The tracer against the real kernel: children that do something known, and
 * what is told of them: where their time goes, who they are, what is lost.
 */
#include "tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>

/* ---- where time goes ---- */

static int body_sleep(void *arg)
{
	struct timespec ts = { .tv_nsec = 20 * MS };

	(void)arg;
	told->a = now_ns();
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
	told->b = now_ns();
	return 0;
}

static void test_sleep(void **state)
{
	const struct frt_off *off = NULL;
	const struct frt_call *c;
	bool same = false;
	struct step s;

	(void)state;
	for (int attempt = 0; attempt < ATTEMPTS && !same; attempt++) {
		s = run(101, body_sleep, NULL);
		adds_up(&s);
		c = call_of(s.proc->task, SYS_clock_nanosleep, 0);
		assert_non_null(c);
		/* It may be preempted between its clock and the call. */
		same = near(c->t1 - c->t0, told->b - told->a, 0.02, 0.2 * MS);
		assert_near(c->blocked_ns + c->runq_ns + c->cpu_ns, c->t1 - c->t0, 0.0001, 0);
		assert_true(c->blocked_ns >= 19 * MS && c->t1 - c->t0 <= told->b - told->a);
	}
	assert_true(same);
	for (size_t i = 0; i < got.off.n; i++)
		if (got.off.v[i].task == s.proc->task && got.off.v[i].nr == SYS_clock_nanosleep &&
		    got.off.v[i].why == FRT_OFF_BLOCKED)
			off = &got.off.v[i];
	assert_non_null(off);
	assert_int_equal(off->mode, FRT_MODE_CALL);
	/* A timer is no task. */
	assert_int_equal(off->waker, 0);
	assert_string_equal(off->waker_comm, FRT_COMM_INTERRUPT);
	assert_true(off->waking > off->out && off->waking <= off->in);
	assert_true(in_stack(off->stack, "do_syscall_64") || in_stack(off->stack, "el0_svc"));
	assert_true(in_stack(off->stack, "schedule"));
	no_losses("sleep");
}

static int body_user(void *arg)
{
	uint64_t t0 = thread_cpu();
	volatile uint64_t x = 0;

	(void)arg;
	while (thread_cpu() - t0 < 20 * MS)
		for (int i = 0; i < 400000; i++)
			x += i;
	told->ns = thread_cpu() - t0;
	return 0;
}

static int body_true(void *arg)
{
	(void)arg;
	execlp("true", "true", "one argument", "", NULL);
	return 127;
}

static void test_user(void **state)
{
	bool same = false;

	(void)state;
	for (int attempt = 0; attempt < ATTEMPTS && !same; attempt++) {
		struct step s = run(102, body_user, NULL);

		adds_up(&s);
		/* The clock reads are calls: the loop between them is what is user code. */
		same = near(s.dead->user_ns, told->ns, 0.03, 0.6 * MS);
	}
	assert_true(same);
	no_losses("user");
}

static int body_kernel(void *arg)
{
	static char buf[1 << 20];
	uint64_t t0, n = (uintptr_t)arg;

	memset(buf, 1, sizeof(buf));
	t0 = thread_cpu();
	while (thread_cpu() - t0 < n * MS)
		if (syscall(SYS_getrandom, buf, sizeof(buf), 0) < 0)
			return 1;
	told->ns = thread_cpu() - t0;
	return 0;
}

static void test_kernel(void **state)
{
	bool same = false;

	(void)state;
	for (int attempt = 0; attempt < ATTEMPTS && !same; attempt++) {
		struct step s = run(103, body_kernel, (void *)20);
		uint64_t cpu = 0;

		adds_up(&s);
		for (size_t i = 0; i < got.call.n; i++)
			if (got.call.v[i].task == s.proc->task && got.call.v[i].nr == SYS_getrandom)
				cpu += got.call.v[i].cpu_ns;
		same = near(cpu, told->ns, 0.02, 0.2 * MS);
	}
	assert_true(same);
	no_losses("kernel");
}

static void test_samples(void **state)
{
	struct step s;
	size_t n = 0, kernel = 0;
	uint64_t cpu = 0;

	(void)state;
	trace__sampling(tracer, true);
	s = run(104, body_kernel, (void *)200);
	trace__sampling(tracer, false);
	for (size_t i = 0; i < got.sample.n; i++) {
		const struct frt_sample *p = &got.sample.v[i];

		if (p->task != s.proc->task || p->nr != SYS_getrandom)
			continue;
		n++;
		assert_int_equal(p->mode, FRT_MODE_CALL);
		kernel += p->in_kernel &&
			  (in_stack(p->stack, "do_syscall_64") || in_stack(p->stack, "el0_svc"));
	}
	for (size_t i = 0; i < got.call.n; i++)
		if (got.call.v[i].task == s.proc->task && got.call.v[i].nr == SYS_getrandom)
			cpu += got.call.v[i].cpu_ns;
	/* 999 a second of CPU time. */
	assert_true(n >= 10 && n * 1001001.0 <= 1.1 * cpu + 5 * MS);
	assert_true(emulated() || n * 1001001.0 >= 0.7 * cpu);
	assert_true(kernel * 10 >= n * 9);
	no_losses("samples");
	assert_int_equal(trace__drain(tracer), 0);
	run(105, body_kernel, (void *)20);
	assert_int_equal(got.sample.n, 0);
}

/* CPU time is not more than the kernel's own account says, either. */
static void test_cpu_time(void **state)
{
	int (*const bodies[])(void *) = { body_user, body_kernel, body_true };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		bool same = false;

		for (int attempt = 0; attempt < ATTEMPTS && !same; attempt++) {
			struct step s = run(130, bodies[i], (void *)20);

			adds_up(&s);
			same = s.dead->cpu_ns <= 1.02 * rusage_ns(&s) + MS / 10;
		}
		assert_true(same);
	}
	no_losses("CPU time");
}

/* ---- who is who ---- */

static void test_exec(void **state)
{
	struct step s = run(106, body_true, NULL);
	const struct frt_exec *e = NULL;
	const struct frt_call *start, *exit, *exec;

	(void)state;
	adds_up(&s);
	assert_int_equal(s.proc->parent, self);
	assert_int_equal(s.proc->is_thread, 0);
	for (size_t i = 0; i < got.exec.n; i++)
		if (got.exec.v[i].task == s.proc->task)
			e = &got.exec.v[i];
	assert_non_null(e);
	assert_string_equal(e->args, "true\x1fone argument\x1f");
	assert_string_equal(e->comm, "true");
	assert_int_equal(e->image, 1);
	assert_int_equal(s.dead->image, 1);
	start = call_of(s.proc->task, FRT_NR_START, 0);
	exec = call_of(s.proc->task, SYS_execve, 0);
	exit = call_of(s.proc->task, FRT_NR_EXIT, 0);
	assert_true(start && exec && exit);
	/* A search along PATH: those that failed are told, too, when they slept or took long. */
	for (unsigned i = 1; exec->ret; i++) {
		exec = call_of(s.proc->task, SYS_execve, i);
		assert_non_null(exec);
	}
	assert_int_equal(exec->image, 0);
	assert_int_equal(exit->image, 1);
	assert_true(start->t0 == s.proc->t && exit->t1 == s.dead->t);
	assert_true(e->t > exec->t0 && e->t < exec->t1);
	assert_true(e->cpu_ns <= s.dead->cpu_ns && e->user_ns <= s.dead->user_ns);
	no_losses("exec");
}

#define CHAIN 5

static int body_chain(void *arg)
{
	uintptr_t depth = (uintptr_t)arg;
	int status = 0;
	pid_t pid;

	if (depth == CHAIN)
		return 7;
	pid = fork();
	if (!pid)
		_exit(body_chain((void *)(depth + 1)));
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

static void test_chain(void **state)
{
	struct step s = run(107, body_chain, (void *)0);
	uint32_t task = s.proc->task;
	unsigned n = 0, woken = 0;

	(void)state;
	assert_int_equal(WEXITSTATUS(s.status), 7);
	for (size_t i = 0; i < got.proc.n; i++) {
		if (got.proc.v[i].parent != task)
			continue;
		assert_int_equal(got.proc.v[i].instance, 107);
		/* The parent's wait ends by its child, at a moment of the child's life. */
		for (size_t j = 0; j < got.off.n; j++) {
			const struct frt_off *o = &got.off.v[j];

			if (o->task != task || o->nr != SYS_wait4 || o->why != FRT_OFF_BLOCKED)
				continue;
			assert_int_equal(o->waker, got.proc.v[i].task);
			assert_int_equal(o->waker_instance, 107);
			assert_true(o->waker_cpu_ns > 0);
			assert_non_null(dead_of(o->waker));
			assert_true(dead_of(o->waker)->cpu_ns >= o->waker_cpu_ns);
			woken++;
		}
		task = got.proc.v[i].task;
		n++;
	}
	assert_int_equal(n, CHAIN);
	assert_true(woken > 0);
	no_losses("chain");
}

static void *thread_exec(void *arg)
{
	(void)arg;
	execlp("true", "true", NULL);
	return NULL;
}

/* A thread that is not the leader execs: it takes the leader's place. */
static int body_thread_exec(void *arg)
{
	pthread_t th;

	(void)arg;
	if (pthread_create(&th, NULL, thread_exec, NULL))
		return 1;
	pause();
	return 2;
}

static void test_thread_exec(void **state)
{
	const struct frt_exec *e = NULL;
	const struct frt_proc *p = NULL;
	pid_t pid;
	int status;

	(void)state;
	forget();
	*cell = 108;
	pid = fork();
	if (!pid)
		_exit(body_thread_exec(NULL));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	usleep(20000);
	*cell = 0;
	assert_int_equal(trace__drain(tracer), 0);
	assert_int_equal(status, 0);
	for (size_t i = 0; i < got.exec.n; i++)
		if (got.exec.v[i].instance == 108)
			e = &got.exec.v[i];
	assert_non_null(e);
	for (size_t i = 0; i < got.proc.n; i++)
		if (got.proc.v[i].task == e->task)
			p = &got.proc.v[i];
	assert_non_null(p);
	assert_int_equal(p->is_thread, 1);
	assert_int_equal(p->tgid, (uint32_t)pid);
	assert_non_null(dead_of(e->task));
	assert_int_equal(dead_of(e->task)->code, 0);
	/* The leader's own life ended by the exec. */
	assert_non_null(proc_of_tid(pid));
	assert_non_null(dead_of(proc_of_tid(pid)->task));
	no_losses("thread exec");
}

static int body_pause(void *arg)
{
	(void)arg;
	told->go = 1;
	for (;;)
		pause();
	return 0;
}

static void *killer(void *arg)
{
	pid_t pid = (pid_t)(intptr_t)arg;

	while (!told->go)
		usleep(1000);
	usleep(10000);
	kill(pid, SIGKILL);
	return NULL;
}

static void test_killed(void **state)
{
	const struct frt_call *c, *x;
	const struct frt_dead *d = NULL;
	int status;
	pid_t pid;

	(void)state;
	forget();
	memset(told, 0, sizeof(*told));
	*cell = 109;
	pid = fork();
	if (!pid)
		_exit(body_pause(NULL));
	killer((void *)(intptr_t)pid);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	for (int i = 0; i < 200 && !d; i++) {
		assert_int_equal(trace__drain(tracer), 0);
		d = proc_of_tid(pid) ? dead_of(proc_of_tid(pid)->task) : NULL;
		usleep(1000);
	}
	*cell = 0;
	assert_non_null(d);
	assert_int_equal(d->code, SIGKILL);
#ifdef SYS_pause
	c = call_of(d->task, SYS_pause, 0);
#else
	c = call_of(d->task, SYS_ppoll, 0);
#endif
	x = call_of(d->task, FRT_NR_EXIT, 0);
	assert_true(c && x);
	assert_true(c->blocked_ns >= 9 * MS);
	assert_true(x->t0 >= c->t1 && x->t1 == d->t);
	assert_true(x->t1 - x->t0 < 500 * MS && x->cpu_ns > 0);
	no_losses("killed");
}

/* ---- the tracer itself ---- */

static void test_pause(void **state)
{
	struct step s;
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(trace__pause(tracer), 0);
	forget();
	*cell = 120;
	pid = fork();
	if (!pid)
		_exit(body_sleep(NULL));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	*cell = 0;
	assert_int_equal(trace__resume(tracer), 0);
	assert_int_equal(trace__drain(tracer), 0);
	assert_null(proc_of_tid(pid));
	s = run(121, body_sleep, NULL);
	adds_up(&s);
	assert_int_equal(s.proc->parent, self);
	no_losses("pause");
}

static void *idle_thread(void *arg)
{
	(void)arg;
	while (told->go < 2)
		usleep(1000);
	return NULL;
}

static int body_foreign(void)
{
	pthread_t th;
	int status;
	pid_t pid;

	if (pthread_create(&th, NULL, idle_thread, NULL))
		return 1;
	told->go = 1;
	while (told->go < 2)
		usleep(1000);
	pid = fork();
	if (!pid)
		_exit(3);
	told->a = pid;
	waitpid(pid, &status, 0);
	pthread_join(th, NULL);
	return WEXITSTATUS(status);
}

/* A process that was there before: its threads, and the children it has later. */
static void test_foreign(void **state)
{
	const struct frt_proc *leader, *child;
	unsigned threads = 0;
	int pidfd, status;
	pid_t pid;

	(void)state;
	forget();
	memset(told, 0, sizeof(*told));
	assert_int_equal(trace__pause(tracer), 0);
	pid = fork();
	if (!pid)
		_exit(body_foreign());
	while (!told->go)
		usleep(1000);
	assert_int_equal(trace__resume(tracer), 0);
	pidfd = syscall(SYS_pidfd_open, pid, 0);
	assert_true(pidfd >= 0);
	assert_int_equal(trace__add_process(tracer, pidfd), 0);
	usleep(20000);
	told->go = 2;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 3);
	close(pidfd);
	usleep(20000);
	assert_int_equal(trace__drain(tracer), 0);
	leader = proc_of_tid(pid);
	child = proc_of_tid(told->a);
	assert_true(leader && child);
	assert_int_equal(leader->parent, 0);
	assert_int_equal(child->parent, leader->task);
	assert_int_equal(child->instance, 0);
	for (size_t i = 0; i < got.proc.n; i++)
		threads += got.proc.v[i].tgid == (uint32_t)pid && got.proc.v[i].is_thread;
	assert_int_equal(threads, 1);
	assert_non_null(dead_of(leader->task));
	assert_non_null(dead_of(child->task));
	no_losses("foreign");
}

#define NAMESPACES 4
#define ROUNDS 60

/* Others may make and remove namespaces meanwhile: an exact answer in one of many
 * rounds is what a right count gives, and a wrong one never. Ours stay until the
 * end, so that their going is not in a later round. */
static void test_count(void **state)
{
	int saved = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	int fds[NAMESPACES * ROUNDS], n = 0;
	uint64_t before, after;
	bool exact = false;

	(void)state;
	assert_true(saved >= 0);
	for (int round = 0; round < ROUNDS && !exact; round++) {
		assert_int_equal(trace__count_netns(tracer, &before), 0);
		for (int i = 0; i < NAMESPACES; i++, n++) {
			assert_int_equal(unshare(CLONE_NEWNET), 0);
			fds[n] = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
			assert_true(fds[n] >= 0);
		}
		assert_int_equal(trace__count_netns(tracer, &after), 0);
		exact = after - before == NAMESPACES;
	}
	assert_int_equal(setns(saved, CLONE_NEWNET), 0);
	while (n)
		close(fds[--n]);
	close(saved);
	assert_true(exact);
}

/* A full ring is counted, and what it costs is told as lost, not left out. */
static int body_flood(void *arg)
{
	uint64_t n = (uintptr_t)arg;

	while (n--)
		unshare(0);
	return 0;
}

static void test_loss(void **state)
{
	struct frt_loss l;
	int status;
	pid_t pid;

	(void)state;
	forget();
	assert_int_equal(trace__loss(tracer, &l), 0);
	*cell = 122;
	pid = fork();
	if (!pid)
		_exit(body_flood((void *)60000));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	usleep(20000);
	*cell = 0;
	assert_int_equal(trace__drain(tracer), 0);
	assert_int_equal(trace__loss(tracer, &l), 0);
	assert_true(l.events > 0);
	assert_int_equal(l.unpaired, 0);
	/* Calls that came through and calls that were lost: together all of them. */
	assert_true(l.sent + l.events >= 60000 && l.sent + l.events < 62000);
	run(123, body_true, NULL);
	no_losses("after the flood");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sleep),	 cmocka_unit_test(test_user),
		cmocka_unit_test(test_kernel),	 cmocka_unit_test(test_samples),
		cmocka_unit_test(test_cpu_time), cmocka_unit_test(test_exec),
		cmocka_unit_test(test_chain),	 cmocka_unit_test(test_thread_exec),
		cmocka_unit_test(test_killed),	 cmocka_unit_test(test_pause),
		cmocka_unit_test(test_foreign),	 cmocka_unit_test(test_count),
		cmocka_unit_test(test_loss),
	};

	cmocka_set_test_filter(getenv("FRT_TEST")); /* a pattern of names, for one alone */
	return cmocka_run_group_tests(tests, open_tracer, close_tracer);
}
