// SPDX-License-Identifier: BSD-2-Clause
/* What calls ask for, as the tracer tells it: children that ask for known things. */
#include "tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>

static int body_restart(void *arg)
{
	struct timespec ts = { .tv_nsec = 60 * MS };
	int *fds = arg;
	char c;

	told->go = 1;
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
	told->go = 2;
	return read(fds[0], &c, 1) == 1 ? 0 : 1;
}

/* Waits until the process is in this state (proc(5): S sleeps, T is stopped). */
static void await_state(pid_t pid, char want)
{
	char path[64], state = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	for (int i = 0; i < 20000 && state != want; i++) {
		FILE *f = fopen(path, "re");

		if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
			state = 0;
		if (f)
			fclose(f);
		usleep(200);
	}
	assert_int_equal(state, want);
}

static void stop_and_continue(const int *fds)
{
	for (unsigned i = 1; i <= 2; i++) {
		while (told->go < i)
			usleep(500);
		await_state(fds[2], 'S');
		kill(fds[2], SIGSTOP);
		await_state(fds[2], 'T');
		kill(fds[2], SIGCONT);
	}
	await_state(fds[2], 'S');
	assert_int_equal(write(fds[1], "x", 1), 1);
}

/* Stopped and continued in the middle, a call is still one call. */
static void test_restart(void **state)
{
	const struct frt_call *sleep_, *read_;
	const struct frt_dead *d = NULL;
	int fds[3], status;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	forget();
	memset(told, 0, sizeof(*told));
	*cell = 110;
	pid = fork();
	if (!pid)
		_exit(body_restart(fds));
	fds[2] = pid;
	stop_and_continue(fds);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	for (int i = 0; i < 200 && !d; i++) {
		assert_int_equal(trace__drain(tracer), 0);
		d = proc_of_tid(pid) ? dead_of(proc_of_tid(pid)->task) : NULL;
		usleep(1000);
	}
	*cell = 0;
	close(fds[0]);
	close(fds[1]);
	assert_non_null(d);
	assert_int_equal(status, 0);
	sleep_ = call_of(d->task, SYS_clock_nanosleep, 0);
	read_ = call_of(d->task, SYS_read, 0);
	assert_true(sleep_ && read_);
	assert_null(call_of(d->task, SYS_clock_nanosleep, 1));
	assert_null(call_of(d->task, SYS_restart_syscall, 0));
	assert_int_equal(sleep_->restarts, 1);
	assert_int_equal(sleep_->ret, 0);
	assert_true(sleep_->t1 - sleep_->t0 >= 60 * MS && sleep_->t1 - sleep_->t0 < 500 * MS);
	assert_int_equal(read_->restarts, 1);
	assert_int_equal(read_->ret, 1);
	assert_near(sleep_->cpu_ns + sleep_->blocked_ns + sleep_->runq_ns, sleep_->t1 - sleep_->t0,
		    0.001, 0);
	no_losses("restart");
}

static ino_t ns_inode(const char *name)
{
	char path[64], link[64] = "";
	unsigned long ino = 0;

	snprintf(path, sizeof(path), "/proc/thread-self/ns/%s", name);
	if (readlink(path, link, sizeof(link) - 1) > 0)
		sscanf(strchr(link, '['), "[%lu]", &ino);
	return ino;
}

static int write_sysctl(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return -1;
	rc = write(fd, "1\n", 2) == 2 ? 0 : -1;
	close(fd);
	return rc;
}

static int body_namespaces(void *arg)
{
	int saved = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	(void)arg;
	if (saved < 0 || unshare(CLONE_NEWNS))
		return 1;
	told->a = ns_inode("mnt");
	if (mount("none", "/", NULL, MS_SLAVE | MS_REC, NULL))
		return 2;
	if (unshare(CLONE_NEWNET))
		return 3;
	told->b = ns_inode("net");
	if (mount("tmpfs", "/mnt", "tmpfs", 0, NULL))
		return 4;
	if (write_sysctl("/proc/sys/net/ipv4/ip_forward"))
		return 5;
	if (mount("/proc/self/ns/net", "/proc/sys/net", "ignored", MS_BIND, NULL) == 0)
		return 6; /* a file onto a directory */
	if (umount2("/mnt", MNT_DETACH))
		return 7;
	return setns(saved, 0) ? 8 : 0;
}

static void test_namespaces(void **state)
{
	struct step s = run(111, body_namespaces, NULL);
	uint32_t task = s.proc->task, net = ns_inode("net"), mnt = ns_inode("mnt");
	const struct frt_call *c;

	(void)state;
	assert_int_equal(WEXITSTATUS(s.status), 0);
	c = call_of(task, SYS_unshare, 0);
	assert_non_null(c);
	assert_int_equal(c->detail, FRT_DET_NS);
	assert_int_equal(c->flags, CLONE_NEWNS);
	assert_true(c->mnt_before == mnt && c->mnt_after == told->a && c->net_before == net &&
		    c->net_after == net);
	c = call_of(task, SYS_unshare, 1);
	assert_non_null(c);
	assert_int_equal(c->flags, CLONE_NEWNET);
	assert_true(c->net_before == net && c->net_after == told->b && c->mnt_after == told->a);
	c = call_of(task, SYS_mount, 0);
	assert_non_null(c);
	assert_int_equal(c->detail, FRT_DET_MOUNT);
	assert_int_equal(c->flags, MS_SLAVE | MS_REC);
	assert_string_equal(c->text, "/");
	c = call_of(task, SYS_mount, 1);
	assert_non_null(c);
	assert_string_equal(c->text, "/mnt\ttmpfs");
	c = call_of(task, SYS_mount, 2);
	assert_non_null(c);
	assert_int_equal(c->flags, MS_BIND);
	assert_string_equal(c->text, "/proc/sys/net\t/proc/self/ns/net");
	assert_int_equal(c->ret, -ENOTDIR);
	c = call_of(task, SYS_umount2, 0);
	assert_non_null(c);
	assert_int_equal(c->flags, MNT_DETACH);
	assert_string_equal(c->text, "/mnt");
	c = call_of(task, SYS_setns, 0);
	assert_non_null(c);
	assert_int_equal(c->flags, CLONE_NEWNET);
	assert_true(c->net_before == told->b && c->net_after == net);
	c = call_of(task, SYS_openat, 0);
	assert_non_null(c);
	while (c->detail != FRT_DET_OPEN && ++c < got.call.v + got.call.n)
		;
	assert_int_equal(c->detail, FRT_DET_OPEN);
	assert_string_equal(c->text, "net/ipv4/ip_forward");
	assert_int_equal(c->flags & O_ACCMODE, O_WRONLY);
	c = call_of(task, SYS_write, 0);
	assert_non_null(c);
	assert_int_equal(c->detail, FRT_DET_WRITE);
	assert_string_equal(c->text, "net/ipv4/ip_forward");
	assert_int_equal(c->ret, 2);
	no_losses("namespaces");
}

static int body_ip(void *arg)
{
	if (unshare(CLONE_NEWNET))
		return 1;
	execlp("sh", "sh", "-c", arg, NULL);
	return 127;
}

static const struct frt_call *link_message(uint32_t flags, const char *text)
{
	for (size_t i = 0; i < got.call.n; i++) {
		const struct frt_call *c = &got.call.v[i];

		if (c->detail == FRT_DET_NETLINK && c->nl_proto == NETLINK_ROUTE &&
		    c->nl_type == RTM_NEWLINK && (c->nl_flags & NLM_F_CREATE) == flags &&
		    !strcmp(c->text, text))
			return c;
	}
	return NULL;
}

static void test_netlink(void **state)
{
	struct step s = run(112, body_ip,
			    "ip link add a0 type veth peer name b0 && ip link set a0 up; "
			    "ip link add d0 type dummy; ip link set b0 netns $$");

	(void)state;
	(void)s;
	assert_non_null(link_message(NLM_F_CREATE, "veth"));
	assert_non_null(link_message(NLM_F_CREATE, "dummy"));
	assert_non_null(link_message(0, ""));
	assert_non_null(link_message(0, "@netns"));
	assert_int_equal(link_message(NLM_F_CREATE, "veth")->nl_msgs, 1);
	no_losses("netlink");
}

/* Two messages in one buffer, and two in two vectors: counted both. */
static int body_batch(void *arg)
{
	struct {
		struct nlmsghdr h;
		struct ifinfomsg i;
	} m[2] = { 0 };
	struct sockaddr_nl to = { .nl_family = AF_NETLINK };
	struct iovec v[2] = { { &m[0], sizeof(m[0]) }, { &m[1], sizeof(m[1]) } };
	struct msghdr msg = {
		.msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = v, .msg_iovlen = 2
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	(void)arg;
	for (int i = 0; i < 2; i++) {
		m[i].h.nlmsg_len = sizeof(m[i]);
		m[i].h.nlmsg_type = RTM_GETLINK;
		m[i].h.nlmsg_flags = NLM_F_REQUEST;
		m[i].i.ifi_index = 1;
	}
	if (sendto(fd, m, sizeof(m), 0, (void *)&to, sizeof(to)) < 0)
		return 1;
	return sendmsg(fd, &msg, 0) < 0 ? 2 : 0;
}

static void test_netlink_batch(void **state)
{
	struct step s = run(113, body_batch, NULL);
	const struct frt_call *a = call_of(s.proc->task, SYS_sendto, 0);
	const struct frt_call *b = call_of(s.proc->task, SYS_sendmsg, 0);

	(void)state;
	assert_int_equal(WEXITSTATUS(s.status), 0);
	assert_true(a && b);
	assert_int_equal(a->nl_type, RTM_GETLINK);
	assert_int_equal(a->nl_msgs, 2);
	assert_int_equal(b->nl_type, RTM_GETLINK);
	assert_int_equal(b->nl_msgs, 2);
	no_losses("netlink batch");
}

/* A string that nobody has touched: its page comes when the kernel asks. */
static int body_cold(void *arg)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), rc;
	char tmp[] = "/tmp/frt-cold-XXXXXX", *p;
	int file = mkstemp(tmp);

	(void)arg;
	close(fd);
	unlink(tmp);
	if (file < 0 || ftruncate(file, 4096) ||
	    pwrite(file, "/proc/sys/kernel/ostype", 24, 0) != 24)
		return 1;
	p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
	if (p == MAP_FAILED)
		return 2;
	rc = syscall(SYS_openat, AT_FDCWD, p, O_RDONLY | O_CLOEXEC, 0);
	return rc < 0 ? 3 : 0;
}

static void test_cold(void **state)
{
	struct step s = run(114, body_cold, NULL);
	const struct frt_call *c = NULL;

	(void)state;
	assert_int_equal(WEXITSTATUS(s.status), 0);
	for (size_t i = 0; i < got.call.n; i++)
		if (got.call.v[i].task == s.proc->task && got.call.v[i].detail == FRT_DET_OPEN)
			c = &got.call.v[i];
	assert_non_null(c);
	assert_string_equal(c->text, "kernel/ostype");
	no_losses("cold");
}

#ifdef __x86_64__
#define NR_NANOSLEEP_32 162

static int body_compat(void *arg)
{
	struct {
		int32_t sec, nsec;
	} * ts;
	long ret;

	(void)arg;
	ts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1,
		  0);
	if (ts == MAP_FAILED)
		return 2;
	ts->sec = 0;
	ts->nsec = 2000000;
	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "a"(NR_NANOSLEEP_32), "b"(ts), "c"(0L)
			 : "memory", "r8", "r9", "r10", "r11");
	return ret ? 3 : 0;
}

static void test_compat(void **state)
{
	struct step s = run(115, body_compat, NULL);

	(void)state;
	if (WIFSIGNALED(s.status)) {
		print_message("skip: this kernel has no 32-bit calls\n");
		return;
	}
	assert_int_equal(WEXITSTATUS(s.status), 0);
	assert_non_null(call_of(s.proc->task, NR_NANOSLEEP_32 | FRT_NR_COMPAT, 0));
	no_losses("compat");
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_restart), cmocka_unit_test(test_namespaces),
		cmocka_unit_test(test_netlink), cmocka_unit_test(test_netlink_batch),
		cmocka_unit_test(test_cold),
#ifdef __x86_64__
		cmocka_unit_test(test_compat),
#endif
	};

	cmocka_set_test_filter(getenv("FRT_TEST")); /* a pattern of names, for one alone */
	return cmocka_run_group_tests(tests, open_tracer, close_tracer);
}
