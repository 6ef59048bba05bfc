/* SPDX-License-Identifier: BSD-2-Clause */
/* Which step a command is: the built-in table, the user's rules, bad rules. */
#include "analyze/rules.h"

#include "util/util.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Spaces become separators; \x1f in the text stays one. */
static const char *as_args(const char *s)
{
	static char buf[4096];

	snprintf(buf, sizeof(buf), "%s", s);
	for (char *p = buf; *p; p++)
		if (*p == ' ')
			*p = '\x1f';
	return buf;
}

static const char *name_of(struct rules *r, const char *command)
{
	const struct rule *m = rules__match(r, as_args(command));

	if (!m)
		return "-";
	return m->kind == RULE_ACTIONS	 ? "(actions)"
	       : m->kind == RULE_WRAPPER ? "(wrapper)"
					 : m->name;
}

static void test_builtin(void **state)
{
	static const struct {
		const char *command, *name;
	} cases[] = {
		{ "ip netns add bar-1", "add" },
		{ "/usr/sbin/ip netns add bar-1", "add" },
		{ "./iproute2/ip/ip net a bar-1", "add" },
		{ "ip -4 -o netns add x", "add" },
		{ "ip netns exec bar ip link set lo up", "exec" },
		{ "ip netns exec bar sysctl -w net.ipv4.ip_forward=1", "sysctl" },
		{ "ip netns exec bar /sbin/sysctl -w net.ipv4.ip_forward=1", "sysctl" },
		{ "ip netns exec sysctl true", "exec" },
		{ "ip netns del bar", "delete" },
		{ "ip netns delete bar", "delete" },
		{ "ip -all netns del", "delete" },
		{ "ip -all netns exec ip link", "exec" },
		{ "ip link add ro-1 type veth peer name ri-1 netns bar", "veth" },
		{ "ip link add name ro-1 numtxqueues 2 type veth peer name ri-1", "veth" },
		{ "ip link add br0 type bridge", "link-add" },
		{ "ip link set ri-1 netns bar", "veth-move" },
		{ "ip link set dev ri-1 netns bar up", "veth-move" },
		{ "ip link set ri-1 up", "link-up" },
		{ "ip link set ri-1 mtu 1400", "link-set" },
		{ "ip -n bar link set lo up", "exec" },
		{ "ip -n bar", "exec" },
		{ "ip -netns bar addr add 10.0.0.1/24 dev x", "exec" },
		{ "ip addr add 10.0.0.1/24 dev x", "addr" },
		{ "ip route add default via 10.0.0.2", "route" },
		{ "sysctl -w a=b", "sysctl" },
		{ "iptables -A INPUT -j ACCEPT", "iptables" },
		{ "iptables-restore", "iptables" },
		{ "nft -f x", "nft" },
		{ "unshare -n true", "unshare" },
		{ "nsenter --net=/run/netns/x true", "nsenter" },
		{ "mnexec -a 12 ip link", "mnexec" },
		{ "ip -batch cmds", "(actions)" },
		{ "ip -force -b -", "(actions)" },
		{ "sudo ip netns add x", "(wrapper)" },
		{ "/usr/bin/doas ip netns add x", "(wrapper)" },
		{ "neutron-rootwrap /etc/x ip netns add x", "(wrapper)" },
		{ "/usr/bin/python3 /usr/bin/neutron-rootwrap /etc/x ip netns add x", "(wrapper)" },
		{ "env A=b ip link", "(wrapper)" },
		{ "sh -c x", "(wrapper)" },
		{ "bash --norc -ec x", "(wrapper)" },
		{ "-bash -c x", "(wrapper)" },
		{ "sh script.sh -c x", "-" },
		{ "bash -o pipefail script -c", "-" },
		{ "ip", "-" },
		{ "ip link", "-" },
		{ "ip link show type veth", "-" },
		{ "uuidgen", "-" },
		{ "python3 x.py", "-" },
		{ "myip netns add x", "-" },
		{ "", "-" },
		{ "\x1f\x1f", "-" },
	};
	struct rules *r = rules__new();

	(void)state;
	assert_non_null(r);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (strcmp(name_of(r, cases[i].command), cases[i].name) != 0)
			fail_msg("'%s' is '%s', not '%s'", cases[i].command,
				 name_of(r, cases[i].command), cases[i].name);
	rules__free(r);
}

static void add(struct rules *r, const char *spec)
{
	char err[256] = "";

	if (rules__add(r, spec, err, sizeof(err)))
		fail_msg("%s", err);
}

static void test_user_rules(void **state)
{
	struct rules *r = rules__new();
	const struct rule *v;
	size_t n;

	(void)state;
	add(r, "tc=ip netns exec * tc *");
	add(r, "mine=./mk|make ?*");
	add(r, "late=ip netns exec");
	add(r, "never=nothing here");
	assert_string_equal(name_of(r, "ip netns exec bar tc qdisc add dev x"), "tc");
	assert_string_equal(name_of(r, "ip -n bar tc qdisc"), "tc");
	assert_string_equal(name_of(r, "ip netns exec bar env tc qdisc"), "tc");
	assert_string_equal(name_of(r, "ip netns exec bar ip link"), "late");
	/* a word with a slash is compared with the path, one without with the name */
	assert_string_equal(name_of(r, "./mk 1"), "mine");
	assert_string_equal(name_of(r, "/usr/bin/make 1"), "mine");
	assert_string_equal(name_of(r, "/opt/mk 1"), "-");
	assert_string_equal(name_of(r, "./mk"), "-");
	assert_string_equal(name_of(r, "ip netns add x"), "add");
	v = rules__list(r, &n);
	assert_true(n > 4);
	assert_string_equal(v[0].name, "tc");
	assert_int_equal(v[0].hits, 3);
	assert_int_equal(v[2].hits, 1);
	assert_int_equal(v[2].also, 3);
	assert_int_equal(v[3].hits, 0);
	assert_string_equal(v[3].pattern, "nothing here");
	rules__free(r);
}

static void test_stars(void **state)
{
	struct rules *r = rules__new();

	(void)state;
	add(r, "a=p * x * y");
	add(r, "b=q * *");
	add(r, "c=* last");
	assert_string_equal(name_of(r, "p x y"), "a");
	assert_string_equal(name_of(r, "p 1 2 x 3 4 y 5"), "a");
	assert_string_equal(name_of(r, "p 1 x"), "-");
	assert_string_equal(name_of(r, "q"), "b");
	assert_string_equal(name_of(r, "q 1 2 3"), "b");
	assert_string_equal(name_of(r, "z z z last"), "c");
	assert_string_equal(name_of(r, "p x last x"), "c");
	rules__free(r);
}

static void test_bad_rules(void **state)
{
	static const char *const bad[] = {
		"",
		"x",
		"=ip netns add",
		"x=",
		"x=  \t ",
		"a b=ip",
		"gap=ip",
		"router=ip",
		"other=ip",
		"a=[x",
		"\x1b[31m=ip",
		"name-of-more-than-24-characters=ip",
		"a=ip [netns add",
	};
	struct rules *r = rules__new();
	char err[256], many[1024] = "x=";
	size_t n;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		err[0] = '\0';
		assert_int_equal(rules__add(r, bad[i], err, sizeof(err)), -EINVAL);
		assert_non_null(strstr(err, "--step"));
		assert_null(strchr(err, '\x1b'));
	}
	for (int i = 0; i < 40; i++)
		strcat(many, "w ");
	assert_int_equal(rules__add(r, many, err, sizeof(err)), -EINVAL);
	memset(many + 2, 'w', 600);
	assert_int_equal(rules__add(r, many, err, sizeof(err)), -EINVAL);
	assert_false(rules__list(r, &n)[0].user);
	rules__free(r);
}

/* Arguments are data: long, many, empty, with bytes that are no text. */
static void test_strange_arguments(void **state)
{
	struct rules *r = rules__new();
	char args[2048], buf[128];

	(void)state;
	add(r, "odd=prog a\nb");
	assert_non_null(rules__match(r, "prog\x1f"
					"a\nb"));
	add(r, "word=prog \xc3\xa9");
	assert_int_equal(rules__add(r, "none=prog \xc3", buf, sizeof(buf)), -EINVAL);
	assert_non_null(strstr(buf, "no UTF-8"));
	memset(args, '\x1f', 1500);
	args[1500] = '\0';
	assert_null(rules__match(r, args));
	memset(args, 'x', 1500);
	assert_null(rules__match(r, args));
	strcpy(args, "ip\x1f-n");
	rules__match(r, args);
	strcpy(args, "ip");
	for (int i = 0; i < 300; i++)
		strcat(args, "\x1f-4");
	rules__match(r, args);
	strcpy(args, "ip\x1f-n\x1fX");
	for (int i = 0; i < 300; i++)
		strcat(args, "\x1fw");
	assert_string_equal(rules__match(r, args)->name, "exec");
	assert_string_equal(rules__summary("/sbin/ip\x1fnetns\x1f"
					   "add\x1f"
					   "bar",
					   buf, sizeof(buf)),
			    "ip netns add");
	assert_string_equal(rules__summary("a\nb\xff\x1f-x", buf, sizeof(buf)), "a\\x0ab\\xff");
	assert_string_equal(rules__summary("", buf, sizeof(buf)), "?");
	assert_string_equal(rules__summary("\x1flink\x1fset", buf, sizeof(buf)), "? link set");
	rules__free(r);
}

/* What is kept without --argv says which step it is, and nothing else. */
static void test_mask(void **state)
{
	static const struct {
		const char *command, *masked;
	} cases[] = {
		{ "/sbin/ip netns exec bar sysctl -w a=b", "/sbin/ip netns exec * sysctl -w *" },
		{ "mysql -u root -psecret db", "mysql -u * * *" },
		{ "sh -c secret", "sh -c *" },
		{ "ip -n bar link set x up", "ip -n * link set * up" },
		{ "sudo --user=x ip netns add y", "sudo * ip netns add *" },
		{ "tool --password special", "tool * special" },
		{ "/opt/mk 1", "/opt/mk *" },
	};
	struct rules *r = rules__new();
	char buf[512], small[8];

	(void)state;
	add(r, "x=tool * special");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char before[64], after[512];

		snprintf(before, sizeof(before), "%s", name_of(r, cases[i].command));
		rules__mask(r, as_args(cases[i].command), buf, sizeof(buf));
		snprintf(after, sizeof(after), "%s", name_of(r, buf));
		for (char *p = buf; *p; p++)
			if (*p == '\x1f')
				*p = ' ';
		assert_string_equal(buf, cases[i].masked);
		assert_string_equal(before, after);
	}
	rules__mask(r, as_args("ip netns add x"), small, sizeof(small));
	assert_string_equal(small, "ip");
	rules__free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_builtin),
		cmocka_unit_test(test_user_rules),
		cmocka_unit_test(test_stars),
		cmocka_unit_test(test_bad_rules),
		cmocka_unit_test(test_strange_arguments),
		cmocka_unit_test(test_mask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
