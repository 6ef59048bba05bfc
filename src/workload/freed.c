/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waiting until the kernel has freed namespaces whose names are gone.
 * cleanup_net takes all that are dead at its start as one batch on an ordered
 * workqueue. Their links disappear in the middle of it. Two sentinels tell its
 * end from outside: namespaces of our own with a link in the first one, made
 * and dropped one after the other. The second dies in a later batch than what
 * died before the first; when its link is gone, that earlier batch has ended.
 */
#include "workload/internal.h"
#include "workload/netlink.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STUCK_NS 30000000000ull /* without progress: somebody holds them */
#define ODD_NS 1000000000ull	/* without progress: is it one of ours at all? */

/* Not of the kind we make: somebody took the name, and it will stay. */
static bool is_foreign(const char *ifname)
{
	struct netlink *nl;
	struct netlink_link l;
	bool foreign;

	if (netlink__open(&nl))
		return false;
	foreign = !netlink__get(nl, ifname, &l) && strcmp(l.kind, "veth");
	netlink__close(nl);
	return foreign;
}

/* target: how many namespaces should be left; NULL: it is no time to count. */
static int wait_link(struct workload *w, const char *ifname, const uint64_t *target, uint64_t *last)
{
	unsigned ms = 1;

	while (wl__link_exists(w, ifname, NULL)) {
		if (now_ns() - *last > STUCK_NS)
			return -ETIMEDOUT;
		if (now_ns() - *last > ODD_NS && is_foreign(ifname))
			break;
		if (target)
			backlog__look(w, *target);
		if (wl__sleep(w, ms))
			return -EINTR;
		if (ms < 20)
			ms *= 2;
	}
	*last = now_ns();
	return 0;
}

/* 0 also when none can be made (denied, a limit) or it outlives all patience (the
 * queue is the whole machine's, and somebody else's thousands may be before us):
 * the links are gone, no more can be told then. */
static int sentinel_main(struct workload *w, unsigned i, void *arg)
{
	struct router_name n;
	struct netlink *nl;
	uint8_t uuid[16];
	uint64_t last;
	int fd = -1;
	bool made;

	(void)i;
	(void)arg;
	if (uuid__new(uuid) || netlink__open(&nl))
		return 0;
	name__from_uuid(&n, uuid);
	n.link[0][0] = n.peer[0][0] = 'f';
	made = !unshare(CLONE_NEWNET);
	if (made)
		fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	made = fd >= 0 && !netlink__add_veth(nl, n.link[0], n.peer[0], fd);
	if (fd >= 0)
		close(fd);
	netlink__close(nl);
	/* drops it; if that fails, the end of this thread does */
	if (setns(w->firstns, CLONE_NEWNET) || !made)
		return 0;
	last = now_ns();
	return wait_link(w, n.link[0], NULL, &last) == -EINTR ? -EINTR : 0;
}

/* Links that outlive their names: a process is still in the namespace, or held
 * one end. Removes those that are ours by name and kind. */
int freed__links(struct workload *w, const struct wrouter *gone, size_t n)
{
	struct netlink *nl;
	int rc;

	rc = netlink__open(&nl);
	if (rc)
		return wl__fail(w, rc, "netlink socket: %s", strerror(-rc));
	for (size_t i = 0; i < n; i++) {
		struct router_name name;

		name__from_uuid(&name, gone[i].uuid);
		for (int k = 0; k < 2; k++) {
			struct netlink_link l;
			int e = netlink__get(nl, name.link[k], &l);

			if (e == -ENODEV || (!e && strcmp(l.kind, "veth")))
				continue;
			if (!e)
				e = netlink__del(nl, l.ifindex);
			if (e && e != -ENODEV && !rc)
				rc = wl__fail(w, e, "link %s: cannot be removed: %s", name.link[k],
					      strerror(-e));
		}
	}
	netlink__close(nl);
	return rc;
}

int freed__wait(struct workload *w, const struct wrouter *gone, size_t n, uint64_t target,
		bool others)
{
	uint64_t last = now_ns(), count;
	int rc = 0;

	for (size_t i = 0; !rc && i < n; i++) {
		struct router_name name;

		name__from_uuid(&name, gone[i].uuid);
		for (int k = 0; !rc && k < 2; k++)
			rc = wait_link(w, name.link[k], &target, &last);
		wl__progress(w, "freeing", i + 1, n);
	}
	if (rc == -ETIMEDOUT)
		rc = freed__links(w, gone, n);
	if (rc == -EINTR)
		return wl__fail(w, rc, "interrupted");
	if (rc || !n)
		return rc;
	if (!others && w->o.hooks.count && !w->o.hooks.count(w->o.hooks.ctx, &count) &&
	    count <= target)
		return 0;
	for (int k = 0; !rc && k < 2; k++)
		rc = wl__threads_or_self(w, 1, sentinel_main, NULL);
	if (rc == -EINTR)
		return wl__fail(w, rc, "interrupted");
	return rc ? wl__fail(w, rc, "waiting for the kernel to free namespaces: %s", strerror(-rc))
		  : 0;
}
