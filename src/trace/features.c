// SPDX-License-Identifier: BSD-2-Clause
/*
 * What this kernel and these privileges allow: one row a feature, each asked
 * by trying what frtrace would do, never by a version. The order is the order
 * of the report: what everything needs first, what adds to it below.
 */
#include "trace/functions.h"
#include "trace/internal.h"
#include "trace/types.h"

#include "env/kallsyms.h"
#include "frtrace.skel.h"
#include "util/util.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOV0(dst) ((struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (dst) })
#define MOVI(dst, val) \
	((struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (dst), .imm = (val) })
#define MOVR(dst, src)      \
	((struct bpf_insn){ \
		.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = (dst), .src_reg = (src) })
#define ADDI(dst, val) \
	((struct bpf_insn){ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = (dst), .imm = (val) })
#define CALL(func) ((struct bpf_insn){ .code = BPF_JMP | BPF_CALL, .imm = (func) })
#define EXIT() ((struct bpf_insn){ .code = BPF_JMP | BPF_EXIT })

/* {return 0} */
static const struct bpf_insn nothing[] = {
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
	{ .code = BPF_JMP | BPF_EXIT },
};

static int load_code(enum bpf_prog_type type, const struct bpf_insn *code, size_t n,
		     struct bpf_prog_load_opts *opts)
{
	int fd = bpf_prog_load(type, "frt_try", "Dual BSD/GPL", code, n, opts);

	return fd < 0 ? -errno : fd;
}

static int load_nothing(enum bpf_prog_type type)
{
	return load_code(type, nothing, ARRAY_SIZE(nothing), NULL);
}

static void say(char *to, size_t size, const char *text)
{
	snprintf(to, size, "%s", text);
}

#define REASON(f, text) say((f)->reason, sizeof((f)->reason), text)
#define REMEDY(f, text) say((f)->remedy, sizeof((f)->remedy), text)

/* The row of a failed attempt: reason from the errno; when it is not about
 * privileges and the kernel's configuration lacks `option`, that. */
static void refused(struct trace_feature *f, int err, const char *option)
{
	f->state = TRACE_NO;
	explain__bpf(-err, f->reason, sizeof(f->reason), f->remedy, sizeof(f->remedy));
	if (option && explain__config(option) == 'n') {
		snprintf(f->reason, sizeof(f->reason), "%s is not set in this kernel", option);
		snprintf(f->remedy, sizeof(f->remedy), "a kernel with %s=y", option);
	}
}

static void ask_bpf(struct trace_feature *f)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "frt_try", 4, 4, 1, NULL);

	if (fd < 0) {
		refused(f, -errno, "CONFIG_BPF_SYSCALL");
		return;
	}
	close(fd);
	f->state = TRACE_YES;
}

static void ask_btf(struct trace_feature *f)
{
	struct btf *btf = types__kernel();

	f->state = btf ? TRACE_YES : TRACE_NO;
	if (!btf) {
		REASON(f, "/sys/kernel/btf/vmlinux cannot be read");
		REMEDY(f, "a kernel with CONFIG_DEBUG_INFO_BTF=y");
	}
}

static void ask_ring(struct trace_feature *f)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "frt_try", 0, 0, 4096, NULL);

	if (fd >= 0) {
		close(fd);
		f->state = TRACE_YES;
		return;
	}
	refused(f, -errno, NULL);
	if (errno == EINVAL) {
		REASON(f, "this kernel has no BPF ring buffer");
		REMEDY(f, "Linux 5.8 or later");
	}
}

/* Attaches a program that does nothing to a tracepoint, and takes it off. */
static int attach_raw(const char *name)
{
	int prog = load_nothing(BPF_PROG_TYPE_RAW_TRACEPOINT), link, err = 0;

	if (prog < 0)
		return prog;
	link = bpf_raw_tracepoint_open(name, prog);
	if (link < 0)
		err = -errno;
	else
		close(link);
	close(prog);
	return err;
}

static void ask_raw_tp(struct trace_feature *f)
{
	static const struct {
		const char *name, *option;
	} needed[] = {
		{ "sched_switch", "CONFIG_BPF_EVENTS" },
		{ "sched_waking", "CONFIG_BPF_EVENTS" },
		{ "sched_process_exec", "CONFIG_BPF_EVENTS" },
		{ "signal_deliver", "CONFIG_BPF_EVENTS" },
		{ "sys_enter", "CONFIG_FTRACE_SYSCALLS" },
		{ "sys_exit", "CONFIG_FTRACE_SYSCALLS" },
	};
	char with[96];
	int err;

	f->state = TRACE_YES;
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		err = attach_raw(needed[i].name);
		if (!err)
			continue;
		refused(f, err, needed[i].option);
		if (err == -ENOENT)
			REASON(f, "no such tracepoint");
		snprintf(with, sizeof(with), "%.60s", f->reason);
		snprintf(f->reason, sizeof(f->reason), "%s: %s", needed[i].name, with);
		return;
	}
}

static void ask_tp_btf(struct trace_feature *f)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_RAW_TP);
	struct btf *btf = types__kernel();
	int id = btf ? btf__find_by_name_kind(btf, "btf_trace_sched_switch", BTF_KIND_TYPEDEF)
		     : -ENOENT;
	int prog, link;

	if (id < 0) {
		f->state = TRACE_NO;
		REASON(f, "the kernel's type information does not know its tracepoints");
		REMEDY(f, "a kernel with CONFIG_DEBUG_INFO_BTF=y");
		return;
	}
	opts.attach_btf_id = id;
	prog = load_code(BPF_PROG_TYPE_TRACING, nothing, ARRAY_SIZE(nothing), &opts);
	if (prog < 0) {
		refused(f, prog, NULL);
		return;
	}
	link = bpf_raw_tracepoint_open(NULL, prog);
	if (link < 0) {
		refused(f, -errno, NULL);
	} else {
		f->state = TRACE_YES;
		close(link);
	}
	close(prog);
}

static void ask_test_run(struct trace_feature *f)
{
	uint64_t args[2] = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));
	int prog = load_nothing(BPF_PROG_TYPE_RAW_TRACEPOINT), err;

	if (prog < 0) {
		refused(f, prog, NULL);
		return;
	}
	err = bpf_prog_test_run_opts(prog, &opts);
	close(prog);
	if (!err) {
		f->state = TRACE_YES;
		return;
	}
	refused(f, err, NULL);
	if (err == -EINVAL || err == -ENOTSUP || err == -524 /* ENOTSUPP */) {
		REASON(f, "this kernel cannot run a raw tracepoint program on demand");
		REMEDY(f, "Linux 5.10 or later");
	}
}

static void ask_sampling(struct trace_feature *f)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.freq = 1,
					.sample_freq = 999,
					.disabled = 1 };
	int fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC), prog;

	if (fd < 0) {
		f->state = TRACE_NO;
		explain__perf(errno, f->reason, sizeof(f->reason), f->remedy, sizeof(f->remedy));
		return;
	}
	prog = load_nothing(BPF_PROG_TYPE_PERF_EVENT);
	if (prog < 0)
		refused(f, prog, NULL);
	else if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog))
		refused(f, -errno, NULL);
	else
		f->state = TRACE_YES;
	if (prog >= 0)
		close(prog);
	close(fd);
}

/* bpf_get_stack(ctx, stack, 64, 0) at a tracepoint. */
static void ask_off_stacks(struct trace_feature *f)
{
	const struct bpf_insn code[] = {
		MOVR(BPF_REG_2, BPF_REG_10),
		ADDI(BPF_REG_2, -64),
		MOVI(BPF_REG_3, 64),
		MOV0(BPF_REG_4),
		CALL(BPF_FUNC_get_stack),
		MOV0(BPF_REG_0),
		EXIT(),
	};
	int prog = load_code(BPF_PROG_TYPE_RAW_TRACEPOINT, code, ARRAY_SIZE(code), NULL);

	if (prog < 0) {
		refused(f, prog, "CONFIG_PERF_EVENTS");
		return;
	}
	close(prog);
	f->state = TRACE_YES;
}

/* The real thing, in the caller's own context: frtrace's own program. */
static void ask_count(struct trace_feature *f)
{
	struct frtrace_bpf *skel = frtrace_bpf__open();
	struct bpf_program *prog;
	uint64_t args[2] = { 1 };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));
	int err = skel ? 0 : -errno;

	if (skel) {
		bpf_object__for_each_program(prog, skel->obj)
			bpf_program__set_autoload(prog, prog == skel->progs.frt_count_netns);
		err = frtrace_bpf__load(skel);
		if (!err)
			err = bpf_prog_test_run_opts(bpf_program__fd(skel->progs.frt_count_netns),
						     &opts);
	}
	if (err)
		refused(f, err, "CONFIG_NET_NS");
	else
		f->state = TRACE_YES;
	frtrace_bpf__destroy(skel);
}

static void ask_kallsyms(struct trace_feature *f)
{
	struct kallsyms *k = kallsyms__open();
	uint64_t n = 0, known = 0;
	struct kallsym s;

	for (; !known && kallsyms__next(k, &s); n++)
		known += s.addr != 0;
	kallsyms__close(k);
	f->state = known ? TRACE_YES : TRACE_NO;
	if (!n) {
		REASON(f, "/proc/kallsyms cannot be read: frames have no names");
		REMEDY(f, "a kernel with CONFIG_KALLSYMS=y");
	} else if (!known) {
		REASON(f, "/proc/kallsyms hides its addresses: frames have no names");
		REMEDY(f, "sysctl kernel.kptr_restrict=1 and capability CAP_SYSLOG");
	}
}

static void ask_data_symbols(struct trace_feature *f)
{
	struct kallsyms *k = kallsyms__open_kept();
	struct kallsym s;
	bool found = false;

	/* Any kernel's first namespace is data that is never discarded. */
	while (!found && kallsyms__next(k, &s))
		found = s.addr && strcmp(s.name, "init_net") == 0;
	kallsyms__close(k);
	f->state = found ? TRACE_YES : TRACE_NO;
	if (!found) {
		REASON(f, "addresses of data are not listed: locks are named by other means");
		REMEDY(f, "a kernel with CONFIG_KALLSYMS_ALL=y");
	}
}

static void ask_locks(struct trace_feature *f)
{
	int err = attach_raw("contention_begin");

	if (!err) {
		f->state = TRACE_YES;
		return;
	}
	refused(f, err, NULL);
	if (err == -ENOENT) {
		REASON(f, "this kernel has no lock contention tracepoints");
		REMEDY(f, "Linux 5.19 or later");
	}
}

static void ask_task_storage(struct trace_feature *f)
{
	/* The smallest BTF that storage maps ask for: an int, key and value. */
	struct btf *btf = btf__new_empty();
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	int id = btf ? btf__add_int(btf, "int", 4, BTF_INT_SIGNED) : -ENOMEM, fd, err = id;

	if (id > 0)
		err = btf__load_into_kernel(btf);
	if (!err) {
		opts.btf_fd = btf__fd(btf);
		opts.btf_key_type_id = opts.btf_value_type_id = id;
		fd = bpf_map_create(BPF_MAP_TYPE_TASK_STORAGE, "frt_try", 4, 4, 0, &opts);
		err = fd < 0 ? -errno : 0;
		if (fd >= 0)
			close(fd);
	}
	btf__free(btf);
	if (!err) {
		f->state = TRACE_YES;
		return;
	}
	refused(f, err, NULL);
	if (err == -EINVAL) {
		REASON(f, "this kernel has no BPF storage for tasks; frtrace does without");
		REMEDY(f, "Linux 5.12 or later, for other tools");
	}
}

static void ask_rung(struct trace_feature *f, enum trace_backend rung, const char *option)
{
	if (ladder__try(rung, f->reason, sizeof(f->reason))) {
		f->state = TRACE_YES;
		return;
	}
	f->state = TRACE_NO;
	if (explain__config(option) == 'n') {
		snprintf(f->reason, sizeof(f->reason), "%s is not set in this kernel", option);
		snprintf(f->remedy, sizeof(f->remedy), "a kernel with %s=y", option);
	} else {
		REMEDY(f, "the other rungs; without any, the none rung answers by samples");
	}
}

static void ask_fentry(struct trace_feature *f)
{
	ask_rung(f, TRACE_FENTRY, "CONFIG_FUNCTION_TRACER");
}

static void ask_multi(struct trace_feature *f)
{
	ask_rung(f, TRACE_MULTI, "CONFIG_FPROBE");
}

static void ask_kprobe(struct trace_feature *f)
{
	ask_rung(f, TRACE_KPROBE, "CONFIG_KPROBES");
}

static void ask_filter_functions(struct trace_feature *f)
{
	static const char *const paths[] = {
		"/sys/kernel/tracing/available_filter_functions",
		"/sys/kernel/debug/tracing/available_filter_functions",
	};
	int err = 0;
	FILE *fp;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		fp = fopen(paths[i], "re");
		if (fp && fgetc(fp) != EOF) {
			fclose(fp);
			f->state = TRACE_YES;
			return;
		}
		err = errno;
		if (fp)
			fclose(fp);
	}
	f->state = TRACE_NO;
	snprintf(f->reason, sizeof(f->reason),
		 "available_filter_functions: %s; what can be probed is found by trying",
		 strerror(err ? err : EIO));
	REMEDY(f,
	       "mount tracefs at /sys/kernel/tracing, on a kernel with CONFIG_FUNCTION_TRACER=y");
}

static void ask_cgroup(struct trace_feature *f)
{
	f->state = access("/sys/fs/cgroup/cgroup.procs", R_OK) ? TRACE_NO : TRACE_YES;
	if (f->state == TRACE_NO) {
		REASON(f, "no cgroup2 hierarchy at /sys/fs/cgroup");
		REMEDY(f, "mount cgroup2 there");
	}
}

/* All that the main job attaches, as it attaches it. */
static void ask_trace(struct trace_feature *f)
{
	struct trace_opts o = { .backend = TRACE_NONE, .freq = 999, .streams = 1, .waits = true };
	char err[sizeof(f->reason)];
	struct trace *t;
	uint64_t n;
	int rc;

	rc = trace__open(&o, &t, err, sizeof(err));
	if (rc) {
		f->state = TRACE_NO;
		REASON(f, err);
		REMEDY(f, "frtrace --untraced measures walls without it");
		return;
	}
	f->state = TRACE_YES;
	rc = trace__count_netns(t, &n);
	if (rc) {
		f->state = TRACE_PARTLY;
		snprintf(f->reason, sizeof(f->reason), "namespaces cannot be counted: %s",
			 strerror(-rc));
	} else if (t->sample_reason[0]) {
		f->state = TRACE_PARTLY;
		snprintf(f->reason, sizeof(f->reason), "no samples: %.140s", t->sample_reason);
	}
	trace__close(t);
}

static const struct {
	const char *name;
	void (*ask)(struct trace_feature *f);
} features[] = {
	{ "trace", ask_trace },
	{ "bpf", ask_bpf },
	{ "btf", ask_btf },
	{ "ringbuf", ask_ring },
	{ "raw_tp", ask_raw_tp },
	{ "test_run", ask_test_run },
	{ "count", ask_count },
	{ "sampling", ask_sampling },
	{ "off_stacks", ask_off_stacks },
	{ "kallsyms", ask_kallsyms },
	{ "fentry", ask_fentry },
	{ "multi", ask_multi },
	{ "kprobe", ask_kprobe },
	{ "filter_functions", ask_filter_functions },
	{ "locks", ask_locks },
	{ "data_symbols", ask_data_symbols },
	{ "tp_btf", ask_tp_btf },
	{ "task_storage", ask_task_storage },
	{ "cgroup", ask_cgroup },
};

size_t trace__features(struct trace_feature *v, size_t max)
{
	quiet_libbpf();
	for (size_t i = 0; i < ARRAY_SIZE(features) && i < max; i++) {
		memset(&v[i], 0, sizeof(v[i]));
		v[i].name = features[i].name;
		features[i].ask(&v[i]);
	}
	return ARRAY_SIZE(features);
}
