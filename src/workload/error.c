/* SPDX-License-Identifier: BSD-2-Clause */
/* The error of a call, and which limit an errno stands for. */
#include "workload/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int wl__fail(struct workload *w, int rc, const char *fmt, ...)
{
	va_list ap;

	pthread_mutex_lock(&w->lock);
	/* being asked to stop is said only when nothing else went wrong */
	if (!w->error_rc || (w->error_rc == -EINTR && rc != -EINTR)) {
		w->error_rc = rc;
		va_start(ap, fmt);
		vsnprintf(w->error, sizeof(w->error), fmt, ap);
		va_end(ap);
	}
	pthread_mutex_unlock(&w->lock);
	return rc;
}

void wl__clear(struct workload *w)
{
	pthread_mutex_lock(&w->lock);
	w->error_rc = 0;
	w->error[0] = '\0';
	pthread_mutex_unlock(&w->lock);
}

const char *workload__error(const struct workload *w)
{
	return w->error_rc ? w->error : "no error";
}

bool wl__stopping(const struct workload *w)
{
	return atomic_load_explicit(&w->stop, memory_order_relaxed) &&
	       !atomic_load_explicit(&w->removing, memory_order_relaxed);
}

struct limit {
	int err;
	const char *call; /* prefix of the call's name */
	const char *name, *path, *remedy;
};

static const struct limit limits[] = {
	{ ENOSPC, "mount", "fs.mount-max", "/proc/sys/fs/mount-max", "raise it with sysctl -w" },
	{ ENOSPC, "unshare(CLONE_NEWNS", "user.max_mnt_namespaces or fs.mount-max",
	  "/proc/sys/fs/mount-max", "raise it with sysctl -w" },
	{ ENOSPC, "unshare", "user.max_net_namespaces", "/proc/sys/user/max_net_namespaces",
	  "raise it with sysctl -w" },
	{ ENOSPC, "open", "space or inodes of the file system of " WL_RUN_DIR, NULL,
	  "make room there" },
	{ ENOSPC, "write", "space of the file system of " WL_STATE_DIR, NULL, "make room there" },
	{ EMFILE, "", "open files of this process (RLIMIT_NOFILE)", NULL,
	  "raise it with ulimit -n" },
	{ ENFILE, "", "fs.file-max", "/proc/sys/fs/file-max", "raise it with sysctl -w" },
	{ EAGAIN, "vfork", "kernel.pid_max, kernel.threads-max or pids.max of the cgroup",
	  "/proc/sys/kernel/pid_max", "raise it" },
	{ EAGAIN, "pthread_create", "kernel.pid_max, kernel.threads-max or pids.max of the cgroup",
	  "/proc/sys/kernel/threads-max", "raise it" },
	{ ENOMEM, "", "memory", NULL, "ask for fewer routers" },
	{ ENOBUFS, "", "memory for the answer of the kernel", NULL, "ask for fewer routers" },
};

const char *limit__hint(char *dst, size_t size, const char *call, int err)
{
	dst[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		const struct limit *l = &limits[i];
		char value[32] = "";
		FILE *f;

		if (l->err != abs(err) || strncmp(call, l->call, strlen(l->call)))
			continue;
		f = l->path ? fopen(l->path, "re") : NULL;
		if (f && fgets(value, sizeof(value), f))
			value[strcspn(value, "\n")] = '\0';
		if (f)
			fclose(f);
		snprintf(dst, size, "; the limit is %s%s%s: %s", l->name, *value ? " = " : "",
			 value, l->remedy);
		break;
	}
	return dst;
}
