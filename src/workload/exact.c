/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The essential system calls of each command, in its order, without the
 * command: mount namespace copies included. Each step has a thread of its own,
 * as the command has a process, and leaves by setns to the saved namespaces,
 * where the command's exit would drop them.
 */
#include "workload/inproc.h"
#include "workload/internal.h"
#include "workload/netlink.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define LOOPBACK_IFINDEX 1
#define THREAD_NS "/proc/thread-self/ns/net" /* /proc/self is the leader's */

struct exact_thread {
	struct step_job *j;
	int rc;
	struct rusage ru;
};

static void run_path(char *dst, size_t size, const struct router_name *n)
{
	snprintf(dst, size, "%s/%s", WL_RUN_DIR, n->ns);
}

int exact__add(struct step_job *j)
{
	char path[sizeof(WL_RUN_DIR) + 48];
	int fd, saved, rc;

	rc = rundir__share(&j->call);
	if (rc) {
		j->object = WL_RUN_DIR;
		return rc;
	}
	run_path(path, sizeof(path), j->name);
	fd = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
	if (fd < 0)
		return inproc__failed(j, "open", j->name->ns);
	close(fd);
	saved = open(THREAD_NS, O_RDONLY | O_CLOEXEC);
	if (saved < 0)
		return inproc__failed(j, "open", THREAD_NS);
	if (unshare(CLONE_NEWNET))
		rc = inproc__failed(j, "unshare(CLONE_NEWNET)", NULL);
	else if (mount(THREAD_NS, path, "none", MS_BIND, NULL))
		rc = inproc__failed(j, "mount", j->name->ns);
	else if (setns(saved, CLONE_NEWNET))
		rc = inproc__failed(j, "setns", "the first network namespace");
	close(saved);
	return rc;
}

/* What `ip netns exec` does before it executes the command. */
static int enter(struct step_job *j)
{
	char path[sizeof(WL_RUN_DIR) + 48], etc[64];
	unsigned long flags = 0;
	struct statvfs fs;
	int fd;

	run_path(path, sizeof(path), j->name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return inproc__failed(j, "open", j->name->ns);
	if (setns(fd, CLONE_NEWNET)) {
		int rc = inproc__failed(j, "setns", j->name->ns);

		close(fd);
		return rc;
	}
	close(fd);
	if (unshare(CLONE_NEWNS)) /* unshares the thread's root and directory too */
		return inproc__failed(j, "unshare(CLONE_NEWNS)", NULL);
	if (mount("", "/", "none", MS_SLAVE | MS_REC, NULL))
		return inproc__failed(j, "mount", "/");
	/* a sysfs that cannot be unmounted is covered, as read-only as it is */
	if (umount2("/sys", MNT_DETACH) && !statvfs("/sys", &fs) && (fs.f_flag & ST_RDONLY))
		flags = MS_RDONLY;
	if (mount(j->name->ns, "/sys", "sysfs", flags, NULL))
		return inproc__failed(j, "mount", "/sys");
	snprintf(etc, sizeof(etc), "/etc/netns/%s", j->name->ns);
	fd = open(etc, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_DIRECTORY);
	if (fd >= 0)
		close(fd);
	return 0;
}

static int leave(struct step_job *j, int rc)
{
	if (setns(j->m->w->firstns, CLONE_NEWNET) && !rc)
		rc = inproc__failed(j, "setns", "the first network namespace");
	if (setns(j->m->w->firstmnt, CLONE_NEWNS) && !rc)
		rc = inproc__failed(j, "setns", "the first mount namespace");
	return rc;
}

int exact__exec(struct step_job *j)
{
	int rc = enter(j);

	if (!rc)
		rc = lean__exec(j);
	return leave(j, rc);
}

int exact__sysctl(struct step_job *j)
{
	static const char file[] = "/proc/sys/net/ipv4/ip_forward";
	int fd, rc = enter(j);
	struct stat st;

	if (rc)
		return leave(j, rc);
	fd = stat(file, &st) ? -1 : open(file, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return leave(j, inproc__failed(j, "open", file));
	if (write(fd, "1\n", 2) != 2)
		rc = inproc__failed(j, "write", file);
	close(fd);
	return leave(j, rc);
}

int exact__veth(struct step_job *j)
{
	char path[sizeof(WL_RUN_DIR) + 48];
	struct netlink *nl;
	int fd, rc;

	rc = netlink__open(&nl);
	if (rc) {
		errno = -rc;
		return inproc__failed(j, "netlink socket", NULL);
	}
	run_path(path, sizeof(path), j->name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		rc = inproc__failed(j, "open", j->name->ns);
		netlink__close(nl);
		return rc;
	}
	rc = netlink__add_veth(nl, j->name->link[j->nth], j->name->peer[j->nth], fd);
	if (rc) {
		snprintf(j->detail, sizeof(j->detail), "%s", netlink__text(nl));
		errno = -rc;
		rc = inproc__failed(j, "RTM_NEWLINK veth", j->name->link[j->nth]);
	}
	close(fd);
	netlink__close(nl);
	return rc;
}

int exact__delete(struct step_job *j)
{
	return lean__delete(j);
}

static void *exact_main(void *arg)
{
	struct exact_thread *t = arg;

	atomic_store(&t->j->m->slot.pid, (int)gettid());
	t->rc = wl_bodies[t->j->step].exact(t->j);
	getrusage(RUSAGE_THREAD, &t->ru);
	return NULL;
}

static int exact__step(struct step_job *j)
{
	struct exact_thread t = { .j = j };
	struct slot *s = &j->m->slot;
	struct frt_stepinst *i = j->inst;
	pthread_t id;
	int rc;

	atomic_store(&s->process, false);
	atomic_store(&s->pid, 0);
	if (j->m->cell)
		*j->m->cell = i->instance;
	i->t0 = now_ns();
	atomic_store_explicit(&s->since, i->t0, memory_order_release);
	rc = -pthread_create(&id, NULL, exact_main, &t);
	if (!rc)
		pthread_join(id, NULL);
	i->t1 = now_ns();
	atomic_store_explicit(&s->since, 0, memory_order_release);
	if (rc) {
		j->call = "pthread_create";
		return inproc__report(j, rc);
	}
	i->status = t.rc;
	i->utime_ns = (uint64_t)t.ru.ru_utime.tv_sec * 1000000000u +
		      (uint64_t)t.ru.ru_utime.tv_usec * 1000u;
	i->stime_ns = (uint64_t)t.ru.ru_stime.tv_sec * 1000000000u +
		      (uint64_t)t.ru.ru_stime.tv_usec * 1000u;
	i->minflt = (uint64_t)t.ru.ru_minflt;
	i->nvcsw = (uint64_t)t.ru.ru_nvcsw;
	i->nivcsw = (uint64_t)t.ru.ru_nivcsw;
	if (atomic_load(&s->timed_out))
		return -ETIMEDOUT;
	return t.rc ? inproc__report(j, t.rc) : 0;
}

const struct mode mode_exact = {
	.name = "exact",
	.note = "exact mode: the commands' essential system calls in a thread each, so start and "
		"execve, the loading of libraries and the tool's own system calls have no counterpart, "
		"and exit is the setns back",
	.step = exact__step,
};
