/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frtrace clean: what runs that were killed have left, by their ledgers. A
 * ledger that is locked belongs to a run that lives; one of another boot names
 * nothing that exists.
 */
#include "workload/internal.h"
#include "workload/netlink.h"
#include "workload/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define NSFS_MAGIC 0x6e736673 /* linux/magic.h */
#define LOCK_WAIT_US 20000
#define LOCK_TRIES 250
#define LINK_WAIT_NS 10000000000ull  /* without one that goes: somebody holds them */
#define CLOCK_SLACK_NS 2000000000ull /* the wall clock may have been set back a little */

/* A name of a ledger and what is known of it. */
struct entry {
	char name[LEDGER_NAME_MAX];
	uint64_t want_ns, dev, ino;
	uint32_t id;
	int ifindex[2];
	bool have, gone, foreign;
};

struct dead_run {
	int fd;
	char file[300], path[400];
	char run[64], boot[64], cgroup[LEDGER_TEXT_MAX], destroy[LEDGER_TEXT_MAX];
	uint64_t first;
	struct entry *v;
	size_t n, cap;
};

struct clean {
	bool dry;
	void (*say)(void *ctx, const char *line);
	void *ctx;
	char boot[64];
	uint64_t first; /* network namespace we are in */
	int count, err;
};

static void __attribute__((format(printf, 3, 4)))
told(struct clean *c, bool counts, const char *fmt, ...)
{
	char line[800];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	c->count += counts;
	if (c->say)
		c->say(c->ctx, line);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

/* Lines of a name come in order: want, have, gone; merged here. */
static int take_line(struct dead_run *r, const struct ledger_line *l)
{
	struct entry *e = r->n ? &r->v[r->n - 1] : NULL;
	int rc;

	switch (l->kind) {
	case LEDGER_RUN:
		snprintf(r->run, sizeof(r->run), "%.63s", l->text);
		return 0;
	case LEDGER_BOOT:
		snprintf(r->boot, sizeof(r->boot), "%.63s", l->text);
		return 0;
	case LEDGER_FIRST:
		r->first = l->ino;
		return 0;
	case LEDGER_CGROUP:
		snprintf(r->cgroup, sizeof(r->cgroup), "%s", l->text);
		return 0;
	case LEDGER_DESTROY:
		snprintf(r->destroy, sizeof(r->destroy), "%s", l->text);
		return 0;
	case LEDGER_HEAD:
	case LEDGER_PID:
	case LEDGER_DIR:
		return 0;
	default:
		break;
	}
	rc = grow(&r->v, r->n, &r->cap, sizeof(*r->v));
	if (rc)
		return rc;
	e = &r->v[r->n++];
	memset(e, 0, sizeof(*e));
	snprintf(e->name, sizeof(e->name), "%s", l->name);
	e->want_ns = l->time_ns;
	e->dev = l->dev;
	e->ino = l->ino;
	e->id = l->id;
	memcpy(e->ifindex, l->ifindex, sizeof(e->ifindex));
	e->have = l->kind == LEDGER_HAVE;
	e->gone = l->kind == LEDGER_GONE || l->kind == LEDGER_DESTROYED;
	e->foreign = l->kind == LEDGER_CREATE || l->kind == LEDGER_DESTROYED;
	return 0;
}

static void merge(struct dead_run *r)
{
	size_t j = 0;

	qsort(r->v, r->n, sizeof(*r->v), by_name);
	for (size_t i = 0; i < r->n; i++) {
		struct entry *e = &r->v[i], *k = j ? &r->v[j - 1] : NULL;

		if (!k || strcmp(k->name, e->name)) {
			r->v[j++] = *e;
			continue;
		}
		if (e->want_ns)
			k->want_ns = e->want_ns;
		if (e->id)
			k->id = e->id;
		if (e->have) {
			k->have = true;
			k->dev = e->dev;
			k->ino = e->ino;
			memcpy(k->ifindex, e->ifindex, sizeof(k->ifindex));
		}
		k->gone |= e->gone;
		k->foreign |= e->foreign;
	}
	r->n = j;
}

static int read_ledger(struct dead_run *r)
{
	char *text = read_file(r->path, NULL), *save = NULL, *end;
	int rc = 0;

	if (!text)
		return -errno;
	/* a line without its end was cut short: it says nothing that its want does not */
	end = strrchr(text, '\n');
	*(end ? end : text) = '\0';
	for (char *l = strtok_r(text, "\n", &save); !rc && l; l = strtok_r(NULL, "\n", &save)) {
		struct ledger_line line;

		if (!ledger__parse(l, &line))
			rc = take_line(r, &line);
	}
	free(text);
	merge(r);
	return rc;
}

/* May what stands at the name be removed? */
static bool is_ours(const struct entry *e, const char *path, const char **why)
{
	struct statfs fs;
	struct stat st;

	if (stat(path, &st) || statfs(path, &fs)) {
		*why = NULL; /* nothing there */
		return false;
	}
	if (e->have && fs.f_type == NSFS_MAGIC) {
		*why = "another namespace stands at that name";
		return st.st_dev == e->dev && st.st_ino == e->ino;
	}
	if (fs.f_type != NSFS_MAGIC && (!S_ISREG(st.st_mode) || st.st_size)) {
		*why = "it is neither a namespace nor the empty file `ip` leaves";
		return false;
	}
	*why = "it is older than the ledger's line";
	return (uint64_t)st.st_ctim.tv_sec * 1000000000u + (uint64_t)st.st_ctim.tv_nsec +
		       CLOCK_SLACK_NS >=
	       e->want_ns;
}

static void remove_name(struct clean *c, struct dead_run *r, struct entry *e)
{
	char path[sizeof(WL_RUN_DIR) + LEDGER_NAME_MAX];
	struct router_name n;
	const char *why;
	int rc;

	if (!name__parse(&n, e->name))
		return; /* only names of our form were ever made */
	snprintf(path, sizeof(path), "%s/%s", WL_RUN_DIR, e->name);
	if (!is_ours(e, path, &why)) {
		if (why)
			told(c, false, "%s: left alone: %s", path, why);
		return;
	}
	rc = c->dry ? 0 : remove__name(e->name);
	if (rc) {
		told(c, false, "%s: cannot be removed: %s", path, strerror(-rc));
		c->err = rc;
		return;
	}
	told(c, true, "namespace %s%s", path, c->dry ? "" : " removed");
	if (!c->dry)
		dprintf(r->fd, "gone %s\n", e->name);
}

/* The links go with their namespace; the rest is removed by name, index and
 * the namespace of the peer. */
static void remove_links(struct clean *c, struct netlink *nl, const struct entry *e, bool ns_gone,
			 uint64_t *last)
{
	struct router_name n;

	if (!name__parse(&n, e->name))
		return;
	for (int k = 0; k < 2; k++) {
		struct netlink_link l;
		int rc;

		while (!(rc = netlink__get(nl, n.link[k], &l)) && !c->dry && ns_gone &&
		       now_ns() - *last < LINK_WAIT_NS)
			usleep(5000);
		if (rc)
			*last = now_ns();
		if (rc && rc != -ENODEV) {
			told(c, false, "link %s: cannot be looked up: %s", n.link[k],
			     strerror(-rc));
			c->err = rc;
		}
		if (rc || (c->dry && !ns_gone))
			continue;
		if (strcmp(l.kind, "veth") || (e->ifindex[k] && e->ifindex[k] != l.ifindex) ||
		    !l.peer_elsewhere) {
			told(c, false, "link %s: left alone: it is not the one that was made",
			     n.link[k]);
			continue;
		}
		rc = c->dry ? 0 : netlink__del(nl, l.ifindex);
		if (rc && rc != -ENODEV) {
			told(c, false, "link %s: cannot be removed: %s", n.link[k], strerror(-rc));
			c->err = rc;
			continue;
		}
		told(c, true, "link %s%s", n.link[k], c->dry ? "" : " removed");
	}
}

static bool name_stands(const char *name)
{
	char path[sizeof(WL_RUN_DIR) + LEDGER_NAME_MAX];

	snprintf(path, sizeof(path), "%s/%s", WL_RUN_DIR, name);
	return !access(path, F_OK);
}

/* --destroy of what --create had made. */
static void destroy_foreign(struct clean *c, struct dead_run *r, struct entry *e)
{
	char cmd[4096], shown[512];
	int status;

	if (!*r->destroy) {
		told(c, false, "%s: made by --create without --destroy: remove it by hand",
		     e->name);
		return;
	}
	if (template__expand(cmd, sizeof(cmd), r->destroy, e->id, e->name)) {
		told(c, false, "%s: its --destroy is longer than %zu bytes: remove it by hand",
		     e->name, sizeof(cmd));
		c->err = -E2BIG;
		return;
	}
	printable(shown, sizeof(shown), cmd);
	status = c->dry ? 0 : system(cmd);
	if (status)
		told(c, false, "`%s` ended with status %d", shown,
		     WIFEXITED(status) ? WEXITSTATUS(status) : status);
	else
		told(c, true, "`%s`%s", shown, c->dry ? "" : " done");
	if (status)
		c->err = -EIO;
	else if (!c->dry)
		dprintf(r->fd, "destroyed %s\n", e->name);
}

/* In the network namespace the run was in, which need not be ours. */
static int open_first(struct clean *c, struct dead_run *r, struct netlink **nl)
{
	int ns, rc;

	if (r->first == c->first)
		return netlink__open(nl);
	ns = netns__open(r->first);
	if (ns < 0)
		return ns;
	rc = netns__netlink(ns, nl);
	close(ns);
	return rc;
}

/* True: they were looked for, all of them. */
static bool clean_links(struct clean *c, struct dead_run *r)
{
	struct netlink *nl;
	uint64_t last;
	size_t ours = 0;
	int rc;

	for (size_t i = 0; i < r->n; i++)
		ours += !r->v[i].foreign;
	if (!ours)
		return false;
	rc = open_first(c, r, &nl);
	if (rc == -ESRCH)
		told(c, false,
		     "%s: made in network namespace %" PRIu64 ", which nobody found here is in: "
		     "its links cannot be looked for; run clean from there, or remove this file "
		     "once that namespace is gone",
		     r->path, r->first);
	else if (rc)
		told(c, false, "%s: no netlink in its network namespace: %s", r->path,
		     strerror(-rc));
	if (rc) {
		c->err = rc;
		return false;
	}
	last = now_ns();
	for (size_t i = 0; i < r->n; i++)
		if (!r->v[i].foreign)
			remove_links(c, nl, &r->v[i], !name_stands(r->v[i].name), &last);
	netlink__close(nl);
	return true;
}

static void clean_names(struct clean *c, struct dead_run *r)
{
	uint64_t t0 = now_ns(), t1;
	int before = c->count, names;

	for (size_t i = 0; i < r->n; i++) {
		if (r->v[i].gone)
			continue;
		if (r->v[i].foreign)
			destroy_foreign(c, r, &r->v[i]);
		else
			remove_name(c, r, &r->v[i]);
	}
	t1 = now_ns();
	names = c->count - before;
	if (names && !c->dry)
		told(c, false,
		     "%d names removed in %.3f s; waiting for the kernel to remove what they held",
		     names, (double)(t1 - t0) / 1e9);
	if (clean_links(c, r) && names && !c->dry)
		told(c, false, "their links were gone %.3f s later", (double)(now_ns() - t1) / 1e9);
}

static void clean_run(struct clean *c, struct dead_run *r)
{
	bool this_boot;
	int before = c->err;

	c->err = read_ledger(r);
	if (c->err) {
		told(c, false, "%s: %s", r->path, strerror(-c->err));
		return;
	}
	/* nothing of another boot is left but the file; one without a head is a run
	 * that was killed before it made anything */
	this_boot = *r->boot && !strcmp(r->boot, c->boot);
	if (this_boot) {
		if (*r->cgroup && !c->dry)
			cgroup__kill(r->cgroup);
		clean_names(c, r);
	}
	if (c->err)
		return; /* kept for another try */
	c->err = before;
	told(c, true, "ledger %s%s", r->path, c->dry ? "" : " removed");
	if (!c->dry)
		unlink(r->path);
}

/* A lock outlives a killed run while a child of it that has not come to its
 * execve yet still has the descriptor. Is the process that made it gone? */
static bool owner_gone(int fd)
{
	char buf[1024];
	ssize_t n = pread(fd, buf, sizeof(buf) - 1, 0);
	char *save = NULL;

	buf[n > 0 ? n : 0] = '\0';
	for (char *l = strtok_r(buf, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		struct ledger_line line;

		if (!ledger__parse(l, &line) && line.kind == LEDGER_PID)
			return start_time((int)line.id) != line.time_ns;
	}
	return false;
}

static bool lock_dead(int fd)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return true;
		if (!owner_gone(fd))
			return false;
		usleep(LOCK_WAIT_US);
	}
	return false;
}

/* The dead runs' ledgers, locked by us from here on. */
static int collect(struct dead_run **out, size_t *n)
{
	struct dirent *e;
	size_t cap = 0;
	int lock, rc = 0;
	DIR *d;

	*out = NULL;
	*n = 0;
	lock = statedir__lock();
	if (lock < 0)
		return lock;
	d = opendir(WL_STATE_DIR);
	if (!d)
		rc = -errno;
	while (d && !rc && (e = readdir(d))) {
		size_t len = strlen(e->d_name);
		struct dead_run *r;
		int fd;

		if (len <= 7 || strcmp(e->d_name + len - 7, ".ledger"))
			continue;
		fd = openat(dirfd(d), e->d_name, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0)
			continue;
		if (!lock_dead(fd)) {
			close(fd); /* it lives */
			continue;
		}
		rc = grow(out, *n, &cap, sizeof(**out));
		if (rc) {
			close(fd);
			break;
		}
		r = &(*out)[(*n)++];
		memset(r, 0, sizeof(*r));
		r->fd = fd;
		snprintf(r->file, sizeof(r->file), "%s", e->d_name);
		snprintf(r->path, sizeof(r->path), "%s/%s", WL_STATE_DIR, e->d_name);
	}
	if (d)
		closedir(d);
	close(lock);
	return rc;
}

int workload__clean(bool dry_run, void (*say)(void *ctx, const char *line), void *ctx)
{
	struct clean c = { .dry = dry_run, .say = say, .ctx = ctx };
	struct dead_run *runs;
	struct stat st;
	size_t n;
	int rc;

	if (access(WL_STATE_DIR, F_OK))
		return errno == ENOENT ? 0 : -errno;
	boot_id(c.boot, sizeof(c.boot));
	if (!stat("/proc/thread-self/ns/net", &st))
		c.first = st.st_ino;
	rc = collect(&runs, &n);
	for (size_t i = 0; !rc && i < n; i++)
		clean_run(&c, &runs[i]);
	for (size_t i = 0; i < n; i++) {
		close(runs[i].fd);
		free(runs[i].v);
	}
	free(runs);
	if (rc)
		return rc;
	if (!dry_run)
		cgroup__sweep();
	rc = rundir__undo(dry_run);
	if (rc < 0) {
		told(&c, false, "the shared mount of %s cannot be undone: %s", WL_RUN_DIR,
		     strerror(-rc));
		c.err = c.err ? c.err : rc;
	}
	if (rc > 0)
		told(&c, true, "the shared mount of %s%s", WL_RUN_DIR,
		     dry_run ? "" : " (made by an earlier run) undone");
	return c.err ? c.err : c.count;
}
