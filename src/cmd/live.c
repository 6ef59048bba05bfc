/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/live.h"

#include "analyze/foreign.h"
#include "analyze/syscalls.h"
#include "util/util.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define ROWS 24
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
	unsigned lines;
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

/* Over the table drawn before. s: seconds since then. */
static void draw(FILE *out, uint64_t existing, double s)
{
	if (live.lines)
		fprintf(out, "\033[%uA\r\033[J", live.lines);
	fprintf(out, "%" PRIu64 " existing network namespaces\n", existing);
	fprintf(out, "%-24s %10s %10s %10s\n", "STEP", "n", "/s", "MEAN ms");
	live.lines = 2;
	for (size_t i = 0; i <= ROWS; i++) {
		struct row *r = &live.row[i];

		if (!r->n)
			continue;
		fprintf(out, "%-24s %10" PRIu64 " %10.1f %10.3f\n", r->name, r->n,
			s > 0 ? (double)(r->n - r->before) / s : 0,
			(double)r->ns / (double)r->n / 1e6);
		r->before = r->n;
		live.lines++;
	}
	fflush(out);
}

void live__draw(uint64_t existing)
{
	uint64_t now = now_ns();

	if (!live.opened)
		open_live();
	if (!isatty(STDERR_FILENO))
		return;
	draw(stderr, existing, (double)(now - live.drawn) / 1e9);
	live.drawn = now;
}

void live__end(void)
{
	if (live.opened)
		syscalls__close(&live.sys);
	memset(&live, 0, sizeof(live));
}
