// SPDX-License-Identifier: BSD-2-Clause
/*
 * The attach ladder: fentry, kprobe.multi, kprobe. The kernel is asked by
 * trying, never by its version; a function that one rung cannot take falls to
 * the next.
 */
#include "trace/functions.h"

#include "env/kevents.h"
#include "frtrace.skel.h"
#include "trace/internal.h"
#include "trace/types.h"
#include "util/util.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define BAKED 0x46525431 /* as FRT_BAKED of bpf/function.bpf.c */
#define DETACH_THREADS 32
#define MAXACTIVE_SPARE 4 /* workers, and tasks that nobody follows */

static size_t cap_of(enum trace_backend rung)
{
	switch (rung) {
	case TRACE_FENTRY:
		return FUNCTIONS_FENTRY_MAX;
	case TRACE_MULTI:
		return FUNCTIONS_MULTI_MAX;
	case TRACE_KPROBE:
		return FUNCTIONS_KPROBE_MAX;
	default:
		return FRT_NPROBES;
	}
}

/* Calls that a kretprobe follows when nobody says how many: one a CPU on kernels
 * that are not preempted (register_kretprobe). */
static unsigned own_maxactive(void)
{
	int ncpu = libbpf_num_possible_cpus();
	unsigned n = ncpu > 0 ? (unsigned)ncpu : 1;

	if (explain__config("CONFIG_PREEMPTION") != 'y')
		return n;
	return 2 * n > 10 ? 2 * n : 10;
}

/*
 * A kretprobe follows so many calls of its function at one time and misses the
 * others. What workers execute, or anybody waits in, more tasks are in than what
 * only a step's task calls. 0: the kernel's own number will do.
 */
static unsigned maxactive_for(const struct functions *f, const struct function *fn)
{
	bool shared = fn->def && (!strcmp(fn->def->step, "any") || !strcmp(fn->def->step, "later"));
	unsigned want = f->streams + MAXACTIVE_SPARE;

	if (f->streams > 1 || shared)
		want *= 2;
	return want > f->own_maxactive ? want : 0;
}

/* The best that works. */
static enum trace_backend first_rung(const struct functions *f)
{
	for (int r = TRACE_FENTRY; r <= TRACE_KPROBE; r++)
		if (f->have[r])
			return (enum trace_backend)r;
	return TRACE_NONE;
}

int functions__plan(struct functions *f, const struct trace_opts *o, struct frtrace_bpf *skel,
		    char *err, size_t errlen)
{
	memset(f, 0, sizeof(*f));
	f->streams = o->streams ? o->streams : 1;
	f->own_maxactive = own_maxactive();
	f->best = TRACE_NONE;
	for (int r = TRACE_FENTRY; r <= TRACE_KPROBE; r++) {
		if (o->backend == TRACE_AUTO || o->backend == (enum trace_backend)r)
			f->have[r] = ladder__try((enum trace_backend)r, f->why[r],
						 sizeof(f->why[r]));
		else
			snprintf(f->why[r], sizeof(f->why[r]), "not asked for");
	}
	if (f->have[TRACE_FENTRY] && (f->have[TRACE_MULTI] || f->have[TRACE_KPROBE]) &&
	    o->streams != 1 && programs__preempted()) {
		f->have[TRACE_FENTRY] = false;
		snprintf(
			f->why[TRACE_FENTRY], sizeof(f->why[TRACE_FENTRY]),
			"this kernel preempts its programs, and would skip many with several streams");
	}
	if (o->backend >= TRACE_FENTRY && first_rung(f) == TRACE_NONE)
		return fail(err, errlen, -EINVAL, "--probes %s: %s; use --probes auto, or none",
			    functions__rung_name(o->backend), f->why[o->backend]);
	if (first_rung(f) == TRACE_NONE)
		return 0;
	f->cookies = f->have[TRACE_KPROBE] && ladder__has_cookies();
	bpf_program__set_autoload(skel->progs.frt_baked_enter,
				  f->have[TRACE_KPROBE] && !f->cookies);
	bpf_program__set_autoload(skel->progs.frt_baked_leave,
				  f->have[TRACE_KPROBE] && !f->cookies);
	bpf_program__set_autoload(skel->progs.frt_kprobe_enter, f->cookies);
	bpf_program__set_autoload(skel->progs.frt_kprobe_leave, f->cookies);
	bpf_program__set_autoload(skel->progs.frt_multi_enter, f->have[TRACE_MULTI]);
	bpf_program__set_autoload(skel->progs.frt_multi_leave, f->have[TRACE_MULTI]);
	if (f->have[TRACE_FENTRY]) {
		struct bpf_program *p[] = { skel->progs.frt_fentry0, skel->progs.frt_fentry1,
					    skel->progs.frt_fexit };

		/* Templates: loaded for one function, copied for the others. */
		for (size_t i = 0; i < ARRAY_SIZE(p); i++) {
			bpf_program__set_autoload(p[i], true);
			bpf_program__set_attach_target(p[i], 0, "unshare_nsproxy_namespaces");
		}
	}
	return 0;
}

int functions__find(struct functions *f, const struct trace_opts *o, struct frtrace_bpf *skel,
		    uint64_t pernet_list)
{
	enum trace_backend first = first_rung(f);
	struct operations *ops = f->have[TRACE_MULTI] && pernet_list
					 ? operations__read(skel, pernet_list)
					 : NULL;
	int rc = functions__look_up(f, o->probes, cap_of(first), ops);

	if (!rc && o->waits && first != TRACE_NONE)
		operations__explain(f, ops);
	operations__free(ops);
	if (rc || first != TRACE_NONE)
		return rc;
	for (size_t i = 0; i < f->n; i++)
		if (!f->v[i].reason[0])
			snprintf(f->v[i].reason, sizeof(f->v[i].reason), "denied: %.100s",
				 o->backend == TRACE_NONE ? "--probes none" : f->why[TRACE_KPROBE]);
	f->said[0] = '\0'; /* no rung has no cap */
	return 0;
}

/* A copy of a loaded program with the function's number written in. */
static int load_copy(const struct bpf_program *p, uint32_t id, const struct function *fn,
		     enum bpf_prog_type type, enum bpf_attach_type at)
{
	LIBBPF_OPTS(bpf_prog_load_opts, o, .expected_attach_type = at);
	size_t n = bpf_program__insn_cnt(p);
	struct bpf_insn *code = malloc(n * sizeof(*code));
	int fd;

	if (!code)
		return -ENOMEM;
	memcpy(code, bpf_program__insns(p), n * sizeof(*code));
	for (size_t i = 0; i < n; i++)
		if (code[i].imm == BAKED && (code[i].code & 0xf0) == BPF_MOV)
			code[i].imm = (int32_t)id;
	if (type == BPF_PROG_TYPE_TRACING) {
		o.attach_btf_id = (uint32_t)fn->btf_id;
		o.attach_btf_obj_fd = fn->btf_fd > 0 ? (uint32_t)fn->btf_fd : 0;
	}
	fd = bpf_prog_load(type, bpf_program__name(p), "Dual BSD/GPL", code, n, &o);
	free(code);
	return fd < 0 ? -errno : fd;
}

static int attach_fentry(struct function *fn, uint32_t id, const struct frtrace_bpf *skel,
			 bool exit)
{
	bool arg = fn->def && fn->def->split != FRT_PROBE_WHOLE;
	const struct bpf_program *p = exit  ? skel->progs.frt_fexit
				      : arg ? skel->progs.frt_fentry1
					    : skel->progs.frt_fentry0;
	int prog = load_copy(p, id, fn, BPF_PROG_TYPE_TRACING,
			     exit ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY),
	    link;

	if (prog < 0)
		return prog;
	link = bpf_raw_tracepoint_open(NULL, prog);
	link = link < 0 ? -errno : link;
	close(prog);
	return link;
}

/* One program for all of them, told apart by cookie; the link keeps the event. */
static int link_kprobe(int event, uint32_t id, const struct bpf_program *p)
{
	LIBBPF_OPTS(bpf_link_create_opts, o, .perf_event.bpf_cookie = id);
	int link = bpf_link_create(bpf_program__fd(p), event, BPF_PERF_EVENT, &o);

	link = link < 0 ? -errno : link;
	close(event);
	return link;
}

static int attach_kprobe(struct function *fn, uint32_t id, const struct functions *f,
			 const struct frtrace_bpf *skel, bool exit)
{
	unsigned maxactive = maxactive_for(f, fn);
	int fd = -ENOENT, prog;

	if (exit && maxactive)
		fd = kevents__open(id, fn->addr, maxactive);
	if (fd < 0) /* misses are counted */
		fd = ladder__open_kprobe(fn->addr, exit);
	if (fd < 0)
		return fd;
	if (f->cookies)
		return link_kprobe(
			fd, id, exit ? skel->progs.frt_kprobe_leave : skel->progs.frt_kprobe_enter);
	prog = load_copy(exit ? skel->progs.frt_baked_leave : skel->progs.frt_baked_enter, id, fn,
			 BPF_PROG_TYPE_KPROBE, 0);
	if (prog < 0 || ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog)) {
		int rc = prog < 0 ? prog : -errno;

		close(fd);
		fd = rc;
	}
	if (prog >= 0)
		close(prog);
	return fd;
}

/* Work shared out to a few threads: loading, verifying and waiting for the
 * kernel's grace periods overlap. */
struct crew {
	struct functions *f;
	struct frtrace_bpf *skel;
	enum trace_backend rung;
	bool exit;
	size_t next;
	pthread_mutex_t lock;
};

static bool crew__take(struct crew *c, size_t *i)
{
	bool got;

	pthread_mutex_lock(&c->lock);
	*i = c->next++;
	got = *i < c->f->n;
	pthread_mutex_unlock(&c->lock);
	return got;
}

static void crew__run(struct crew *c, void *(*work)(void *), unsigned threads)
{
	pthread_t t[DETACH_THREADS];
	unsigned n = 0;

	c->next = 0;
	pthread_mutex_init(&c->lock, NULL);
	while (n < threads && n < DETACH_THREADS && pthread_create(&t[n], NULL, work, c) == 0)
		n++;
	if (!n)
		work(c);
	while (n)
		pthread_join(t[--n], NULL);
	pthread_mutex_destroy(&c->lock);
}

static bool wants(const struct function *fn, enum trace_backend rung)
{
	if (!fn->addr || fn->rung != TRACE_NONE || fn->blacklisted ||
	    (fn->undo && rung != TRACE_MULTI))
		return false;
	if (rung == TRACE_FENTRY)
		return fn->btf_id > 0 && fn->times == 1 && fn->traceable && !fn->entry_only;
	return rung == TRACE_KPROBE || fn->traceable;
}

static void refused(struct function *fn, enum trace_backend rung, int rc)
{
	snprintf(fn->reason, sizeof(fn->reason), "%s: %s", functions__rung_name(rung),
		 rc == -EPERM || rc == -EACCES	  ? "denied"
		 : rc == -EINVAL		  ? "the kernel does not take a probe there"
		 : rc == -EMFILE || rc == -ENFILE ? "too many open files (limit nofile)"
						  : strerror(-rc));
}

static void *attach_one_by_one(void *arg)
{
	struct crew *c = arg;
	size_t i;

	while (crew__take(c, &i)) {
		struct function *fn = &c->f->v[i];
		bool no_exit = fn->entry_only;
		int fd;

		if (!wants(fn, c->rung) || (c->exit && no_exit) ||
		    (!c->exit && !no_exit && fn->exit_fd < 0))
			continue;
		fd = c->rung == TRACE_FENTRY
			     ? attach_fentry(fn, (uint32_t)i, c->skel, c->exit)
			     : attach_kprobe(fn, (uint32_t)i, c->f, c->skel, c->exit);
		if (fd < 0) {
			refused(fn, c->rung, fd);
			if (fn->exit_fd >= 0)
				close(fn->exit_fd);
			fn->exit_fd = -1;
		} else if (c->exit) {
			fn->exit_fd = fd;
		} else {
			fn->entry_fd = fd;
			fn->rung = c->rung;
		}
	}
	return NULL;
}

static void attach_rung(struct functions *f, struct frtrace_bpf *skel, enum trace_backend rung)
{
	struct crew c = { .f = f, .skel = skel, .rung = rung };
	unsigned threads = (unsigned)(sysconf(_SC_NPROCESSORS_ONLN) * 2);

	c.exit = true;
	crew__run(&c, attach_one_by_one, threads);
	c.exit = false;
	crew__run(&c, attach_one_by_one, threads);
}

static struct bpf_link *link_multi(const struct bpf_program *p, unsigned long *addrs,
				   uint64_t *cookies, size_t n, bool ret)
{
	LIBBPF_OPTS(bpf_kprobe_multi_opts, o, .addrs = addrs, .cookies = (const __u64 *)cookies,
		    .cnt = n, .retprobe = ret);

	return bpf_program__attach_kprobe_multi_opts(p, NULL, &o);
}

/* Keeps of the list what the kernel takes, and returns how many: halves of what it does
 * not take, down to who it is. */
static size_t sift_multi(struct functions *f, const struct bpf_program *p, unsigned long *addr,
			 uint64_t *cookie, size_t n)
{
	struct bpf_link *l = n ? link_multi(p, addr, cookie, n, true) : NULL;
	size_t half = n / 2, kept, more;

	if (l) {
		bpf_link__destroy(l);
		return n;
	}
	if (n < 2) {
		if (n)
			refused(&f->v[cookie[0]], TRACE_MULTI, -errno);
		return 0;
	}
	kept = sift_multi(f, p, addr, cookie, half);
	more = sift_multi(f, p, addr + half, cookie + half, n - half);
	memmove(addr + kept, addr + half, more * sizeof(*addr));
	memmove(cookie + kept, cookie + half, more * sizeof(*cookie));
	return kept + more;
}

/* One link for all exits, one for all entries: made one per function they take
 * seconds. When the kernel refuses the set, whoever it refuses alone is left out. */
static void attach_multi(struct functions *f, struct frtrace_bpf *skel)
{
	unsigned long *addr = calloc(f->n + 1, sizeof(*addr));
	uint64_t *cookie = calloc(f->n + 1, sizeof(*cookie));
	const struct bpf_program *leave = skel->progs.frt_multi_leave;
	size_t n = 0, exits;

	if (!addr || !cookie)
		goto out;
	for (size_t i = 0; i < f->n; i++) {
		if (!wants(&f->v[i], TRACE_MULTI) || f->v[i].entry_only)
			continue;
		addr[n] = (unsigned long)f->v[i].addr;
		cookie[n++] = i;
	}
	exits = n;
	f->multi[0] = exits ? link_multi(leave, addr, cookie, exits, true) : NULL;
	if (exits && !f->multi[0]) {
		exits = n = sift_multi(f, leave, addr, cookie, exits);
		f->multi[0] = exits ? link_multi(leave, addr, cookie, exits, true) : NULL;
	}
	if (!f->multi[0])
		goto out;
	for (size_t i = 0; i < f->n; i++) {
		if (!wants(&f->v[i], TRACE_MULTI) || !f->v[i].entry_only)
			continue;
		addr[n] = (unsigned long)f->v[i].addr;
		cookie[n++] = i;
	}
	f->multi[1] = link_multi(skel->progs.frt_multi_enter, addr, cookie, n, false);
	if (!f->multi[1]) /* perhaps one of the entry-only ones */
		f->multi[1] = link_multi(skel->progs.frt_multi_enter, addr, cookie, n = exits,
					 false);
	if (!f->multi[1]) {
		bpf_link__destroy(f->multi[0]);
		f->multi[0] = NULL;
		goto out;
	}
	for (size_t i = 0; i < n; i++)
		f->v[cookie[i]].rung = TRACE_MULTI;
out:
	free(addr);
	free(cookie);
}

/* Offset of pernet_operations.init, from the kernel's own types. */
static uint64_t init_offset(void)
{
	struct btf *btf = types__kernel();
	int id = btf ? btf__find_by_name_kind(btf, "pernet_operations", BTF_KIND_STRUCT) : -1;
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	uint64_t offset = 16;

	for (int i = 0; t && i < btf_vlen(t); i++)
		if (strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), "init") == 0)
			offset = btf_member_bit_offset(t, (uint32_t)i) / 8;
	return offset;
}

static int configure(const struct functions *f, struct frtrace_bpf *skel)
{
	uint32_t states = bpf_map__max_entries(skel->maps.funcs);
	uint64_t init = init_offset();
	int rc = 0;

	for (uint32_t i = 0; i < f->n && !rc; i++) {
		const struct frt_probe_def *d = f->v[i].def;
		struct frt_func_conf c = { 0 };

		c.entry_only = f->v[i].entry_only;
		if (d) {
			static const uint8_t split[] = { [FRT_PROBE_WHOLE] = FRT_SPLIT_NONE,
							 [FRT_PROBE_FLAG] = FRT_SPLIT_ARG,
							 [FRT_PROBE_INIT] = FRT_SPLIT_DEREF,
							 [FRT_PROBE_OPS] = FRT_SPLIT_OPS,
							 [FRT_PROBE_RTNL] = FRT_SPLIT_RTNL };

			c.split = split[d->split];
			c.mask = c.split == FRT_SPLIT_DEREF || c.split == FRT_SPLIT_OPS ? init
											: d->mask;
		}
		rc = bpf_map_update_elem(bpf_map__fd(skel->maps.func_conf), &i, &c, 0);
	}
	for (uint32_t i = 1; i < states && !rc; i++)
		rc = bpf_map_update_elem(bpf_map__fd(skel->maps.free_funcs), NULL, &i, 0);
	return rc;
}

static bool any(const struct functions *f)
{
	return f->have[TRACE_FENTRY] || f->have[TRACE_MULTI] || f->have[TRACE_KPROBE];
}

/* Two descriptors a function: as many as may be had. What is refused is told. */
static void raise_nofile(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur >= l.rlim_max)
		return;
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
}

/* Why a function that is there was taken by no rung. */
static void explain_untaken(const struct functions *f, struct function *fn)
{
	if (!fn->traceable)
		snprintf(fn->reason, sizeof(fn->reason),
			 "ftrace cannot stop there (notrace or inlined)");
	else if (f->have[TRACE_FENTRY] && fn->entry_only)
		snprintf(fn->reason, sizeof(fn->reason),
			 "fentry: it never returns; multi or kprobe can take its entry");
	else if (f->have[TRACE_FENTRY] && fn->times > 1)
		snprintf(fn->reason, sizeof(fn->reason),
			 "fentry: the name occurs %u times; multi or kprobe can take it",
			 fn->times);
	else if (f->have[TRACE_FENTRY] && fn->module[0])
		snprintf(fn->reason, sizeof(fn->reason),
			 "fentry: no type information of module %.48s; kprobe can take it",
			 fn->module);
	else
		snprintf(fn->reason, sizeof(fn->reason),
			 "fentry: not in the type information by this name; kprobe can take it");
}

/* Not attached, because its module went since the symbols were read? Nothing else may be
 * probed at its address. */
static void explain_gone(struct function *fn)
{
	char path[96];

	/* what the kernel calls so but is none */
	if (fn->rung != TRACE_NONE || !fn->addr || !fn->module[0] || !strcmp(fn->module, "bpf") ||
	    !strncmp(fn->module, "__builtin__", 11))
		return;
	snprintf(path, sizeof(path), "/sys/module/%s", fn->module);
	if (access(path, F_OK) == 0)
		return;
	fn->addr = 0;
	snprintf(fn->reason, sizeof(fn->reason),
		 "absent: module %s was unloaded before it could be probed", fn->module);
}

int functions__attach(struct functions *f, struct frtrace_bpf *skel)
{
	uint64_t began = now_ns();
	uint32_t by[TRACE_KPROBE + 1] = { 0 };
	int rc = 0;

	if (!any(f))
		return 0;
	if (!f->configured)
		rc = configure(f, skel);
	f->configured = !rc;
	if (rc)
		return rc;
	raise_nofile();
	for (size_t i = 0; i < f->n; i++) {
		f->v[i].rung = TRACE_NONE;
		explain_gone(&f->v[i]);
	}
	if (f->have[TRACE_FENTRY])
		attach_rung(f, skel, TRACE_FENTRY);
	if (f->have[TRACE_MULTI])
		attach_multi(f, skel);
	if (f->have[TRACE_KPROBE])
		attach_rung(f, skel, TRACE_KPROBE);
	f->attached = 0;
	f->best = TRACE_NONE;
	for (size_t i = 0; i < f->n; i++) {
		by[f->v[i].rung] += !f->v[i].undo;
		f->attached += f->v[i].rung != TRACE_NONE;
		explain_gone(&f->v[i]);
		if (f->v[i].rung == TRACE_NONE && !f->v[i].reason[0])
			explain_untaken(f, &f->v[i]);
	}
	for (int r = TRACE_FENTRY; r <= TRACE_KPROBE; r++)
		if (by[r] && (f->best == TRACE_NONE || by[r] > by[f->best]))
			f->best = (enum trace_backend)r;
	skel->bss->funcs_ready = 1;
	f->attach_ns = now_ns() - began;
	return 0;
}

static void *close_one_by_one(void *arg)
{
	struct crew *c = arg;
	size_t i;

	while (crew__take(c, &i)) {
		struct function *fn = &c->f->v[i];

		if (fn->entry_fd >= 0)
			close(fn->entry_fd);
		if (fn->exit_fd >= 0)
			close(fn->exit_fd);
		fn->entry_fd = fn->exit_fd = -1;
	}
	return NULL;
}

void functions__detach(struct functions *f, struct frtrace_bpf *skel)
{
	struct crew c = { .f = f };
	uint64_t began = now_ns();

	if (!f->n || !any(f))
		return;
	if (skel && skel->bss)
		skel->bss->funcs_ready = skel->bss->work_tid = 0;
	bpf_link__destroy(f->multi[1]);
	bpf_link__destroy(f->multi[0]);
	f->multi[0] = f->multi[1] = NULL;
	crew__run(&c, close_one_by_one, DETACH_THREADS);
	if (f->have[TRACE_KPROBE])
		kevents__remove();
	f->detach_ns = now_ns() - began;
}
