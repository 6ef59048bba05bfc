/* SPDX-License-Identifier: BSD-2-Clause */
/* What the creators are doing right now, for whoever finds that none gets on. */
#include "workload/internal.h"

#include <stdio.h>
#include <string.h>

/* The frames of a task's kernel stack ("[<0>] symbol+0x1/0x2"), leaf first. */
static void kernel_stack(int pid, char *dst, size_t size)
{
	char path[64], line[256];
	size_t len = 0;
	FILE *f;

	dst[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/stack", pid);
	f = fopen(path, "re");
	while (f && len < size && fgets(line, sizeof(line), f)) {
		char *symbol = strrchr(line, ' ');

		symbol = symbol ? symbol + 1 : line;
		symbol[strcspn(symbol, "+\n")] = '\0';
		if (*symbol)
			len += (size_t)snprintf(dst + len, size - len, "%s%s", len ? " < " : "",
						symbol);
	}
	if (f)
		fclose(f);
}

/* The last of a chain of children: sudo, a script only wait for what they started. */
static int last_child(int pid)
{
	for (int depth = 0; depth < 8; depth++) {
		char path[64];
		int child = 0;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
		f = fopen(path, "re");
		if (f && fscanf(f, "%d", &child) != 1)
			child = 0;
		if (f)
			fclose(f);
		if (child <= 0)
			break;
		pid = child;
	}
	return pid;
}

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
			b->pid = last_child(b->pid);
		kernel_stack(b->pid, b->stack, sizeof(b->stack));
		n++;
	}
	pthread_mutex_unlock(&w->slots_lock);
	return n;
}
