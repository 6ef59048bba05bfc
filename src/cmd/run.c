/* SPDX-License-Identifier: BSD-2-Clause */
/* frtrace run: starts somebody's loop and follows it to its end. */
#include "cmd/cli.h"
#include "cmd/follow.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OPT_USER = 256 };

#define AFTER_MS 50 /* what died with the loop is told a little later */

struct run_args {
	struct follow_opts o;
	const char *user;
	char **cmd;
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Who runs it:", 1 },
	{ "user", OPT_USER, "NAME", 0, "run CMD as this user", 1 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct run_args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->o;
		return 0;
	case OPT_USER:
		a->user = arg;
		return 0;
	case ARGP_KEY_ARG:
		exit(cli__error(CLI_USAGE, "'%s': the command comes behind --", arg));
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The command stands behind the first "--", and none of it is an option of ours. */
static int split_command(int *argc, char **argv, struct run_args *a)
{
	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], "--") != 0)
			continue;
		a->cmd = argv + i + 1;
		argv[i] = NULL;
		*argc = i;
		break;
	}
	return a->cmd && a->cmd[0] ? 0 : -EINVAL;
}

struct child {
	pid_t pid;
	int pidfd;
	int go;	    /* written to when it may begin; closed: it gives up */
	int failed; /* the errno of an exec that did not work */
};

/* In the child: everything that changes before the command takes over. */
static void become(const struct passwd *pw)
{
	static const int reset[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT };

	for (size_t i = 0; i < ARRAY_SIZE(reset); i++)
		signal(reset[i], SIG_DFL);
	if (!pw)
		return;
	if (initgroups(pw->pw_name, pw->pw_gid) || setgid(pw->pw_gid) || setuid(pw->pw_uid))
		_exit(CLI_OWN_FAILURE);
	setenv("USER", pw->pw_name, 1);
	setenv("LOGNAME", pw->pw_name, 1);
	setenv("HOME", pw->pw_dir, 1);
}

static void __attribute__((noreturn))
child_main(int go, int failed, const struct passwd *pw, char **cmd)
{
	char c;
	int err;

	if (read(go, &c, 1) != 1)
		_exit(CLI_OWN_FAILURE);
	become(pw);
	execvp(cmd[0], cmd);
	err = errno;
	if (write(failed, &err, sizeof(err)) != sizeof(err))
		err = 0;
	_exit(err == ENOENT ? 127 : 126);
}

/* Held on a pipe until it is followed. */
static int start(struct child *c, const struct passwd *pw, char **cmd)
{
	int go[2], failed[2];

	c->pidfd = c->go = c->failed = -1;
	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (pipe2(failed, O_CLOEXEC)) {
		int err = -errno;

		close(go[0]);
		close(go[1]);
		return err;
	}
	c->pid = fork();
	if (!c->pid) {
		close(go[1]); /* or it would wait for itself */
		child_main(go[0], failed[1], pw, cmd);
	}
	close(go[0]);
	close(failed[1]);
	c->go = go[1];
	c->failed = failed[0];
	if (c->pid < 0)
		return -errno;
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	return c->pidfd < 0 ? -errno : 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Signals that were meant for the loop reach it; at the terminal's own it has been
 * in the foreground itself. */
static void pass_signal(const struct child *c)
{
	bool from_terminal;
	int sig = follow__signalled(&from_terminal);

	if (sig && !from_terminal)
		kill(c->pid, sig);
}

/* Follows it to its end. Its wait status in *ws. */
static int watch(struct follow *f, struct child *c, int *ws)
{
	int rc = 0;

	while (!rc) {
		rc = follow__wait(f, c->pidfd, 1000);
		pass_signal(c);
	}
	if (rc < 0) {
		/* the loop goes on unwatched to its end: it is not ours to stop */
		if (!session__why(&f->s, f->err, sizeof(f->err)))
			snprintf(f->err, sizeof(f->err), "cannot wait for events: %s",
				 strerror(-rc));
		cli__error(CLI_OWN_FAILURE, "%s; the command runs on untraced", f->err);
	}
	while (waitpid(c->pid, ws, 0) < 0 && errno == EINTR)
		pass_signal(c);
	if (rc > 0)
		rc = follow__wait(f, -1, AFTER_MS);
	return rc < 0 ? rc : 0;
}

static int status_of(int ws)
{
	return WIFSIGNALED(ws) ? 128 + WTERMSIG(ws) : WEXITSTATUS(ws);
}

static int run_it(struct follow *f, struct run_args *a, struct child *c)
{
	int rc, ws = 0, err = 0, status, own;

	rc = trace__add_process(f->s.trace, c->pidfd);
	if (rc)
		return cli__error(CLI_OWN_FAILURE, "process %d: cannot be followed: %s", c->pid,
				  strerror(-rc));
	if (write(c->go, "g", 1) != 1) {
		if (follow__signalled(NULL))
			return follow__interrupted();
		return cli__error(CLI_OWN_FAILURE, "process %d: %s", c->pid, strerror(errno));
	}
	close_fd(&c->go);
	rc = watch(f, c, &ws);
	c->pid = 0;
	if (read(c->failed, &err, sizeof(err)) == sizeof(err))
		cli__error(err == ENOENT ? 127 : 126, "%s: cannot be executed: %s", a->cmd[0],
			   strerror(err));
	status = status_of(ws);
	own = follow__finish(f, status);
	if (rc)
		return CLI_OWN_FAILURE;
	if (own != status)
		return own == CLI_LOST ? own : CLI_OWN_FAILURE;
	return status;
}

/* One line says as whom it runs when that may surprise. */
static void say_user(const struct run_args *a)
{
	const char *by = getenv("SUDO_USER");

	if (getenv("SUDO_UID") && !a->user)
		cli__note("the command runs as root; --user %s runs it as that user",
			  by ? by : "NAME");
}

int cmd_run(int argc, char **argv)
{
	static const struct argp_child children[] = { { &follow__argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.children = children,
		.args_doc = "-- CMD…",
		.doc = "Runs CMD, follows it and everything it starts, and reports which step "
		       "costs what as the number of network namespaces grows.\v"
		       "CMD keeps its standard streams and its status; the report goes to stderr "
		       "or --report FILE.",
	};
	struct run_args a = { 0 };
	struct follow f = { 0 };
	struct child c = { .pidfd = -1, .go = -1, .failed = -1 };
	const struct passwd *pw = NULL;
	char *command = cli__command_line(argc, argv);
	int rc, status, nocmd;

	follow__defaults(&a.o);
	nocmd = split_command(&argc, argv, &a);
	status = cli__parse(&argp, argc, argv, "run", &a);
	if (status) {
		free(command);
		return status - 1000;
	}
	if (nocmd || !command) {
		free(command);
		return command ? cli__error(CLI_USAGE, "no command; give it behind --, as in "
						       "`frtrace run -- sh loop.sh`")
			       : CLI_OWN_FAILURE;
	}
	if (a.user) {
		pw = getpwnam(a.user);
		if (!pw) {
			free(command);
			return cli__error(CLI_USAGE, "--user '%s': no such user", a.user);
		}
	}
	say_user(&a);
	rc = start(&c, pw, a.cmd);
	if (rc) {
		status = cli__error(CLI_OWN_FAILURE, "cannot start a process: %s", strerror(-rc));
		goto out;
	}
	follow__signals(); /* also while the programs are loaded */
	if (!a.o.report)
		f.out = stderr;
	f.held = true;
	status = follow__open(&f, &a.o, "run", command);
	if (status && status != CLI_USAGE && !follow__signalled(NULL))
		status = CLI_OWN_FAILURE;
	if (!status)
		status = run_it(&f, &a, &c);
out:
	close_fd(&c.go);
	close_fd(&c.failed);
	close_fd(&c.pidfd);
	if (c.pid > 0) /* it never began */
		waitpid(c.pid, NULL, 0);
	follow__close(&f);
	free(command);
	return status;
}
