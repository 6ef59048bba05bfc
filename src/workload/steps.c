/* SPDX-License-Identifier: BSD-2-Clause */
/* The steps, one row each: the command, and the bodies without one. */
#include "workload/internal.h"
#include "workload/inproc.h"

#include <stdio.h>
#include <string.h>

static const char IP[] = "ip", NAME[] = "NAME", LINK[] = "ro-KEY", PEER[] = "ri-KEY",
		  CONTROL[] = "true";

static const char *const add[] = { IP, "netns", "add", NAME, NULL };
static const char *const exec[] = {
	IP, "netns", "exec", NAME, IP, "link", "set", "lo", "up", NULL
};
static const char *const sysctl[] = {
	IP, "netns", "exec", NAME, "sysctl", "-w", "net.ipv4.ip_forward=1", NULL
};
static const char *const veth[] = { IP,	    "link", "add", LINK,    "type", "veth",
				    "peer", "name", PEER,  "netns", NAME,   NULL };
static const char *const del[] = { IP, "netns", "del", NAME, NULL };
static const char *const control[] = { CONTROL, NULL };

const struct step_body wl_bodies[FRT_STEPS] = {
	[FRT_STEP_ADD] = { add, exact__add, lean__add },
	[FRT_STEP_EXEC] = { exec, exact__exec, lean__exec },
	[FRT_STEP_SYSCTL] = { sysctl, exact__sysctl, lean__sysctl },
	[FRT_STEP_VETH] = { veth, exact__veth, lean__veth },
	[FRT_STEP_DELETE] = { del, exact__delete, lean__delete },
	[FRT_STEP_CONTROL] = { control, NULL, NULL },
};

/* The words of the table are told from the variable ones by address. */
unsigned step__argv(const struct tools *t, enum frt_step step, unsigned nth,
		    const struct router_name *n, const char **v)
{
	const char *const *a = wl_bodies[step].argv;
	unsigned c = 0;

	if (step != FRT_STEP_CONTROL)
		for (unsigned i = 0; i < t->nprefix; i++)
			v[c++] = t->prefix[i];
	for (; *a; a++) {
		if (*a == IP)
			v[c++] = t->ip;
		else if (*a == NAME)
			v[c++] = n->ns;
		else if (*a == LINK)
			v[c++] = n->link[nth];
		else if (*a == PEER)
			v[c++] = n->peer[nth];
		else
			v[c++] = *a;
	}
	v[c] = NULL;
	return c;
}

char *step__text(char *dst, size_t size, const struct step_job *j)
{
	const char *v[WL_ARGV_MAX];
	size_t len = 0;
	unsigned n;

	if (j->text) {
		snprintf(dst, size, "%s", j->text);
		return dst;
	}
	n = step__argv(&j->m->w->tools, j->step, j->nth, j->name, v);
	dst[0] = '\0';
	for (unsigned i = 0; i < n && len < size; i++)
		len += (size_t)snprintf(dst + len, size - len, "%s%s", i ? " " : "", v[i]);
	return dst;
}
