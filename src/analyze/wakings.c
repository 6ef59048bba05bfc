/* SPDX-License-Identifier: BSD-2-Clause */
/* What a waker's stack says: that it lets go of a lock, or what the waking is for. */
#include "analyze/waits.h"

#include "util/util.h"

#include <string.h>

bool waits__unlocks(const char *const *frames, size_t nframes)
{
	static const char *const unlock[] = {
		"mutex_unlock",
		"__mutex_unlock_slowpath*",
		"rwsem_wake*",
		"up_read*",
		"up_write*",
		"__up_read",
		"__up_write",
		"percpu_up_*",
		"rt_mutex_slowunlock",
		"ww_mutex_unlock",
		"rtnl_unlock",
		"__rtnl_unlock",
		"rwsem_downgrade_wake",
		"downgrade_write",
		"up",
		"__locks_wake_up_blocks",
		"locks_wake_up_blocks",
		"locks_delete_lock_ctx",
		"locks_unlink_lock_ctx",
		"locks_remove_flock",
		"flock_lock_inode",
	};

	for (size_t k = nframes; k-- > 0;)
		for (size_t i = 0; i < ARRAY_SIZE(unlock); i++)
			if (waits__fits(unlock[i], frames[k]))
				return true;
	return false;
}

const char *waits__waking(const char *const *frames, size_t nframes)
{
	static const struct {
		const char *frame, *what;
	} wakings[] = {
		{ "kobject_uevent_*", "uevent" },
		{ "uevent_net_broadcast*", "uevent" },
		{ "touch_mnt_namespace", "mountinfo poll" },
		{ "__touch_mnt_namespace", "mountinfo poll" },
		{ "netlink_broadcast*", "netlink message" },
		{ "nlmsg_notify", "netlink message" },
		{ "rtmsg_ifinfo*", "netlink message" },
		{ "__queue_work", "work queued" },
		{ "queue_work_on", "work queued" },
		{ "delayed_work_timer_fn", "work queued" },
		{ "synchronize_rcu*", "grace period" },
		{ "call_rcu*", "grace period" },
		{ "__call_rcu_common", "grace period" },
		{ "anon_pipe_write", "pipe" },
		{ "pipe_write", "pipe" },
		{ "unix_stream_sendmsg", "socket" },
		{ "unix_dgram_sendmsg", "socket" },
		{ "exit_notify", "exit" },
		{ "inotify_*", "file watched" },
		{ "fsnotify*", "file watched" },
	};

	/* the innermost that says something */
	for (size_t k = nframes; k-- > 0;)
		for (size_t i = 0; i < ARRAY_SIZE(wakings); i++)
			if (waits__fits(wakings[i].frame, frames[k])) {
				/* a uevent is a netlink message, too */
				if (strcmp(wakings[i].what, "netlink message") != 0)
					return wakings[i].what;
				for (size_t j = 0; j < k; j++)
					if (waits__fits("kobject_uevent_*", frames[j]))
						return "uevent";
				return wakings[i].what;
			}
	return waits__unlocks(frames, nframes) ? "lock released" : NULL;
}

bool waits__wakes(const char *frame)
{
	static const char *const wakers[] = {
		"try_to_wake_up",	    "wake_up_*", "__wake_up*", "default_wake_function",
		"autoremove_wake_function", "complete",	 "swake_up_*"
	};

	for (size_t i = 0; i < ARRAY_SIZE(wakers); i++)
		if (waits__fits(wakers[i], frame))
			return true;
	return false;
}
