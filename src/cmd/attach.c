/* SPDX-License-Identifier: BSD-2-Clause */
/* frtrace attach: joins what is running already. */
#include "cmd/cli.h"
#include "cmd/follow.h"
#include "util/util.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { OPT_COMM = 256, OPT_CGROUP, OPT_FOR };

#define TARGETS_MAX 4096
#define CGROUP2_MAGIC 0x63677270
#define KERNEL_THREAD 0x00200000 /* PF_KTHREAD, field 9 of /proc/PID/stat */
#define COMM_MAX 15

struct attach_args {
	struct follow_opts o;
	uint64_t seconds;
	pid_t pid;
	int fd; /* of pid, from the first look at it on: by then its number is nobody else's */
	const char *cgroup;
};

struct targets {
	int fd[TARGETS_MAX]; /* of those followed from the beginning; -1 when they have gone */
	size_t n;
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Whom to follow, one of:", 1 },
	{ "pid", 'p', "PID", 0, "this process and what it starts", 1 },
	{ "comm", OPT_COMM, "NAME", 0,
	  "every process of this name (as in /proc/PID/comm), also those to come", 1 },
	{ "cgroup", OPT_CGROUP, "PATH", 0,
	  "everything in this control group (version 2), also what comes into it", 1 },
	{ "for", OPT_FOR, "S", 0, "stop after so many seconds (at Ctrl-C, or at the end of -p PID)",
	  1 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct attach_args *a = state->input;
	uint64_t v;
	char err[256];

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->o;
		return 0;
	case 'p':
		if (cli__number("-p", arg, 1, INT32_MAX, &v, err, sizeof(err)))
			exit(cli__error(CLI_USAGE, "%s", err));
		a->pid = (pid_t)v;
		return 0;
	case OPT_COMM:
		if (!*arg || strlen(arg) > COMM_MAX)
			exit(cli__error(CLI_USAGE,
					"--comm '%s': a process's name has 1 to %d bytes", arg,
					COMM_MAX));
		a->o.comm = arg;
		return 0;
	case OPT_CGROUP:
		a->cgroup = arg;
		return 0;
	case OPT_FOR:
		if (cli__number("--for", arg, 1, 1000000, &a->seconds, err, sizeof(err)))
			exit(cli__error(CLI_USAGE, "%s", err));
		return 0;
	case ARGP_KEY_ARG:
		exit(cli__error(CLI_USAGE,
				"'%s': unexpected; give -p PID, --comm NAME or --cgroup "
				"PATH",
				arg));
	case ARGP_KEY_END:
		if (!!a->pid + !!a->o.comm + !!a->cgroup != 1)
			exit(cli__error(CLI_USAGE, "give one of -p PID, --comm NAME and --cgroup "
						   "PATH"));
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The line of /proc/PID/NAME, without its newline. 0 or -errno. */
static int read_line(pid_t pid, const char *name, char *buf, size_t size)
{
	char path[64];
	FILE *f;
	int rc = 0;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	if (!fgets(buf, (int)size, f))
		rc = -ESRCH;
	else
		buf[strcspn(buf, "\n")] = '\0';
	fclose(f);
	return rc;
}

static bool is_kernel_thread(pid_t pid)
{
	char stat[512], *p;
	unsigned flags = 0;

	if (read_line(pid, "stat", stat, sizeof(stat)))
		return false;
	p = strrchr(stat, ')');
	return p && sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
	       flags & KERNEL_THREAD;
}

/* A descriptor of the process. -ESRCH when there is none, -EINVAL for a thread that is
 * not the first of its process, -errno. */
static int open_process(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd >= 0)
		return fd;
	return errno == ENOENT ? -EINVAL : -errno; /* since 6.16 */
}

/* Follows the process behind fd, which is t's from then on. 0, -ESRCH when it has gone
 * (or has left the control group), -errno. */
static int follow_fd(struct follow *f, struct targets *t, int fd)
{
	int rc = t->n == TARGETS_MAX ? -E2BIG : trace__add_process(f->s.trace, fd);

	if (!rc)
		t->fd[t->n++] = fd;
	return rc;
}

/* Follows one process. still: asked again when it cannot be another one any more.
 * 0, -ESRCH when it has gone (or is not what was looked for), -errno. */
static int follow_one(struct follow *f, struct targets *t, pid_t pid,
		      bool (*still)(pid_t pid, const void *what), const void *what)
{
	int fd = open_process(pid), rc;

	if (fd < 0)
		return fd == -EINVAL ? -ESRCH : fd;
	rc = still && !still(pid, what) ? -ESRCH : follow_fd(f, t, fd);
	if (rc)
		close(fd);
	return rc;
}

static bool has_comm(pid_t pid, const void *what)
{
	char comm[64];

	return !read_line(pid, "comm", comm, sizeof(comm)) && strcmp(comm, what) == 0;
}

/* Everybody of this name; more may come, and are found by the kernel side. */
static int follow_comm(struct follow *f, struct targets *t, const char *name)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int rc = 0;

	if (!d)
		return -errno;
	while (!rc && (e = readdir(d))) {
		pid_t pid = (pid_t)atoi(e->d_name);

		if (!isdigit((unsigned char)e->d_name[0]) || pid == getpid() ||
		    !has_comm(pid, name) || is_kernel_thread(pid))
			continue;
		rc = follow_one(f, t, pid, has_comm, name);
		if (rc == -ESRCH)
			rc = 0;
	}
	closedir(d);
	return rc;
}

/* The processes of a control group and of those below it. (Whether one is still in it is
 * asked when it cannot be another one any more, by the kernel side.) */
static int follow_cgroup(struct follow *f, struct targets *t, const char *path)
{
	char name[4096];
	struct dirent *e;
	int rc = 0, pid;
	FILE *procs;
	DIR *d;

	snprintf(name, sizeof(name), "%s/cgroup.procs", path);
	procs = fopen(name, "re");
	if (!procs)
		return -errno;
	while (!rc && fscanf(procs, "%d", &pid) == 1) {
		if (pid <= 0 || pid == getpid())
			continue;
		rc = follow_one(f, t, pid, NULL, NULL);
		if (rc == -ESRCH)
			rc = 0;
	}
	fclose(procs);
	d = opendir(path);
	while (d && !rc && (e = readdir(d))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.' ||
		    (size_t)snprintf(name, sizeof(name), "%s/%s", path, e->d_name) >= sizeof(name))
			continue;
		rc = follow_cgroup(f, t, name);
		if (rc == -ENOENT || rc == -ENODEV)
			rc = 0;
	}
	if (d)
		closedir(d);
	return rc;
}

/* Drops who has gone; how many are left. */
static size_t count_alive(struct targets *t)
{
	size_t alive = 0;

	for (size_t i = 0; i < t->n; i++) {
		struct pollfd p = { .fd = t->fd[i], .events = POLLIN };

		if (t->fd[i] < 0)
			continue;
		if (poll(&p, 1, 0) > 0) {
			close(t->fd[i]);
			t->fd[i] = -1;
		} else {
			alive++;
		}
	}
	return alive;
}

static int check_process(struct attach_args *a)
{
	char name[64];

	a->fd = open_process(a->pid);
	if (a->fd == -EINVAL)
		return cli__error(
			CLI_USAGE,
			"-p %d: a thread; give its process (Tgid in /proc/%d/status), all "
			"of whose threads are followed",
			a->pid, a->pid);
	if (a->fd == -ESRCH || read_line(a->pid, "comm", name, sizeof(name)))
		return cli__error(CLI_UNABLE, "-p %d: no such process", a->pid);
	if (a->fd < 0)
		return cli__error(CLI_UNABLE, "-p %d: %s", a->pid, strerror(-a->fd));
	if (a->pid == getpid())
		return cli__error(CLI_USAGE, "-p %d: that is frtrace itself", a->pid);
	if (is_kernel_thread(a->pid))
		return cli__error(CLI_USAGE,
				  "-p %d: %s is a thread of the kernel, which runs no steps",
				  a->pid, name);
	return 0;
}

/* Before anything is loaded: what can be said of the target. 0 or a status. */
static int check_target(struct attach_args *a)
{
	struct statfs fs;
	struct stat st;

	if (a->pid)
		return check_process(a);
	if (a->cgroup) {
		if (stat(a->cgroup, &st))
			return cli__error(CLI_UNABLE,
					  "--cgroup %s: %s; `systemd-cgls` or ls "
					  "/sys/fs/cgroup shows what there is",
					  a->cgroup, strerror(errno));
		if (!S_ISDIR(st.st_mode) || statfs(a->cgroup, &fs) || fs.f_type != CGROUP2_MAGIC)
			return cli__error(CLI_UNABLE,
					  "--cgroup %s: not a control group of version 2; give a "
					  "folder below its mount",
					  a->cgroup);
		a->o.cgroup = st.st_ino;
	}
	return 0;
}

static int follow_targets(struct follow *f, struct targets *t, struct attach_args *a)
{
	int rc;

	if (a->pid) {
		rc = follow_fd(f, t, a->fd);
		if (!rc) {
			a->fd = -1;
			if (!count_alive(t)) /* dead, and nobody has waited for it yet */
				rc = -ESRCH;
		}
	} else if (a->o.comm) {
		rc = follow_comm(f, t, a->o.comm);
	} else {
		rc = follow_cgroup(f, t, a->cgroup);
	}
	if (rc == -ESRCH)
		return cli__error(CLI_UNABLE, "-p %d: it ended before it could be followed",
				  a->pid);
	if (rc == -E2BIG)
		return cli__error(CLI_UNABLE, "more than %d processes to follow", TARGETS_MAX);
	if (rc)
		return cli__error(CLI_UNABLE, "the target cannot be followed: %s", strerror(-rc));
	if (!a->pid)
		cli__note("following %zu process%s%s; more may come", t->n, t->n == 1 ? "" : "es",
			  t->n ? "" : " yet: waiting");
	return 0;
}

static int watch(struct follow *f, struct targets *t, const struct attach_args *a)
{
	uint64_t end = a->seconds ? now_ns() + a->seconds * 1000000000ull : UINT64_MAX;
	int rc = 0;

	while (!rc && !follow__signalled(NULL) && now_ns() < end) {
		uint64_t left = end == UINT64_MAX ? 100 : (end - now_ns()) / 1000000 + 1;

		rc = follow__wait(f, -1, left < 100 ? (int)left : 100);
		if (!rc && a->pid && !count_alive(t))
			break;
	}
	return rc;
}

int cmd_attach(int argc, char **argv)
{
	static const struct argp_child children[] = { { &follow__argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.children = children,
		.doc = "Follows processes that are running already, leaves them undisturbed, and "
		       "reports which step costs what as the number of network namespaces grows.",
	};
	struct attach_args a = { .fd = -1 };
	struct follow f = { 0 };
	struct targets *t = calloc(1, sizeof(*t));
	char *command = cli__command_line(argc, argv);
	int status, rc;

	follow__defaults(&a.o);
	status = cli__parse(&argp, argc, argv, "attach", &a);
	if (status) {
		status -= 1000;
		goto out;
	}
	if (!t || !command) {
		status = cli__error(CLI_FAILED, "out of memory");
		goto out;
	}
	follow__signals(); /* also while the programs are loaded */
	status = check_target(&a);
	if (!status)
		status = follow__open(&f, &a.o, "attach", command);
	if (status)
		goto out;
	status = follow_targets(&f, t, &a);
	if (status)
		goto out;
	rc = watch(&f, t, &a);
	if (rc < 0)
		status = cli__error(CLI_FAILED,
				    "the record: %s; free some space or give another "
				    "-o FILE",
				    strerror(-rc));
	status = follow__finish(&f, status);
	if (f.missing)
		status = cli__worse(status, CLI_UNABLE);
out:
	for (size_t i = 0; t && i < t->n; i++)
		if (t->fd[i] >= 0)
			close(t->fd[i]);
	if (a.fd >= 0)
		close(a.fd);
	follow__close(&f);
	free(t);
	free(command);
	return status;
}
