// SPDX-License-Identifier: BSD-2-Clause
/* The tracer's life: load, attach, follow, drain, detach. */
#include "trace/internal.h"
#include "env/kallsyms.h"
#include "trace/types.h"

#include "frtrace.skel.h"
#include "util/util.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One creator drains between its routers; several outrun a thread now and then. */
/* With one stream it is emptied between routers, which send 20 kB each, with
 * probed functions 300: the smaller, the more of it stays in a CPU's own cache. */
#define RING_ONE (1U << 20)
#define RING_FUNCS (4U << 20)
#define RING_MANY (8U << 20)
#define WAKEUP_PART 16 /* the draining thread is woken at this part of the ring */

static int run_control(struct bpf_program *prog, uint64_t a0, uint64_t a1, uint32_t *ret)
{
	uint64_t args[2] = { a0, a1 };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));
	int err = bpf_prog_test_run_opts(bpf_program__fd(prog), &opts);

	if (!err && ret)
		*ret = opts.retval;
	return err;
}

static int on_event(void *ctx, void *data, size_t size)
{
	struct trace *t = ctx;

	int err;

	if (t->sink_err)
		return 0;
	err = event__put(t->stacks, &t->fn, &t->opts.sink, data, size);
	if (err == -EBADMSG)
		t->garbled++; /* one event is lost, not the run */
	else
		t->sink_err = err;
	return 0;
}

/* Every slot but 0 is free. */
static int fill_slots(struct trace *t)
{
	uint32_t n = bpf_map__max_entries(t->skel->maps.slots);
	int fd = bpf_map__fd(t->skel->maps.free_slots), err = 0;

	for (uint32_t slot = 1; slot < n && !err; slot++)
		err = bpf_map_update_elem(fd, NULL, &slot, 0);
	return err;
}

static void begin_epoch(struct trace *t)
{
	t->skel->bss->epoch++;
	t->skel->bss->epoch_ts = now_ns();
}

/* Whom the kernel side finds by itself. */
static void choose_targets(struct trace *t)
{
	const struct trace_opts *o = &t->opts;

	bpf_program__set_autoload(t->skel->progs.frt_target_rename, o->comm != NULL);
	bpf_program__set_autoload(t->skel->progs.frt_target_fork, o->cgroup != 0);
	bpf_program__set_autoload(t->skel->progs.frt_target_attach, o->cgroup != 0);
	if (o->comm)
		snprintf((char *)t->skel->rodata->target_comm, sizeof(t->skel->rodata->target_comm),
			 "%s", o->comm);
	t->skel->rodata->knob_cgroup = o->cgroup;
}

static void size_maps(struct trace *t)
{
	const bool *have = t->fn.have;
	bool funcs = have[TRACE_FENTRY] || have[TRACE_MULTI] || have[TRACE_KPROBE];
	uint32_t one = funcs ? RING_FUNCS : RING_ONE;

	bpf_map__set_max_entries(t->skel->maps.ring, t->opts.streams == 1 ? one : RING_MANY);
	if (!funcs) /* half of what all maps take */
		bpf_map__set_max_entries(t->skel->maps.funcs, 1);
}

static int load(struct trace *t, char *err, size_t errlen)
{
	bool many = t->opts.streams != 1;
	char reason[160], remedy[160];
	int rc;

	rc = programs__prev_state();
	if (rc < 0)
		return fail(
			err, errlen, -ESRCH,
			"kernel type information: /sys/kernel/btf/vmlinux is not there; tracing "
			"needs a kernel with CONFIG_DEBUG_INFO_BTF=y (--untraced does not)");
	t->skel = frtrace_bpf__open();
	if (!t->skel)
		return fail(err, errlen, -errno, "BPF programs: cannot open: %s", strerror(errno));
	t->skel->rodata->knob_prev_state = rc;
	t->skel->rodata->knob_off_stacks = t->opts.waits;
	t->skel->rodata->knob_wakeup_bytes = many ? RING_MANY / WAKEUP_PART : 0;
	rc = programs__choose(t);
	if (rc)
		return fail(err, errlen, rc, "kernel type information: cannot be read");
	bpf_program__set_autoload(t->skel->progs.frt_sample, t->opts.freq > 0);
	choose_targets(t);
	rc = functions__plan(&t->fn, &t->opts, t->skel, err, errlen);
	if (rc)
		return rc;
	size_maps(t);
	rc = frtrace_bpf__load(t->skel);
	if (rc) {
		explain__bpf(-rc, reason, sizeof(reason), remedy, sizeof(remedy));
		return fail(err, errlen, rc, "BPF programs: cannot load: %s; %s", reason, remedy);
	}
	/* After what takes long: what is found shall still be there when it is attached. */
	rc = functions__find(&t->fn, &t->opts, t->skel, t->pernet_list);
	if (rc)
		return fail(err, errlen, rc, "function probes: %s", strerror(-rc));
	return 0;
}

int trace__open(const struct trace_opts *o, struct trace **out, char *err, size_t errlen)
{
	struct trace *t = calloc(1, sizeof(*t));
	int rc = -ENOMEM;
	uint64_t began;

	*out = NULL;
	if (!t)
		return fail(err, errlen, -ENOMEM, "tracer: no memory");
	t->opts = *o;
	pthread_mutex_init(&t->lock, NULL);
	quiet_libbpf();

	t->stacks = stacks__new();
	t->creator_task = calloc(FRT_CREATORS_MAX, sizeof(*t->creator_task));
	t->creator_tid = calloc(FRT_CREATORS_MAX, sizeof(*t->creator_tid));
	if (!t->stacks || !t->creator_task || !t->creator_tid) {
		fail(err, errlen, rc, "tracer: no memory");
		goto fail;
	}
	began = now_ns();
	rc = load(t, err, errlen);
	t->fn.load_ns = now_ns() - began;
	if (rc)
		goto fail;
	rc = fill_slots(t);
	if (rc) {
		fail(err, errlen, rc, "BPF map free_slots: %s", strerror(-rc));
		goto fail;
	}
	t->cells = mmap(NULL, FRT_CREATORS_MAX * sizeof(*t->cells), PROT_READ | PROT_WRITE,
			MAP_SHARED, bpf_map__fd(t->skel->maps.creators), 0);
	if (t->cells == MAP_FAILED) {
		t->cells = NULL;
		rc = -errno;
		fail(err, errlen, rc, "BPF map creators: cannot be mapped: %s", strerror(-rc));
		goto fail;
	}
	t->ring = ring_buffer__new(bpf_map__fd(t->skel->maps.ring), on_event, t, NULL);
	if (!t->ring) {
		rc = -errno;
		fail(err, errlen, rc, "BPF ring buffer: cannot be mapped: %s", strerror(-rc));
		goto fail;
	}
	rc = functions__attach(&t->fn, t->skel);
	if (rc) {
		fail(err, errlen, rc, "function probes: %s", strerror(-rc));
		goto fail;
	}
	t->opts.probes = NULL; /* the caller's */
	begin_epoch(t);
	rc = attach__all(t, err, errlen);
	if (rc)
		goto fail;
	/* Read now, not beside the first router. */
	if (o->freq || o->waits)
		stacks__frame(t->stacks, 1);
	if (o->freq && attach__samples(t, o->freq, t->sample_reason, sizeof(t->sample_reason)))
		t->opts.freq = 0;
	*out = t;
	goto out;
fail:
	trace__close(t);
out:
	/* nothing more is looked for */
	kallsyms__forget();
	types__forget();
	return rc;
}

void trace__close(struct trace *t)
{
	if (!t)
		return;
	attach__none(t);
	functions__detach(&t->fn, t->skel);
	functions__free(&t->fn);
	ring_buffer__free(t->ring);
	if (t->cells)
		munmap((void *)t->cells, FRT_CREATORS_MAX * sizeof(*t->cells));
	frtrace_bpf__destroy(t->skel);
	stacks__free(t->stacks);
	outside__free(&t->outside);
	free(t->creator_task);
	free(t->creator_tid);
	free(t->pending);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

/* Its birth is told by no event: the next drain puts it. Locked by the caller. */
static int add_pending(struct trace *t, const struct frt_proc *p, const char *comm)
{
	struct pending_proc *at;
	int err = grow(&t->pending, t->npending, &t->cappending, sizeof(*t->pending));

	if (err)
		return err;
	at = &t->pending[t->npending++];
	at->p = *p;
	snprintf(at->comm, sizeof(at->comm), "%s", comm);
	return 0;
}

static void read_comm(pid_t pid, pid_t tid, char *comm, size_t size)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	f = fopen(path, "re");
	if (!f || !fgets(comm, size, f))
		comm[0] = 0;
	comm[strcspn(comm, "\n")] = 0;
	if (f)
		fclose(f);
}

int trace__add_creator(struct trace *t, unsigned stream, volatile uint32_t **cell, uint32_t *task)
{
	struct frt_proc p = { .is_creator = 1, .t = now_ns() };
	char comm[FRT_COMM_LEN + 1];
	uint32_t serial = 0;
	int err;

	if (stream >= FRT_CREATORS_MAX)
		return -ERANGE;
	pthread_mutex_lock(&t->lock);
	t->cells[stream].instance = 0;
	err = run_control(t->skel->progs.frt_follow_self, stream, 0, &serial);
	if (!err && !serial)
		err = -ENOSPC; /* every slot is taken */
	if (!err) {
		p.task = serial;
		p.tid = syscall(SYS_gettid);
		p.tgid = getpid();
		p.is_thread = p.tid != p.tgid;
		read_comm(p.tgid, p.tid, comm, sizeof(comm));
		err = add_pending(t, &p, comm);
		t->creator_task[stream] = serial;
		t->creator_tid[stream] = p.tid;
		*cell = &t->cells[stream].instance;
		*task = serial;
	}
	pthread_mutex_unlock(&t->lock);
	return err;
}

int trace__drop_creator(struct trace *t, unsigned stream)
{
	int err = -ENOENT;

	if (stream >= FRT_CREATORS_MAX)
		return -ERANGE;
	pthread_mutex_lock(&t->lock);
	if (t->creator_task[stream]) {
		err = run_control(t->skel->progs.frt_unfollow, t->creator_task[stream], 0, NULL);
		t->creator_task[stream] = 0;
		t->cells[stream].instance = 0;
	}
	pthread_mutex_unlock(&t->lock);
	return err;
}

/* Threads come while others are found: until a round finds none. */
#define FOLLOW_ROUNDS 20
#define FOLLOW_THREADS 100000

int trace__add_process(struct trace *t, int pidfd)
{
	int fd = bpf_map__fd(t->skel->maps.walks), err = 0;
	uint32_t zero = 0, serial = 1, added = 1, all = 0;
	struct frt_walk w;

	pthread_mutex_lock(&t->lock);
	for (int round = 0; round < FOLLOW_ROUNDS && added && !err; round++) {
		added = 0;
		for (int i = 0; i < FOLLOW_THREADS && !err; i++) {
			err = run_control(t->skel->progs.frt_follow_next, pidfd, i == 0, &serial);
			if (err || !serial)
				break;
			all++;
			if (serial == 1)
				continue;
			added++;
			err = bpf_map_lookup_elem(fd, &zero, &w);
			if (!err) {
				struct frt_proc p = {
					.task = serial,
					.tid = w.tid,
					.tgid = w.tgid,
					.is_thread = w.tid != w.tgid,
					.t = now_ns(),
				};

				err = add_pending(t, &p, w.comm);
			}
		}
	}
	pthread_mutex_unlock(&t->lock);
	if (!err && !all)
		err = -ESRCH;
	return err;
}

void trace__sampling(struct trace *t, bool on)
{
	if (t->sampling == on)
		return;
	t->sampling = on;
	t->skel->bss->sampling = on;
	attach__enable_samples(t, on);
}

/* The calling thread's cell, when it is a creator. Locked by the caller. */
static volatile struct frt_creator *own_cell(struct trace *t)
{
	pid_t tid = syscall(SYS_gettid);

	for (unsigned i = 0; i < FRT_CREATORS_MAX; i++)
		if (t->creator_task[i] && t->creator_tid[i] == tid)
			return &t->cells[i];
	return NULL;
}

int trace__drain(struct trace *t)
{
	volatile struct frt_creator *own;
	int n;

	pthread_mutex_lock(&t->lock);
	own = own_cell(t);
	if (own)
		own->quiet = 1;
	for (size_t i = 0; i < t->npending && !t->sink_err; i++) {
		t->pending[i].p.comm = t->pending[i].comm;
		t->sink_err = t->opts.sink.put(t->opts.sink.ctx, FRT_REC_PROC, &t->pending[i].p);
	}
	t->npending = 0;
	pthread_mutex_unlock(&t->lock);
	n = ring_buffer__consume(t->ring);
	if (own)
		own->quiet = 0;
	if (t->sink_err)
		return t->sink_err;
	return n < 0 ? n : 0;
}

int trace__fd(const struct trace *t)
{
	return ring_buffer__epoll_fd(t->ring);
}

bool trace__deferring(const struct trace *t)
{
	uint64_t work;
	uint32_t tid;

	return !t->paused && t->opts.waits &&
	       (!bpf_map_get_next_key(bpf_map__fd(t->skel->maps.works), NULL, &work) ||
		!bpf_map_get_next_key(bpf_map__fd(t->skel->maps.runs), NULL, &tid));
}

int trace__pause(struct trace *t)
{
	attach__none(t);
	losses__missed(t, true);
	functions__detach(&t->fn, t->skel);
	t->paused = true;
	return 0;
}

int trace__resume(struct trace *t)
{
	int err;

	if (!t->paused)
		return 0;
	err = losses__forget_current(t);
	if (err)
		return err;
	err = functions__attach(&t->fn, t->skel);
	if (err)
		return err;
	begin_epoch(t);
	err = attach__all(t, NULL, 0);
	if (err)
		return err;
	if (t->opts.freq) {
		err = attach__samples(t, t->opts.freq, t->sample_reason, sizeof(t->sample_reason));
		if (err)
			return err;
		attach__enable_samples(t, t->sampling);
	}
	t->paused = false;
	return run_control(t->skel->progs.frt_here, 0, 0, NULL);
}

/* A namespace that dies under the walk tears it; a few attempts are plenty. */
#define WALK_ATTEMPTS 20
#define WALK_RUNS 8000

int trace__count_netns(struct trace *t, uint64_t *n)
{
	int fd = bpf_map__fd(t->skel->maps.walks), err = 0;
	uint32_t zero = 0, more;
	struct frt_walk w;

	pthread_mutex_lock(&t->lock);
	for (int i = 0; i < WALK_ATTEMPTS; i++) {
		more = 1;
		for (int run = 0; run < WALK_RUNS && more && !err; run++)
			err = run_control(t->skel->progs.frt_count_netns, run == 0, 0, &more);
		if (!err)
			err = bpf_map_lookup_elem(fd, &zero, &w);
		if (err)
			break;
		if (w.done && w.n) {
			/* All but the caller's own, and the list's head: as many as there are
			 * in all, besides the first. */
			*n = w.n - 1;
			pthread_mutex_unlock(&t->lock);
			return 0;
		}
	}
	pthread_mutex_unlock(&t->lock);
	return err ? err : -EAGAIN;
}

struct json_t *trace__probes(const struct trace *t)
{
	json_t *o = functions__json(&t->fn), *sampling = json_object();

	json_object_set_new(sampling, "hz", json_integer(t->opts.freq));
	if (t->sample_reason[0])
		json_object_set_new(sampling, "reason", json_string(t->sample_reason));
	json_object_set_new(o, "sampling", sampling);
	if (t->opts.waits) {
		json_object_set_new(o, "contention", json_boolean(t->contention));
		json_object_set_new(o, "deferred", json_boolean(t->deferred));
	}
	return o;
}

/* The kernel accounts what a map takes as memlock in its fdinfo. */
uint64_t trace__map_bytes(const struct trace *t)
{
	unsigned long long sum = 0, v;
	char path[64], line[128];
	struct bpf_map *map;
	FILE *f;

	bpf_object__for_each_map(map, t->skel->obj) {
		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", bpf_map__fd(map));
		f = fopen(path, "re");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "memlock: %llu", &v) == 1)
				sum += v;
		if (f)
			fclose(f);
	}
	return sum;
}
