/* SPDX-License-Identifier: BSD-2-Clause */
/* Would they fit? One row a limit, asked before anything is made. */
#include "workload/internal.h"
#include "workload/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Kernel memory of a namespace with two veth pairs and its sysctl tables, until
 * a fill has measured it here. */
#define ROUTER_BYTES (512u * 1024)
#define SPARE_BYTES (128u * 1024 * 1024) /* for everything else to go on */

struct need {
	uint64_t n;		       /* routers still to be made */
	uint64_t mounts, netns, links; /* there are now */
	unsigned tasks;
	bool shared; /* the mount that the run directory is made in */
	uint64_t
		limit; /* set by a check whose limit is not what there is, but what that is left of */
};

struct check {
	const char *name;
	const char *remedy;
	/* What is needed and what there is; false: does not apply here. */
	bool (*ask)(struct workload *w, struct need *n, uint64_t *need, uint64_t *have);
	const char *unit;
	uint64_t scale;
};

static bool ask_memory(struct workload *w, struct need *n, uint64_t *need, uint64_t *have)
{
	int64_t available = memory__available();

	*need = n->n * (w->bytes_per_router ? w->bytes_per_router : ROUTER_BYTES) + SPARE_BYTES;
	*have = (uint64_t)available;
	return available >= 0;
}

/* The nearest memory limit of our cgroups, either version. */
static bool ask_cgroup_memory(struct workload *w, struct need *n, uint64_t *need, uint64_t *have)
{
	*need = n->n * (w->bytes_per_router ? w->bytes_per_router : ROUTER_BYTES);
	return cgroup__memory_left(have, &n->limit);
}

static bool ask_mounts(struct workload *w, struct need *n, uint64_t *need, uint64_t *have)
{
	int64_t max = read_number("/proc/sys/fs/mount-max");

	(void)w;
	/* under a shared parent each name is mounted there a second time */
	*need = n->mounts + n->n * (n->shared ? 2 : 1) + 1;
	*have = (uint64_t)max;
	return max > 0;
}

static bool ask_netns(struct workload *w, struct need *n, uint64_t *need, uint64_t *have)
{
	int64_t max = read_number("/proc/sys/user/max_net_namespaces");

	(void)w;
	*need = n->netns + n->n;
	*have = (uint64_t)max;
	return max > 0;
}

static bool ask_tasks(struct workload *w, struct need *n, uint64_t *need, uint64_t *have)
{
	int64_t pids = read_number("/proc/sys/kernel/pid_max");
	int64_t threads = read_number("/proc/sys/kernel/threads-max");

	/* a stream, its command, what a prefix adds; the threads of a fill */
	*need = n->tasks + w->o.streams * 6u + 64;
	*have = (uint64_t)(threads > 0 && threads < pids ? threads : pids);
	return pids > 0;
}

static bool ask_cgroup_tasks(struct workload *w, struct need *n, uint64_t *need, uint64_t *have)
{
	*need = w->o.streams * 3u + 8; /* a command, a prefix and its child each */
	return cgroup__tasks_left(have, &n->limit);
}

static unsigned count_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

/* A stream's own descriptors at most: its output pipe, and by mode sockets, a
 * namespace, the pipes of a batch. */
static bool ask_files(struct workload *w, struct need *n, uint64_t *need, uint64_t *have)
{
	static const unsigned own[FRT_WORKMODES] = { [FRT_WORK_SCRIPT] = 2,
						     [FRT_WORK_EXACT] = 5,
						     [FRT_WORK_LEAN] = 5,
						     [FRT_WORK_BATCH] = 6,
						     [FRT_WORK_FOREIGN] = 2 };
	struct rlimit r;

	(void)n;
	*need = count_files() + own[w->o.mode] * w->o.streams + 16;
	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur == RLIM_INFINITY)
		return false;
	*have = r.rlim_cur;
	return true;
}

static bool ask_ifindex(struct workload *w, struct need *n, uint64_t *need, uint64_t *have)
{
	(void)w;
	*need = n->links + 2 * n->n;
	*have = INT_MAX;
	return true;
}

static bool ask_inodes(struct workload *w, struct need *n, uint64_t *need, uint64_t *have)
{
	struct statvfs fs;

	(void)w;
	*need = n->n + 16;
	if (statvfs(WL_RUN_DIR, &fs) && statvfs("/run", &fs))
		return false;
	*have = fs.f_favail;
	return fs.f_files > 0; /* some file systems make inodes as they need them */
}

/* The ledger has two lines of about 100 bytes a router. */
static bool ask_space(struct workload *w, struct need *n, uint64_t *need, uint64_t *have)
{
	struct statvfs fs;

	(void)w;
	*need = n->n * 256 + 65536;
	if (statvfs(WL_STATE_DIR, &fs))
		return false;
	*have = (uint64_t)fs.f_bavail * fs.f_frsize;
	return true;
}

#define MIB 1048576u

static const struct check checks[] = {
	{ "memory (MemAvailable)", "ask for fewer routers", ask_memory, " MiB", MIB },
	{ "memory of the cgroup", "raise it, or ask for fewer routers", ask_cgroup_memory, " MiB",
	  MIB },
	{ "fs.mount-max", "raise it with sysctl -w fs.mount-max=…", ask_mounts, " mounts", 1 },
	{ "user.max_net_namespaces", "raise it with sysctl -w user.max_net_namespaces=…", ask_netns,
	  " namespaces", 1 },
	{ "kernel.pid_max or kernel.threads-max", "use fewer streams, or raise it", ask_tasks,
	  " tasks", 1 },
	{ "pids.max of the cgroup", "raise it, or use fewer streams", ask_cgroup_tasks, " tasks",
	  1 },
	{ "open files of this process (RLIMIT_NOFILE)",
	  "use fewer streams, or raise it with ulimit -n", ask_files, " files", 1 },
	{ "interface indexes", "ask for fewer routers", ask_ifindex, "", 1 },
	{ "inodes of " WL_RUN_DIR, "ask for fewer routers, or remount it with more", ask_inodes,
	  " inodes", 1 },
	{ "space in " WL_STATE_DIR, "make room there", ask_space, " MiB", MIB },
};

/* Is /run, or what it is part of, a shared mount? The last line of a mount point
 * is the one on top. */
static bool run_is_shared(void)
{
	FILE *f = fopen("/proc/thread-self/mountinfo", "re");
	bool root = false, run = false, run_mounted = false;
	char *line = NULL;
	size_t size = 0;

	if (!f)
		return true;
	while (getline(&line, &size, f) > 0) {
		struct mount_line m;

		line[strcspn(line, "\n")] = '\0';
		if (parse_mountinfo(line, &m))
			continue;
		if (!strcmp(m.point, "/"))
			root = m.shared;
		if (!strcmp(m.point, "/run")) {
			run_mounted = true;
			run = m.shared;
		}
	}
	free(line);
	fclose(f);
	return run_mounted ? run : root;
}

static unsigned count_tasks(void)
{
	char *text = read_file("/proc/loadavg", NULL);
	unsigned n = 0;

	if (!text || sscanf(text, "%*s %*s %*s %*u/%u", &n) != 1)
		n = 0;
	free(text);
	return n;
}

/* The directory the names go into, or the one it will be made in. */
static int check_run_dir(char *err, size_t errlen)
{
	const char *dir = access(WL_RUN_DIR, F_OK) ? "/run" : WL_RUN_DIR;
	struct stat st;

	if (stat(dir, &st))
		return fail(err, errlen, -errno, "%s: %s", dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return fail(err, errlen, -ENOTDIR, "%s is no directory; move it away", dir);
	if (faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS))
		return fail(err, errlen, -errno,
			    "%s: %s; network namespaces are named there: make it writable", dir,
			    strerror(errno));
	return 0;
}

/* Root without the capabilities that count, as in a container. */
static int check_capabilities(char *err, size_t errlen)
{
	static const struct {
		unsigned bit;
		const char *name, *what;
	} caps[] = { { CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "making namespaces" },
		     { CAP_NET_ADMIN, "CAP_NET_ADMIN", "making links" } };
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	if (syscall(SYS_capget, &head, data))
		return 0; /* what is not allowed will say so */
	for (size_t i = 0; i < ARRAY_SIZE(caps); i++)
		if (!(data[caps[i].bit / 32].effective & 1u << caps[i].bit % 32))
			return fail(err, errlen, -EPERM,
				    "%s is missing: %s needs it; run it as root outside the "
				    "container, or give that capability",
				    caps[i].name, caps[i].what);
	return 0;
}

int workload__preflight(struct workload *w, uint64_t n, char *err, size_t errlen)
{
	struct need need = { 0 };
	int rc;

	rc = check_capabilities(err, errlen);
	if (!rc)
		rc = check_run_dir(err, errlen);
	if (rc)
		return rc;
	need.n = n > w->filled.n ? n - w->filled.n : 0;
	need.mounts = count_lines("/proc/thread-self/mountinfo");
	need.links = count_lines("/proc/thread-self/net/dev");
	need.tasks = count_tasks();
	need.shared = run_is_shared();
	existing__count(&need.netns);
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		const struct check *c = &checks[i];
		uint64_t want, have;
		char value[32] = "";

		need.limit = 0;
		if (!c->ask(w, &need, &want, &have) || want <= have)
			continue;
		if (need.limit)
			snprintf(value, sizeof(value), " = %" PRIu64 "%s", need.limit / c->scale,
				 c->scale > 1 ? c->unit : "");
		return fail(err, errlen, -ENOSPC,
			    "%" PRIu64 " routers need %" PRIu64 "%s, there are %" PRIu64
			    "%s; the limit is %s%s: %s",
			    n, (want + c->scale - 1) / c->scale, c->unit, have / c->scale, c->unit,
			    c->name, value, c->remedy);
	}
	return 0;
}
