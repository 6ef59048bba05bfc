/* SPDX-License-Identifier: BSD-2-Clause */
/* A chain of tasks as sudo makes it on a terminal: parent, monitor and command,
 * joined by poll. A part of ip.c, where what it calls is. */
static int self_pipe[2];

static void on_child(int sig)
{
	(void)sig;
	if (write(self_pipe[1], "c", 1) != 1)
		_exit(97);
}

/* Blocks SIGCHLD's message into a pipe, as programs do that poll. */
static void watch_children(void)
{
	struct sigaction sa = { .sa_handler = on_child, .sa_flags = SA_NOCLDSTOP | SA_RESTART };

	if (pipe2(self_pipe, O_NONBLOCK | O_CLOEXEC))
		die("pipe2");
	sigaction(SIGCHLD, &sa, NULL);
}

/* The middle of the chain: owns the terminal, reports the command's end. */
static void monitor(struct job *j, int sock, const char *tty, bool burn)
{
	struct pollfd p[2];
	int status = -1, fd;
	char c;
	pid_t pid;

	setsid();
	fd = open(tty, O_RDWR | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, TIOCSCTTY, 0))
		die(tty);
	close(self_pipe[0]);
	close(self_pipe[1]);
	watch_children();
	pid = do_fork();
	if (!pid) {
		signal(SIGCHLD, SIG_DFL);
		setpgid(0, 0);
		if (burn)
			do_user(j);
		else
			do_sleep(j);
		write_log(j);
		become_ip(j);
	}
	setpgid(pid, pid);
	p[0] = (struct pollfd){ .fd = self_pipe[0], .events = POLLIN };
	p[1] = (struct pollfd){ .fd = sock, .events = POLLIN };
	while (status < 0) {
		if (poll(p, 2, -1) < 0)
			continue;
		if ((p[0].revents & POLLIN) && read(self_pipe[0], &c, 1) == 1 &&
		    waitpid(pid, &status, WNOHANG) != pid)
			status = -1;
	}
	if (send(sock, &status, sizeof(status), 0) != sizeof(status))
		_exit(1);
	/* the parent says goodbye, then this one goes */
	if (recv(sock, &status, sizeof(status), 0) < 0)
		_exit(1);
	_exit(0);
}

/* Parent, monitor with a terminal, command, joined by poll: sudo's shape. */
static void do_chain(struct job *j, bool burn)
{
	int sock[2], master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), status = -1;
	bool gone = false;
	char tty[64], c;
	pid_t pid;

	if (master < 0 || grantpt(master) || unlockpt(master) ||
	    ptsname_r(master, tty, sizeof(tty)) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock))
		die("terminal");
	watch_children();
	pid = do_fork();
	if (!pid) {
		close(sock[0]);
		monitor(j, sock[1], tty, burn);
	}
	close(sock[1]);
	while (status < 0 || !gone) {
		struct pollfd p[3] = {
			{ .fd = status < 0 ? sock[0] : -1, .events = POLLIN },
			{ .fd = self_pipe[0], .events = POLLIN },
			{ .fd = gone || status >= 0 ? -1 : master, .events = POLLIN },
		};

		if (poll(p, 3, -1) < 0)
			continue;
		if (p[0].revents) {
			if (recv(sock[0], &status, sizeof(status), 0) != sizeof(status))
				_exit(96);
			shutdown(sock[0], SHUT_WR);
		}
		if ((p[1].revents & POLLIN) && read(self_pipe[0], &c, 1) == 1)
			gone = waitpid(pid, NULL, WNOHANG) == pid;
		if (p[2].revents & POLLIN && read(master, &c, 1) != 1)
			_exit(95);
	}
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 94);
}

static void do_chain_user(struct job *j)
{
	do_chain(j, true);
}

static void do_chain_sleep(struct job *j)
{
	do_chain(j, false);
}
