/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stands in for `ip` (frtrace --ip): in the steps its configuration names it
 * first spends time in one known way, writes down how much it was, and then
 * becomes the real ip. A step's rows in the report must show that time, in the
 * right kind, and nothing else.
 *
 * The configuration is the file stim.conf beside the program (found through
 * /proc/self/exe: nothing depends on the environment or on argv[0]):
 *
 *	ip /usr/sbin/ip          the real one
 *	rate 350000              bytes of /dev/urandom per millisecond (--calibrate)
 *	add sleep 20000          step, kind, microseconds
 *	exec sleep 5000 100      and so many more for each name in /run/netns
 *
 * stim.log beside it gets one line per run of a step:
 *
 *	STEP NAME KIND asked user kernel blocked runqueue parallel    (ns)
 */
#include "stim.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

/* What was done, ns by kind. Shared with the children. */
struct truth {
	uint64_t user, kernel, blocked, runq, parallel;
};

struct job {
	const char *step, *name, *kind;
	uint64_t ns, rate; /* how long; bytes of /dev/urandom per ms */
	char **argv;
	char ip[256], dir[256];
	struct truth *t;
};

static void die(const char *what)
{
	fprintf(stderr, "stimulus: %s: %s\n", what, strerror(errno));
	_exit(99);
}

static pid_t do_fork(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	return pid;
}

static int wait_for(pid_t pid, struct rusage *ru)
{
	int status;

	while (wait4(pid, &status, 0, ru) < 0)
		if (errno != EINTR)
			die("wait4");
	return status;
}

static uint64_t rusage_ns(const struct rusage *ru)
{
	return (uint64_t)(ru->ru_utime.tv_sec + ru->ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(ru->ru_utime.tv_usec + ru->ru_stime.tv_usec) * 1000u;
}

static void write_log(const struct job *j)
{
	char path[300], line[512];
	int fd, n;

	snprintf(path, sizeof(path), "%s/stim.log", j->dir);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0)
		die(path);
	n = snprintf(line, sizeof(line), "%s %s %s %llu %llu %llu %llu %llu %llu\n", j->step,
		     j->name, j->kind, (unsigned long long)j->ns, (unsigned long long)j->t->user,
		     (unsigned long long)j->t->kernel, (unsigned long long)j->t->blocked,
		     (unsigned long long)j->t->runq, (unsigned long long)j->t->parallel);
	if (write(fd, line, (size_t)n) != n)
		die(path);
	close(fd);
}

/* Ahead of everything else on the machine, or as everybody. What is not allowed
 * is no error: the truth is measured, not assumed. */
static void go_ahead(bool ahead)
{
	struct sched_param p = { .sched_priority = ahead };

	sched_setscheduler(0, ahead ? SCHED_FIFO : SCHED_OTHER, &p);
}

static void become_ip(struct job *j)
{
	go_ahead(false);
	j->argv[0] = j->ip;
	execv(j->ip, j->argv);
	die(j->ip);
}

static void do_none(struct job *j)
{
	(void)j;
}

static void do_sleep(struct job *j)
{
	j->t->blocked += sleep_ns(j->ns);
}

static void do_user(struct job *j)
{
	j->t->user += burn_user(j->ns);
}

static void do_call(struct job *j)
{
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		die("/dev/urandom");
	j->t->kernel += burn_readv(fd, (size_t)(j->rate * (j->ns / 1000000)));
	close(fd);
}

/* Page faults: outside system calls, so in the user column; what part of it is
 * the kernel's only samples can say. Small pages, or there would be few. */
static void do_fault(struct job *j)
{
	size_t size = 512u << 20, page = 4096;
	struct stopwatch w;
	uint64_t end;
	char *p;

	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		 -1, 0);
	if (p == MAP_FAILED)
		die("mmap");
	stopwatch__start(&w);
	end = w.began + j->ns;
	for (size_t i = 0; i < size && mono_ns() < end; i += 32 * page)
		for (size_t k = 0; k < 32; k++)
			p[i + k * page] = 1;
	j->t->user += stopwatch__stop(&w);
	/* the memory goes with execve, which is in no figure of ours: small */
	munmap(p, size);
	prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
}

static void do_child_user(struct job *j)
{
	pid_t pid = do_fork();

	if (!pid) {
		do_user(j);
		_exit(0);
	}
	wait_for(pid, NULL);
}

static void do_child_sleep(struct job *j)
{
	pid_t pid = do_fork();

	if (!pid) {
		do_sleep(j);
		_exit(0);
	}
	wait_for(pid, NULL);
}

/* The parent is stopped in vfork meanwhile. */
static void do_vfork(struct job *j)
{
	pid_t pid = vfork();

	if (pid < 0)
		die("vfork");
	if (!pid) {
		do_sleep(j);
		_exit(0);
	}
	wait_for(pid, NULL);
}

static void on_signal(int sig)
{
	(void)sig;
}

/* A wait4 that a timer ends while the child lives: nobody of the step wakes it,
 * so the wait itself is the step's. */
static void do_wait(struct job *j)
{
	struct sigaction sa = { .sa_handler = on_signal }, old;
	struct itimerval it = { .it_value = { 0, (suseconds_t)(j->ns / 1000) } };
	struct stopwatch w;
	int status;
	pid_t pid;

	sigaction(SIGALRM, &sa, &old);
	pid = do_fork();
	if (!pid) {
		for (;;)
			pause();
	}
	usleep(300); /* until it pauses: otherwise its start is what we wait beside */
	stopwatch__start(&w);
	setitimer(ITIMER_REAL, &it, NULL);
	if (wait4(pid, &status, 0, NULL) >= 0 || errno != EINTR)
		die("wait4 was not interrupted");
	j->t->blocked += stopwatch__stop(&w);
	kill(pid, SIGKILL);
	wait_for(pid, NULL);
	sigaction(SIGALRM, &old, NULL);
}

static void pin(int cpu, cpu_set_t *old)
{
	cpu_set_t one;

	sched_getaffinity(0, sizeof(*old), old);
	CPU_ZERO(&one);
	CPU_SET((unsigned)cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

/* A child that wants the CPU all the time, as everybody. */
static pid_t start_burner(void)
{
	pid_t pid = do_fork();

	if (!pid) {
		go_ahead(false);
		for (;;)
			burn_user(1000000);
	}
	return pid;
}

/* Ends it without ever sleeping: a wait that its death ends would make its whole
 * life the step's. */
static void end_burner(pid_t pid, const cpu_set_t *cpus, struct rusage *ru)
{
	go_ahead(false);
	sched_setaffinity(0, sizeof(*cpus), cpus);
	kill(pid, SIGKILL);
	while (!wait4(pid, NULL, WNOHANG, ru))
		sched_yield();
}

/* Sleeps while another task of the same step burns on the same CPU, so that the
 * timer's interrupt finds that one running: it is not the waker. */
static void do_irq_sleep(struct job *j)
{
	cpu_set_t old;
	pid_t pid;

	pin(sched_getcpu(), &old);
	pid = start_burner();
	do_sleep(j);
	end_burner(pid, &old, NULL);
}

/* Works while another task of the step wants the same CPU: half of the wall is
 * runqueue, the other's time is parallel. */
static void do_runq(struct job *j)
{
	struct rusage ru;
	cpu_set_t old;
	uint64_t delay;
	int fd = open_delay();
	pid_t pid;

	go_ahead(false);
	pin(sched_getcpu(), &old);
	pid = start_burner();
	delay = run_delay(fd);
	j->t->user += burn_user(j->ns);
	j->t->runq += run_delay(fd) - delay;
	close(fd);
	end_burner(pid, &old, &ru);
	j->t->parallel += rusage_ns(&ru);
}

static void *thread_body(void *arg)
{
	do_user(arg);
	return NULL;
}

static void do_thread(struct job *j)
{
	pthread_t th;

	if (pthread_create(&th, NULL, thread_body, j))
		die("pthread_create");
	pthread_join(th, NULL);
}

/* The child burns, wakes its parent through a pipe and burns on; the parent
 * meanwhile sleeps, and once more until the child is gone. Wall: the first burn
 * and the sleeps; parallel: the second. */
static void do_overlap(struct job *j)
{
	int p[2];
	char c;
	pid_t pid;

	if (pipe(p))
		die("pipe");
	pid = do_fork();
	if (!pid) {
		do_user(j);
		if (write(p[1], "x", 1) != 1)
			_exit(1);
		j->t->parallel += burn_user(j->ns / 2);
		_exit(0);
	}
	if (read(p[0], &c, 1) != 1)
		die("read");
	j->t->blocked += sleep_ns(j->ns);
	close(p[0]);
	close(p[1]);
	while (!waitpid(pid, NULL, WNOHANG))
		j->t->blocked += sleep_ns(1000000);
}

/* A grandchild goes on when the step is long over: in no wall. It must let go
 * of the descriptors it shares with whoever reads the command's output. */
static void do_daemon(struct job *j)
{
	uint64_t spent = 0;
	pid_t pid = do_fork();

	if (!pid) {
		if (!do_fork()) {
			go_ahead(false);
			for (int fd = 0; fd < 64; fd++)
				close(fd);
			setsid();
			while (spent < j->ns)
				spent += burn_user(250000);
		}
		_exit(0);
	}
	wait_for(pid, NULL);
	j->t->parallel += j->ns;
}

/* A child whose exit is the work: the same 4 MiB mapped many times, a page table
 * entry for each page. What its exit cost is its whole CPU time less what it had
 * used just before. */
static void do_exit_free(struct job *j)
{
	size_t size = 4u << 20, maps = (size_t)(j->ns / 400000);
	uint64_t *before = &j->t->parallel; /* lent: shared memory */
	struct rusage ru;
	pid_t pid = do_fork();

	if (!pid) {
		int fd = memfd_create("exit-free", MFD_CLOEXEC);

		if (fd < 0 || ftruncate(fd, (off_t)size))
			_exit(1);
		while (maps--)
			if (mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0) ==
			    MAP_FAILED)
				_exit(1);
		*before = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		_exit(0);
	}
	if (wait_for(pid, &ru))
		die("exit-free");
	j->t->kernel += rusage_ns(&ru) - *before;
	*before = 0;
}

static struct job *exit_job;

static void at_exit(void)
{
	exit_job->t->blocked += sleep_ns(exit_job->ns);
	write_log(exit_job);
}

/* The real ip runs as a child; the time is spent when all is done. */
static void do_exit_sleep(struct job *j)
{
	pid_t pid = do_fork();
	int status;

	if (!pid)
		become_ip(j);
	status = wait_for(pid, NULL);
	if (status)
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 98);
	exit_job = j;
	atexit(at_exit);
	exit(0);
}

#include "chain.h"

static const struct kind {
	const char *name;
	void (*run)(struct job *j);
} kinds[] = {
	{ "none", do_none },
	{ "sleep", do_sleep },
	{ "user", do_user },
	{ "call", do_call },
	{ "fault", do_fault },
	{ "child-user", do_child_user },
	{ "child-sleep", do_child_sleep },
	{ "vfork", do_vfork },
	{ "wait", do_wait },
	{ "irq-sleep", do_irq_sleep },
	{ "runq", do_runq },
	{ "thread", do_thread },
	{ "overlap", do_overlap },
	{ "daemon", do_daemon },
	{ "exit-free", do_exit_free },
	{ "exit-sleep", do_exit_sleep },
	{ "chain-user", do_chain_user },
	{ "chain-sleep", do_chain_sleep },
};

/* Which step this command line is, and the router's name in it. */
static const char *find_step(int argc, char **argv, const char **name)
{
	*name = argc > 3 ? argv[3] : "-";
	if (argc > 3 && strcmp(argv[1], "netns") == 0) {
		if (strcmp(argv[2], "add") == 0)
			return "add";
		if (strcmp(argv[2], "del") == 0 || strcmp(argv[2], "delete") == 0)
			return "delete";
		if (strcmp(argv[2], "exec") == 0 && argc > 4)
			return strstr(argv[4], "sysctl") ? "sysctl" : "exec";
	}
	if (argc > 4 && strcmp(argv[1], "link") == 0 && strcmp(argv[2], "add") == 0) {
		*name = argv[argc - 1];
		return "veth";
	}
	return NULL;
}

static uint64_t count_names(void)
{
	DIR *d = opendir("/run/netns");
	uint64_t n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

/* Reads stim.conf: the real ip, the rate, and what the step shall do. */
static const struct kind *read_conf(struct job *j)
{
	const struct kind *k = NULL;
	char path[300], word[4][256];
	char line[600];
	FILE *f;

	snprintf(path, sizeof(path), "%s/stim.conf", j->dir);
	f = fopen(path, "re");
	if (!f)
		die(path);
	while (fgets(line, sizeof(line), f)) {
		int n = sscanf(line, "%255s %255s %255s %255s", word[0], word[1], word[2], word[3]);

		if (n == 2 && strcmp(word[0], "ip") == 0)
			snprintf(j->ip, sizeof(j->ip), "%s", word[1]);
		else if (n == 2 && strcmp(word[0], "rate") == 0)
			j->rate = strtoull(word[1], NULL, 10);
		if (n < 3 || !j->step || strcmp(word[0], j->step) != 0)
			continue;
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			if (strcmp(kinds[i].name, word[1]) == 0)
				k = &kinds[i];
		if (!k) {
			errno = EINVAL;
			die(word[1]);
		}
		j->kind = k->name;
		j->ns = strtoull(word[2], NULL, 10) * 1000;
		if (n == 4)
			j->ns += strtoull(word[3], NULL, 10) * 1000 * count_names();
	}
	fclose(f);
	return k;
}

static int calibrate(void)
{
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	uint64_t best = UINT64_MAX;
	size_t bytes = 4u << 20;

	for (int i = 0; i < 10; i++) {
		uint64_t ns = burn_readv(fd, bytes);

		if (ns && ns < best)
			best = ns;
	}
	printf("%llu\n", (unsigned long long)bytes * 1000000u / best);
	return 0;
}

int main(int argc, char **argv)
{
	struct job j = { .argv = argv };
	const struct kind *k;
	char *slash;
	ssize_t n;

	if (argc == 2 && strcmp(argv[1], "--calibrate") == 0)
		return calibrate();
	n = readlink("/proc/self/exe", j.dir, sizeof(j.dir) - 1);
	if (n <= 0)
		die("/proc/self/exe");
	j.dir[n] = '\0';
	slash = strrchr(j.dir, '/');
	*slash = '\0';
	j.step = find_step(argc, argv, &j.name);
	k = read_conf(&j);
	if (!k)
		become_ip(&j);
	j.t = mmap(NULL, sizeof(*j.t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (j.t == MAP_FAILED)
		die("mmap");
	/* whoever started us shall be waiting before we go ahead of it */
	poll(NULL, 0, 1);
	go_ahead(true);
	k->run(&j);
	write_log(&j);
	become_ip(&j);
}
