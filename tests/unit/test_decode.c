/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls by name, and what the rules of waits make of them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/decode.h"
#include "analyze/waits.h"

#include <frtrace/events.h>
#include <string.h>

#define NEWNET 0x40000000u
#define NEWNS 0x00020000u
#define VFORK 0x4111u /* VFORK | VM | SIGCHLD */

/* Numbers of x86-64, from its manual pages' table (asm/unistd_64.h). */
enum {
	NR_WRITE = 1,
	NR_POLL = 7,
	NR_NANOSLEEP = 35,
	NR_SENDTO = 44,
	NR_SENDMSG = 46,
	NR_CLONE = 56,
	NR_VFORK = 58,
	NR_EXECVE = 59,
	NR_WAIT4 = 61,
	NR_MOUNT = 165,
	NR_UMOUNT2 = 166,
	NR_WAITID = 247,
	NR_OPENAT = 257,
	NR_UNSHARE = 272,
	NR_SETNS = 308,
	NR_CLONE3 = 435,
	NR_MOUNT_SETATTR = 442,
};

static struct syscalls x86;

static int open_names(void **state)
{
	(void)state;
	return syscalls__open(&x86, "x86_64");
}

static int close_names(void **state)
{
	(void)state;
	syscalls__close(&x86);
	return 0;
}

static void is(struct frt_call c, const char *want)
{
	char buf[DECODE_MAX];

	assert_string_equal(decode__call(&x86, &c, buf), want);
}

static void names(void **state)
{
	struct syscalls arm;

	(void)state;
	assert_string_equal(syscalls__name(&x86, 0), "read");
	assert_string_equal(syscalls__name(&x86, NR_WAITID), "waitid");
	assert_string_equal(syscalls__name(&x86, 334), "rseq");
	assert_null(syscalls__name(&x86, 400));
	assert_string_equal(syscalls__name(&x86, 424), "pidfd_send_signal");
	assert_string_equal(syscalls__name(&x86, NR_CLONE3), "clone3");
	assert_string_equal(syscalls__name(&x86, NR_MOUNT_SETATTR), "mount_setattr");
	assert_string_equal(syscalls__name(&x86, 462), "mseal");
	assert_null(syscalls__name(&x86, 100000));
	assert_null(syscalls__name(&x86, -5));
	assert_int_equal(syscalls__open(&arm, "aarch64"), 0);
	assert_string_equal(syscalls__name(&arm, 63), "read");
	assert_string_equal(syscalls__name(&arm, 95), "waitid");
	assert_string_equal(syscalls__name(&arm, 97), "unshare");
	assert_string_equal(syscalls__name(&arm, 40), "mount");
	assert_string_equal(syscalls__name(&arm, 211), "sendmsg");
	assert_string_equal(syscalls__name(&arm, 220), "clone");
	assert_string_equal(syscalls__name(&arm, 268), "setns");
	assert_null(syscalls__name(&arm, 244));
	assert_string_equal(syscalls__name(&arm, 435), "clone3");
	syscalls__close(&arm);
}

static void pseudo_calls(void **state)
{
	(void)state;
	is((struct frt_call){ .nr = FRT_NR_START }, "start");
	is((struct frt_call){ .nr = FRT_NR_EXIT }, "exit");
	is((struct frt_call){ .nr = FRT_NR_NONE }, "other calls");
	is((struct frt_call){ .nr = FRT_NR_COMPAT | 4 }, "compat");
	is((struct frt_call){ .nr = FRT_NR_COMPAT | NR_UNSHARE, .detail = FRT_DET_NS }, "compat");
	is((struct frt_call){ .nr = NR_EXECVE }, "execve");
	is((struct frt_call){ .nr = NR_EXECVE, .ret = -2 }, "execve (failed)");
	is((struct frt_call){ .nr = 399 }, "call 399");
	is((struct frt_call){ .nr = NR_MOUNT, .detail = FRT_DET_BAD }, "mount");
	is((struct frt_call){ .nr = NR_MOUNT, .detail = 4711 }, "mount");
}

static struct frt_call ns(int32_t nr, uint64_t flags, uint32_t net0, uint32_t net1, uint32_t mnt0,
			  uint32_t mnt1)
{
	return (struct frt_call){ .nr = nr,
				  .detail = FRT_DET_NS,
				  .flags = flags,
				  .net_before = net0,
				  .net_after = net1,
				  .mnt_before = mnt0,
				  .mnt_after = mnt1 };
}

static void namespaces(void **state)
{
	struct frt_call c;

	(void)state;
	is(ns(NR_UNSHARE, NEWNET, 10, 11, 20, 20), "unshare(NEWNET)");
	is(ns(NR_UNSHARE, NEWNS, 10, 10, 20, 21), "unshare(NEWNS)");
	is(ns(NR_UNSHARE, NEWNET | NEWNS, 10, 11, 20, 21), "unshare(NEWNET,NEWNS)");
	is(ns(NR_UNSHARE, 0x20000000, 10, 10, 20, 20), "unshare"); /* NEWPID */
	is(ns(NR_SETNS, 0, 10, 11, 20, 20), "setns(NEWNET)");	   /* flags 0, yet it changed */
	is(ns(NR_SETNS, NEWNET, 10, 10, 20, 20), "setns");	   /* asked for, not changed */
	is(ns(NR_SETNS, NEWNS, 10, 10, 20, 21), "setns(NEWNS)");
	is(ns(NR_CLONE, NEWNET, 10, 12, 20, 20), "clone(NEWNET)");
	is(ns(NR_CLONE3, NEWNET, 10, 12, 20, 20), "clone(NEWNET)");
	is(ns(NR_CLONE3, 0, 10, 10, 20, 20), "clone3");
	is(ns(NR_VFORK, VFORK, 10, 10, 20, 20), "vfork");
	/* no inode numbers: then, and only then, the flags; but not of a call that failed */
	c = ns(NR_UNSHARE, NEWNET, 0, 0, 0, 0);
	is(c, "unshare(NEWNET)");
	c.ret = -1;
	is(c, "unshare");
}

static struct frt_call mount_of(int32_t nr, uint64_t flags, const char *text)
{
	return (struct frt_call){ .nr = nr, .detail = FRT_DET_MOUNT, .flags = flags, .text = text };
}

static void mounts(void **state)
{
	(void)state;
	is(mount_of(NR_MOUNT, 0x100000 | 0x4000, "/run/netns\tnone"), "mount(shared,rec)");
	is(mount_of(NR_MOUNT, 0x80000 | 0x4000, "/\tnone"), "mount(slave,rec /)");
	is(mount_of(NR_MOUNT, 0x40000, "/run/netns\t"), "mount(private)");
	is(mount_of(NR_MOUNT, 0x1000, "/run/netns/bar\t/proc/self/ns/net"), "mount(bind nsfs)");
	is(mount_of(NR_MOUNT, 0x1000, "/run/netns/bar\tc/self/task/1/ns/net"), "mount(bind nsfs)");
	is(mount_of(NR_MOUNT, 0x1000, "/etc/hosts\t/etc/netns/bar/hosts"), "mount(bind)");
	is(mount_of(NR_MOUNT, 0x1000 | 0x4000, "/run/netns\t/run/netns"), "mount(bind)");
	is(mount_of(NR_MOUNT, 0, "/sys\tsysfs"), "mount(sysfs)");
	is(mount_of(NR_MOUNT, 1, "/tmp\ttmpfs"), "mount(tmpfs)");
	is(mount_of(NR_MOUNT, 0x20, "/sys\tsysfs"), "mount(remount)");
	is(mount_of(NR_MOUNT, 0x2000, "/b\t/a"), "mount(move)");
	is(mount_of(NR_MOUNT, 0, "/sys\tA type; no <name>"), "mount");
	is(mount_of(NR_MOUNT, 0, ""), "mount");
	is(mount_of(NR_MOUNT, 0, NULL), "mount");
	is(mount_of(NR_UMOUNT2, 2, "/sys"), "umount2(/sys)");
	is(mount_of(NR_UMOUNT2, 2, "/sys/x"), "umount2");
	is(mount_of(NR_UMOUNT2, 2, "/run/netns/bar"), "umount2");
	is(mount_of(NR_MOUNT_SETATTR, 0x80000 | 0x4000, "/"), "mount_setattr(slave,rec /)");
	is(mount_of(NR_MOUNT_SETATTR, 0, "/"), "mount_setattr");
}

static struct frt_call netlink(uint32_t type, uint32_t flags, const char *text)
{
	return (struct frt_call){ .nr = NR_SENDMSG,
				  .detail = FRT_DET_NETLINK,
				  .nl_type = type,
				  .nl_flags = flags,
				  .text = text };
}

static void messages(void **state)
{
	struct frt_call c = netlink(16, 0x600, "veth");

	(void)state;
	is(c, "rtnl newlink veth");				   /* NEWLINK, CREATE | EXCL */
	is(netlink(16, 0x600, "veth@netns"), "rtnl newlink veth"); /* born elsewhere, not moved */
	is(netlink(16, 0x600, ""), "rtnl newlink");
	is(netlink(16, 0x600, "a;b<c"), "rtnl newlink");
	is(netlink(16, 0x5, ""), "rtnl setlink"); /* ip sends NEWLINK to set, too */
	is(netlink(16, 0x5, "@netns"), "rtnl move");
	is(netlink(16, 0x5, "veth@netns"), "rtnl move");
	is(netlink(19, 0x5, ""), "rtnl setlink");
	is(netlink(19, 0x5, "@netns"), "rtnl move");
	is(netlink(18, 0x301, ""), "rtnl dump");
	is(netlink(18, 0x1, ""), "rtnl getlink");
	is(netlink(17, 0x5, ""), "rtnl dellink");
	is(netlink(20, 0x605, ""), "rtnl newaddr");
	is(netlink(22, 0x301, ""), "rtnl dump");
	is(netlink(25, 0x5, ""), "rtnl delroute");
	is(netlink(26, 0x101, ""), "rtnl getroute"); /* ROOT alone is no dump */
	is(netlink(90, 0x1, ""), "rtnl getnsid");
	is(netlink(3000, 0x1, NULL), "rtnl 3000");
	is(netlink(2, 0x1, NULL), "rtnl 2");
	c.nl_proto = 12;
	is(c, "nfnetlink");
	c.nl_proto = 16;
	is(c, "genetlink");
	c.nl_proto = 15;
	is(c, "netlink");
}

static void sysctls(void **state)
{
	(void)state;
	is((struct frt_call){ .nr = NR_OPENAT, .detail = FRT_DET_OPEN, .text = "net/x" },
	   "open /proc/sys");
	is((struct frt_call){ .nr = NR_WRITE, .detail = FRT_DET_WRITE, .text = "net/x" },
	   "write /proc/sys");
	is((struct frt_call){ .nr = NR_OPENAT }, "openat");
	is((struct frt_call){ .nr = NR_WRITE }, "write");
}

static void waits(void **state)
{
	static const char *const vfork_stack[] = { "do_syscall_64", "wait_for_vfork_done",
						   "schedule" };
	static const char *const work_stack[] = { "task_work_run", "__fput", "synchronize_rcu" };
	static const struct {
		struct wait w;
		const char *class;
	} rows[] = {
		{ { FRT_MODE_CALL, "wait4", 0, NULL, 0, NULL }, "child" },
		{ { FRT_MODE_CALL, "waitid", 0, NULL, 0, NULL }, "child" },
		{ { FRT_MODE_CALL, "nanosleep", 0, NULL, 0, NULL }, "sleep" },
		{ { FRT_MODE_CALL, "clock_nanosleep", 0, NULL, 0, NULL }, "sleep" },
		{ { FRT_MODE_CALL, "poll", 0, NULL, 0, NULL }, "pipe/socket" },
		{ { FRT_MODE_CALL, "read", 0, NULL, 0, NULL }, "pipe/socket" },
		{ { FRT_MODE_CALL, "recvmsg", 0, NULL, 0, NULL }, "pipe/socket" },
		/* it waits inside the kernel for what it asked, not for a peer */
		{ { FRT_MODE_CALL, "sendmsg", FRT_DET_NETLINK, NULL, 0, NULL }, "other" },
		{ { FRT_MODE_CALL, "write", FRT_DET_WRITE, NULL, 0, NULL }, "other" },
		{ { FRT_MODE_CALL, "vfork", FRT_DET_NS, NULL, 0, NULL }, "vfork" },
		{ { FRT_MODE_CALL, "clone", FRT_DET_NS, NULL, 0, NULL }, "vfork" },
		{ { FRT_MODE_CALL, "execve", 0, vfork_stack, 3, NULL }, "vfork" },
		{ { FRT_MODE_CALL, "unshare", FRT_DET_NS, NULL, 0, NULL }, "other" },
		{ { FRT_MODE_CALL, NULL, 0, NULL, 0, NULL }, "other" },
		{ { FRT_MODE_USER, NULL, 0, NULL, 0, NULL }, "fault" },
		{ { FRT_MODE_USER, NULL, 0, work_stack, 3, NULL }, "rcu:normal" },
		{ { FRT_MODE_EXIT, NULL, 0, NULL, 0, NULL }, "other" },
		{ { FRT_MODE_START, NULL, 0, NULL, 0, NULL }, "other" },
	};

	char buf[WAITS_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(waits__class(&rows[i].w, buf), rows[i].class);
	assert_true(waits__is_scheduler("schedule_timeout"));
	assert_false(waits__is_scheduler("synchronize_rcu_expedited"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),      cmocka_unit_test(pseudo_calls),
		cmocka_unit_test(namespaces), cmocka_unit_test(mounts),
		cmocka_unit_test(messages),   cmocka_unit_test(sysctls),
		cmocka_unit_test(waits),
	};

	return cmocka_run_group_tests(tests, open_names, close_names);
}
