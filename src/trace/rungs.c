// SPDX-License-Identifier: BSD-2-Clause
/* Does a rung of the ladder work here? The kernel is asked by trying: a small
 * program is loaded and attached, and closed again. */
#include "trace/functions.h"

#include "trace/internal.h"
#include "trace/types.h"
#include "env/kallsyms.h"
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

/* A function that is there on every kernel, is cheap to stop at, and that
 * nobody calls while we try. */
#define TRIAL_FUNCTION "unshare_nsproxy_namespaces"

/* {"r0 = 0; exit"} of the type asked for. */
static int load_trivial(enum bpf_prog_type type, struct bpf_prog_load_opts *opts)
{
	static const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(type, "frt_try", "Dual BSD/GPL", code, ARRAY_SIZE(code), opts);

	return fd < 0 ? -errno : fd;
}

static int sysfs_number(const char *path, const char *format)
{
	FILE *f = fopen(path, "re");
	int v = -ENOENT;

	if (!f)
		return -errno;
	if (fscanf(f, format, &v) != 1)
		v = -ENOENT;
	fclose(f);
	return v;
}

int ladder__open_kprobe(uint64_t addr, bool ret)
{
	static int type = -1, bit = -1;
	struct perf_event_attr attr = { .size = sizeof(attr) };
	int fd;

	if (type < 0)
		type = sysfs_number("/sys/bus/event_source/devices/kprobe/type", "%d");
	if (type < 0)
		return type;
	if (bit < 0)
		bit = sysfs_number("/sys/bus/event_source/devices/kprobe/format/retprobe",
				   "config:%d");
	if (bit < 0)
		return bit;
	attr.type = (uint32_t)type;
	attr.config = ret ? 1ull << bit : 0;
	attr.kprobe_addr = addr;
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

bool ladder__has_cookies(void)
{
	static const struct bpf_insn code[] = {
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_attach_cookie },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "frt_try", "Dual BSD/GPL", code,
			       ARRAY_SIZE(code), NULL);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static uint64_t trial_address(void)
{
	struct kallsyms *k = kallsyms__open_kept();
	struct kallsym s;
	uint64_t addr = 0;

	while (!addr && kallsyms__next(k, &s))
		if (strcmp(s.name, TRIAL_FUNCTION) == 0)
			addr = s.addr;
	kallsyms__close(k);
	return addr;
}

static int try_kprobe(void)
{
	int fd = ladder__open_kprobe(trial_address(), false), prog, rc = 0;

	if (fd < 0)
		return fd;
	prog = load_trivial(BPF_PROG_TYPE_KPROBE, NULL);
	if (prog < 0 || ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog))
		rc = prog < 0 ? prog : -errno;
	if (prog >= 0)
		close(prog);
	close(fd);
	return rc;
}

static int try_multi(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, po, .expected_attach_type = BPF_TRACE_KPROBE_MULTI);
	LIBBPF_OPTS(bpf_link_create_opts, lo);
	unsigned long addr = trial_address();
	int prog = load_trivial(BPF_PROG_TYPE_KPROBE, &po), link, rc = 0;

	if (prog < 0)
		return prog;
	lo.kprobe_multi.addrs = &addr;
	lo.kprobe_multi.cnt = 1;
	link = bpf_link_create(prog, 0, BPF_TRACE_KPROBE_MULTI, &lo);
	if (link < 0)
		rc = -errno;
	else
		close(link);
	close(prog);
	return rc;
}

static int try_fentry(void)
{
	struct btf *btf = types__kernel();
	LIBBPF_OPTS(bpf_prog_load_opts, po, .expected_attach_type = BPF_TRACE_FENTRY);
	int id = btf ? btf__find_by_name_kind(btf, TRIAL_FUNCTION, BTF_KIND_FUNC) : -ENOENT, prog,
	    link, rc = 0;

	if (id < 0)
		return id;
	po.attach_btf_id = (uint32_t)id;
	prog = load_trivial(BPF_PROG_TYPE_TRACING, &po);
	if (prog < 0)
		return prog;
	link = bpf_raw_tracepoint_open(NULL, prog);
	if (link < 0)
		rc = -errno;
	else
		close(link);
	close(prog);
	return rc;
}

bool ladder__try(enum trace_backend rung, char *why, size_t len)
{
	static const struct {
		int (*try)(void);
		const char *option; /* what its absence is most likely due to */
	} rungs[] = {
		[TRACE_FENTRY] = { try_fentry, "CONFIG_FUNCTION_TRACER" },
		[TRACE_MULTI] = { try_multi, "CONFIG_FPROBE" },
		[TRACE_KPROBE] = { try_kprobe, "CONFIG_KPROBES" },
	};
	char reason[160], remedy[160];
	int rc = rungs[rung].try();
	char option;

	if (!rc) {
		snprintf(why, len, "%s", "");
		return true;
	}
	option = explain__config(rungs[rung].option);
	if (option == 'n') {
		snprintf(why, len, "this kernel has no %s", rungs[rung].option);
		return false;
	}
	explain__bpf(-rc, reason, sizeof(reason), remedy, sizeof(remedy));
	snprintf(why, len, "%s",
		 rc == -EOPNOTSUPP || rc == -EINVAL ? "this kernel does not know it" : reason);
	return false;
}
