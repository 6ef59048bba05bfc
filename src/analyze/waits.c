/* SPDX-License-Identifier: BSD-2-Clause */
#include "analyze/waits.h"

#include <string.h>

#define ANY (-1)

/* The first row that fits is the class. A row with a frame asks for that function
 * anywhere in the stack; a row with a call for that system call, unless more is
 * known of what it was used on (is_request). A new class is a row, or several. */
static const struct wait_rule {
	int mode;	   /* enum frt_mode or ANY */
	const char *frame; /* NULL: any stack */
	const char *call;  /* NULL: any call */
	const char *class;
} rules[] = {
	{ ANY, "do_signal_stop", NULL, "stopped" },
	{ ANY, "ptrace_stop", NULL, "stopped" },
	{ ANY, "wait_for_vfork_done", NULL, "vfork" },
	{ FRT_MODE_USER, "task_work_run", NULL, "other" },
	{ FRT_MODE_USER, NULL, NULL, "fault" },
	{ FRT_MODE_CALL, NULL, "wait4", "child" },
	{ FRT_MODE_CALL, NULL, "waitid", "child" },
	{ FRT_MODE_CALL, NULL, "vfork", "vfork" },
	{ FRT_MODE_CALL, NULL, "clone", "vfork" },
	{ FRT_MODE_CALL, NULL, "clone3", "vfork" },
	{ FRT_MODE_CALL, NULL, "nanosleep", "sleep" },
	{ FRT_MODE_CALL, NULL, "clock_nanosleep", "sleep" },
	{ FRT_MODE_CALL, NULL, "poll", "pipe/socket" },
	{ FRT_MODE_CALL, NULL, "ppoll", "pipe/socket" },
	{ FRT_MODE_CALL, NULL, "select", "pipe/socket" },
	{ FRT_MODE_CALL, NULL, "pselect6", "pipe/socket" },
	{ FRT_MODE_CALL, NULL, "epoll_wait", "pipe/socket" },
	{ FRT_MODE_CALL, NULL, "epoll_pwait", "pipe/socket" },
	{ FRT_MODE_CALL, NULL, "epoll_pwait2", "pipe/socket" },
	{ FRT_MODE_CALL, NULL, "read", "pipe/socket" },
	{ FRT_MODE_CALL, NULL, "readv", "pipe/socket" },
	{ FRT_MODE_CALL, NULL, "write", "pipe/socket" },
	{ FRT_MODE_CALL, NULL, "writev", "pipe/socket" },
	{ FRT_MODE_CALL, NULL, "recvfrom", "pipe/socket" },
	{ FRT_MODE_CALL, NULL, "recvmsg", "pipe/socket" },
	{ FRT_MODE_CALL, NULL, "recvmmsg", "pipe/socket" },
	{ FRT_MODE_CALL, NULL, "sendto", "pipe/socket" },
	{ FRT_MODE_CALL, NULL, "sendmsg", "pipe/socket" },
	{ FRT_MODE_CALL, NULL, "sendmmsg", "pipe/socket" },
	{ FRT_MODE_CALL, NULL, "accept", "pipe/socket" },
	{ FRT_MODE_CALL, NULL, "accept4", "pipe/socket" },
	{ FRT_MODE_CALL, NULL, "connect", "pipe/socket" },
};

static const char *const scheduler[] = {
	"__schedule",
	"__schedule_loop",
	"schedule",
	"schedule_timeout",
	"schedule_preempt_disabled",
	"schedule_hrtimeout_range_clock",
	"schedule_hrtimeout_range",
	"io_schedule",
	"io_schedule_timeout",
	"__cond_resched",
	"preempt_schedule_common",
	"preempt_schedule_irq",
	"preempt_schedule",
};

static bool has_frame(const struct wait *w, const char *frame)
{
	for (size_t i = w->nframes; i-- > 0;)
		if (strcmp(w->frames[i], frame) == 0)
			return true;
	return false;
}

/* Something was decoded of the call that says it is neither pipe nor stream: what
 * it waits for is inside the kernel. */
static bool is_request(enum frt_detail d)
{
	return d == FRT_DET_WRITE || d == FRT_DET_NETLINK || d == FRT_DET_OPEN ||
	       d == FRT_DET_MOUNT;
}

const char *waits__class(const struct wait *w)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		const struct wait_rule *r = &rules[i];

		if (r->mode != ANY && r->mode != (int)w->mode)
			continue;
		if (r->frame && !has_frame(w, r->frame))
			continue;
		if (r->call && (!w->call || is_request(w->detail) || strcmp(r->call, w->call) != 0))
			continue;
		return r->class;
	}
	return "other";
}

bool waits__is_scheduler(const char *frame)
{
	for (size_t i = 0; i < sizeof(scheduler) / sizeof(*scheduler); i++)
		if (strcmp(scheduler[i], frame) == 0)
			return true;
	return false;
}
