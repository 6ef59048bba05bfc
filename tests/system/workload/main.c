/* SPDX-License-Identifier: BSD-2-Clause */
/* workload [NAME…]: all tests, or those named. One line a case: `ok
 * NAME`, `not ok NAME`, `skip NAME: reason`; what a case says goes before it. */
#include "wlt.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIPPED 77

void wlt_fail(const char *file, int line, const char *fmt, ...)
{
	const char *base = strrchr(file, '/');
	va_list ap;

	printf("    %s:%d: ", base ? base + 1 : file, line);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	_exit(1);
}

void wlt_skip(const char *fmt, ...)
{
	va_list ap;

	fputs("SKIP ", stdout);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	_exit(SKIPPED);
}

static void isolate(void)
{
	if (unshare(CLONE_NEWNS | CLONE_NEWNET))
		wlt_skip("unshare: %s", strerror(errno));
	if (mount("", "/", "none", MS_PRIVATE | MS_REC, NULL))
		wlt_skip("private mounts: %s", strerror(errno));
	/* what others have there would come and go in our lists of mounts */
	while (!umount2("/run/netns", MNT_DETACH))
		;
	if (mount("run", "/run", "tmpfs", 0, "mode=755"))
		wlt_skip("a private /run: %s", strerror(errno));
	if (wlt_run("ip link set lo up"))
		wlt_skip("no ip");
}

/* The skip reason travels in the output, which is kept until the end is known. */
static int run_test(const struct wlt_test *t)
{
	char line[4096], reason[1024] = "no reason given";
	uint64_t t0 = now_ns();
	int p[2], status, rc;
	FILE *out;
	pid_t pid;

	if (pipe(p))
		return 1;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(p[1], 1);
		close(p[0]);
		close(p[1]);
		alarm(t->timeout_s); /* against hangs only: machines are slow */
		setvbuf(stdout, NULL, _IOLBF, 0);
		isolate();
		t->run();
		fflush(stdout);
		_exit(0);
	}
	close(p[1]);
	out = fdopen(p[0], "r");
	while (out && fgets(line, sizeof(line), out)) {
		if (!strncmp(line, "SKIP ", 5))
			snprintf(reason, sizeof(reason), "%.*s", (int)strcspn(line + 5, "\n"),
				 line + 5);
		else
			fputs(line, stdout);
	}
	if (out)
		fclose(out);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	kill(-pid, SIGKILL); /* whatever it forgot */
	rc = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	if (WIFSIGNALED(status))
		printf("    ended by signal %d%s\n", WTERMSIG(status),
		       WTERMSIG(status) == SIGALRM ? " (took too long)" : "");
	if (rc == SKIPPED)
		printf("skip %s: %s\n", t->name, reason);
	else
		printf("%s %s (%.1f s)\n", rc ? "not ok" : "ok", t->name,
		       (double)(now_ns() - t0) / 1e9);
	fflush(stdout);
	return rc == SKIPPED ? 0 : rc;
}

static bool wanted(const char *name, char **names)
{
	if (!*names)
		return true;
	for (; *names; names++)
		if (!strcmp(*names, name))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	static const struct wlt_test *const all[] = { tests_steps, tests_state, tests_bad,
						      tests_clean };
	const char *is_long = getenv("FRT_LONG");
	int bad = 0;

	(void)argc;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (geteuid()) {
		printf("skip: not root\n");
		return SKIPPED;
	}
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		for (const struct wlt_test *t = all[i]; t->name; t++) {
			if (!wanted(t->name, argv + 1))
				continue;
			if (t->is_long && !argv[1] && (!is_long || !strcmp(is_long, "0")))
				printf("skip %s: takes minutes; FRT_LONG=1 runs it\n", t->name);
			else
				bad |= run_test(t);
		}
	return bad ? 1 : 0;
}
