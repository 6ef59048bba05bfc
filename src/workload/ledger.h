/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ledger: what a run is about to make and has made, one line each, so that
 * after a kill -9 exactly that can be removed. A text file below the state
 * directory, locked (flock) while its run lives; one write(2) a line, which
 * survives the death of the writer.
 */
#ifndef FRTRACE_WORKLOAD_LEDGER_H
#define FRTRACE_WORKLOAD_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ledger {
	int fd; /* -1: closed */
	char path[96];
};

enum ledger_kind {
	LEDGER_HEAD,	  /* version */
	LEDGER_RUN,	  /* text: run id */
	LEDGER_BOOT,	  /* text: boot id */
	LEDGER_PID,	  /* id, time: the run's process and its start time (clock ticks) */
	LEDGER_FIRST,	  /* ino: network namespace the links are in */
	LEDGER_DIR,	  /* dev, ino: run directory when the run began */
	LEDGER_CGROUP,	  /* text: directory of the commands' cgroup */
	LEDGER_DESTROY,	  /* text: --destroy */
	LEDGER_WANT,	  /* name, time: about to be made */
	LEDGER_HAVE,	  /* name, dev, ino, ifindex: made */
	LEDGER_GONE,	  /* name: removed; or not ours after all */
	LEDGER_CREATE,	  /* name (UUID), id: about to run --create */
	LEDGER_DESTROYED, /* name (UUID) */
};

#define LEDGER_NAME_MAX 48
#define LEDGER_TEXT_MAX 512

struct ledger_line {
	enum ledger_kind kind;
	char name[LEDGER_NAME_MAX];
	char text[LEDGER_TEXT_MAX];
	uint64_t time_ns; /* CLOCK_REALTIME_COARSE */
	uint64_t dev, ino;
	uint32_t id;
	int ifindex[2]; /* 0: unknown */
	int version;
};

/* One line without its newline. 0 or -EINVAL. Pure. */
int ledger__parse(const char *line, struct ledger_line *out);

/* Creates and locks RUN.ledger with its head lines. 0 or -errno with err. */
int ledger__create(struct ledger *l, const char *run_id, uint64_t first_ino, char *err,
		   size_t errlen);
int ledger__want(struct ledger *l, const char *name);
int ledger__have(struct ledger *l, const char *name, uint64_t dev, uint64_t ino,
		 const int ifindex[2]);
int ledger__gone(struct ledger *l, const char *name);
/* A line of another kind; fmt gives it whole. 0 or -errno. */
int ledger__write(struct ledger *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Closes it; unlink: everything it names is gone. */
void ledger__close(struct ledger *l, bool unlink);

/* When a process started, clock ticks since boot; 0: there is none. */
uint64_t start_time(int pid);
/* The boot this is, from /proc; "" when unreadable. */
void boot_id(char *dst, size_t size);

/* The state directory, created when missing and locked: a descriptor to close,
 * or -errno. Held while ledgers are created, looked for, or counted. */
int statedir__lock(void);
/* Ledgers whose runs live, but for own (may be NULL). Call with the lock. */
int statedir__live(const char *own);
/* Removes the directory when nothing is in it. */
void statedir__rmdir(void);

#endif
