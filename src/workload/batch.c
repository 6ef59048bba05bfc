/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One `ip -batch` process per stream does all commands. It prints nothing when
 * a command has ended, so each is followed by a word that `ip` does not know:
 * with -force it says so on its unbuffered error output, without asking the
 * kernel anything, and goes on. A step ends when that is read. (A terminal
 * instead of the pipe would not help: the commands have no output to flush.)
 */
#include "workload/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MARK "frtrace-end"

struct batch {
	pid_t pid;
	int in, err;
	unsigned line; /* of its input, so far */
	char buf[WL_OUTPUT_MAX];
	size_t len;
};

static int batch__open(struct maker *m)
{
	const struct tools *t = &m->w->tools;
	const char *argv[WL_ARGV_MAX];
	volatile int exec_errno = 0;
	int in[2] = { -1, -1 }, err[2] = { -1, -1 }, rc;
	unsigned n = 0;
	struct batch *b = calloc(1, sizeof(*b));

	if (!b)
		return wl__fail(m->w, -ENOMEM, "out of memory");
	b->in = b->err = -1;
	m->priv = b;
	if (pipe2(in, O_CLOEXEC) || pipe2(err, O_CLOEXEC)) {
		char hint[256];

		rc = -errno;
		wl__fail(m->w, rc, "pipe: %s%s", strerror(-rc),
			 limit__hint(hint, sizeof(hint), "pipe", rc));
		goto out;
	}
	for (unsigned i = 0; i < t->nprefix; i++)
		argv[n++] = t->prefix[i];
	argv[n++] = t->ip;
	argv[n++] = "-force";
	argv[n++] = "-batch";
	argv[n++] = "-";
	argv[n] = NULL;
	if (m->cell)
		*m->cell = 0; /* it serves all steps, so it is of none */
	rc = script__spawn(m->w, t->nprefix ? t->prefix_path : t->ip_path, argv, in[0], m->w->null,
			   err[1], &exec_errno);
	if (rc < 0) {
		wl__fail(m->w, rc, "%s: cannot start a process: %s", t->ip_path, strerror(-rc));
		goto out;
	}
	b->pid = rc;
	b->in = in[1];
	b->err = err[0];
	in[1] = err[0] = -1;
	rc = exec_errno ? wl__fail(m->w, -exec_errno, "%s: cannot execute: %s", t->ip_path,
				   strerror(exec_errno))
			: 0;
out:
	for (int i = 0; i < 2; i++) {
		if (in[i] >= 0)
			close(in[i]);
		if (err[i] >= 0)
			close(err[i]);
	}
	return rc;
}

/* Waits for its end. The wait status; -1: could not be had. */
static int reap(struct maker *m, struct batch *b)
{
	int status = -1;
	pid_t got;

	if (b->pid <= 0)
		return -1;
	atomic_store(&m->slot.pid, b->pid);
	atomic_store(&m->slot.process, true);
	atomic_store(&m->slot.since, now_ns());
	do
		got = waitpid(b->pid, &status, 0);
	while (got < 0 && errno == EINTR && !atomic_load(&m->slot.abandoned));
	atomic_store(&m->slot.since, 0);
	b->pid = 0;
	return got < 0 ? -1 : status;
}

static void batch__close(struct maker *m)
{
	struct batch *b = m->priv;

	if (!b)
		return;
	if (b->in >= 0)
		close(b->in); /* the end of its input ends it */
	if (b->err >= 0)
		close(b->err);
	reap(m, b);
	free(b);
}

/* Reads up to the mark. 0, -EPIPE at the end, -errno; what came before the mark
 * stays in buf, NUL behind it. */
static int read_to_mark(struct maker *m, struct batch *b)
{
	b->len = 0;
	for (;;) {
		ssize_t n;
		char *at;

		if (b->len == sizeof(b->buf) - 1) /* it prints more than we keep */
			b->len = sizeof(b->buf) / 2;
		n = read(b->err, b->buf + b->len, sizeof(b->buf) - 1 - b->len);
		if (n < 0 && errno == EINTR && !atomic_load(&m->slot.abandoned))
			continue;
		if (n < 0)
			return -errno;
		b->len += (size_t)n;
		b->buf[b->len] = '\0';
		if (!n)
			return -EPIPE;
		at = strstr(b->buf, "\"" MARK "\"");
		if (at) {
			*at = '\0';
			return 0;
		}
	}
}

/* The first line that is not the answer to a mark. */
static const char *first_words(const struct batch *b, char *dst, size_t size)
{
	const char *p = b->buf;
	char line[256];

	while (*p == '\n' || *p == '"' || !strncmp(p, "Object ", 7) ||
	       !strncmp(p, "Command failed", 14)) {
		p += strcspn(p, "\n");
		if (*p)
			p++;
	}
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(p, "\n"), p);
	return printable(dst, size, line);
}

/* `ip` names the line of its input that failed; the answer to the mark before
 * may still be in front of it. */
static bool batch__failed(const struct batch *b, unsigned line)
{
	static const char word[] = "Command failed -:";

	for (const char *p = strstr(b->buf, word); p; p = strstr(p + 1, word))
		if (strtoul(p + strlen(word), NULL, 10) == line)
			return true;
	return false;
}

static int batch__died(struct step_job *j, struct batch *b)
{
	char cmd[512], shown[640], line[320];
	int status = reap(j->m, b);

	if (atomic_load(&j->m->slot.timed_out))
		return -ETIMEDOUT;
	if (wl__stopping(j->m->w))
		return wl__fail(j->m->w, -EINTR, "interrupted");
	printable(shown, sizeof(shown), step__text(cmd, sizeof(cmd), j));
	first_words(b, line, sizeof(line));
	j->inst->status = status;
	return wl__fail(j->m->w, -EIO, "`%s -batch` ended (%s %d) in `%s`%s%s", j->m->w->tools.ip,
			WIFSIGNALED(status) ? "signal" : "status",
			WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), shown,
			*line ? ": " : "", line);
}

static int batch__step(struct step_job *j)
{
	struct batch *b = j->m->priv;
	struct maker *m = j->m;
	const char *v[WL_ARGV_MAX];
	char text[640], line[320];
	size_t len = 0;
	bool written;
	unsigned n;
	int rc;

	n = step__argv(&m->w->tools, j->step, j->nth, j->name, v);
	for (unsigned i = m->w->tools.nprefix + 1; i < n; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s ", v[i]);
	len += (size_t)snprintf(text + len, sizeof(text) - len, "\n" MARK "\n");
	if (len >= sizeof(text))
		return wl__fail(m->w, -E2BIG, "the command is too long for a batch");
	atomic_store(&m->slot.pid, b->pid);
	atomic_store(&m->slot.process, true);
	if (m->cell)
		*m->cell = j->inst->instance;
	j->inst->t0 = now_ns();
	atomic_store_explicit(&m->slot.since, j->inst->t0, memory_order_release);
	written = write(b->in, text, len) == (ssize_t)len;
	rc = read_to_mark(m, b); /* one that has ended may have said why */
	if (!written)
		rc = -EPIPE;
	j->inst->t1 = now_ns();
	atomic_store_explicit(&m->slot.since, 0, memory_order_release);
	if (rc == -EPIPE)
		return batch__died(j, b);
	if (rc)
		return atomic_load(&m->slot.abandoned)
			       ? -ETIMEDOUT
			       : wl__fail(m->w, rc, "reading from `%s -batch`: %s", m->w->tools.ip,
					  strerror(-rc));
	b->line += 2;
	if (!batch__failed(b, b->line - 1))
		return 0;
	first_words(b, line, sizeof(line));
	j->inst->status = 1 << 8;
	pthread_mutex_lock(&m->slot.out_lock);
	snprintf(m->slot.out, sizeof(m->slot.out), "%s", line);
	pthread_mutex_unlock(&m->slot.out_lock);
	return script__check(j);
}

const struct mode mode_batch = {
	.name = "batch",
	.note = "batch mode: one `ip -batch` process per stream, so start, execve and exit happen once "
		"for all but the commands inside `netns exec`; the end of a command is seen through "
		"a pipe",
	.open = batch__open,
	.step = batch__step,
	.close = batch__close,
};
