/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The watchdog: one thread that looks once a second whether a step takes longer
 * than it may. Creators only store when a step began, so watching costs a
 * measured step nothing. A step that hangs is reported with its kernel stack
 * and killed with its children; one that cannot be killed is left behind.
 */
#include "workload/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TICK_MS 500
#define DRAIN_AFTER_NS 200000000u
#define DRAIN_MS 2		    /* while a late command prints without end */
#define GRACE_NS 2000000000ull	    /* from the kill to giving up */
#define STOP_GRACE_NS 2000000000ull /* for the step that runs when stop is asked for */

/* The frames of a task's kernel stack, leaf first, " < " between. */
void watch__stack(pid_t pid, char *dst, size_t size)
{
	char path[64], line[256];
	size_t len = 0;
	FILE *f;

	dst[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/stack", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f) && len < size) {
		char *p = strchr(line, ']');

		p = p ? p + 1 + strspn(p + 1, " ") : line;
		p[strcspn(p, "+\n")] = '\0';
		if (*p && strncmp(p, "do_syscall", 10) && strncmp(p, "entry_SYSCALL", 13))
			len += (size_t)snprintf(dst + len, size - len, "%s%s", len ? " < " : "", p);
	}
	if (f)
		fclose(f);
}

static pid_t parent_of(pid_t pid, char *state)
{
	char path[64], buf[512], *p;
	int fd, ppid = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	buf[n > 0 ? n : 0] = '\0';
	p = strrchr(buf, ')'); /* the name before it may hold anything */
	if (!p || sscanf(p + 1, " %c %d", state, &ppid) != 2)
		return 0;
	return ppid;
}

/* Kills pid if it is a child of parent: numbers are used again. */
static void kill_child(pid_t pid, pid_t parent)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	char state;

	if (fd < 0)
		return;
	if (parent_of(pid, &state) == parent)
		syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
	close(fd);
}

/* The children of a child: what sudo started. Leaves first. */
static void kill_below(pid_t pid, int depth)
{
	char path[64], name[32];
	FILE *f;

	if (depth > 4)
		return;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	f = fopen(path, "re");
	while (f && fscanf(f, "%31s", name) == 1) {
		pid_t c = atoi(name);

		kill_below(c, depth + 1);
		kill_child(c, pid);
	}
	if (f)
		fclose(f);
}

/* The last of the line: a prefix or a script only waits for what it started. */
pid_t watch__deepest(pid_t pid)
{
	for (int i = 0; i < 8; i++) {
		char path[64];
		int child = 0;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
		f = fopen(path, "re");
		if (f && fscanf(f, "%d", &child) != 1)
			child = 0;
		if (f)
			fclose(f);
		if (child <= 0)
			break;
		pid = child;
	}
	return pid;
}

static void expire(struct workload *w, struct slot *s, uint64_t now, bool stop)
{
	pid_t pid = atomic_load(&s->pid);
	char stack[400] = "";

	if (!s->warned) {
		s->warned = true;
		if (pid)
			watch__stack(watch__deepest(pid), stack, sizeof(stack));
		if (!stop)
			atomic_store(&s->timed_out, true);
		if (stop)
			wl__fail(w, -EINTR, "interrupted");
		else
			wl__fail(w, -ETIMEDOUT,
				 "`%s` did not end within %u s (--step-timeout)%s%s; it was %s",
				 s->what, w->o.step_timeout_s, *stack ? ", waiting in " : "", stack,
				 atomic_load(&s->process) ? "killed" : "left behind");
	}
	if (!s->killed) {
		s->killed = true;
		s->killed_at = now;
		if (atomic_load(&s->process) && pid) {
			kill_below(pid, 0);
			kill_child(pid, getpid());
		}
		return;
	}
	if (now - s->killed_at < GRACE_NS || atomic_load(&s->abandoned))
		return;
	atomic_store(&s->abandoned, true);
	if (atomic_load(&s->process)) {
		pthread_kill(s->creator, SIGRTMAX - 1); /* ends its waitid */
		return;
	}
	pthread_mutex_lock(&w->lock);
	w->abandoned = true;
	pthread_cond_broadcast(&w->cond);
	pthread_mutex_unlock(&w->lock);
}

/* True: to be looked at again at once. */
static bool look(struct workload *w, struct slot *s, uint64_t now, uint64_t stop_at)
{
	uint64_t since = atomic_load_explicit(&s->since, memory_order_acquire);
	uint64_t limit = (uint64_t)w->o.step_timeout_s * 1000000000u;
	bool late, more = false;

	if (!since) {
		s->killed = s->warned = false;
		return false;
	}
	if (now < since)
		return false;
	/* a command that prints more than a pipe holds must not wait for us */
	if (now - since > DRAIN_AFTER_NS && s->out_fd >= 0)
		more = script__drain(s) >= sizeof(s->out);
	late = limit && now - since > limit;
	if (late || (stop_at && now - stop_at > STOP_GRACE_NS && since < stop_at))
		expire(w, s, now, !late);
	return more;
}

static void *watch(void *arg)
{
	struct workload *w = arg;
	struct pollfd p = { .fd = w->wake, .events = POLLIN };
	uint64_t stop_at = 0;
	bool again = false;

	while (!atomic_load(&w->watch_end)) {
		uint64_t now, v;

		if (poll(&p, 1, again ? DRAIN_MS : TICK_MS) == 1 &&
		    read(w->wake, &v, sizeof(v)) < 0)
			continue;
		now = now_ns();
		stop_at = !wl__stopping(w) ? 0 : stop_at ? stop_at : now;
		pthread_mutex_lock(&w->slots_lock);
		again = false;
		for (size_t i = 0; i < w->nslots; i++)
			again |= look(w, w->slots[i], now, stop_at);
		pthread_mutex_unlock(&w->slots_lock);
	}
	return NULL;
}

static void on_wake(int sig)
{
	(void)sig; /* only interrupts a waitid */
}

int watch__start(struct workload *w)
{
	struct sigaction sa = { .sa_handler = on_wake };
	sigset_t all, old;
	int rc;

	sigaction(SIGRTMAX - 1, &sa, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = -pthread_create(&w->watchdog, NULL, watch, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	w->watching = !rc;
	return rc;
}

void watch__end(struct workload *w)
{
	uint64_t one = 1;

	if (!w->watching)
		return;
	atomic_store(&w->watch_end, true);
	if (write(w->wake, &one, sizeof(one)) < 0)
		return;
	pthread_join(w->watchdog, NULL);
	w->watching = false;
}

int watch__add(struct workload *w, struct slot *s)
{
	int rc;

	pthread_mutex_lock(&w->slots_lock);
	rc = grow(&w->slots, w->nslots, &w->capslots, sizeof(*w->slots));
	if (!rc)
		w->slots[w->nslots++] = s;
	pthread_mutex_unlock(&w->slots_lock);
	return rc;
}

void watch__del(struct workload *w, struct slot *s)
{
	pthread_mutex_lock(&w->slots_lock);
	for (size_t i = 0; i < w->nslots; i++)
		if (w->slots[i] == s) {
			w->slots[i] = w->slots[--w->nslots];
			break;
		}
	pthread_mutex_unlock(&w->slots_lock);
}
