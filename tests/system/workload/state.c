/* SPDX-License-Identifier: BSD-2-Clause */
/* Every way of making a router leaves the state that the script leaves, and
 * the steps cost the same after it. */
#include "wlt.h"

#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUTERS 4

/* What differs from router to router and from run to run, taken out: names,
 * addresses, indexes, ids. One line per fact, sorted. */
static const char normal[] =
	"sed -E 's/bar-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/NAME/g;"
	"s/\\b([rg][oi])-[0-9a-f]{8}-[0-9a-f]{2}\\b/\\1-KEY/g;"
	"s/([0-9a-f]{2}:){5}[0-9a-f]{2}/MAC/g; s/@if[0-9]+/@if/g; s/^[0-9]+: //;"
	"s/link-netnsid [0-9]+/link-netnsid N/g; s/shared:[0-9]+/shared:N/g;"
	"s/net:\\[[0-9]+\\]/net:[N]/g; s/^[0-9]+ [0-9]+ //; s/[0-9]+:[0-9]+ /DEV /' | sort";

static void add(char **state, char *more)
{
	size_t n = *state ? strlen(*state) : 0;

	*state = realloc(*state, n + strlen(more) + 1);
	CHECK(*state);
	strcpy(*state + n, more);
	free(more);
}

/* The state of all that exists: first namespace, mounts, each router's own. */
static char *state_now(void)
{
	char *state = NULL;

	add(&state, wlt_output("ip -d -o link | %s", normal));
	add(&state, wlt_output("grep ' /run/netns' /proc/self/mountinfo | %s", normal));
	add(&state,
	    wlt_output("find /run/netns -mindepth 0 -printf '%%p %%y %%m\\n' | %s", normal));
	add(&state, wlt_output("ip netns list-id | sed 's/^nsid [0-9]*/nsid N/' | %s", normal));
	/* in each namespace: links, addresses, routes, and every sysctl of it but those
	 * that are random or count */
	add(&state, wlt_output("for n in $(ls /run/netns); do ip -n $n -d -o link;"
			       " ip -n $n -o addr; ip -n $n route show table all; done | %s",
			       normal));
	add(&state, wlt_output("for n in $(ls /run/netns); do ip netns exec $n sh -c "
			       "'cd /proc/sys/net && grep -rs . . || true'; done |"
			       " grep -v -e stable_secret -e /flush: | %s",
			       normal));
	add(&state, wlt_output("for n in $(ls /run/netns); do"
			       " ip netns exec $n ls /sys/class/net; done | %s",
			       normal));
	return state;
}

static char *state_after(enum frt_workmode mode, bool by_fill)
{
	struct workload_opts o = wlt_options(mode, NULL);
	struct frt_level l = { .id = 1 };
	char *before = wlt_snapshot(), *state;
	struct workload *w;
	int rc;

	o.fill = mode;
	w = wlt_open(&o);
	rc = by_fill ? workload__fill(w, ROUTERS, &l) : workload__create(w, &l, 0, ROUTERS);
	if (rc)
		FAIL("%s: %s", workload__mode_name(mode), workload__error(w));
	usleep(300000); /* linkwatch; no address is tentative: the links are down */
	state = state_now();
	if (workload__close(w))
		FAIL("%s: close", workload__mode_name(mode));
	wlt_same(before, workload__mode_name(mode));
	free(before);
	return state;
}

static void compare(const char *script, const char *other, const char *mode)
{
	if (!strcmp(script, other))
		return;
	wlt_diff(script, other);
	FAIL("%s leaves another state than the script (< script, > %s)", mode, mode);
}

static void equal_state(void)
{
	char *script = state_after(FRT_WORK_SCRIPT, false);

	/* is everything in it that should be, so that equality says something? */
	if (!strstr(script, "ro-KEY@if") || !strstr(script, "/run/netns/NAME") ||
	    !strstr(script, "net:[N]") || !strstr(script, "gi-KEY@if") ||
	    !strstr(script, "./ipv4/ip_forward:1") || !strstr(script, "lo: <LOOPBACK,UP"))
		FAIL("the script's state lacks something:\n%s", script);
	compare(script, state_after(FRT_WORK_EXACT, false), "exact");
	compare(script, state_after(FRT_WORK_LEAN, false), "lean");
	compare(script, state_after(FRT_WORK_BATCH, false), "batch");
	compare(script, state_after(FRT_WORK_LEAN, true), "a lean fill");
	compare(script, state_after(FRT_WORK_EXACT, true), "an exact fill");
}

/* The same where /run is a shared mount, as systemd leaves it: names appear
 * twice, the propagation included. */
static void equal_state_shared(void)
{
	CHECK(!wlt_run("mount --make-rshared /run"));
	equal_state();
}

/* Where `ip netns add` has been used before. */
static void equal_state_used(void)
{
	CHECK(!wlt_run("ip netns add other"));
	equal_state();
	CHECK(!wlt_run("ip netns list | grep -q ^other"));
}

/*
 * Equal cost: two sides live at the same time, one filled to 1,000 by lean, one
 * by the script, each with mounts, links and a /proc of its own (the entries
 * below /proc/sys that the kernel remembers are part of the state). Blocks of
 * routers are made by the script on either side in turn, ABBA, so that whatever
 * the machine does hits both alike; a pair of blocks gives one ratio. A block's
 * value is the mean without its slowest router, which is somebody else's doing.
 */
#define FILL 1000
#define BLOCK 6
#define PAIRS 20 /* at a time */
#define PAIRS_MAX 200

struct side {
	pid_t pid;
	int ask, answer;
	const char *name;
};

struct block {
	double mean[FRT_STEPS];
};

static double trimmed_mean(const double *v, unsigned n)
{
	double sum = 0, max = 0;

	for (unsigned i = 0; i < n; i++) {
		sum += v[i];
		max = fmax(max, v[i]);
	}
	return (sum - max) / (n - 1);
}

static void serve(enum frt_workmode fill, int ask, int answer)
{
	static struct wlt_seen s;
	struct workload_opts o = wlt_options(FRT_WORK_SCRIPT, &s);
	struct frt_level l = { .id = 1 };
	struct workload *w;
	char go;

	CHECK(!unshare(CLONE_NEWNS | CLONE_NEWNET));
	CHECK(!mount("run", "/run", "tmpfs", 0, "mode=755"));
	CHECK(!mount("proc", "/proc", "proc", 0, NULL));
	CHECK(!wlt_run("ip link set lo up"));
	o.fill = fill;
	w = wlt_open(&o);
	if (workload__fill(w, FILL, &l))
		FAIL("fill by %s: %s", workload__mode_name(fill), workload__error(w));
	printf("    filled to %u by %s in %.1f s\n", FILL, workload__mode_name(fill),
	       (double)l.fill_ns / 1e9);
	do {
		struct block b = { 0 };

		memset(s.instance, 0, sizeof(s.instance));
		memset(s.nvalues, 0, sizeof(s.nvalues));
		if (workload__create(w, &l, 0, BLOCK) || workload__delete_created(w, &l))
			FAIL("%s", workload__error(w));
		for (int k = 0; k < FRT_STEPS; k++)
			b.mean[k] = k == FRT_STEP_DELETE ? 1 : trimmed_mean(s.values[k], BLOCK);
		CHECK(write(answer, &b, sizeof(b)) == sizeof(b));
	} while (read(ask, &go, 1) == 1);
	CHECK(!workload__close(w));
	fflush(stdout);
	_exit(0);
}

static struct side start_side(enum frt_workmode fill)
{
	struct side s = { .name = workload__mode_name(fill) };
	int ask[2], answer[2];

	CHECK(!pipe2(ask, O_CLOEXEC) && !pipe2(answer, O_CLOEXEC));
	fflush(stdout);
	s.pid = fork();
	CHECK(s.pid >= 0);
	if (!s.pid) {
		close(ask[1]);
		close(answer[0]);
		serve(fill, ask[0], answer[1]);
	}
	close(ask[0]);
	close(answer[1]);
	s.ask = ask[1];
	s.answer = answer[0];
	return s;
}

static struct block take(struct side *s)
{
	struct block b;

	if (read(s->answer, &b, sizeof(b)) != sizeof(b))
		FAIL("the side filled by %s has ended", s->name);
	return b;
}

static void end_side(struct side *s)
{
	int status;

	close(s->ask);
	CHECK(waitpid(s->pid, &status, 0) == s->pid && !status);
}

/* Mean and half width of the 99 % interval; t for 20 or more. */
static void interval(const double *v, unsigned n, double *mean, double *half)
{
	double var = 0;

	*mean = 0;
	for (unsigned i = 0; i < n; i++)
		*mean += v[i] / n;
	for (unsigned i = 0; i < n; i++)
		var += (v[i] - *mean) * (v[i] - *mean) / (n - 1);
	*half = (n < 40 ? 2.86 : n < 80 ? 2.70 : 2.64) * sqrt(var / n);
}

/* Each step's mean after a lean fill of 1,000 over that after a script fill: the
 * 99 % interval of the ratio lies in 0.9 .. 1.1. Where it is too wide, more pairs
 * are taken. */
static void equal_cost(void)
{
	static double v[FRT_STEPS][PAIRS_MAX];
	struct side lean = start_side(FRT_WORK_LEAN), script;
	unsigned n = 0, bad, differs;
	double control = 0;

	take(&lean); /* its first block is warm-up */
	script = start_side(FRT_WORK_SCRIPT);
	take(&script);
	do {
		if (n)
			printf("    %u pairs are not enough here: more\n", n);
		for (unsigned i = 0; i < PAIRS; i++, n++) {
			struct side *first = n % 2 ? &script : &lean,
				    *second = n % 2 ? &lean : &script;
			struct block a, b;

			CHECK(write(first->ask, "g", 1) == 1);
			a = take(first);
			CHECK(write(second->ask, "g", 1) == 1);
			b = take(second);
			for (int k = 0; k < FRT_STEPS; k++)
				v[k][n] = log(first == &lean ? a.mean[k] / b.mean[k]
							     : b.mean[k] / a.mean[k]);
		}
		bad = differs = 0;
		for (int k = 0; k < FRT_STEPS; k++) {
			double mean, half;

			if (k == FRT_STEP_DELETE)
				continue;
			interval(v[k], n, &mean, &half);
			printf("    %-7s lean / script %.3f [%.3f, %.3f], n %u pairs of %u\n",
			       frt_steps[k].name, exp(mean), exp(mean - half), exp(mean + half), n,
			       BLOCK);
			if (k == FRT_STEP_CONTROL)
				control = half;
			if (!frt_steps[k].creation ||
			    (mean - half >= log(0.9) && mean + half <= log(1.1)))
				continue;
			bad++;
			differs += fabs(mean) > half;
		}
	} while (bad && n + PAIRS <= PAIRS_MAX);
	end_side(&script); /* it holds the other's pipe too */
	end_side(&lean);
	if (bad && !differs && control > log(1.05))
		wlt_skip(
			"the machine is too busy to tell: even `true` has an interval of +-%.0f %%",
			100 * (exp(control) - 1));
	if (bad)
		FAIL("%u steps cost something else after a lean fill, or the interval stays too wide",
		     bad);
}

const struct wlt_test tests_state[] = { { "equal_state", equal_state, 180, false },
					{ "equal_state_shared", equal_state_shared, 180, false },
					{ "equal_state_used", equal_state_used, 180, false },
					{ "equal_cost", equal_cost, 900, false },
					{ 0 } };
