/* SPDX-License-Identifier: BSD-2-Clause */
/* What is read from /proc: the parsing is pure, the reading beside it. */
#ifndef FRTRACE_WORKLOAD_PROCFS_H
#define FRTRACE_WORKLOAD_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The `cpu` line of /proc/stat, in clock ticks (sysconf(_SC_CLK_TCK)). */
struct cpu_ticks {
	uint64_t busy;	/* user nice system irq softirq */
	uint64_t total; /* and idle, iowait, steal */
	uint64_t steal;
};
/* 0 or -EINVAL. */
int parse_cpu_ticks(const char *text, struct cpu_ticks *out);
/* Stolen time so far, ns; 0 when it cannot be read. */
uint64_t steal_ns(void);
int read_cpu_ticks(struct cpu_ticks *out);

/* A value of /proc/meminfo ("MemAvailable") in kB; -1: not there. */
int64_t parse_meminfo(const char *text, const char *key);

struct mount_line {
	char root[300]; /* within its file system */
	char point[300];
	char type[32];
	unsigned major, minor;
	bool shared;
};
/* One line of mountinfo, octal escapes undone. 0, -EINVAL, -E2BIG. */
int parse_mountinfo(const char *line, struct mount_line *out);
/* The number in "net:[4026531840]"; 0: not of that form. */
uint64_t parse_ns_root(const char *root);

/* A whole file into a fresh buffer (free it); NULL with errno. */
char *read_file(const char *path, size_t *len);
/* Lines of a file of any size, a piece at a time; 0 when it cannot be read. */
uint64_t count_lines(const char *path);
/* One number; -1: unreadable or no number ("max"). */
int64_t read_number(const char *path);

#endif
