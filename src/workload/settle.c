/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting for quiet: what a fill left for the kernel and for others to do. */
#include "workload/internal.h"
#include "workload/procfs.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define SAMPLE_MS 100
#define WINDOW 10      /* samples: 1 s */
#define QUIET_SHARE 50 /* one in: 2 % of a CPU */

static uint64_t own_cpu_ns(void)
{
	static const int who[] = { RUSAGE_SELF, RUSAGE_CHILDREN };
	uint64_t ns = 0;

	for (size_t i = 0; i < ARRAY_SIZE(who); i++) {
		struct rusage ru;

		if (getrusage(who[i], &ru))
			continue;
		ns += (uint64_t)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000000u +
		      (uint64_t)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * 1000u;
	}
	return ns;
}

/* CPU time of everything but ourselves since boot, ns; 0: unreadable. */
static uint64_t outside_ns(void)
{
	struct cpu_ticks t;
	uint64_t busy, own = own_cpu_ns();
	long hz = sysconf(_SC_CLK_TCK);

	if (hz <= 0 || read_cpu_ticks(&t))
		return 0;
	busy = t.busy * (1000000000u / (uint64_t)hz);
	return busy > own ? busy - own : 0;
}

int workload__settle(struct workload *w, struct frt_level *l)
{
	uint64_t used[WINDOW + 1], at[WINDOW + 1], t0 = now_ns();
	uint64_t max = (uint64_t)w->o.settle_max_s * 1000000000u;
	int rc = 0;

	wl__clear(w);
	used[0] = outside_ns();
	at[0] = t0;
	for (size_t n = 1; !rc && now_ns() - t0 < max; n++) {
		size_t now = n % (WINDOW + 1), then = (n + 1) % (WINDOW + 1);

		rc = wl__sleep(w, SAMPLE_MS);
		used[now] = outside_ns();
		at[now] = now_ns();
		if (n >= WINDOW && used[now] < used[then] + (at[now] - at[then]) / QUIET_SHARE)
			break;
		wl__progress(w, "settling", (at[now] - t0) / 1000000u, max / 1000000u);
	}
	l->settle_ns = now_ns() - t0;
	return rc ? wl__fail(w, rc, "interrupted") : 0;
}
