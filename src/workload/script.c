/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The real commands, one process each: vfork and execve straight from the
 * creator, as a shell would, without what posix_spawn adds (it makes about 120
 * calls to reset signals in the child). What the commands print goes into a
 * pipe that nobody reads before the command has ended.
 */
#include "workload/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct spawn {
	const char *path;
	const char *const *argv;
	char *const *env;
	int fd[3];
	pid_t parent;
	sigset_t none;
	volatile int *err; /* errno of execve: a vforked child shares our memory */
};

/* Only raw calls: the child runs on its parent's memory. */
static void child(struct spawn *s)
{
	/* dies with the creator; the test closes the gap before the prctl */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != s->parent)
		_exit(127);
	for (int i = 0; i < 3; i++)
		dup2(s->fd[i], i);
	sigprocmask(SIG_SETMASK, &s->none, NULL);
	execve(s->path, (char *const *)s->argv, s->env);
	*s->err = errno;
	_exit(127);
}

static pid_t __attribute__((noinline)) spawn(struct spawn *s)
{
	pid_t pid = vfork();

	if (!pid)
		child(s);
	return pid < 0 ? -errno : pid;
}

pid_t script__spawn(struct workload *w, const char *path, const char *const *argv, int in, int out,
		    int err, volatile int *exec_errno)
{
	struct spawn s = { .path = path,
			   .argv = argv,
			   .env = w->tools.env,
			   .fd = { in, out, err },
			   .parent = getpid(),
			   .err = exec_errno };

	sigemptyset(&s.none);
	return spawn(&s);
}

static int wait_status(const siginfo_t *si)
{
	if (si->si_code == CLD_EXITED)
		return (si->si_status & 0xff) << 8;
	return (si->si_status & 0x7f) | (si->si_code == CLD_DUMPED ? 0x80 : 0);
}

int script__run(struct maker *m, const char *path, const char *const *argv,
		struct frt_stepinst *inst)
{
	volatile int exec_errno = 0;
	struct rusage ru = { 0 };
	siginfo_t si = { 0 };
	struct slot *slot = &m->slot;
	pid_t pid;
	long rc;

	pthread_mutex_lock(&slot->out_lock);
	slot->out_len = 0;
	slot->out[0] = '\0';
	pthread_mutex_unlock(&slot->out_lock);
	atomic_store(&slot->pid, 0);
	atomic_store(&slot->process, true);
	if (m->cell)
		*m->cell = inst->instance;
	inst->t0 = now_ns();
	atomic_store_explicit(&slot->since, inst->t0, memory_order_release);
	pid = script__spawn(m->w, path, argv, m->w->null, m->out_w, m->out_w, &exec_errno);
	if (pid < 0) {
		rc = pid;
		inst->t1 = now_ns();
		goto out;
	}
	atomic_store_explicit(&slot->pid, pid, memory_order_release);
	do /* the system call gives the resources too; the library's function does not */
		rc = syscall(SYS_waitid, P_PID, pid, &si, WEXITED, &ru);
	while (rc && errno == EINTR && !atomic_load(&slot->abandoned));
	inst->t1 = now_ns();
	rc = rc ? -errno : 0;
out:
	atomic_store_explicit(&slot->since, 0, memory_order_release);
	if (pid < 0) {
		char hint[256];

		return wl__fail(m->w, (int)rc, "%s: cannot start a process: %s%s", path,
				strerror(-(int)rc),
				limit__hint(hint, sizeof(hint), "vfork", (int)rc));
	}
	if (atomic_load(&slot->abandoned))
		return -ETIMEDOUT; /* the watchdog has said what happened */
	if (rc)
		return wl__fail(m->w, (int)rc, "%s: waitid: %s", path, strerror(-(int)rc));
	script__drain(slot);
	inst->status = wait_status(&si);
	inst->utime_ns = (uint64_t)ru.ru_utime.tv_sec * 1000000000u +
			 (uint64_t)ru.ru_utime.tv_usec * 1000u;
	inst->stime_ns = (uint64_t)ru.ru_stime.tv_sec * 1000000000u +
			 (uint64_t)ru.ru_stime.tv_usec * 1000u;
	inst->minflt = (uint64_t)ru.ru_minflt;
	inst->nvcsw = (uint64_t)ru.ru_nvcsw;
	inst->nivcsw = (uint64_t)ru.ru_nivcsw;
	if (exec_errno)
		return wl__fail(m->w, -exec_errno, "%s: cannot execute: %s", path,
				strerror(exec_errno));
	if (atomic_load(&slot->timed_out))
		return -ETIMEDOUT;
	return 0;
}

/* Keeps the first WL_OUTPUT_MAX bytes; the rest must not fill the pipe. */
size_t script__drain(struct slot *s)
{
	char waste[4096];
	size_t total = 0;

	pthread_mutex_lock(&s->out_lock);
	for (;;) {
		size_t room = sizeof(s->out) - 1 - s->out_len;
		ssize_t n = read(s->out_fd, room ? s->out + s->out_len : waste,
				 room ? room : sizeof(waste));

		if (n <= 0)
			break;
		if (room)
			s->out_len += (size_t)n;
		total += (size_t)n;
	}
	s->out[s->out_len] = '\0';
	pthread_mutex_unlock(&s->out_lock);
	return total;
}

const char *script__first_line(struct maker *m, char *dst, size_t size)
{
	struct slot *s = &m->slot;
	char line[256];
	size_t from, n;

	pthread_mutex_lock(&s->out_lock);
	from = strspn(s->out, "\n ");
	n = strcspn(s->out + from, "\n");
	if (n >= sizeof(line))
		n = sizeof(line) - 1;
	memcpy(line, s->out + from, n);
	pthread_mutex_unlock(&s->out_lock);
	line[n] = '\0';
	return printable(dst, size, line);
}

/* A terminal's interrupt reaches the command a moment before our own handler
 * has run: that is no failure of the command. */
static bool interrupted(struct workload *w, int status)
{
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (wl__stopping(w))
		return true;
	if (sig != SIGINT && sig != SIGTERM && sig != SIGHUP)
		return false;
	poll(NULL, 0, 200);
	return wl__stopping(w);
}

int script__check(struct step_job *j)
{
	int status = j->inst->status;
	char cmd[512], shown[640], line[320];

	if (!status)
		return 0;
	if (interrupted(j->m->w, status))
		return wl__fail(j->m->w, -EINTR, "interrupted");
	printable(shown, sizeof(shown), step__text(cmd, sizeof(cmd), j));
	script__first_line(j->m, line, sizeof(line));
	if (WIFSIGNALED(status))
		return wl__fail(j->m->w, -EIO,
				"`%s` was killed by signal %d (%s)%s%s; run it by hand to see why",
				shown, WTERMSIG(status), strsignal(WTERMSIG(status)),
				*line ? ": " : "", line);
	return wl__fail(j->m->w, -EIO, "`%s` failed with status %d: %s; run it by hand to see why",
			shown, WEXITSTATUS(status), *line ? line : "it printed no reason");
}

static int script__step(struct step_job *j)
{
	const struct tools *t = &j->m->w->tools;
	const char *v[WL_ARGV_MAX];
	const char *path = j->step == FRT_STEP_CONTROL ? t->true_path
			   : t->nprefix		       ? t->prefix_path
						       : t->ip_path;
	int rc;

	step__argv(t, j->step, j->nth, j->name, v);
	rc = script__run(j->m, path, v, j->inst);
	return rc ? rc : script__check(j);
}

const struct mode mode_script = { .name = "script", .step = script__step };
