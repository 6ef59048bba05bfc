/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Namespaces that are dead and not gone, over time: what the kernel has is held against
 * what is made and not deleted. Counting walks the kernel's whole list, so it is done
 * between routers, and no longer than a part in 200 of the time.
 */
#include "workload/internal.h"

#define EVERY_NS 250000000ull
#define SHARE 200

void backlog__begin(struct workload *w, uint32_t level, bool deleting)
{
	/* what other people's commands make nobody knows */
	w->backlog.level = w->o.create ? 0 : level;
	w->backlog.deleting = deleting;
	w->backlog.next = now_ns() + EVERY_NS;
}

void backlog__look(struct workload *w, uint64_t expected)
{
	const struct workload_hooks *h = &w->o.hooks;
	struct frt_nscount c = { .level = w->backlog.level,
				 .deleting = w->backlog.deleting,
				 .t = now_ns(),
				 .expected = expected };
	uint64_t pause;

	if (!c.level || !h->backlog || c.t < w->backlog.next)
		return;
	h->backlog(h->ctx, &c);
	pause = SHARE * (now_ns() - c.t);
	w->backlog.next = now_ns() + (pause > EVERY_NS ? pause : EVERY_NS);
}

void backlog__end(struct workload *w, uint64_t expected)
{
	w->backlog.next = 0;
	backlog__look(w, expected);
	w->backlog.level = 0;
}
