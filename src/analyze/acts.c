/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps of a thread that runs no commands: what it asks of the kernel. */
#include "analyze/decode.h"
#include "analyze/loops.h"

#include <frtrace/events.h>
#include <string.h>

#define CLONE_NEWNET_ 0x40000000u
#define RTM_NEWLINK_ 16
#define RTM_GETLINK_ 18
#define PROBE_BYTES 32 /* a netlink header and an empty struct ifinfomsg */
#define BATCH "rtnl-batch"

/* From an action (decode.h) to the step it is; a word that ends in * stands for
 * its beginnings. weak: many programs do it that make nothing, so it does not tell
 * a creator from another program. */
static const struct act {
	const char *action, *step;
	bool weak;
} acts[] = {
	{ "unshare(NEWNET*", "add", false },	  { "clone(NEWNET*", "add", false },
	{ "setns(NEWNET,NEWNS)", "exec", false }, { "setns(NEWNET)", "enter", false },
	{ "write /proc/sys", "sysctl", false },	  { "rtnl newlink veth", "veth", false },
	{ "rtnl newlink*", "link-add", false },	  { "rtnl move", "veth-move", false },
	{ "rtnl setlink", "link-up", false },	  { "rtnl dellink", "link-del", false },
	{ "rtnl newaddr", "addr", false },	  { "rtnl newroute", "route", false },
	{ "rtnl dump", "link-dump", true },
};

static bool fits(const char *pattern, const char *action)
{
	size_t n = strlen(pattern);

	if (pattern[n - 1] == '*')
		return strncmp(pattern, action, n - 1) == 0;
	return strcmp(pattern, action) == 0;
}

/* A mount of the directory in which `ip netns` keeps its names. */
static bool names_netns(const char *text)
{
	return text && strstr(text, "/netns/");
}

static const struct act *act_of(const struct syscalls *sys, const struct frt_call *c)
{
	static const struct act again = { "setns", "enter", false };
	static const struct act delete = { "umount2", "delete", false };
	static const struct act batch = { "rtnl batch", BATCH, false };
	char buf[DECODE_MAX];
	const char *action;

	if (c->ret < 0 || c->detail == FRT_DET_NONE || c->detail == FRT_DET_BAD)
		return NULL;
	action = decode__call(sys, c, buf);
	if (c->detail == FRT_DET_NETLINK) {
		if (c->nl_proto == 0 && c->nl_msgs > 1)
			return &batch;
		if (strcmp(action, "rtnl dump") == 0 && c->nl_type != RTM_GETLINK_)
			return NULL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(acts); i++)
		if (fits(acts[i].action, action))
			return &acts[i];
	/* into the namespace it is in already: it is asked for all the same */
	if (strcmp(action, "setns") == 0 && c->flags & CLONE_NEWNET_)
		return &again;
	if (strcmp(action, "umount2") == 0 && names_netns(c->text))
		return &delete;
	return NULL;
}

const char *foreign__action(const struct syscalls *s, const struct frt_call *c)
{
	const struct act *a = act_of(s, c);

	return a && !a->weak ? a->step : NULL;
}

bool acts__creates(const struct foreign *f, const struct frt_call *c)
{
	char buf[DECODE_MAX];

	return c->detail == FRT_DET_NS && c->ret >= 0 &&
	       (fits("unshare(NEWNET*", decode__call(&f->sys, c, buf)) ||
		fits("clone(NEWNET*", decode__call(&f->sys, c, buf)));
}

void acts__look(struct foreign *f, struct member *m)
{
	for (size_t i = 0; i < m->t->ncall; i++) {
		const struct frt_call *c = m->t->call[i];
		const struct act *a;

		/* forks are decoded too, and opens say little */
		if (c->detail == FRT_DET_NONE || c->detail == FRT_DET_BAD ||
		    c->detail == FRT_DET_OPEN)
			continue;
		a = act_of(&f->sys, c);
		if (c->detail != FRT_DET_NS || a)
			m->marked = true;
		if (a && !a->weak)
			m->acts = true;
	}
}

static bool is_ip(const struct task *t, uint64_t at)
{
	const char *name = t->proc ? t->proc->comm : NULL;

	for (size_t i = 0; i < t->nexec && t->exec[i]->t <= at; i++)
		name = t->exec[i]->comm;
	return name && strcmp(name, "ip") == 0;
}

/* iproute2 asks once a process, with an empty message, whether there is
 * RTM_NEWLINK at all. */
static bool is_probe(const struct task *t, const struct frt_call *c, bool *asked)
{
	if (c->detail != FRT_DET_NETLINK || c->nl_proto || c->nl_type != RTM_NEWLINK_ || *asked)
		return false;
	*asked = true;
	return c->ret == PROBE_BYTES && is_ip(t, c->t0);
}

/* Entering a network namespace and leaving the mount namespace belong together,
 * with the mounts that follow at once: that is what `ip netns exec` does. */
static size_t end_of_exec(const struct foreign *f, const struct task *t, size_t i)
{
	char buf[DECODE_MAX];
	size_t last = i;
	bool apart = false;

	for (size_t k = i + 1; k < t->ncall; k++) {
		const struct frt_call *c = t->call[k];
		const char *action;

		if (c->detail == FRT_DET_NONE)
			continue;
		action = decode__call(&f->sys, c, buf);
		if (!apart && c->ret >= 0 &&
		    (strcmp(action, "unshare(NEWNS)") == 0 || strcmp(action, "setns(NEWNS)") == 0))
			apart = true;
		else if (!apart || c->detail != FRT_DET_MOUNT)
			break;
		last = k;
	}
	return apart ? last : i;
}

int acts__find(struct foreign *f, size_t member)
{
	const struct task *t = f->m[member].t;
	bool asked = false;
	int err = 0;

	for (size_t i = 0; i < t->ncall && !err; i++) {
		const struct frt_call *c = t->call[i];
		const struct act *a = act_of(&f->sys, c);
		const char *step;
		size_t last = i;

		if (!a || is_probe(t, c, &asked))
			continue;
		step = a->step;
		if (strcmp(step, "enter") == 0) {
			last = end_of_exec(f, t, i);
			if (last > i)
				step = "exec";
		}
		if (strcmp(step, BATCH) == 0) {
			f->batches++;
			f->batched += c->nl_msgs;
		}
		f->actions = true;
		err = foreign__add(f, &(struct found){ .s = { .instance = ++f->instances,
							      .creator = t->serial,
							      .t0 = c->t0,
							      .t1 = t->call[last]->t1 },
						       .name = foreign__step(f, step),
						       .loop = member,
						       .by = member,
						       .within = t->instance });
		i = last;
	}
	return err;
}
