/* SPDX-License-Identifier: BSD-2-Clause */
/* What the creators are doing right now, for whoever finds that none gets on. */
#include "workload/internal.h"

#include <stdio.h>

size_t workload__busy(struct workload *w, struct workload_busy *v, size_t max)
{
	size_t n = 0;

	/* a slot goes under this lock; its text was written before since and stays
	 * while the step runs */
	pthread_mutex_lock(&w->slots_lock);
	for (size_t i = 0; i < w->nslots && n < max; i++) {
		struct slot *s = w->slots[i];
		struct workload_busy *b = &v[n];

		b->since = atomic_load_explicit(&s->since, memory_order_acquire);
		b->pid = atomic_load(&s->pid);
		if (!b->since || b->pid <= 0)
			continue;
		b->process = atomic_load(&s->process);
		snprintf(b->what, sizeof(b->what), "%.*s", (int)sizeof(b->what) - 1, s->what);
		if (b->process)
			b->pid = watch__deepest(b->pid);
		watch__stack(b->pid, b->stack, sizeof(b->stack));
		n++;
	}
	pthread_mutex_unlock(&w->slots_lock);
	return n;
}
