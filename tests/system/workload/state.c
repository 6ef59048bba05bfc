/* SPDX-License-Identifier: BSD-2-Clause */
/* Every way of making a router leaves the state that the script leaves, and
 * the steps cost the same after it. */
#include "wlt.h"

#include <math.h>
#include <sys/stat.h>
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

struct sums {
	unsigned n;
	double mean, var;
};

static struct sums sums_of(const double *v, unsigned n)
{
	struct sums s = { .n = n };

	for (unsigned i = 0; i < n; i++)
		s.mean += v[i] / n;
	for (unsigned i = 0; i < n; i++)
		s.var += (v[i] - s.mean) * (v[i] - s.mean) / (n - 1);
	return s;
}

/* Steps' values of K routers by the script after a fill to n. */
static void measure(enum frt_workmode fill, unsigned n, struct wlt_seen *s)
{
	struct workload_opts o = wlt_options(FRT_WORK_SCRIPT, s);
	struct frt_level l = { .id = 1 };
	struct workload *w;

	o.fill = fill;
	o.settle_max_s = 5;
	w = wlt_open(&o);
	if (workload__fill(w, n, &l) || workload__settle(w, &l) || workload__create(w, &l, 5, 60) ||
	    workload__delete_created(w, &l))
		FAIL("%s", workload__error(w));
	printf("    filled to %u by %s in %.1f s (%u threads)\n", n, workload__mode_name(fill),
	       (double)l.fill_ns / 1e9, l.fill_threads);
	CHECK(!workload__close(w));
}

#define ROUNDS 6

/* Each step's mean after a lean fill of 1,000 over that after a script fill: the
 * 99 % interval of the ratio lies in 0.9 .. 1.1. Rounds alternate, and a round's
 * median is one value, so that a disturbance is one value too. */
static void equal_cost(void)
{
	static struct wlt_seen s;
	static double v[2][FRT_STEPS][ROUNDS * 60];
	unsigned n[2][FRT_STEPS] = { 0 };
	int bad = 0;

	for (int round = 0; round < ROUNDS; round++)
		for (int k = 0; k < 2; k++) {
			int side = (round + k) % 2; /* AB BA AB … */

			measure(side ? FRT_WORK_SCRIPT : FRT_WORK_LEAN, 1000, &s);
			for (int st = 0; st < FRT_STEPS; st++)
				for (unsigned i = 0; i < s.nvalues[st]; i++)
					v[side][st][n[side][st]++] = s.values[st][i];
		}
	for (int st = 0; st < FRT_STEPS; st++) {
		struct sums lean = sums_of(v[0][st], n[0][st]),
			    script = sums_of(v[1][st], n[1][st]);
		double ratio = lean.mean / script.mean;
		/* of a ratio of means, by the delta method; 2.58: 99 % for n in the hundreds */
		double half = 2.58 * ratio *
			      sqrt(lean.var / lean.n / (lean.mean * lean.mean) +
				   script.var / script.n / (script.mean * script.mean));

		printf("    %-7s lean %.3f ms, script %.3f ms, ratio %.3f [%.3f, %.3f], n %u\n",
		       frt_steps[st].name, lean.mean / 1e6, script.mean / 1e6, ratio, ratio - half,
		       ratio + half, lean.n);
		bad += frt_steps[st].creation && (ratio - half < 0.9 || ratio + half > 1.1);
	}
	if (bad)
		FAIL("%d steps cost something else after a lean fill, or the interval is too wide",
		     bad);
}

const struct wlt_test tests_state[] = { { "equal_state", equal_state, 180, false },
					{ "equal_state_shared", equal_state_shared, 180, false },
					{ "equal_state_used", equal_state_used, 180, false },
					{ "equal_cost", equal_cost, 900, true },
					{ 0 } };
