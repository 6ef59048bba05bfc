/* SPDX-License-Identifier: BSD-2-Clause */
/* The pure parts of the workload: names, ledger lines, templates, /proc text,
 * the commands of the steps. */
#include "workload/internal.h"
#include "workload/procfs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "bar-01234567-89ab-4cde-8f01-23456789abcd"

static void names(void **state)
{
	struct router_name n, again;
	uint8_t a[16], b[16];

	(void)state;
	assert_true(name__parse(&n, NAME));
	assert_string_equal(n.ns, NAME);
	assert_string_equal(n.uuid_text, NAME + 4);
	assert_string_equal(n.link[0], "ro-01234567-89");
	assert_string_equal(n.peer[0], "ri-01234567-89");
	assert_string_equal(n.link[1], "go-01234567-89");
	assert_string_equal(n.peer[1], "gi-01234567-89");
	/* an interface name has at most 15 bytes */
	assert_in_range(strlen(n.link[0]), 1, 15);
	name__from_uuid(&again, n.uuid);
	assert_memory_equal(&n, &again, sizeof(n));
	assert_int_equal(uuid__new(a), 0);
	assert_int_equal(uuid__new(b), 0);
	assert_memory_not_equal(a, b, 16);
	assert_int_equal(a[6] >> 4, 4); /* version */
	assert_int_equal(a[8] >> 6, 2); /* variant */
}

/* Only names of our form are ever removed. */
static void names_that_are_none(void **state)
{
	static const char *const bad[] = {
		"",
		"bar-",
		"bar",
		NAME "0",
		"Bar-01234567-89ab-4cde-8f01-23456789abcd",
		"bar-01234567-89ab-4cde-8f01-23456789abc",
		"bar-01234567-89AB-4cde-8f01-23456789abcd",
		"bar-01234567_89ab-4cde-8f01-23456789abcd",
		"bar-0123456789ab-4cde-8f01-23456789abcd",
		"bar-0123456g-89ab-4cde-8f01-23456789abcd",
		"bar-../../../etc/passwd-aaaaaaaaaaaaaaaa",
		"../bar-01234567-89ab-4cde-8f01-23456789abcd",
		NAME "/x",
		" " NAME,
		NAME " ",
	};
	struct router_name n;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (name__parse(&n, bad[i]))
			fail_msg("taken for a name: %s", bad[i]);
}

static void templates(void **state)
{
	char buf[64];

	(void)state;
	assert_int_equal(template__expand(buf, sizeof(buf), "ip netns add x{i}-{uuid}", 7, "u"), 0);
	assert_string_equal(buf, "ip netns add x7-u");
	/* the shell's braces stay */
	assert_int_equal(template__expand(buf, sizeof(buf), "${A}{}{x}{i{i}}{", 0, "u"), 0);
	assert_string_equal(buf, "${A}{}{x}{i0}{");
	assert_int_equal(template__expand(buf, sizeof(buf), "", 0, "u"), 0);
	assert_string_equal(buf, "");
	assert_int_equal(template__expand(buf, 6, "12345", 0, "u"), 0);
	assert_int_equal(template__expand(buf, 5, "12345", 0, "u"), -E2BIG);
	assert_int_equal(template__expand(buf, 8, "{uuid}", 0, "12345678"), -E2BIG);
	/* a long row of them ends within its bounds */
	assert_int_equal(
		template__expand(buf, sizeof(buf), "{i}{i}{i}{i}{i}{i}{i}{i}", 4294967295u, "u"),
		-E2BIG);
}

static void lines_that_are_written(void **state)
{
	struct ledger l = { .fd = -1 };
	struct ledger_line v;
	char text[4096], *save = NULL, *p;
	const int index[2] = { 11, 2147483647 };
	ssize_t n;
	int fd[2];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	l.fd = fd[1];
	assert_int_equal(ledger__want(&l, NAME), 0);
	assert_int_equal(ledger__have(&l, NAME, 4, 4026532226ull, index), 0);
	assert_int_equal(ledger__gone(&l, NAME), 0);
	assert_int_equal(ledger__write(&l, "destroy rm -rf \"{i}\"; echo {uuid}"), 0);
	assert_int_equal(ledger__write(&l, "destroy a\nb"), -EINVAL); /* nothing is written */
	close(fd[1]);
	n = read(fd[0], text, sizeof(text) - 1);
	close(fd[0]);
	assert_true(n > 0);
	text[n] = '\0';

	p = strtok_r(text, "\n", &save);
	assert_int_equal(ledger__parse(p, &v), 0);
	assert_int_equal(v.kind, LEDGER_WANT);
	assert_string_equal(v.name, NAME);
	assert_true(v.time_ns > 1000000000ull * 1000000000ull);
	p = strtok_r(NULL, "\n", &save);
	assert_int_equal(ledger__parse(p, &v), 0);
	assert_int_equal(v.kind, LEDGER_HAVE);
	assert_int_equal(v.dev, 4);
	assert_true(v.ino == 4026532226ull);
	assert_int_equal(v.ifindex[0], 11);
	assert_int_equal(v.ifindex[1], 2147483647);
	p = strtok_r(NULL, "\n", &save);
	assert_int_equal(ledger__parse(p, &v), 0);
	assert_int_equal(v.kind, LEDGER_GONE);
	p = strtok_r(NULL, "\n", &save);
	assert_int_equal(ledger__parse(p, &v), 0);
	assert_int_equal(v.kind, LEDGER_DESTROY);
	assert_string_equal(v.text, "rm -rf \"{i}\"; echo {uuid}");
	assert_null(strtok_r(NULL, "\n", &save));
}

static void lines_that_are_read(void **state)
{
	struct ledger_line v;

	(void)state;
	assert_int_equal(ledger__parse("frtrace-ledger 1", &v), 0);
	assert_int_equal(v.kind, LEDGER_HEAD);
	assert_int_equal(v.version, 1);
	assert_int_equal(ledger__parse("pid 4711 123456", &v), 0);
	assert_int_equal(v.id, 4711);
	assert_int_equal(v.time_ns, 123456);
	assert_int_equal(ledger__parse("create 01234567-89ab-4cde-8f01-23456789abcd 17", &v), 0);
	assert_int_equal(v.id, 17);
	assert_int_equal(ledger__parse("cgroup /sys/fs/cgroup/a b/frtrace-x", &v), 0);
	assert_string_equal(v.text, "/sys/fs/cgroup/a b/frtrace-x");
}

/* A line that was cut short, or is of nobody, is never half believed. */
static void lines_that_are_none(void **state)
{
	static const char *const bad[] = {
		"",
		" ",
		"want",
		"want ",
		"want " NAME,
		"want " NAME " ",
		"want " NAME " x",
		"want " NAME " -1",
		"want " NAME " 1 2",
		"want  1",
		"want " NAME " 99999999999999999999",
		"have " NAME,
		"have " NAME " 4",
		"have " NAME " 4:",
		"have " NAME " 4:5",
		"have " NAME " 4:5 1",
		"have " NAME " 4:5 1 ",
		"have " NAME " 4:5 1 2 3",
		"have " NAME " 4:5 1 2147483648",
		"have " NAME " 4 5 1 2",
		"gone",
		"gone ",
		"gone " NAME " x",
		"run",
		"run ",
		"Want " NAME " 1",
		"wants " NAME " 1",
		"pid 99999999999 1",
		"want aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1",
	};
	static const char whole[] = "have " NAME " 4:4026532226 11 12";
	char longest[2000];
	struct ledger_line v;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (!ledger__parse(bad[i], &v))
			fail_msg("taken for a line: '%s'", bad[i]);
	memset(longest, 'x', sizeof(longest));
	memcpy(longest, "destroy ", 8);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(ledger__parse(longest, &v), -EINVAL);
	/* every prefix of a good line is a line or none, never a crash */
	for (size_t n = 0; n < strlen(whole); n++) {
		memcpy(longest, whole, n);
		longest[n] = '\0';
		if (!ledger__parse(longest, &v))
			assert_int_equal(v.ifindex[0], 11);
	}
}

static void write_that_does_not_fit(void **state)
{
	struct ledger l = { .fd = -1 };
	char text[1000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(ledger__write(&l, "destroy %s", text), -E2BIG);
	l.fd = open("/dev/full", O_WRONLY);
	if (l.fd < 0)
		skip();
	assert_int_equal(ledger__want(&l, NAME), -ENOSPC);
	close(l.fd);
}

static void proc_stat(void **state)
{
	struct cpu_ticks t;

	(void)state;
	assert_int_equal(parse_cpu_ticks("cpu  100 20 30 4000 50 6 7 80 9 9\ncpu0 1 1\n", &t), 0);
	assert_int_equal(t.busy, 100 + 20 + 30 + 6 + 7);
	assert_int_equal(t.steal, 80);
	assert_int_equal(t.total, t.busy + 4000 + 50 + 80);
	/* before Linux 2.6.11 there was no stolen time */
	assert_int_equal(parse_cpu_ticks("cpu  1 2 3 4\n", &t), 0);
	assert_int_equal(t.steal, 0);
	assert_int_equal(parse_cpu_ticks("cpu0 1 2 3 4\n", &t), -EINVAL);
	assert_int_equal(parse_cpu_ticks("", &t), -EINVAL);
	assert_int_equal(parse_cpu_ticks("cpu  a b\n", &t), -EINVAL);
}

static void proc_meminfo(void **state)
{
	static const char text[] = "MemTotal:       24684092 kB\nMemFree:  1 kB\n"
				   "MemAvailable:   23841004 kB\nSlab:  77 kB\nBad: x\n";

	(void)state;
	assert_int_equal(parse_meminfo(text, "MemAvailable"), 23841004);
	assert_int_equal(parse_meminfo(text, "Slab"), 77);
	assert_int_equal(parse_meminfo(text, "Mem"), -1);
	assert_int_equal(parse_meminfo(text, "Bad"), -1);
	assert_int_equal(parse_meminfo("", "Slab"), -1);
}

static void proc_mountinfo(void **state)
{
	struct mount_line m;
	char line[1200];

	(void)state;
	assert_int_equal(
		parse_mountinfo("66 64 0:4 net:[4026532318] /run/netns/bar-2 rw shared:3 - "
				"nsfs nsfs rw",
				&m),
		0);
	assert_string_equal(m.root, "net:[4026532318]");
	assert_string_equal(m.point, "/run/netns/bar-2");
	assert_string_equal(m.type, "nsfs");
	assert_true(m.shared);
	assert_int_equal(m.major, 0);
	assert_int_equal(m.minor, 4);
	assert_true(parse_ns_root(m.root) == 4026532318ull);
	/* no optional fields; blanks and a minus in names; several optional fields */
	assert_int_equal(parse_mountinfo("1 2 254:0 / / rw,relatime - ext4 /dev/vda rw\n", &m), 0);
	assert_string_equal(m.point, "/");
	assert_false(m.shared);
	assert_int_equal(parse_mountinfo("1 2 0:1 /a\\040-\\134b /x\\040-\\040y rw master:1 "
					 "propagate_from:2 - tmpfs t rw",
					 &m),
			 0);
	assert_string_equal(m.root, "/a -\\b");
	assert_string_equal(m.point, "/x - y");
	assert_false(m.shared);
	assert_string_equal(m.type, "tmpfs");
	assert_int_equal(parse_mountinfo("", &m), -EINVAL);
	assert_int_equal(parse_mountinfo("1 2 0:1", &m), -EINVAL);
	assert_int_equal(parse_mountinfo("1 2 0:1 /", &m), -EINVAL);
	assert_int_equal(parse_mountinfo("1 2 0:1 / /x rw", &m), -EINVAL);
	assert_int_equal(parse_mountinfo("1 2 x:1 / /x rw - t t rw", &m), -EINVAL);
	snprintf(line, sizeof(line), "1 2 0:1 / /%0*d rw - t t rw", 1000, 0);
	assert_int_equal(parse_mountinfo(line, &m), -E2BIG);
}

static void ns_roots(void **state)
{
	(void)state;
	assert_int_equal(parse_ns_root("net:[5]"), 5);
	assert_int_equal(parse_ns_root("net:[5"), 0);
	assert_int_equal(parse_ns_root("net:[]"), 0);
	assert_int_equal(parse_ns_root("mnt:[5]"), 0);
	assert_int_equal(parse_ns_root("/"), 0);
	assert_int_equal(parse_ns_root(""), 0);
}

static void joined(char *dst, const char *const *v, unsigned n)
{
	*dst = '\0';
	for (unsigned i = 0; i < n; i++) {
		strcat(dst, i ? " " : "");
		strcat(dst, v[i]);
	}
}

/* The commands are those of 2014, by name. */
static void commands(void **state)
{
	static const char *const want[] = {
		[FRT_STEP_ADD] = "ip netns add " NAME,
		[FRT_STEP_EXEC] = "ip netns exec " NAME " ip link set lo up",
		[FRT_STEP_SYSCTL] = "ip netns exec " NAME " sysctl -w net.ipv4.ip_forward=1",
		[FRT_STEP_VETH] =
			"ip link add ro-01234567-89 type veth peer name ri-01234567-89 netns " NAME,
		[FRT_STEP_DELETE] = "ip netns del " NAME,
		[FRT_STEP_CONTROL] = "true",
	};
	struct tools t = { .ip = "ip" };
	const char *v[WL_ARGV_MAX];
	struct router_name n;
	char text[512];

	(void)state;
	assert_true(name__parse(&n, NAME));
	for (unsigned s = 0; s < FRT_STEPS; s++) {
		unsigned c = step__argv(&t, (enum frt_step)s, 0, &n, v);

		joined(text, v, c);
		assert_null(v[c]);
		assert_string_equal(text, want[s]);
	}
	joined(text, v, step__argv(&t, FRT_STEP_VETH, 1, &n, v));
	assert_string_equal(
		text, "ip link add go-01234567-89 type veth peer name gi-01234567-89 netns " NAME);
	/* the prefix once, before the command; another ip inside too; not for the control */
	t.ip = "/opt/ip";
	t.prefix[0] = "sudo";
	t.prefix[1] = "-n";
	t.nprefix = 2;
	joined(text, v, step__argv(&t, FRT_STEP_EXEC, 0, &n, v));
	assert_string_equal(text, "sudo -n /opt/ip netns exec " NAME " /opt/ip link set lo up");
	joined(text, v, step__argv(&t, FRT_STEP_CONTROL, 0, &n, v));
	assert_string_equal(text, "true");
}

static void hints(void **state)
{
	char hint[256];

	(void)state;
	assert_non_null(strstr(limit__hint(hint, sizeof(hint), "mount", -ENOSPC), "fs.mount-max"));
	assert_non_null(strstr(limit__hint(hint, sizeof(hint), "unshare(CLONE_NEWNET)", ENOSPC),
			       "user.max_net_namespaces"));
	assert_non_null(strstr(limit__hint(hint, sizeof(hint), "unshare(CLONE_NEWNS)", ENOSPC),
			       "mnt_namespaces"));
	assert_non_null(strstr(limit__hint(hint, sizeof(hint), "open", ENOSPC), "inodes"));
	assert_non_null(
		strstr(limit__hint(hint, sizeof(hint), "whatever", EMFILE), "RLIMIT_NOFILE"));
	assert_non_null(strstr(limit__hint(hint, sizeof(hint), "vfork", EAGAIN), "pid_max"));
	assert_non_null(strstr(limit__hint(hint, sizeof(hint), "x", ENOMEM), "memory"));
	assert_string_equal(limit__hint(hint, sizeof(hint), "open", ENOENT), "");
}

static void modes(void **state)
{
	(void)state;
	assert_string_equal(workload__mode_name(FRT_WORK_SCRIPT), "script");
	assert_string_equal(workload__mode_name(FRT_WORK_EXACT), "exact");
	assert_string_equal(workload__mode_name(FRT_WORK_LEAN), "lean");
	assert_string_equal(workload__mode_name(FRT_WORK_BATCH), "batch");
	assert_string_equal(workload__mode_name((enum frt_workmode)99), "unknown");
	/* what has no counterpart is said of each but the script */
	assert_null(workload__mode_note(FRT_WORK_SCRIPT));
	assert_non_null(strstr(workload__mode_note(FRT_WORK_EXACT), "execve"));
	assert_non_null(strstr(workload__mode_note(FRT_WORK_LEAN), "unshare(NEWNS)"));
	assert_non_null(strstr(workload__mode_note(FRT_WORK_BATCH), "execve"));
	assert_null(workload__mode_note((enum frt_workmode)99));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(names_that_are_none),
		cmocka_unit_test(templates),
		cmocka_unit_test(lines_that_are_written),
		cmocka_unit_test(lines_that_are_read),
		cmocka_unit_test(lines_that_are_none),
		cmocka_unit_test(write_that_does_not_fit),
		cmocka_unit_test(proc_stat),
		cmocka_unit_test(proc_meminfo),
		cmocka_unit_test(proc_mountinfo),
		cmocka_unit_test(ns_roots),
		cmocka_unit_test(commands),
		cmocka_unit_test(hints),
		cmocka_unit_test(modes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
