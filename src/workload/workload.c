/* SPDX-License-Identifier: BSD-2-Clause */
/* A run: opened, stopped, removed, closed. */
#include "workload/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRESS_NS 100000000u /* not more often */

void wl__progress(struct workload *w, const char *what, uint64_t done, uint64_t total)
{
	const struct workload_hooks *h = &w->o.hooks;
	uint64_t now;

	if (!h->progress)
		return;
	now = now_ns();
	if (done < total && now - atomic_load(&w->progress_at) < PROGRESS_NS)
		return;
	atomic_store(&w->progress_at, now);
	pthread_mutex_lock(&w->hooks);
	h->progress(h->ctx, what, done, total);
	pthread_mutex_unlock(&w->hooks);
}

int wl__sleep(struct workload *w, unsigned ms)
{
	for (unsigned done = 0; done < ms; done += 50) {
		if (wl__stopping(w))
			return -EINTR;
		poll(NULL, 0, (int)(ms - done < 50 ? ms - done : 50));
	}
	return wl__stopping(w) ? -EINTR : 0;
}

/*
 * By name through a hash, without the RTNL. The ioctls on a name that is not there have the
 * kernel look for a module of that name (dev_load, net/core/dev_ioctl.c), up to two modprobes
 * each; binding a socket to it does not.
 */
bool wl__link_exists(const struct workload *w, const char *ifname, int *ifindex)
{
	struct ifreq ifr = { 0 };
	socklen_t len = (socklen_t)strnlen(ifname, IFNAMSIZ - 1);

	if (!setsockopt(w->inet, SOL_SOCKET, SO_BINDTODEVICE, ifname, len))
		setsockopt(w->inet, SOL_SOCKET, SO_BINDTODEVICE, "", 0);
	else if (errno == ENODEV)
		return false;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", ifname);
	if (ioctl(w->inet, SIOCGIFINDEX, &ifr))
		return false;
	if (ifindex)
		*ifindex = ifr.ifr_ifindex;
	return true;
}

static int copy_options(struct workload *w, const struct workload_opts *o, char *err, size_t errlen)
{
	w->o = *o;
	atomic_store(&w->next_router, o->router_base);
	atomic_store(&w->next_instance, o->instance_base);
	w->o.ip = arena__strdup(w->arena, o->ip);
	w->o.sudo = arena__strdup(w->arena, o->sudo);
	w->o.create = arena__strdup(w->arena, o->create);
	w->o.destroy = arena__strdup(w->arena, o->destroy);
	if (!w->o.streams)
		w->o.streams = 1;
	if ((unsigned)o->mode >= FRT_WORKMODES || (unsigned)o->fill >= FRT_WORKMODES)
		return fail(err, errlen, -EINVAL, "no such mode");
	if (w->o.create)
		w->o.mode = FRT_WORK_FOREIGN;
	else if (w->o.mode == FRT_WORK_FOREIGN)
		return fail(err, errlen, -EINVAL, "a foreign loop needs --create CMD");
	/* `frtrace clean` must be able to read it back whole: half a command may do harm */
	if (o->destroy && (strchr(o->destroy, '\n') || strlen(o->destroy) >= LEDGER_TEXT_MAX))
		return fail(err, errlen, -EINVAL,
			    "--destroy: more than one line, or %d bytes or more, which the ledger "
			    "cannot hold; put it into a script",
			    LEDGER_TEXT_MAX);
	return 0;
}

static int open_namespaces(struct workload *w, uint64_t *first_ino, char *err, size_t errlen)
{
	struct stat st;

	w->firstns = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	w->firstmnt = open("/proc/thread-self/ns/mnt", O_RDONLY | O_CLOEXEC);
	w->inet = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (w->inet < 0 && errno == EAFNOSUPPORT)
		w->inet = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	w->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->firstns < 0 || w->firstmnt < 0)
		return fail(err, errlen, -errno,
			    "/proc/thread-self/ns: %s; is /proc mounted, and does the "
			    "kernel have network namespaces?",
			    strerror(errno));
	if (w->null < 0)
		return fail(err, errlen, -errno, "/dev/null: %s", strerror(errno));
	if (w->inet < 0 || w->wake < 0)
		return fail(err, errlen, -errno, "socket or eventfd: %s", strerror(errno));
	if (fstat(w->firstns, &st))
		return fail(err, errlen, -errno, "/proc/thread-self/ns/net: %s", strerror(errno));
	*first_ino = st.st_ino;
	return 0;
}

static int new_run_id(struct workload *w)
{
	uint8_t id[16];
	int rc = uuid__new(id);

	for (size_t i = 0; i < sizeof(id); i++)
		snprintf(w->run_id + 2 * i, 3, "%02x", id[i]);
	return rc;
}

static void release(struct workload *w)
{
	watch__end(w);
	if (w->firstns >= 0)
		close(w->firstns);
	if (w->firstmnt >= 0)
		close(w->firstmnt);
	if (w->inet >= 0)
		close(w->inet);
	if (w->null >= 0)
		close(w->null);
	if (w->wake >= 0)
		close(w->wake);
	free(w->filled.v);
	free(w->made.v);
	free(w->slots);
	arena__free(w->arena);
	pthread_mutex_destroy(&w->lock);
	pthread_mutex_destroy(&w->hooks);
	pthread_mutex_destroy(&w->slots_lock);
	pthread_cond_destroy(&w->cond);
	free(w);
}

int workload__open(const struct workload_opts *o, struct workload **out, char *err, size_t errlen)
{
	struct workload *w;
	uint64_t first = 0;
	int rc;

	*out = NULL;
	if (geteuid())
		return fail(err, errlen, -EPERM, "network namespaces need root: run it with sudo");
	w = calloc(1, sizeof(*w));
	if (!w)
		return fail(err, errlen, -ENOMEM, "out of memory");
	w->firstns = w->firstmnt = w->inet = w->null = w->wake = w->ledger.fd = -1;
	pthread_mutex_init(&w->lock, NULL);
	pthread_mutex_init(&w->hooks, NULL);
	pthread_mutex_init(&w->slots_lock, NULL);
	pthread_cond_init(&w->cond, NULL);
	w->arena = arena__new();
	if (!w->arena) {
		rc = fail(err, errlen, -ENOMEM, "out of memory");
		goto out;
	}
	rc = copy_options(w, o, err, errlen);
	if (!rc)
		rc = tools__find(w, err, errlen);
	if (!rc)
		rc = open_namespaces(w, &first, err, errlen);
	if (rc)
		goto out;
	rc = new_run_id(w);
	if (rc) {
		fail(err, errlen, rc, "getrandom: %s", strerror(-rc));
		goto out;
	}
	rc = watch__start(w);
	if (rc) {
		fail(err, errlen, rc, "cannot start a thread: %s", strerror(-rc));
		goto out;
	}
	rc = ledger__create(&w->ledger, w->run_id, first, err, errlen);
	if (rc)
		goto out;
	cgroup__enter(w);
	if (w->o.destroy)
		rc = ledger__write(&w->ledger, "destroy %s", w->o.destroy);
	if (rc) {
		fail(err, errlen, rc, "%s: %s", w->ledger.path, strerror(-rc));
		ledger__close(&w->ledger, true);
		cgroup__leave(w, false);
		rundir__undo(false); /* takes the state directory along */
		goto out;
	}
	*out = w;
	return 0;
out:
	release(w);
	return rc;
}

void workload__stop(struct workload *w)
{
	uint64_t one = 1;
	int saved = errno;

	atomic_store(&w->stop, true);
	if (write(w->wake, &one, sizeof(one)) < 0)
		errno = 0; /* the watchdog looks twice a second anyway */
	errno = saved;
}

const char *workload__run_id(const struct workload *w)
{
	return w->run_id;
}

uint64_t workload__count(struct workload *w)
{
	const struct workload_hooks *h = &w->o.hooks;
	uint64_t n = 0;

	if (h->count && !h->count(h->ctx, &n))
		return n;
	return existing__count(&n) ? 0 : n;
}

static int remove_list(struct workload *w, struct wrouters *list)
{
	int rc, wait;

	if (!list->n)
		return 0;
	rc = remove__names(w, list, "removing");
	wait = freed__wait(w, list->v, list->n, 0, false);
	if (!rc && !wait)
		list->n = 0;
	return rc ? rc : wait;
}

int workload__remove_all(struct workload *w)
{
	int rc, rc2;

	wl__clear(w);
	if (w->abandoned)
		return wl__fail(
			w, -EBUSY,
			"a thread is stuck in the kernel; end this, then run `frtrace clean`");
	/* asked to stop or not: leaving a clean system is what stopping means */
	w->removing = true;
	rc = foreign__destroy_all(w);
	w->made_next = 0;
	rc2 = remove_list(w, &w->made);
	rc = rc ? rc : rc2;
	rc2 = remove_list(w, &w->filled);
	w->removing = false;
	return rc ? rc : rc2;
}

int workload__close(struct workload *w)
{
	bool left;
	int rc = 0;

	if (!w)
		return 0;
	if (!w->o.keep)
		rc = workload__remove_all(w);
	left = w->filled.n || w->made.n;
	cgroup__leave(w, !left);
	ledger__close(&w->ledger, !left);
	if (!left)
		rundir__undo(false);
	if (!w->abandoned)
		release(w);
	return rc;
}
