/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probed functions: which are wanted, where they are, by which rung of the
 * ladder each is attached, and why not when it is not. functions.c knows the
 * kernel's lists, ladder.c attaches.
 */
#ifndef FRTRACE_TRACE_FUNCTIONS_H
#define FRTRACE_TRACE_FUNCTIONS_H

#include "trace/trace.h"

#include <frtrace/probes.h>
#include <stdbool.h>
#include <stdint.h>

struct bpf_link;
struct frtrace_bpf;
struct stacks;

/* How many functions a rung takes, patterns included. */
#define FUNCTIONS_FENTRY_MAX 200
#define FUNCTIONS_KPROBE_MAX 500
#define FUNCTIONS_MULTI_MAX 5000

struct function {
	char name[96];			 /* as the kernel has it, suffix included */
	char wanted[96];		 /* as it was asked for */
	char module[56];		 /* empty: in the kernel itself */
	const struct frt_probe_def *def; /* NULL: --probe */
	bool by_name;			 /* asked for with --probe, not by a pattern */
	bool entry_only;		 /* never returns */
	bool undo;			 /* of a pernet_operations: many, so only by multi */
	uint64_t addr;			 /* 0: not found */
	unsigned times;			 /* how often the name occurs */
	bool blacklisted, traceable;	 /* traceable: ftrace can stop there */
	int32_t btf_id;			 /* 0: none */
	int btf_fd;			 /* of the module's BTF; 0: the kernel's */
	enum trace_backend rung;	 /* attached by; TRACE_NONE: not attached */
	char reason[120];		 /* why not */
	int entry_fd, exit_fd;		 /* links or perf events; -1 */
};

struct functions {
	struct function *v;
	size_t n, cap;
	uint32_t attached;
	enum trace_backend best;	 /* rung that most are attached by */
	bool have[TRACE_KPROBE + 1];	 /* rungs that work here */
	char why[TRACE_KPROBE + 1][160]; /* why a rung does not */
	unsigned streams;		 /* tasks that may be in one function at one time */
	unsigned own_maxactive;		 /* of the kernel's kretprobes */
	bool cookies;			 /* kprobes take one */
	bool configured;		 /* the programs know the functions */
	struct bpf_link *multi[2];	 /* exits, entries */
	char said[200];			 /* a cap that was reached; empty */
	uint64_t matched;		 /* patterns of --probe that match anything, the first 64 */
	uint64_t load_ns;		 /* of all programs, looking up what to probe included */
	uint64_t attach_ns, detach_ns;
};

/* Asks which rungs work and switches the programs that will be needed on, before
 * the object is loaded. 0 also when none works: then nothing is attached and the rows
 * say why. -EINVAL: --probes names a rung that does not work here, with a line in err. */
int functions__plan(struct functions *f, const struct trace_opts *o, struct frtrace_bpf *skel,
		    char *err, size_t errlen);
/* After the object is loaded: looks everything up. pernet_list: the kernel's list of that
 * name, 0 when it is not known or not wanted. 0 or -ENOMEM. */
int functions__find(struct functions *f, const struct trace_opts *o, struct frtrace_bpf *skel,
		    uint64_t pernet_list);
/* Exits before entries, the ready flag last. What cannot be attached falls to the next
 * rung, then becomes a row with its reason. */
int functions__attach(struct functions *f, struct frtrace_bpf *skel);
/* functions.c, for functions__find: fills the rows in; at most cap of them, and what undoes
 * a namespace where nothing else tells of it. 0 or -ENOMEM. */
struct operations;
int functions__look_up(struct functions *f, const char *const *probes, size_t cap,
		       struct operations *ops);
/* One more row; NULL: no memory. */
struct function *functions__new(struct functions *f, const char *name);
/* Closes all links and waits until they are gone. */
void functions__detach(struct functions *f, struct frtrace_bpf *skel);
void functions__free(struct functions *f);

/* The name for records: function, what tells its calls apart behind it. */
void functions__label(const struct functions *f, struct stacks *s, uint32_t func, uint16_t variant,
		      uint64_t key, char *buf, size_t size);
struct json_t *functions__json(const struct functions *f);
const char *functions__rung_name(enum trace_backend rung);

/* operations.c: the functions that undo a namespace, from the kernel's list of
 * pernet_operations; NULL when it cannot be read. */
struct operations *operations__read(struct frtrace_bpf *skel, uint64_t list);
/* Is that symbol one of them? Then it has a name. o may be NULL. */
struct kallsym;
void operations__symbol(struct operations *o, const struct kallsym *s);
/* A row for each that has a name and no row; 0 or -ENOMEM. */
int operations__add(struct functions *f, const struct operations *o);
/* Why the one function that would tell them apart is missing, and what is done instead. */
void operations__explain(struct functions *f, const struct operations *o);
void operations__free(struct operations *o);

/* ladder.c: does a rung work here? Asked by loading and attaching a small
 * program; the reason why not into why. */
bool ladder__try(enum trace_backend rung, char *why, size_t len);
/* Can a kprobe tell which one it is (5.15)? */
bool ladder__has_cookies(void);
/* One kprobe or kretprobe by address, as a perf event; -errno. */
int ladder__open_kprobe(uint64_t addr, bool ret);

#endif
