/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Filling up to a level: on as many threads as a short trial finds fastest. The
 * locks of the kernel decide that, and they differ: two threads beat one on two
 * CPUs, eight were slower than one, and on a machine that is busy otherwise one
 * can be three times faster than two. The fill goes on in chunks and remembers
 * what a router last cost on each number of threads; as the cost grows with the
 * namespaces, the others are tried again now and then, so that a trial that was
 * disturbed does not decide the whole fill.
 */
#include "workload/internal.h"
#include "workload/procfs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRIAL_WARMUP 8
#define TRIAL_ROUTERS 32 /* for each number of threads, and when one is tried again */
#define TRIAL_WORTH 500	 /* a fill shorter than this is not worth a trial */
#define CHUNK 160
#define MEASURED_MIN 200 /* routers that tell what one takes of memory */
#define HANDICAP 20	 /* each further thread must gain one in that many */

/* One fill. Lives in the arena. */
struct fill {
	atomic_uint ticket, made;
	unsigned until; /* tickets of this round */
	unsigned total;
	unsigned by_size[WL_FILL_SIZES]; /* routers made on each number of threads */
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

	rc = maker__open(&m, w, i, w->o.fill, false);
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

/* Numbers of threads that may be tried, into v; how many. */
static unsigned sizes(unsigned *v)
{
	long ncpu = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned max = ncpu < 1 ? 2 : (unsigned)ncpu * 2, n = 0;

	for (unsigned t = 1; t <= max && n < WL_FILL_SIZES; t = t < 4 ? t + 1 : t + t / 2)
		v[n++] = t; /* 1 2 3 4 6 9 13 … */
	return n;
}

static int chunk(struct workload *w, struct fill *f, unsigned size, unsigned threads,
		 unsigned routers)
{
	unsigned before = f->until;
	uint64_t t = now_ns();
	int rc;

	rc = fill_round(w, f, threads, routers);
	if (f->until > before) {
		w->fill_cost[size] = (now_ns() - t) / (f->until - before);
		f->by_size[size] += f->until - before;
	}
	return rc;
}

/* Each number of threads once, until it gets worse twice in a row or half as bad
 * again as the best. */
static int trial(struct workload *w, struct fill *f, const unsigned *v, unsigned n)
{
	const uint64_t *c = w->fill_cost;
	uint64_t best = UINT64_MAX;
	int rc;

	rc = fill_round(w, f, 1, TRIAL_WARMUP);
	for (unsigned i = 0; !rc && i < n; i++) {
		rc = chunk(w, f, i, v[i], TRIAL_ROUTERS);
		if (i > 1 && c[i] > c[i - 1] && c[i - 1] > c[i - 2])
			break;
		best = c[i] < best ? c[i] : best;
		if (c[i] > best + best / 2)
			break;
	}
	return rc;
}

static unsigned cheapest(const struct workload *w, unsigned n)
{
	unsigned best = 0;
	double least = 0;

	for (unsigned i = 0; i < n; i++) {
		double cost = (double)w->fill_cost[i] * (1.0 + (double)i / HANDICAP);

		if (cost > 0 && (least <= 0 || cost < least)) {
			least = cost;
			best = i;
		}
	}
	return best;
}

static int fill_all(struct workload *w, struct fill *f, unsigned *threads)
{
	unsigned v[WL_FILL_SIZES], n = sizes(v), size, last, most = 0;
	int rc = 0;

	if (!w->fill_cost[0] && f->total >= TRIAL_WORTH)
		rc = trial(w, f, v, n);
	last = cheapest(w, n);
	while (!rc && f->until < f->total) {
		size = cheapest(w, n);
		/* one that is only tried again gets a short chunk */
		rc = chunk(w, f, size, v[size], size == last ? CHUNK : TRIAL_ROUTERS);
		last = size;
	}
	for (unsigned i = 0; i < n; i++)
		if (f->by_size[i] > f->by_size[most])
			most = i;
	*threads = v[most];
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
	rc = fill_all(w, f, &l->fill_threads);
	l->fill_ns = now_ns() - t0;
	l->filled = (uint32_t)(w->filled.n - before);
	memory(&mem1, &slab1);
	if (mem0 >= 0 && mem1 >= 0)
		l->fill_mem_kb = mem0 - mem1;
	if (slab0 >= 0 && slab1 >= 0)
		l->fill_slab_kb = slab1 - slab0;
	if (!rc && l->filled >= MEASURED_MIN && l->fill_mem_kb > 0)
		w->bytes_per_router = (uint64_t)l->fill_mem_kb * 1024 / l->filled;
	return rc;
}
