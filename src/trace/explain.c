// SPDX-License-Identifier: BSD-2-Clause
/* Why the kernel refused: the errno, together with what can be looked up about
 * capabilities, lockdown, limits and the kernel's configuration. */
#include "trace/internal.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

static int print_nothing(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
	return 0;
}

static int print_debug(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return level == LIBBPF_DEBUG ? 0 : vfprintf(stderr, fmt, ap);
}

void quiet_libbpf(void)
{
	libbpf_set_print(getenv("FRTRACE_DEBUG") ? print_debug : print_nothing);
}

bool explain__capable(int cap)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2];

	if (syscall(SYS_capget, &h, d))
		return false;
	return d[cap / 32].effective >> (cap % 32) & 1;
}

/* From /proc/config.gz or /boot/config-RELEASE, whichever is there. */
char explain__config(const char *option)
{
	size_t len = strlen(option);
	char path[128], line[512];
	struct utsname u;
	char state = 0;
	gzFile f;

	f = gzopen("/proc/config.gz", "re");
	if (!f && !uname(&u)) {
		snprintf(path, sizeof(path), "/boot/config-%s", u.release);
		f = gzopen(path, "re"); /* reads plain text as well */
	}
	if (!f)
		return 0;
	state = 'n';
	while (gzgets(f, line, sizeof(line))) {
		if (!strncmp(line, option, len) && line[len] == '=') {
			state = line[len + 1];
			break;
		}
	}
	gzclose(f);
	return state;
}

/* "none", "integrity", "confidentiality"; false when there is no lockdown. */
static bool lockdown(char *mode, size_t size)
{
	FILE *f = fopen("/sys/kernel/security/lockdown", "re");
	char line[128] = "", *from, *to;

	if (!f)
		return false;
	if (!fgets(line, sizeof(line), f))
		line[0] = 0;
	fclose(f);
	from = strchr(line, '[');
	to = from ? strchr(from, ']') : NULL;
	if (!to)
		return false;
	*to = 0;
	snprintf(mode, size, "%s", from + 1);
	return strcmp(mode, "none") != 0;
}

void explain__bpf(int err, char *reason, size_t rlen, char *remedy, size_t mlen)
{
	char mode[32];

	switch (err) {
	case EACCES:
		/* Privileges are refused with EPERM, programs with EACCES. */
		if (explain__capable(CAP_SYS_ADMIN) || explain__capable(CAP_BPF)) {
			snprintf(reason, rlen, "this kernel's verifier does not accept a program");
			snprintf(remedy, mlen, "FRTRACE_DEBUG=1 shows which, and why: report that");
			return;
		}
		/* fall through */
	case EPERM:
		if (!explain__capable(CAP_SYS_ADMIN) && !explain__capable(CAP_BPF)) {
			snprintf(reason, rlen, "capability CAP_BPF is missing");
			snprintf(remedy, mlen, "run as root (CAP_BPF and CAP_PERFMON)");
		} else if (!explain__capable(CAP_SYS_ADMIN) && !explain__capable(CAP_PERFMON)) {
			snprintf(reason, rlen, "capability CAP_PERFMON is missing");
			snprintf(remedy, mlen, "run as root (CAP_BPF and CAP_PERFMON)");
		} else if (lockdown(mode, sizeof(mode))) {
			snprintf(reason, rlen, "kernel lockdown is \"%s\"", mode);
			snprintf(remedy, mlen, "boot without lockdown=%s", mode);
		} else {
			snprintf(reason, rlen, "denied though the capabilities are there");
			snprintf(
				remedy, mlen,
				"a security module, a seccomp filter or, before 5.11, the limit on "
				"locked memory forbids it");
		}
		return;
	case ENOSYS:
		snprintf(reason, rlen, "this kernel has no bpf system call");
		snprintf(remedy, mlen, "it needs CONFIG_BPF_SYSCALL=y");
		return;
	case ENOMEM:
		snprintf(reason, rlen, "no memory");
		snprintf(remedy, mlen, "free some, or raise the cgroup's memory limit");
		return;
	case EMFILE:
	case ENFILE:
		snprintf(reason, rlen, "%s", strerror(err));
		snprintf(remedy, mlen, "raise the limit on open files (ulimit -n)");
		return;
	default:
		snprintf(reason, rlen, "%s", strerror(err));
		snprintf(remedy, mlen, "FRTRACE_DEBUG=1 shows what the kernel said");
	}
}

void explain__perf(int err, char *reason, size_t rlen, char *remedy, size_t mlen)
{
	switch (err) {
	case EPERM:
	case EACCES:
		if (!explain__capable(CAP_SYS_ADMIN) && !explain__capable(CAP_PERFMON)) {
			snprintf(reason, rlen, "capability CAP_PERFMON is missing");
			snprintf(remedy, mlen, "run as root");
		} else {
			snprintf(reason, rlen,
				 "perf events are denied though the capability is there");
			snprintf(remedy, mlen,
				 "a security module or a seccomp filter forbids perf_event_open");
		}
		return;
	case ENOSYS:
	case ENOENT:
	case EOPNOTSUPP:
		snprintf(reason, rlen, "this kernel has no perf events");
		snprintf(remedy, mlen, "it needs CONFIG_PERF_EVENTS=y");
		return;
	default:
		snprintf(reason, rlen, "perf_event_open: %s", strerror(err));
		snprintf(remedy, mlen, "sampling can be left out: --freq 0");
	}
}
