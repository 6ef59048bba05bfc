/* SPDX-License-Identifier: BSD-2-Clause */
/* What is left below the limits of the machine's memory and of the control groups we are in. */
#include "workload/internal.h"
#include "workload/procfs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where a controller's files may be. Lines of /proc/self/cgroup are "0::/path" (v2)
 * or "8:pids:/path" (v1). */
struct tree {
	const char *line, *mount, *max, *used;
	const char *cache[2]; /* of memory.stat: used, but given back when asked for */
};

static const struct tree tasks[] = {
	{ "::", "/sys/fs/cgroup", "pids.max", "pids.current", { NULL } },
	{ "::", "/sys/fs/cgroup/unified", "pids.max", "pids.current", { NULL } },
	{ ":pids:", "/sys/fs/cgroup/pids", "pids.max", "pids.current", { NULL } },
	{ NULL, NULL, NULL, NULL, { NULL } },
};
static const struct tree memory[] = {
	{ "::",
	  "/sys/fs/cgroup",
	  "memory.max",
	  "memory.current",
	  { "inactive_file", "active_file" } },
	{ ":memory:",
	  "/sys/fs/cgroup/memory",
	  "memory.limit_in_bytes",
	  "memory.usage_in_bytes",
	  { "total_inactive_file", "total_active_file" } },
	{ NULL, NULL, NULL, NULL, { NULL } },
};

static int64_t number_in(const char *dir, const char *file)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return read_number(path); /* "max" is none */
}

/* Bytes of cached files that a group would give back. */
static int64_t cached(const char *dir, const struct tree *t)
{
	char path[600], *text;
	int64_t sum = 0;

	snprintf(path, sizeof(path), "%s/memory.stat", dir);
	text = t->cache[0] ? read_file(path, NULL) : NULL;
	for (char *l = text; l; l = strchr(l, '\n') ? strchr(l, '\n') + 1 : NULL)
		for (size_t i = 0; i < ARRAY_SIZE(t->cache); i++) {
			size_t n = strlen(t->cache[i]);

			if (!strncmp(l, t->cache[i], n) && l[n] == ' ')
				sum += strtoll(l + n, NULL, 10);
		}
	free(text);
	return sum;
}

/* Of a directory and those above it, where the least is left; true when that is
 * less than *left. */
static bool least_room(const struct tree *t, char *dir, uint64_t *left, uint64_t *limit)
{
	bool found = false;

	for (;;) {
		int64_t max = number_in(dir, t->max), used = number_in(dir, t->used);
		char *slash;

		if (max >= 0 && max < INT64_MAX / 2 && used >= 0) {
			used -= cached(dir, t);
			if ((uint64_t)(max > used ? max - used : 0) < *left) {
				*left = (uint64_t)(max > used ? max - used : 0);
				*limit = (uint64_t)max;
				found = true;
			}
		}
		slash = strrchr(dir, '/');
		if (!slash || (size_t)(slash - dir) < strlen(t->mount))
			return found;
		*slash = '\0';
	}
}

static bool room(const struct tree *t, uint64_t *left, uint64_t *limit)
{
	char *text = read_file("/proc/self/cgroup", NULL);
	bool found = false;

	*left = UINT64_MAX;
	for (; text && t->line; t++) {
		const char *line = strstr(text, t->line);
		char dir[500];

		if (!line)
			continue;
		line += strlen(t->line);
		snprintf(dir, sizeof(dir), "%s%.*s", t->mount, (int)strcspn(line, "\n"), line);
		if (dir[strlen(dir) - 1] == '/')
			dir[strlen(dir) - 1] = '\0';
		found |= least_room(t, dir, left, limit);
	}
	free(text);
	return found;
}

bool cgroup__tasks_left(uint64_t *left, uint64_t *limit)
{
	return room(tasks, left, limit);
}

bool cgroup__memory_left(uint64_t *left, uint64_t *limit)
{
	return room(memory, left, limit);
}

int64_t memory__available(void)
{
	char *text = read_file("/proc/meminfo", NULL);
	int64_t kb = text ? parse_meminfo(text, "MemAvailable") : -1;

	free(text);
	return kb < 0 ? -1 : kb * 1024;
}

#define MIB 1048576u
/* Below it the kernel soon ends processes, of others too, and what is made here is
 * given to nobody's account: better to stop. */
#define LEAST_BYTES (64u * MIB)
#define LEAST_CGROUP_BYTES (8u * MIB)

bool workload__memory_low(char *why, size_t size)
{
	int64_t available = memory__available();
	uint64_t left, limit = 0;

	if (available >= 0 && available < LEAST_BYTES) {
		snprintf(why, size,
			 "stopped before the machine runs out of memory: MemAvailable = %" PRId64
			 " MiB, below %u; ask for fewer routers",
			 available / MIB, LEAST_BYTES / MIB);
		return true;
	}
	if (cgroup__memory_left(&left, &limit) && left < LEAST_CGROUP_BYTES) {
		snprintf(why, size,
			 "stopped before the cgroup runs out of memory: %" PRIu64
			 " MiB are left; the limit is memory of the cgroup = %" PRIu64
			 " MiB: raise it, or ask for fewer routers",
			 left / MIB, limit / MIB);
		return true;
	}
	return false;
}
