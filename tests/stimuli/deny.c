/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * deny CALL[,CALL…] COMMAND…: runs COMMAND with these system calls failing with
 * EPERM, as under a container's filter or a security module.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	unsigned nr;
} calls[] = {
	{ "bpf", SYS_bpf },	{ "perf_event_open", SYS_perf_event_open },
	{ "mount", SYS_mount }, { "unshare", SYS_unshare },
	{ "setns", SYS_setns },
};

int main(int argc, char **argv)
{
	struct sock_filter f[2 * sizeof(calls) / sizeof(calls[0]) + 2];
	struct sock_fprog prog = { .filter = f };
	char *name;

	if (argc < 3) {
		fprintf(stderr, "usage: deny CALL[,CALL...] COMMAND...\n");
		return 125;
	}
	f[prog.len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						     offsetof(struct seccomp_data, nr));
	for (name = strtok(argv[1], ","); name; name = strtok(NULL, ",")) {
		size_t i = 0;

		while (i < sizeof(calls) / sizeof(calls[0]) && strcmp(calls[i].name, name) != 0)
			i++;
		if (i == sizeof(calls) / sizeof(calls[0]) ||
		    prog.len + 3u > sizeof(f) / sizeof(f[0])) {
			fprintf(stderr, "deny: %s: not in the table\n", name);
			return 125;
		}
		f[prog.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].nr,
							     0, 1);
		f[prog.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
							     SECCOMP_RET_ERRNO | EPERM);
	}
	f[prog.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)) {
		perror("deny: seccomp");
		return 125;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
