/* SPDX-License-Identifier: BSD-2-Clause */
/* Removing names: what `ip netns del` does, from a few threads. */
#include "workload/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define REMOVE_THREADS 4 /* they mostly wait for the same RCU grace periods */

struct removal {
	struct wrouters *list;
	const char *what;
	atomic_size_t ticket, done;
};

int remove__name(const char *name)
{
	char path[sizeof(WL_RUN_DIR) + LEDGER_NAME_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", WL_RUN_DIR, name);
	if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW)) {
		if (errno != EINVAL && errno != ENOENT)
			return -errno;
		/* not mounted: ours is only the empty file that a half-made one leaves */
		if (lstat(path, &st))
			return -errno;
		if (!S_ISREG(st.st_mode) || st.st_size)
			return -ENOENT;
	}
	return unlink(path) ? -errno : 0;
}

static int remove_main(struct workload *w, unsigned i, void *arg)
{
	struct removal *r = arg;
	int first = 0;
	size_t at;

	(void)i;
	while ((at = atomic_fetch_add(&r->ticket, 1)) < r->list->n) {
		struct router_name n;
		int rc;

		name__from_uuid(&n, r->list->v[at].uuid);
		rc = remove__name(n.ns);
		if (!rc || rc == -ENOENT)
			ledger__gone(&w->ledger, n.ns);
		else if (!first) /* the others are removed all the same */
			first = wl__fail(w, rc, "%s/%s: cannot be removed: %s", WL_RUN_DIR, n.ns,
					 strerror(-rc));
		wl__progress(w, r->what, atomic_fetch_add(&r->done, 1) + 1, r->list->n);
	}
	return first;
}

int remove__names(struct workload *w, struct wrouters *list, const char *what)
{
	struct removal *r;
	unsigned threads = list->n < 64 ? 1 : REMOVE_THREADS;

	if (!list->n)
		return 0;
	r = arena__alloc(w->arena, sizeof(*r));
	if (!r)
		return wl__fail(w, -ENOMEM, "out of memory");
	r->list = list;
	r->what = what;
	return wl__threads_or_self(w, threads, remove_main, r);
}
