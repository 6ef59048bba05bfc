/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/cli.h"

#include "util/util.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool json_errors, quiet;

/* The progress line on screen, if any. */
static struct {
	bool open;
	char what[64];
	uint64_t began, drawn, first;
	unsigned tenth;
} progress;

/* Over progress and what is written to stderr: creators, the thread that drains
 * and the one that looks for stalls all have something to say. */
static pthread_mutex_t saying = PTHREAD_MUTEX_INITIALIZER;

/* Under the lock. */
static void end_progress(void)
{
	if (progress.open)
		fputs("\r\033[K", stderr);
	progress.open = false;
	progress.what[0] = '\0';
}

int cli__worse(int a, int b)
{
	static const int order[] = { CLI_INTERRUPTED, CLI_FAILED, CLI_LOST, CLI_UNABLE };

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return a ? a : b;
}

void cli__errors_as_json(bool on)
{
	json_errors = on;
}

void cli__quiet(bool on)
{
	quiet = on;
}

int cli__error(int status, const char *fmt, ...)
{
	char raw[1024], line[2048];
	json_t *o = NULL;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	printable(line, sizeof(line), raw);
	if (json_errors)
		o = json_pack("{s:s, s:i}", "error", line, "status", status);
	pthread_mutex_lock(&saying);
	end_progress();
	if (o) {
		json_dumpf(o, stderr, JSON_COMPACT);
		fputc('\n', stderr);
	} else {
		fprintf(stderr, "frtrace: %s\n", line);
	}
	pthread_mutex_unlock(&saying);
	json_decref(o);
	return status;
}

void cli__note(const char *fmt, ...)
{
	char raw[1024], line[2048];
	va_list ap;

	if (quiet)
		return;
	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	printable(line, sizeof(line), raw);
	pthread_mutex_lock(&saying);
	end_progress();
	fprintf(stderr, "frtrace: %s\n", line);
	pthread_mutex_unlock(&saying);
}

int cli__number(const char *what, const char *s, uint64_t min, uint64_t max, uint64_t *out,
		char *err, size_t errlen)
{
	char shown[64];
	char *end;
	unsigned long long v;

	printable(shown, sizeof(shown), s);
	if (!*s || strspn(s, "0123456789") != strlen(s))
		return fail(err, errlen, -EINVAL,
			    "%s '%s': not a whole number; give one from %llu to %llu", what, shown,
			    (unsigned long long)min, (unsigned long long)max);
	errno = 0;
	v = strtoull(s, &end, 10);
	if (errno || v < min || v > max)
		return fail(err, errlen, -EINVAL,
			    "%s '%s': out of range; give a number from %llu to %llu", what, shown,
			    (unsigned long long)min, (unsigned long long)max);
	*out = v;
	return 0;
}

int cli__list(const char *what, const char *s, uint64_t min, uint64_t max, bool ascending,
	      uint64_t *v, size_t cap, size_t *n, char *err, size_t errlen)
{
	*n = 0;
	if (!*s)
		return fail(err, errlen, -EINVAL,
			    "%s: the list is empty; give numbers such as 0,4000", what);
	for (;;) {
		size_t len = strcspn(s, ",");
		char item[64];
		int rc;

		if (*n == cap)
			return fail(err, errlen, -EINVAL, "%s: more than %zu numbers; give fewer",
				    what, cap);
		snprintf(item, sizeof(item), "%.*s", len < 60 ? (int)len : 60, s);
		rc = cli__number(what, item, min, max, &v[*n], err, errlen);
		if (rc)
			return rc;
		if (ascending && *n && v[*n] <= v[*n - 1])
			return fail(
				err, errlen, -EINVAL,
				"%s: %s follows %llu; give each number once, in ascending order",
				what, item, (unsigned long long)v[*n - 1]);
		(*n)++;
		if (!s[len])
			return 0;
		s += len + 1;
	}
}

void cli__owner(int *uid, int *gid)
{
	const char *u = getenv("SUDO_UID"), *g = getenv("SUDO_GID");
	uint64_t v;

	*uid = *gid = -1;
	if (u && !cli__number("SUDO_UID", u, 0, INT32_MAX, &v, NULL, 0))
		*uid = (int)v;
	if (g && !cli__number("SUDO_GID", g, 0, INT32_MAX, &v, NULL, 0))
		*gid = (int)v;
}

void cli__record_name(char *buf, size_t size)
{
	time_t now = time(NULL);
	struct tm tm;
	char date[32];

	localtime_r(&now, &tm);
	strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &tm);
	snprintf(buf, size, "frtrace-%s.frt", date);
	for (int i = 2; i < 1000 && access(buf, F_OK) == 0; i++)
		snprintf(buf, size, "frtrace-%s-%d.frt", date, i);
}

char *cli__command_line(int argc, char **argv)
{
	size_t size = 16;
	char *s;

	for (int i = 0; i < argc; i++)
		size += strlen(argv[i]) + 1;
	s = malloc(size);
	if (!s)
		return NULL;
	strcpy(s, "frtrace");
	for (int i = 0; i < argc; i++) {
		strcat(s, " ");
		strcat(s, argv[i]);
	}
	return s;
}

bool cli__color(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fd) && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}

static void draw_bar(const char *what, uint64_t done, uint64_t total, uint64_t now)
{
	double s = (double)(now - progress.began) / 1e9, share = (double)done / (double)total;
	double rate = s > 0.2 ? (double)(done - progress.first) / s : 0;
	char bar[21];
	int full = (int)(share * 20);

	for (int i = 0; i < 20; i++)
		bar[i] = i < full ? '#' : '.';
	bar[20] = '\0';
	fprintf(stderr, "\r\033[K%-18s [%s] %llu/%llu", what, bar, (unsigned long long)done,
		(unsigned long long)total);
	if (rate > 0)
		fprintf(stderr, "  %.0f/s  %.0f s left", rate, (double)(total - done) / rate);
	fflush(stderr);
	progress.open = true;
}

/* Under the lock. */
static void show_progress(const char *what, uint64_t done, uint64_t total, uint64_t now, bool tty)
{
	if (done > total) /* more than was asked for is still all of it */
		done = total;
	if (strcmp(progress.what, what) != 0 || done < progress.first) {
		end_progress();
		snprintf(progress.what, sizeof(progress.what), "%s", what);
		progress.began = now;
		progress.first = done;
		progress.drawn = tty ? 0 : now;
		progress.tenth = 0;
	}
	if (tty) {
		if (now - progress.drawn < 100000000ull && done < total)
			return;
		progress.drawn = now;
		draw_bar(what, done, total, now);
	} else if (done * 10 / total > progress.tenth && now - progress.drawn > 2000000000ull) {
		/* one line per tenth, and none for what is over at once */
		progress.drawn = now;
		progress.tenth = (unsigned)(done * 10 / total);
		fprintf(stderr, "%s: %llu of %llu\n", what, (unsigned long long)done,
			(unsigned long long)total);
	}
}

void cli__progress(const char *what, uint64_t done, uint64_t total)
{
	bool tty = isatty(STDERR_FILENO);

	if (quiet || !total)
		return;
	pthread_mutex_lock(&saying);
	show_progress(what, done, total, now_ns(), tty);
	pthread_mutex_unlock(&saying);
}

void cli__progress_end(void)
{
	pthread_mutex_lock(&saying);
	end_progress();
	pthread_mutex_unlock(&saying);
}

static volatile sig_atomic_t interrupted;
static void (*stop_fn)(void *ctx);
static void *stop_ctx;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
	if (stop_fn)
		stop_fn(stop_ctx);
}

void cli__on_signal(void (*stop)(void *ctx), void *ctx)
{
	struct sigaction sa = { .sa_handler = on_signal };

	stop_fn = NULL;
	stop_ctx = ctx;
	stop_fn = stop;
	sigemptyset(&sa.sa_mask);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (interrupted && stop)
		stop(ctx);
}

bool cli__interrupted(void)
{
	return interrupted;
}

const char *argp_program_version = "frtrace " FRT_VERSION;

int cli__parse(const struct argp *argp, int argc, char **argv, const char *name, void *input)
{
	char full[64];
	char *first = argv[0];
	error_t rc;

	snprintf(full, sizeof(full), "frtrace %s", name);
	argv[0] = full;
	argp_err_exit_status = CLI_USAGE;
	rc = argp_parse(argp, argc, argv, 0, NULL, input);
	argv[0] = first;
	if (rc == ENOMEM)
		return 1000 + cli__error(CLI_FAILED, "out of memory while reading the options");
	return rc ? 1000 + CLI_USAGE : 0;
}
