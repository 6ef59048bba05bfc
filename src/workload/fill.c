/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Filling up to a level: on as many threads as a short trial finds fastest. The
 * locks of the kernel decide that, and they differ: two threads beat one on two
 * CPUs, eight were slower than one. The trial's routers are part of the fill.
 */
#include "workload/internal.h"
#include "workload/procfs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRIAL_WARMUP 8
#define TRIAL_ROUTERS 32 /* for each number of threads, twice */
#define TRIAL_GAIN 10	 /* more threads must be faster by one in that many */
#define TRIAL_SIZES 10	 /* numbers of threads tried, at most */
#define TRIAL_WORTH 600	 /* a fill shorter than this is not worth a trial */

/* One fill. Lives in the arena. */
struct fill {
	atomic_uint ticket, made;
	unsigned until; /* tickets of this round */
	unsigned total;
	atomic_bool failed;
};

static int fill_main(struct workload *w, unsigned i, void *arg)
{
	static const struct wrouter none;
	struct fill *f = arg;
	struct frt_stepinst inst[WL_STEPS_MAX];
	struct maker m;
	unsigned n;
	int rc;

	rc = maker__open(&m, w, i, w->o.fill);
	while (!rc && !f->failed && atomic_fetch_add(&f->ticket, 1) < f->until) {
		struct wrouter wr = none;

		if (wl__stopping(w)) {
			rc = wl__fail(w, -EINTR, "interrupted");
			break;
		}
		rc = maker__router(&m, &wr, NULL, inst, &n, false);
		if (memcmp(wr.uuid, none.uuid, sizeof(wr.uuid))) {
			pthread_mutex_lock(&w->lock);
			w->filled.v[w->filled.n++] = wr; /* room was made before */
			pthread_mutex_unlock(&w->lock);
		}
		if (!rc)
			wl__progress(w, "filling", atomic_fetch_add(&f->made, 1) + 1, f->total);
	}
	if (rc)
		f->failed = true;
	maker__close(&m);
	return rc;
}

static int fill_round(struct workload *w, struct fill *f, unsigned threads, unsigned routers)
{
	unsigned at = f->until;

	if (routers > f->total - at)
		routers = f->total - at;
	atomic_store(&f->ticket, at); /* threads that found none took tickets too */
	f->until = at + routers;
	return routers ? wl__threads(w, threads, fill_main, f) : 0;
}

static unsigned next_threads(unsigned n)
{
	return n < 4 ? n + 1 : n + n / 2; /* 1 2 3 4 6 9 13 … */
}

/* Each number of threads twice, on the way up and on the way down, so that what
 * grows with the namespaces, and a passing disturbance, hit all alike. */
static int trial(struct workload *w, struct fill *f)
{
	long ncpu = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned max = ncpu < 1 ? 2 : (unsigned)ncpu * 2, threads[TRIAL_SIZES], n = 0, best = 0;
	uint64_t took[TRIAL_SIZES] = { 0 };
	int rc;

	for (unsigned t = 1; t <= max && n < TRIAL_SIZES; t = next_threads(t))
		threads[n++] = t;
	rc = fill_round(w, f, 1, TRIAL_WARMUP);
	for (unsigned i = 0; !rc && i < n; i++) {
		uint64_t t = now_ns();

		rc = fill_round(w, f, threads[i], TRIAL_ROUTERS);
		took[i] = now_ns() - t;
		if (i > 1 && took[i] > took[i - 1] && took[i - 1] > took[i - 2])
			n = i + 1; /* it only gets worse */
	}
	for (unsigned i = n; !rc && i-- > 0;) {
		uint64_t t = now_ns();

		rc = fill_round(w, f, threads[i], TRIAL_ROUTERS);
		took[i] += now_ns() - t;
	}
	for (unsigned i = 1; i < n; i++)
		if (took[i] < took[best] - took[best] / TRIAL_GAIN)
			best = i;
	if (!rc)
		w->fill_threads = threads[best];
	return rc;
}

static void memory(int64_t *available, int64_t *slab)
{
	char *text = read_file("/proc/meminfo", NULL);

	*available = text ? parse_meminfo(text, "MemAvailable") : -1;
	*slab = text ? parse_meminfo(text, "Slab") : -1;
	free(text);
}

static int make_room(struct workload *w, size_t n)
{
	struct wrouter *v;

	if (n <= w->filled.cap)
		return 0;
	v = reallocarray(w->filled.v, n, sizeof(*v));
	if (!v)
		return wl__fail(w, -ENOMEM, "out of memory for the names of %zu routers", n);
	w->filled.v = v;
	w->filled.cap = n;
	return 0;
}

int workload__fill(struct workload *w, uint32_t n, struct frt_level *l)
{
	int64_t mem0, mem1, slab0, slab1;
	size_t before = w->filled.n;
	struct fill *f;
	uint64_t t0;
	int rc = 0;

	wl__clear(w);
	l->filled = 0;
	if (wl__stopping(w))
		return wl__fail(w, -EINTR, "interrupted");
	if (n <= before)
		return 0;
	rc = make_room(w, n);
	if (rc)
		return rc;
	f = arena__alloc(w->arena, sizeof(*f));
	if (!f)
		return wl__fail(w, -ENOMEM, "out of memory");
	rc = rundir__prepare(w);
	if (rc)
		return rc;
	f->total = n - (uint32_t)before;
	memory(&mem0, &slab0);
	t0 = now_ns();
	if (!w->fill_threads && f->total >= TRIAL_WORTH)
		rc = trial(w, f);
	l->fill_threads = w->fill_threads ? w->fill_threads : 1;
	if (!rc)
		rc = fill_round(w, f, l->fill_threads, f->total);
	l->fill_ns = now_ns() - t0;
	l->filled = (uint32_t)(w->filled.n - before);
	memory(&mem1, &slab1);
	if (mem0 >= 0 && mem1 >= 0)
		l->fill_mem_kb = mem0 - mem1;
	if (slab0 >= 0 && slab1 >= 0)
		l->fill_slab_kb = slab1 - slab0;
	if (!rc && l->filled >= TRIAL_WORTH && l->fill_mem_kb > 0)
		w->bytes_per_router = (uint64_t)l->fill_mem_kb * 1024 / l->filled;
	return rc;
}
