/* SPDX-License-Identifier: BSD-2-Clause */
#include "wlt.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

static char *slurp(FILE *f)
{
	size_t n = 0, cap = 1 << 16;
	char *buf = malloc(cap);

	for (;;) {
		size_t got;

		if (!buf)
			FAIL("out of memory");
		got = fread(buf + n, 1, cap - n - 1, f);
		n += got;
		if (!got)
			break;
		if (cap - n < 4096)
			buf = realloc(buf, cap *= 2);
	}
	buf[n] = '\0';
	return buf;
}

char *wlt_output(const char *fmt, ...)
{
	char cmd[2048], *text;
	va_list ap;
	FILE *f;
	int rc;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	f = popen(cmd, "re");
	if (!f)
		FAIL("%s: %s", cmd, strerror(errno));
	text = slurp(f);
	rc = pclose(f);
	if (rc)
		FAIL("`%s` ended with %d", cmd, rc);
	return text;
}

int wlt_run(const char *fmt, ...)
{
	char cmd[2048];
	va_list ap;
	int rc;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	fflush(stdout);
	rc = system(cmd);
	return WIFEXITED(rc) ? WEXITSTATUS(rc) : 128 + WTERMSIG(rc);
}

char *wlt_snapshot(void)
{
	return wlt_output(
		"ip -o link 2>/dev/null | sed 's/@.*//; s/^[0-9]*: //; s/:.*//' | sort;"
		"find /run -mindepth 1 ! -path '/run/[ab]' ! -path '/run/mount*' -printf '%%p %%y %%m\\n' | sort;"
		"sed 's/^[0-9]* [0-9]* //; s/:[0-9]* / /g' /proc/self/mountinfo | sort");
}

void wlt_same(const char *before, const char *when)
{
	char *now = NULL;

	for (int i = 0; i < 100; i++) {
		free(now);
		now = wlt_snapshot();
		if (!strcmp(before, now)) {
			free(now);
			return;
		}
		usleep(200000);
	}
	wlt_diff(before, now);
	FAIL("%s the system is not as before (< before, > now)", when);
}

void wlt_diff(const char *a, const char *b)
{
	FILE *fa = fopen("/run/a", "w"), *fb = fopen("/run/b", "w");

	CHECK(fa && fb);
	fputs(a, fa);
	fputs(b, fb);
	fclose(fa);
	fclose(fb);
	wlt_run("diff /run/a /run/b | head -40");
}

unsigned wlt_names(void)
{
	DIR *d = opendir("/run/netns");
	struct dirent *e;
	unsigned n = 0;

	while (d && (e = readdir(d)))
		n += !strncmp(e->d_name, "bar-", 4);
	if (d)
		closedir(d);
	return n;
}

static volatile uint32_t cells[64];

static volatile uint32_t *creator_begin(void *ctx, unsigned stream, uint32_t *task)
{
	struct wlt_seen *s = ctx;

	*task = 1000 + stream;
	__atomic_add_fetch(&s->creators, 1, __ATOMIC_RELAXED);
	return &cells[stream];
}

static void creator_end(void *ctx, unsigned stream)
{
	struct wlt_seen *s = ctx;

	(void)stream;
	__atomic_add_fetch(&s->creator_ends, 1, __ATOMIC_RELAXED);
}

static void router_begin(void *ctx, struct frt_router *r)
{
	struct wlt_seen *s = ctx;

	s->begins++;
	if (r->t0 || r->t1)
		s->bad++;
}

static void take_steps(struct wlt_seen *s, const struct frt_router *r, const struct frt_stepinst *v,
		       unsigned n)
{
	double sum[FRT_STEPS + 1] = { 0 };
	uint64_t last = r->t0;

	for (unsigned i = 0; i < n; i++) {
		const struct frt_stepinst *t = &v[i];

		if (t->step > FRT_STEPS || t->t1 <= t->t0 || t->t0 < last || t->router != r->id ||
		    t->level != r->level || t->creator != 1000 + r->stream) {
			s->bad++;
			continue;
		}
		/* the router's time is that of its creation steps, the control outside */
		if (t->step < FRT_STEP_DELETE && t->t1 > r->t1)
			s->bad++;
		if (t->step == FRT_STEP_CONTROL && t->t0 < r->t1)
			s->bad++;
		if (t->instance >= sizeof(s->instance) || s->instance[t->instance]++)
			s->bad++;
		if (t->instance > s->max_instance)
			s->max_instance = t->instance;
		/* the cell holds what was written last before a spawn */
		if (i == n - 1 && cells[r->stream] != t->instance)
			s->bad++;
		last = t->t1;
		s->steps[t->step]++;
		s->wall[t->step] += t->t1 - t->t0;
		sum[t->step] += (double)(t->t1 - t->t0);
	}
	if (r->flags & (FRT_ROUTER_WARMUP | FRT_ROUTER_DELETE))
		return;
	for (unsigned k = 0; k <= FRT_STEPS; k++)
		if (sum[k] > 0 && s->nvalues[k] < ARRAY_SIZE(s->values[k]))
			s->values[k][s->nvalues[k]++] = sum[k];
}

static int router_end(void *ctx, const struct frt_router *r, const struct frt_stepinst *v,
		      unsigned n)
{
	struct wlt_seen *s = ctx;

	if (r->flags & FRT_ROUTER_DELETE) {
		s->deletes++;
		if (r->t0 || r->t1 || n != 1 || v[0].step != FRT_STEP_DELETE)
			s->bad++;
	} else {
		s->routers++;
		s->warmups += !!(r->flags & FRT_ROUTER_WARMUP);
		s->failed += !!(r->flags & FRT_ROUTER_FAILED);
		s->router_wall += r->t1 - r->t0;
		if (r->stream + 1 > s->max_streams)
			s->max_streams = r->stream + 1;
		if (!(r->flags & FRT_ROUTER_FAILED) && r->t1 <= r->t0)
			s->bad++;
	}
	take_steps(s, r, v, n);
	if (s->stop && s->routers >= s->stop_after)
		workload__stop(s->stop);
	return 0;
}

struct workload_opts wlt_options(enum frt_workmode mode, struct wlt_seen *seen)
{
	struct workload_opts o = {
		.mode = mode,
		.fill = FRT_WORK_LEAN,
		.streams = 1,
		.step_timeout_s = 30,
		.control = true,
	};

	if (seen) {
		memset(seen, 0, sizeof(*seen));
		o.hooks = (struct workload_hooks){ .ctx = seen,
						   .creator_begin = creator_begin,
						   .creator_end = creator_end,
						   .router_begin = router_begin,
						   .router_end = router_end };
	}
	return o;
}

struct workload *wlt_open(const struct workload_opts *o)
{
	struct workload *w;
	char err[1024];
	int rc = workload__open(o, &w, err, sizeof(err));

	if (rc)
		FAIL("open: %d: %s", rc, err);
	return w;
}
