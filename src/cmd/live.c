/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/live.h"

#include "analyze/foreign.h"
#include "analyze/syscalls.h"
#include "util/util.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#define ROWS 24
#define HEIGHT 24    /* of a terminal that does not say */
#define LEFT 4	     /* lines of it for the command, at least */
#define RUNNING 1024 /* commands at one time; what finds no room is not shown */

static struct {
	struct row {
		const char *name;
		uint64_t n, ns, before; /* before: n as last drawn */
	} row[ROWS + 1];		/* the last: other, what came when all had a name */
	size_t rows;			/* with a name */
	struct running {
		uint32_t task;
		const char *name;
		uint64_t t0;
	} run[RUNNING];
	struct syscalls sys;
	bool opened;
	uint64_t drawn;
	unsigned lines, height; /* of the table, of the screen that it is on */
} live;

static struct row *row_named(const char *name)
{
	for (size_t i = 0; i < live.rows; i++)
		if (strcmp(live.row[i].name, name) == 0)
			return &live.row[i];
	if (live.rows == ROWS) {
		live.row[ROWS].name = "other";
		return &live.row[ROWS];
	}
	live.row[live.rows].name = name;
	return &live.row[live.rows++];
}

static void count(const char *name, uint64_t ns)
{
	struct row *r = row_named(name);

	r->n++;
	r->ns += ns;
}

static void open_live(void)
{
	struct utsname u;

	live.opened = true;
	live.drawn = now_ns();
	syscalls__open(&live.sys, uname(&u) ? NULL : u.machine);
}

void live__take(struct rules *rules, enum frt_rec type, const void *item)
{
	if (!live.opened)
		open_live();
	if (type == FRT_REC_PROC) {
		const struct frt_proc *p = item;

		live.run[p->task % RUNNING] = (struct running){ p->task, NULL, p->t };
	} else if (type == FRT_REC_EXEC) {
		const struct frt_exec *e = item;
		struct running *r = &live.run[e->task % RUNNING];
		const struct rule *m = r->task == e->task && !r->name ? rules__match(rules, e->args)
								      : NULL;

		if (m && m->kind == RULE_STEP)
			r->name = m->name;
	} else if (type == FRT_REC_DEAD) {
		const struct frt_dead *d = item;
		struct running *r = &live.run[d->task % RUNNING];

		if (r->task == d->task && r->name)
			count(r->name, d->t - r->t0);
		if (r->task == d->task)
			r->task = 0;
	} else if (type == FRT_REC_CALL) {
		const struct frt_call *c = item;
		struct running *r = &live.run[c->task % RUNNING];
		const char *name = r->task == c->task && r->name ? NULL
								 : foreign__action(&live.sys, c);

		if (name)
			count(name, c->t1 - c->t0);
	}
}

/* The whole screen is the command's again. */
static void give_back(FILE *out)
{
	if (live.lines)
		fprintf(out, "\0337\033[r\033[%u;1H\033[J\0338", live.height - live.lines + 1);
	live.lines = 0;
}

/* The lowest lines of the screen become the table's own; what the command prints scrolls
 * above them. */
static void reserve(FILE *out, unsigned lines, unsigned height)
{
	unsigned more;

	if (live.height != height)
		give_back(out);
	more = lines - live.lines;
	for (unsigned i = 0; i < more; i++)
		fputs("\033D", out);
	if (more)
		fprintf(out, "\033[%uA\0337\033[1;%ur\0338", more, height - lines);
	live.lines = lines;
	live.height = height;
}

static void begin_line(FILE *out, unsigned i)
{
	fprintf(out, "\033[%u;1H\033[2K", live.height - live.lines + 1 + i);
}

/* s: seconds since the last time. */
static void draw(FILE *out, uint64_t existing, double s, unsigned height)
{
	unsigned lines = 2, at = 2;

	for (size_t i = 0; i <= ROWS; i++)
		lines += live.row[i].n > 0;
	if (lines > height - LEFT)
		lines = height - LEFT;
	reserve(out, lines, height);
	fputs("\0337\033[?7l", out);
	begin_line(out, 0);
	fprintf(out, "%" PRIu64 " existing network namespaces", existing);
	begin_line(out, 1);
	fprintf(out, "%-24s %10s %10s %10s", "STEP", "n", "/s", "MEAN ms");
	for (size_t i = 0; i <= ROWS; i++) {
		struct row *r = &live.row[i];

		if (!r->n)
			continue;
		if (at < lines) {
			begin_line(out, at++);
			fprintf(out, "%-24s %10" PRIu64 " %10.1f %10.3f", r->name, r->n,
				s > 0 ? (double)(r->n - r->before) / s : 0,
				(double)r->ns / (double)r->n / 1e6);
		}
		r->before = r->n;
	}
	fputs("\033[?7h\0338", out);
}

static unsigned screen_height(void)
{
	struct winsize ws;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &ws) || !ws.ws_row ? HEIGHT : ws.ws_row;
}

void live__draw(uint64_t existing)
{
	unsigned height = screen_height();
	uint64_t now = now_ns();
	char *text = NULL;
	size_t size = 0;
	FILE *out;

	if (!live.opened)
		open_live();
	if (!isatty(STDERR_FILENO) || height < LEFT + 2)
		return;
	out = open_memstream(&text, &size);
	if (!out)
		return;
	draw(out, existing, (double)(now - live.drawn) / 1e9, height);
	live.drawn = now;
	if (!fclose(out))
		fwrite(text, 1, size, stderr); /* at once: the command writes there, too */
	free(text);
}

void live__end(void)
{
	give_back(stderr);
	if (live.opened)
		syscalls__close(&live.sys);
	memset(&live, 0, sizeof(live));
}
