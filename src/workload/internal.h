/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the workload share. One concern a file; the pure parts
 * (names, ledger lines, parsing of /proc text) have headers of their own.
 */
#ifndef FRTRACE_WORKLOAD_INTERNAL_H
#define FRTRACE_WORKLOAD_INTERNAL_H

#include "util/util.h"
#include "workload/ledger.h"
#include "workload/name.h"
#include "workload/workload.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/types.h>

#define WL_RUN_DIR "/run/netns"
#define WL_STATE_DIR "/run/frtrace"
#define WL_ERROR_MAX 768
#define WL_OUTPUT_MAX 4096 /* bytes kept of what a command printed */
#define WL_FILL_SIZES 10
#define WL_ARGV_MAX 32

struct mode;
struct netlink;

/* A router of ours that exists. */
struct wrouter {
	uint8_t uuid[16];
	uint32_t id;	/* frt_router.id; 0: made by a fill */
	uint32_t flags; /* FRT_ROUTER_* */
	uint64_t ino;	/* of its namespace; 0 unknown */
};

struct wrouters {
	struct wrouter *v;
	size_t n, cap;
};

/* What a creator is waiting for, for the watchdog to read: since is set last
 * before a spawn and cleared first after it. */
struct slot {
	atomic_uint_fast64_t since; /* CLOCK_MONOTONIC ns; 0: idle */
	atomic_int pid;		    /* child (process) or tid (thread of ours) */
	atomic_bool process;	    /* can be killed */
	atomic_bool timed_out;
	atomic_bool abandoned; /* could not be killed: do not wait for it */
	bool killed, warned;   /* the watchdog's own notes */
	uint64_t killed_at;
	pthread_t creator;
	pthread_mutex_t out_lock; /* guards out, out_len and reading from out_fd */
	int out_fd;		  /* read end of what the command prints; -1 */
	char out[WL_OUTPUT_MAX];
	size_t out_len;
	char what[256]; /* the step, for the error; written before since */
};

/* Where the commands are. */
struct tools {
	const char *ip;	     /* as given: argv[0] and inner commands */
	const char *ip_path; /* resolved */
	const char *true_path;
	const char *prefix[8]; /* sudo and its options, NULL at the end */
	unsigned nprefix;
	const char *prefix_path;
	char **env; /* ours, with the sbin directories in PATH */
};

struct workload {
	struct workload_opts o;
	struct arena *arena;
	char run_id[33];
	struct tools tools;
	struct ledger ledger;
	int firstns, firstmnt; /* our namespaces */
	int null;
	int inet; /* datagram socket in the first namespace, for interface ioctls */
	atomic_bool stop;
	bool run_dir_shared;  /* by us, once */
	atomic_bool removing; /* stop is ignored */
	int wake;	      /* eventfd: stop was asked for */

	pthread_mutex_t lock; /* routers, error, joining of threads */
	pthread_cond_t cond;
	pthread_mutex_t hooks; /* router_begin, router_end, progress */
	char error[WL_ERROR_MAX];
	int error_rc;
	bool abandoned; /* a thread is stuck in the kernel: free nothing it may touch */

	struct wrouters filled, made;
	size_t made_next;
	struct {
		uint32_t level; /* 0: none that is looked at */
		bool deleting;
		uint64_t next; /* not before */
	} backlog;	       /* where several threads are, under hooks */
	atomic_uint next_instance, next_router;
	/* fills: what a router last cost on each number of threads tried, ns; 0: not tried */
	uint64_t fill_cost[WL_FILL_SIZES];
	uint64_t bytes_per_router; /* measured by a fill; 0: not yet */
	atomic_uint_fast64_t progress_at;

	pthread_t watchdog;
	bool watching;
	atomic_bool watch_end;
	pthread_mutex_t slots_lock;
	struct slot **slots;
	size_t nslots, capslots;
	char *cgroup, *cgroup_back; /* directory of the run's, and where we came from */
};

/* One creator: a stream, a fill thread. */
struct maker {
	struct workload *w;
	const struct mode *mode;
	unsigned stream;
	volatile uint32_t *cell; /* NULL: nobody listens */
	uint32_t task;
	bool measured; /* its steps have instances; a fill's have none */
	bool begun;    /* creator_begin was called */
	int out_w;     /* write end of slot.out_fd */
	bool left;     /* not in the first namespace at the moment */
	struct slot slot;
	struct netlink *nl;	  /* in the first namespace */
	void *priv;		  /* of the mode */
	uint64_t steal, steal_at; /* of all CPUs, read last; when. 0: never */
};

/* One command or phase of a router, as the bodies see it. */
struct step_job {
	struct maker *m;
	const struct router_name *name;
	enum frt_step step;
	unsigned nth;
	struct frt_stepinst *inst;
	const char *text; /* the command, where it is not the table's; NULL */
	const char *call; /* in-process: the call that failed */
	const char *object;
	char detail[160]; /* the kernel's own words, where it gave any */
};

/* How a mode runs one step. Each returns 0 or -errno with the error set. */
struct mode {
	const char *name;
	const char *note; /* what has no counterpart; NULL */
	/* in the creator's thread, followed already: what it starts is its own */
	int (*open)(struct maker *m);
	int (*step)(struct step_job *j);
	/* instead of the steps of the table; NULL: those */
	int (*router)(struct maker *m, struct wrouter *wr, struct frt_router *r,
		      struct frt_stepinst *inst, unsigned *n);
	int (*remove)(struct maker *m, struct wrouter *wr, struct frt_stepinst *inst);
	void (*close)(struct maker *m);
};

extern const struct mode mode_script, mode_exact, mode_lean, mode_batch, mode_foreign;

/* steps.c: the two bodies of a step. */
struct step_body {
	const char *const *argv;
	int (*exact)(struct step_job *j);
	int (*lean)(struct step_job *j);
};
extern const struct step_body wl_bodies[FRT_STEPS];
/* argv of a step into v (room for WL_ARGV_MAX, NULL at the end), prefix included. */
unsigned step__argv(const struct tools *t, enum frt_step step, unsigned nth,
		    const struct router_name *n, const char **v);
/* The command of a step as text, for errors. Returns dst. */
char *step__text(char *dst, size_t size, const struct step_job *j);

/* error.c */
/* Keeps the first error of a call; gives rc back. */
int wl__fail(struct workload *w, int rc, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void wl__clear(struct workload *w);
bool wl__stopping(const struct workload *w);
/* Which limit an errno of a call stands for, as ": …" text; "" when none. */
const char *limit__hint(char *dst, size_t size, const char *call, int err);

/* workload.c */
void wl__progress(struct workload *w, const char *what, uint64_t done, uint64_t total);
/* Sleeps, at most ms; -EINTR when stopped. */
int wl__sleep(struct workload *w, unsigned ms);
bool wl__link_exists(const struct workload *w, const char *ifname, int *ifindex);

/* tools.c */
int tools__find(struct workload *w, char *err, size_t errlen);

/* maker.c */
/* measured: by way of creator_begin; its steps have instances then. */
int maker__open(struct maker *m, struct workload *w, unsigned stream, enum frt_workmode mode,
		bool measured);
void maker__close(struct maker *m);
/* A name nothing stands at. */
int maker__name(struct maker *m, struct router_name *n);
/* All creation steps of one router; inst has room for WL_STEPS_MAX. Writes the
 * ledger around it. r may be NULL (fills). */
#define WL_STEPS_MAX 16
int maker__router(struct maker *m, struct wrouter *wr, struct frt_router *r,
		  struct frt_stepinst *inst, unsigned *n, bool control);
int maker__delete(struct maker *m, struct wrouter *wr, struct frt_stepinst *inst);
/* Runs one step: instance, cell, mode body. */
int maker__step(struct maker *m, const struct router_name *n, enum frt_step step, unsigned nth,
		struct frt_stepinst *inst);

/* The instance, the watchdog's note; before any mode's own step. */
void maker__begin(struct step_job *j);

/* script.c */
/* vfork and execve; the child dies with the calling thread. in, out, err become
 * its 0, 1, 2. The pid, or -errno; exec_errno is set when execve failed. */
pid_t script__spawn(struct workload *w, const char *path, const char *const *argv, int in, int out,
		    int err, volatile int *exec_errno);
/* Runs argv (path: what to execute), waits for it; fills in inst. 0 when it
 * could be run and waited for, whatever its status. */
int script__run(struct maker *m, const char *path, const char *const *argv,
		struct frt_stepinst *inst);
/* Sets the error of a command that ended with inst->status; 0 for status 0. */
int script__check(struct step_job *j);
/* What the last command printed, its first line, printable. */
const char *script__first_line(struct maker *m, char *dst, size_t size);
/* Reads what is there, keeps the first part; bytes read. */
size_t script__drain(struct slot *s);

/* watch.c */
int watch__start(struct workload *w);
void watch__end(struct workload *w);
int watch__add(struct workload *w, struct slot *s);
void watch__del(struct workload *w, struct slot *s);
/* The frames of a task's kernel stack, leaf first, " < " between. */
void watch__stack(pid_t pid, char *dst, size_t size);
/* The last of a chain of children: a prefix only waits for what it started. */
pid_t watch__deepest(pid_t pid);

/* streams.c */
/* Runs fn in n threads with signals blocked, waits for all, first error. arg
 * must live until the workload is closed (arena). */
int wl__threads(struct workload *w, unsigned n,
		int (*fn)(struct workload *w, unsigned i, void *arg), void *arg);
/* For cleaning up: when no thread can be had, which may be why there is something
 * to clean, the caller does it alone. fn must be content to run once. */
int wl__threads_or_self(struct workload *w, unsigned n,
			int (*fn)(struct workload *w, unsigned i, void *arg), void *arg);

/* rundir.c */
/* The calls `ip netns add` makes on it each time. 0 or -errno, *call: which. */
int rundir__share(const char **call);
/* Makes the run directory a shared mount, as the first `ip netns add` does. */
int rundir__prepare(struct workload *w);
/* Undoes it when no name and no other run is left. dry: only says whether it
 * would. Returns 1 when something was (would be) undone. */
int rundir__undo(bool dry);

/* remove.c */
int remove__names(struct workload *w, struct wrouters *list, const char *what);
/* umount and unlink of one name; 0, -ENOENT, -errno. */
int remove__name(const char *name);
/* freed.c: waits until the kernel has freed what was removed. target: how many are left
 * then; others: of somebody else's some went, so that as few may be left before. */
int freed__wait(struct workload *w, const struct wrouter *gone, size_t n, uint64_t target,
		bool others);
int freed__links(struct workload *w, const struct wrouter *gone, size_t n);

/* foreign.c: runs --destroy for what --create made. */
int foreign__destroy_all(struct workload *w);

/* backlog.c: while a level is made, and again while it is deleted. expected: what should
 * exist now. */
void backlog__begin(struct workload *w, uint32_t level, bool deleting);
void backlog__look(struct workload *w, uint64_t expected);
void backlog__end(struct workload *w, uint64_t expected);

/* existing.c */
int existing__count(uint64_t *n);

/* The network namespace with that inode number, where a process is in it or
 * WL_RUN_DIR names it: a descriptor, or -errno (-ESRCH: not found). */
int netns__open(uint64_t ino);
/* netlink__open in the namespace behind ns. 0 or -errno. */
int netns__netlink(int ns, struct netlink **out);

/* room.c */
/* Bytes that can still be used, as the kernel estimates it (MemAvailable); -1 unknown. */
int64_t memory__available(void);
/* Tasks or bytes left below the nearest limit of our control groups, and that limit.
 * False: there is none. */
bool cgroup__tasks_left(uint64_t *left, uint64_t *limit);
bool cgroup__memory_left(uint64_t *left, uint64_t *limit);

/* cgroup.c: where the commands live, so that they can be killed as one. */
void cgroup__enter(struct workload *w);
void cgroup__leave(struct workload *w, bool kill);
void cgroup__kill(const char *dir);
/* Removes what dead runs left of them. */
void cgroup__sweep(void);

#endif
