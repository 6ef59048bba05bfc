/* SPDX-License-Identifier: BSD-2-Clause */
/* Two programs that do nothing, on sys_enter and on sys_exit, until its input ends:
 * what looking at system calls costs at least. */
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int attach(const char *tracepoint)
{
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr a;
	long prog;

	memset(&a, 0, sizeof(a));
	a.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	a.insns = (unsigned long)nothing;
	a.insn_cnt = 2;
	a.license = (unsigned long)"BSD";
	prog = syscall(SYS_bpf, BPF_PROG_LOAD, &a, sizeof(a));
	if (prog < 0)
		return -1;
	memset(&a, 0, sizeof(a));
	a.raw_tracepoint.name = (unsigned long)tracepoint;
	a.raw_tracepoint.prog_fd = (unsigned)prog;
	return (int)syscall(SYS_bpf, BPF_RAW_TRACEPOINT_OPEN, &a, sizeof(a));
}

int main(void)
{
	char c;

	if (attach("sys_enter") < 0 || attach("sys_exit") < 0) {
		perror("bpf");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	return 0;
}
