/* SPDX-License-Identifier: BSD-2-Clause */
#include "env/kevents.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GROUP "frtrace_" /* then PID_STARTTIME, so that another process's PID is told apart */
#define REMOVE_TRIES 50	 /* of 10 ms: an event is busy until its last user is gone */

/* The one of the two places tracefs may be mounted at. */
static const char *tracefs(void)
{
	static const char *const places[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	char path[128];

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/kprobe_events", places[i]);
		if (access(path, F_OK) == 0)
			return places[i];
	}
	return NULL;
}

/* When a process began, in clock ticks since boot; 0: there is none. */
static unsigned long long start_time(long pid)
{
	char path[64], line[1024];
	unsigned long long began = 0;
	const char *at;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	/* field 22; the name in brackets may have spaces */
	if (fgets(line, sizeof(line), f) && (at = strrchr(line, ')')))
		for (int i = 2; i < 22 && (at = strchr(at + 1, ' ')); i++)
			if (i == 21)
				began = strtoull(at + 1, NULL, 10);
	fclose(f);
	return began;
}

static int command(const char *text)
{
	const char *place = tracefs();
	size_t len = strlen(text);
	char path[128];
	int fd, rc = 0;

	if (!place)
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/kprobe_events", place);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, len) != (ssize_t)len)
		rc = -errno;
	close(fd);
	return rc;
}

static int open_event(const char *group, unsigned id)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr) };
	unsigned long long number = 0;
	char path[256];
	FILE *f;
	int fd;

	snprintf(path, sizeof(path), "%s/events/%s/r%u/id", tracefs(), group, id);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	if (fscanf(f, "%llu", &number) != 1)
		number = 0;
	fclose(f);
	if (!number)
		return -ENOENT;
	attr.config = number;
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static void own_group(char *buf, size_t size)
{
	snprintf(buf, size, GROUP "%ld_%llu", (long)getpid(), start_time(getpid()));
}

int kevents__open(unsigned id, uint64_t addr, unsigned maxactive)
{
	char group[64], line[192];
	int rc;

	own_group(group, sizeof(group));
	snprintf(line, sizeof(line), "r%u:%s/r%u 0x%llx\n", maxactive, group, id,
		 (unsigned long long)addr);
	rc = command(line);
	if (rc)
		return rc;
	rc = open_event(group, id);
	if (rc < 0) {
		snprintf(line, sizeof(line), "-:%s/r%u\n", group, id);
		command(line);
	}
	return rc;
}

/* "r20:frtrace_12_345/r7 …": the group and event of a line that is ours. */
static bool parse_line(const char *line, char group[64], char event[64])
{
	const char *at = strchr(line, ':');

	return line[0] == 'r' && at && strncmp(at + 1, GROUP, strlen(GROUP)) == 0 &&
	       sscanf(at + 1, "%63[a-z0-9_]/%63[a-z0-9_]", group, event) == 2;
}

static bool is_dead(const char *group)
{
	unsigned long long began = 0;
	long pid = 0;

	if (sscanf(group, GROUP "%ld_%llu", &pid, &began) != 2)
		return false;
	return start_time(pid) != began;
}

/* Removes one group's events, or all of the dead. How many, or the first error. */
static int remove_events(const char *only, bool dry, void (*say)(void *ctx, const char *line),
			 void *ctx)
{
	const char *place = tracefs();
	char path[128], group[64], event[64], text[200], *line = NULL;
	int n = 0, err = 0;
	size_t cap = 0;
	FILE *f;

	if (!place)
		return 0;
	snprintf(path, sizeof(path), "%s/kprobe_events", place);
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT ? 0 : -errno;
	while (getline(&line, &cap, f) > 0) {
		int rc = 0;

		if (!parse_line(line, group, event) ||
		    (only ? strcmp(only, group) != 0 : !is_dead(group)))
			continue;
		snprintf(text, sizeof(text), "-:%s/%s\n", group, event);
		for (int i = 0; !dry && i < REMOVE_TRIES; i++) {
			rc = command(text);
			if (rc != -EBUSY)
				break;
			poll(NULL, 0, 10);
		}
		n += !rc;
		err = err ? err : rc;
		if (!say)
			continue;
		snprintf(text, sizeof(text), "probe event %s/%s: %s", group, event,
			 rc    ? strerror(-rc)
			 : dry ? "would be removed"
			       : "removed");
		say(ctx, text);
	}
	free(line);
	fclose(f);
	return err ? err : n;
}

void kevents__remove(void)
{
	char group[64];

	own_group(group, sizeof(group));
	remove_events(group, false, NULL, NULL);
}

int kevents__clean(bool dry, void (*say)(void *ctx, const char *line), void *ctx)
{
	return remove_events(NULL, dry, say, ctx);
}
