// SPDX-License-Identifier: BSD-2-Clause
/*
 * Stacks as a tree: each (caller, function) pair becomes a node once, put into
 * the record when it is first met. Names come from /proc/kallsyms, read when
 * the first stack needs one, and again when a module has come since.
 */
#include "trace/internal.h"

#include "analyze/symbols.h"
#include "env/kallsyms.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A hash table of 64-bit keys with open addressing; key 0 is free. */
struct slot {
	uint64_t key, val;
};

struct table {
	struct slot *v;
	size_t n, size; /* size is a power of two */
};

/* A lock that is a variable of its own. */
struct lock_symbol {
	uint64_t addr;
	const char *name;
};

struct stacks {
	struct symbols *symbols;
	struct lock_symbol *lock; /* by address */
	size_t nlock, caplock;
	uint64_t modules;   /* hash of /proc/modules when symbols were read */
	uint64_t looked_at; /* when that was last compared */
	struct arena *arena;
	struct intern *names;
	struct table frames;  /* address → name */
	struct table nodes;   /* (parent, frame number) → node */
	struct table numbers; /* name → frame number */
	uint32_t nframes, nnodes;
};

static uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= 0x9e3779b97f4a7c15ULL;
	return x ^ x >> 29;
}

/* Where key is or would be. The table is never full. */
static struct slot *table__slot(const struct table *t, uint64_t key)
{
	size_t i = mix(key) & (t->size - 1);

	while (t->v[i].key && t->v[i].key != key)
		i = (i + 1) & (t->size - 1);
	return &t->v[i];
}

static int table__room(struct table *t)
{
	struct table bigger = { .size = t->size ? t->size * 2 : 256 };

	if (t->size && t->n * 3 < t->size * 2)
		return 0;
	bigger.v = calloc(bigger.size, sizeof(*bigger.v));
	if (!bigger.v)
		return -ENOMEM;
	for (size_t i = 0; i < t->size; i++)
		if (t->v[i].key)
			*table__slot(&bigger, t->v[i].key) = t->v[i];
	bigger.n = t->n;
	free(t->v);
	*t = bigger;
	return 0;
}

static void table__clear(struct table *t)
{
	free(t->v);
	memset(t, 0, sizeof(*t));
}

struct stacks *stacks__new(void)
{
	struct stacks *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->arena = arena__new();
	if (s->arena)
		s->names = intern__new(s->arena);
	if (!s->names) {
		stacks__free(s);
		return NULL;
	}
	return s;
}

void stacks__free(struct stacks *s)
{
	if (!s)
		return;
	symbols__free(s->symbols);
	free(s->lock);
	table__clear(&s->frames);
	table__clear(&s->nodes);
	table__clear(&s->numbers);
	if (s->names)
		intern__free(s->names);
	if (s->arena)
		arena__free(s->arena);
	free(s);
}

static int by_address(const void *a, const void *b)
{
	const struct lock_symbol *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* Data symbols are listed with KALLSYMS_ALL only; of the many those are kept that
 * are called like locks. 7.x lists initialised data as text (t, T): functions called
 * like locks are kept, too, and do no harm, since no lock is where a function begins. */
static int keep_lock(struct stacks *s, const struct kallsym *sym)
{
	static const char *const ends[] = { "_mutex", "_sem", "_rwsem", "_lock", "rcu_state" };
	size_t n = strlen(sym->name);

	if (!sym->addr)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		size_t end = strlen(ends[i]);

		if (n < end || strcmp(sym->name + n - end, ends[i]) != 0)
			continue;
		if (grow(&s->lock, s->nlock, &s->caplock, sizeof(*s->lock)))
			return -ENOMEM;
		s->lock[s->nlock].addr = sym->addr;
		s->lock[s->nlock].name = intern__get(s->names, sym->name);
		return s->lock[s->nlock++].name ? 0 : -ENOMEM;
	}
	return 0;
}

static int read_symbols(struct stacks *s)
{
	struct symbols *new = symbols__new();
	struct kallsyms *k;
	struct kallsym sym;
	int err = 0;

	if (!new)
		return -ENOMEM;
	k = kallsyms__open();
	s->nlock = 0;
	/* Without the list every frame is [unknown]; doctor says why. */
	while (!err && kallsyms__next(k, &sym)) {
		if (strchr("bBdDtT", sym.type))
			err = keep_lock(s, &sym);
		if (!err && !strchr("bBdD", sym.type))
			err = symbols__add(new, sym.line) == -ENOMEM ? -ENOMEM : 0;
	}
	if (s->nlock)
		qsort(s->lock, s->nlock, sizeof(*s->lock), by_address);
	kallsyms__close(k);
	if (err) {
		symbols__free(new);
		return err;
	}
	symbols__finish(new);
	symbols__free(s->symbols);
	s->symbols = new;
	return 0;
}

/* What modules there are, as one number; sizes and use counts left out. */
static uint64_t hash_modules(void)
{
	FILE *f = fopen("/proc/modules", "re");
	uint64_t h = 1, addr;
	char line[1024], name[128];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%127s %*u %*d %*s %*s %llx", name, (unsigned long long *)&addr) <
		    2)
			continue;
		for (const char *p = name; *p; p++)
			h = h * 31 + (unsigned char)*p;
		h = mix(h ^ addr);
	}
	if (f)
		fclose(f);
	return h;
}

/* Names of addresses met for the first time are looked up in a list that may
 * be older than the module they lie in. */
static int refresh(struct stacks *s)
{
	uint64_t now = now_ns(), h;

	if (s->symbols && now - s->looked_at < 1000000000)
		return 0;
	s->looked_at = now;
	h = hash_modules();
	if (s->symbols && h == s->modules)
		return 0;
	s->modules = h;
	return read_symbols(s);
}

const char *stacks__frame(struct stacks *s, uint64_t ip)
{
	struct slot *at;
	char buf[256];

	if (!ip || table__room(&s->frames))
		return "[unknown]";
	at = table__slot(&s->frames, ip);
	if (at->key)
		return (const char *)(uintptr_t)at->val;
	if (refresh(s))
		return "[unknown]";
	symbols__name(s->symbols, ip, buf, sizeof(buf));
	at->val = (uintptr_t)intern__get(s->names, buf);
	if (!at->val)
		return "[unknown]";
	at->key = ip;
	s->frames.n++;
	return (const char *)(uintptr_t)at->val;
}

const char *stacks__lock(struct stacks *s, uint64_t addr)
{
	struct lock_symbol key = { .addr = addr }, *at;

	if (refresh(s) || !s->nlock)
		return NULL;
	at = bsearch(&key, s->lock, s->nlock, sizeof(key), by_address);
	return at ? at->name : NULL;
}

/* One number per name, so that a node's key fits into 64 bits. */
static int frame_number(struct stacks *s, const char *name, uint32_t *out)
{
	struct slot *at;
	int err = table__room(&s->numbers);

	if (err)
		return err;
	at = table__slot(&s->numbers, (uintptr_t)name);
	if (!at->key) {
		at->key = (uintptr_t)name;
		at->val = ++s->nframes;
		s->numbers.n++;
	}
	*out = at->val;
	return 0;
}

/* A stack taken at a tracepoint begins with the tracer itself. */
static bool is_tracer(const char *name)
{
	static const char *const prefixes[] = { "bpf_prog_", "bpf_trace_run", "__bpf_trace_",
						"__traceiter_", "bpf_trampoline_" };

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

unsigned stacks__skip_tracer(struct stacks *s, const uint64_t *ip, unsigned n)
{
	unsigned skip = 0;

	while (skip < n && is_tracer(stacks__frame(s, ip[skip])))
		skip++;
	return skip;
}

int stacks__node(struct stacks *s, const uint64_t *ip, unsigned n, const struct frt_sink *sink,
		 uint32_t *node)
{
	uint32_t parent = 0, frame;
	struct slot *at;
	uint64_t key;
	int err;

	*node = 0;
	while (n--) {
		const char *name = stacks__frame(s, ip[n]);

		err = frame_number(s, name, &frame);
		if (!err)
			err = table__room(&s->nodes);
		if (err)
			return err;
		key = (uint64_t)parent << 32 | frame;
		at = table__slot(&s->nodes, key);
		if (!at->key) {
			struct frt_node new = { .id = s->nnodes + 1,
						.parent = parent,
						.frame = name };

			err = sink->put(sink->ctx, FRT_REC_NODE, &new);
			if (err)
				return err;
			at->key = key;
			at->val = ++s->nnodes;
			s->nodes.n++;
		}
		parent = at->val;
	}
	*node = parent;
	return 0;
}
