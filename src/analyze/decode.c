/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One table, by what was decoded of the call (enum frt_detail). A new name is a
 * row of the table of its family. Numbers of flags and message types are the
 * kernel's user-space interface, spelled out here so that a record can be read
 * on a machine without these headers.
 */
#include "analyze/decode.h"

#include <frtrace/events.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define CLONE_NEWNS_ 0x00020000u
#define CLONE_NEWNET_ 0x40000000u

#define MS_REMOUNT_ 0x20u
#define MS_BIND_ 0x1000u
#define MS_MOVE_ 0x2000u
#define MS_REC_ 0x4000u

#define NETLINK_ROUTE_ 0
#define NETLINK_NETFILTER_ 12
#define NETLINK_GENERIC_ 16
#define NLM_F_DUMP_ 0x300u /* ROOT | MATCH */
#define NLM_F_CREATE_ 0x400u
#define RTM_NEWLINK_ 16
#define RTM_SETLINK_ 19

static bool changed(uint32_t before, uint32_t after)
{
	return before && after && before != after;
}

/* unshare(NEWNET), setns(NEWNS), clone(NEWNET,NEWNS), …: what became of the
 * task's (of clone: the child's) namespaces. Flags speak only where the inode
 * numbers are missing. */
static const char *decode_ns(const char *name, const struct frt_call *c, char *buf)
{
	bool known = c->net_before && c->net_after && c->mnt_before && c->mnt_after;
	bool net = changed(c->net_before, c->net_after), mnt = changed(c->mnt_before, c->mnt_after);

	if (!known && c->ret >= 0) {
		net = net || c->flags & CLONE_NEWNET_;
		mnt = mnt || c->flags & CLONE_NEWNS_;
	}
	if (!net && !mnt)
		return name;
	if (strncmp(name, "clone", 5) == 0) /* clone3 makes the same */
		name = "clone";
	snprintf(buf, DECODE_MAX, "%s(%s%s%s)", name, net ? "NEWNET" : "", net && mnt ? "," : "",
		 mnt ? "NEWNS" : "");
	return buf;
}

static const struct {
	uint32_t flag;
	const char *name;
} propagations[] = {
	{ 1u << 20, "shared" },
	{ 1u << 19, "slave" },
	{ 1u << 18, "private" },
	{ 1u << 17, "unbindable" },
};

static bool ends_with(const char *s, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && memcmp(s + len - n, end, n) == 0;
}

/* A file system's type as text that may stand in a name. */
static bool plain_word(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_.");

	return n && n < 24 && !s[n];
}

/* text: TARGET, then behind a tab the type, or the source of a bind. */
static const char *decode_mount(const char *name, const struct frt_call *c, char *buf)
{
	const char *text = c->text ? c->text : "", *tab = strchr(text, '\t');
	size_t target = tab ? (size_t)(tab - text) : strlen(text);
	const char *other = tab ? tab + 1 : "";
	bool root = target == 1 && text[0] == '/';

	if (strcmp(name, "umount2") == 0) {
		if (target != 4 || memcmp(text, "/sys", 4) != 0)
			return name;
		return "umount2(/sys)";
	}
	if (strcmp(name, "mount") != 0 && strcmp(name, "mount_setattr") != 0)
		return name;
	for (size_t i = 0; i < sizeof(propagations) / sizeof(*propagations); i++) {
		if (!(c->flags & propagations[i].flag))
			continue;
		snprintf(buf, DECODE_MAX, "%s(%s%s%s)", name, propagations[i].name,
			 c->flags & MS_REC_ ? ",rec" : "", root ? " /" : "");
		return buf;
	}
	if (strcmp(name, "mount") != 0)
		return name;
	if (c->flags & MS_REMOUNT_)
		return "mount(remount)";
	if (c->flags & MS_BIND_) {
		size_t len = strlen(other);

		if (ends_with(other, len, "ns/net") || ends_with(other, len, "ns/mnt"))
			return "mount(bind nsfs)";
		return "mount(bind)";
	}
	if (c->flags & MS_MOVE_)
		return "mount(move)";
	if (!plain_word(other))
		return name;
	snprintf(buf, DECODE_MAX, "mount(%s)", other);
	return buf;
}

/* Message types of rtnetlink: four in a group (new, del, get, set). */
static const char *const rtnl_groups[] = {
	"link", "addr", "route", "neigh", "rule", "qdisc", "tclass", "tfilter", "action", "prefix",
};
static const char *const rtnl_verbs[] = { "new", "del", "get", "set" };
#define RTNL_NSID 88

const char *decode__rtnl(const struct frt_call *c, char buf[DECODE_MAX])
{
	const char *text = c->text ? c->text : "", *at = strchr(text, '@');
	unsigned group = (c->nl_type - RTM_NEWLINK_) / 4, verb = c->nl_type & 3;
	char kind[24];

	if (verb == 2 && (c->nl_flags & NLM_F_DUMP_) == NLM_F_DUMP_)
		return "rtnl dump";
	if (c->nl_type == RTM_NEWLINK_ && c->nl_flags & NLM_F_CREATE_) {
		snprintf(kind, sizeof(kind), "%.*s", at ? (int)(at - text) : (int)strlen(text),
			 text);
		if (!plain_word(kind))
			return "rtnl newlink";
		snprintf(buf, DECODE_MAX, "rtnl newlink %s", kind);
		return buf;
	}
	if (c->nl_type == RTM_NEWLINK_ || c->nl_type == RTM_SETLINK_)
		return at ? "rtnl move" : "rtnl setlink";
	if (c->nl_type >= RTNL_NSID && c->nl_type < RTNL_NSID + 4)
		snprintf(buf, DECODE_MAX, "rtnl %snsid", rtnl_verbs[verb]);
	else if (c->nl_type > RTM_NEWLINK_ && group < sizeof(rtnl_groups) / sizeof(*rtnl_groups))
		snprintf(buf, DECODE_MAX, "rtnl %s%s", rtnl_verbs[verb], rtnl_groups[group]);
	else
		snprintf(buf, DECODE_MAX, "rtnl %u", c->nl_type);
	return buf;
}

static const char *decode_netlink(const char *name, const struct frt_call *c, char *buf)
{
	(void)name;
	switch (c->nl_proto) {
	case NETLINK_ROUTE_:
		return decode__rtnl(c, buf);
	case NETLINK_NETFILTER_:
		return "nfnetlink";
	case NETLINK_GENERIC_:
		return "genetlink";
	}
	return "netlink";
}

static const char *decode_open(const char *name, const struct frt_call *c, char *buf)
{
	(void)name, (void)c, (void)buf;
	return "open /proc/sys";
}

static const char *decode_write(const char *name, const struct frt_call *c, char *buf)
{
	(void)name, (void)c, (void)buf;
	return "write /proc/sys";
}

static const char *(*const families[])(const char *name, const struct frt_call *c, char *buf) = {
	[FRT_DET_NS] = decode_ns,	    [FRT_DET_MOUNT] = decode_mount,
	[FRT_DET_OPEN] = decode_open,	    [FRT_DET_WRITE] = decode_write,
	[FRT_DET_NETLINK] = decode_netlink,
};

const char *decode__number(const struct syscalls *s, int32_t nr, char buf[DECODE_MAX])
{
	const char *name;

	switch (nr) {
	case FRT_NR_START:
		return ACTION_START;
	case FRT_NR_EXIT:
		return ACTION_EXIT;
	case FRT_NR_NONE: /* begun before its task was followed */
		return ACTION_OTHER;
	}
	if (nr > 0 && nr & FRT_NR_COMPAT)
		return ACTION_COMPAT;
	name = syscalls__name(s, nr);
	if (name)
		return name;
	snprintf(buf, DECODE_MAX, "call %d", nr);
	return buf;
}

const char *decode__call(const struct syscalls *s, const struct frt_call *c, char buf[DECODE_MAX])
{
	const char *name = decode__number(s, c->nr, buf);

	/* a search through PATH; which of its tries is sent depends on its time, so
	 * it must not be counted among those that became a program */
	if (c->ret < 0 && (!strcmp(name, "execve") || !strcmp(name, "execveat")))
		return "execve (failed)";
	if (name == buf || c->detail >= sizeof(families) / sizeof(*families) ||
	    !families[c->detail] || c->nr < 0 || c->nr & FRT_NR_COMPAT)
		return name;
	return families[c->detail](name, c, buf);
}
