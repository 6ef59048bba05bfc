/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shortest way to the state the script leaves: no process, no copy of the
 * mount table, one netlink socket kept in the first namespace (a socket stays
 * where it was opened) and a short-lived one for the loopback device. The
 * phases are timed in the creator itself.
 */
#include "workload/inproc.h"
#include "workload/internal.h"
#include "workload/netlink.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#define LOOPBACK_IFINDEX 1 /* the first device of every namespace */

struct lean {
	char path[sizeof(WL_RUN_DIR) + 48];
	int nsfd; /* of the router in work; -1 */
};

static int lean__open(struct maker *m)
{
	struct lean *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return wl__fail(m->w, -ENOMEM, "out of memory");
	p->nsfd = -1;
	m->priv = p;
	rc = netlink__open(&m->nl);
	if (rc) {
		char hint[256];

		wl__fail(m->w, rc, "netlink socket: %s%s", strerror(-rc),
			 limit__hint(hint, sizeof(hint), "netlink socket", rc));
	}
	return rc;
}

static void lean__close(struct maker *m)
{
	struct lean *p = m->priv;

	netlink__close(m->nl);
	if (p && p->nsfd >= 0)
		close(p->nsfd);
	free(p);
}

int lean__add(struct step_job *j)
{
	struct lean *p = j->m->priv;
	int fd;

	snprintf(p->path, sizeof(p->path), "%s/%s", WL_RUN_DIR, j->name->ns);
	fd = open(p->path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
	if (fd < 0)
		return inproc__failed(j, "open", p->path);
	close(fd);
	if (unshare(CLONE_NEWNET))
		return inproc__failed(j, "unshare(CLONE_NEWNET)", NULL);
	j->m->left = true;
	/* in a thread, /proc/self is the leader's */
	if (mount("/proc/thread-self/ns/net", p->path, "none", MS_BIND, NULL))
		return inproc__failed(j, "mount", p->path);
	return 0;
}

int lean__exec(struct step_job *j)
{
	struct netlink *nl;
	int rc;

	rc = netlink__open(&nl);
	if (rc) {
		errno = -rc;
		return inproc__failed(j, "netlink socket", NULL);
	}
	rc = netlink__set_up(nl, LOOPBACK_IFINDEX);
	if (rc) {
		snprintf(j->detail, sizeof(j->detail), "%s", netlink__text(nl));
		errno = -rc;
		rc = inproc__failed(j, "RTM_NEWLINK up", "lo");
	}
	netlink__close(nl);
	return rc;
}

int lean__sysctl(struct step_job *j)
{
	/* looked up in the namespace of the calling thread */
	static const char file[] = "/proc/sys/net/ipv4/ip_forward";
	int fd = open(file, O_WRONLY | O_TRUNC | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return inproc__failed(j, "open", file);
	n = write(fd, "1\n", 2);
	if (n != 2) {
		int rc = inproc__failed(j, "write", file);

		close(fd);
		return rc;
	}
	close(fd);
	/* back, so that the next namespace is born from the first as the script's are */
	if (setns(j->m->w->firstns, CLONE_NEWNET))
		return inproc__failed(j, "setns", "the first network namespace");
	j->m->left = false;
	return 0;
}

int lean__veth(struct step_job *j)
{
	struct lean *p = j->m->priv;
	int rc;

	if (!j->nth) {
		if (p->nsfd >= 0)
			close(p->nsfd);
		p->nsfd = open(p->path, O_RDONLY | O_CLOEXEC);
		if (p->nsfd < 0)
			return inproc__failed(j, "open", p->path);
	}
	rc = netlink__add_veth(j->m->nl, j->name->link[j->nth], j->name->peer[j->nth], p->nsfd);
	if (rc) {
		snprintf(j->detail, sizeof(j->detail), "%s", netlink__text(j->m->nl));
		errno = -rc;
		return inproc__failed(j, "RTM_NEWLINK veth", j->name->link[j->nth]);
	}
	if (j->nth) {
		close(p->nsfd);
		p->nsfd = -1;
	}
	return 0;
}

int lean__delete(struct step_job *j)
{
	int rc = remove__name(j->name->ns);

	if (!rc)
		return 0;
	errno = -rc;
	return inproc__failed(j, "umount2 or unlink", NULL);
}

static uint64_t tv_ns(struct timeval a, struct timeval b)
{
	return (uint64_t)((b.tv_sec - a.tv_sec) * 1000000000ll + (b.tv_usec - a.tv_usec) * 1000ll);
}

static int lean__step(struct step_job *j)
{
	struct slot *s = &j->m->slot;
	struct frt_stepinst *i = j->inst;
	struct rusage a, b;
	int rc;

	getrusage(RUSAGE_THREAD, &a);
	atomic_store(&s->process, false);
	atomic_store(&s->pid, (int)gettid());
	if (j->m->cell)
		*j->m->cell = i->instance;
	i->t0 = now_ns();
	atomic_store_explicit(&s->since, i->t0, memory_order_release);
	rc = wl_bodies[j->step].lean(j);
	i->t1 = now_ns();
	atomic_store_explicit(&s->since, 0, memory_order_release);
	getrusage(RUSAGE_THREAD, &b);
	i->status = rc;
	i->utime_ns = tv_ns(a.ru_utime, b.ru_utime);
	i->stime_ns = tv_ns(a.ru_stime, b.ru_stime);
	i->minflt = (uint64_t)(b.ru_minflt - a.ru_minflt);
	i->nvcsw = (uint64_t)(b.ru_nvcsw - a.ru_nvcsw);
	i->nivcsw = (uint64_t)(b.ru_nivcsw - a.ru_nivcsw);
	if (atomic_load(&s->timed_out))
		return -ETIMEDOUT;
	return rc ? inproc__report(j, rc) : 0;
}

const struct mode mode_lean = {
	.name = "lean",
	.note = "lean mode: no process and no copy of the mount table, so start, execve, exit, "
		"unshare(NEWNS) and the sysfs mount have no counterpart; the way back to the first "
		"namespace is part of sysctl",
	.open = lean__open,
	.step = lean__step,
	.close = lean__close,
};
