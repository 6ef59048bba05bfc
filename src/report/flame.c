/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/flame.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/emit.h"
#include "util/util.h"

/* One value before merging. */
struct flame_row {
	uint64_t ns, n;
	uint32_t first;
	uint16_t depth;
	uint8_t column, how;
};

/* Names by pointer (a record's strings are shared, so this nearly always
 * answers) and by text, both open addressing at most half full. */
struct pointer_slot {
	const char *key;
	uint32_t name;
	enum flame_type type;
};

struct flame_index {
	struct pointer_slot *pointers;
	size_t npointers, pointers_cap;
	uint32_t *texts; /* name + 1 */
	size_t texts_cap;
};

struct flame *flame__new(unsigned columns, bool functions)
{
	struct flame *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->columns = columns;
	f->functions = functions;
	f->arena = arena__new();
	f->index = calloc(1, sizeof(*f->index));
	if (f->index) {
		f->index->pointers_cap = f->index->texts_cap = 1024;
		f->index->pointers = calloc(1024, sizeof(*f->index->pointers));
		f->index->texts = calloc(1024, sizeof(*f->index->texts));
	}
	if (!f->arena || !f->index || !f->index->pointers || !f->index->texts) {
		flame__free(f);
		return NULL;
	}
	return f;
}

static void index__free(struct flame_index *x)
{
	if (!x)
		return;
	free(x->pointers);
	free(x->texts);
	free(x);
}

void flame__free(struct flame *f)
{
	if (!f)
		return;
	index__free(f->index);
	free(f->rows);
	free(f->paths);
	free(f->names);
	free(f->leaves);
	free(f->ns);
	free(f->n);
	arena__free(f->arena);
	free(f);
}

static uint64_t hash_text(const char *s, enum flame_type type)
{
	uint64_t h = 14695981039346656037ull ^ type; /* FNV-1a */

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211ull;
	return h ^ h >> 29;
}

static size_t find_text(const struct flame *f, const char *text, enum flame_type type)
{
	const struct flame_index *x = f->index;
	size_t i = hash_text(text, type) & (x->texts_cap - 1);

	while (x->texts[i]) {
		const struct flame_name *n = &f->names[x->texts[i] - 1];

		if (n->type == type && strcmp(n->text, text) == 0)
			break;
		i = (i + 1) & (x->texts_cap - 1);
	}
	return i;
}

static int double_texts(struct flame *f)
{
	struct flame_index *x = f->index;
	uint32_t *old = x->texts;

	x->texts = calloc(x->texts_cap * 2, sizeof(*x->texts));
	if (!x->texts) {
		x->texts = old;
		return -ENOMEM;
	}
	x->texts_cap *= 2;
	free(old);
	for (size_t i = 0; i < f->nnames; i++)
		x->texts[find_text(f, f->names[i].text, f->names[i].type)] = (uint32_t)i + 1;
	return 0;
}

/* What a frame is called and which type it really has. */
static void name_frame(char *dst, const char *raw, enum flame_type *type)
{
	char clean[EMIT_NAME_MAX + 8];

	clean_name(clean, raw);
	if (*type == FLAME_WAIT || *type == FLAME_RUNQ || *type == FLAME_USER) {
		snprintf(dst, EMIT_NAME_MAX + 16, clean[0] == '[' ? "%s" : "[%s]", clean);
	} else if (*type == FLAME_KERNEL && clean[0] == '[') {
		*type = FLAME_UNSEEN;
		strcpy(dst, clean);
	} else {
		snprintf(dst, EMIT_NAME_MAX + 16, *type == FLAME_KERNEL ? "%s_[k]" : "%s", clean);
	}
}

static int add_name(struct flame *f, const char *raw, enum flame_type type, uint32_t *out)
{
	char text[EMIT_NAME_MAX + 16];
	size_t i;

	name_frame(text, raw, &type);
	i = find_text(f, text, type);
	if (f->index->texts[i]) {
		*out = f->index->texts[i] - 1;
		return 0;
	}
	if ((f->nnames + 1) * 2 > f->index->texts_cap) {
		if (double_texts(f))
			return -ENOMEM;
		i = find_text(f, text, type);
	}
	if (grow(&f->names, f->nnames, &f->names_cap, sizeof(*f->names)))
		return -ENOMEM;
	f->names[f->nnames] = (struct flame_name){ arena__strdup(f->arena, text), type };
	if (!f->names[f->nnames].text)
		return -ENOMEM;
	*out = (uint32_t)f->nnames++;
	f->index->texts[i] = *out + 1;
	return 0;
}

static size_t find_pointer(const struct flame_index *x, const char *key, enum flame_type type)
{
	uint64_t h = ((uintptr_t)key + type) * 0x9e3779b97f4a7c15ull;
	size_t i = h >> 32 & (x->pointers_cap - 1);

	while (x->pointers[i].key && (x->pointers[i].key != key || x->pointers[i].type != type))
		i = (i + 1) & (x->pointers_cap - 1);
	return i;
}

static int get_name(struct flame *f, const char *raw, enum flame_type type, uint32_t *out)
{
	struct flame_index *x = f->index;
	size_t i;

	if (!raw)
		raw = "";
	i = find_pointer(x, raw, type);
	if (x->pointers[i].key) {
		*out = x->pointers[i].name;
		return 0;
	}
	if ((x->npointers + 1) * 2 > x->pointers_cap) {
		struct flame_index bigger = { .pointers_cap = x->pointers_cap * 2 };

		bigger.pointers = calloc(bigger.pointers_cap, sizeof(*bigger.pointers));
		if (!bigger.pointers)
			return -ENOMEM;
		for (size_t k = 0; k < x->pointers_cap; k++)
			if (x->pointers[k].key)
				bigger.pointers[find_pointer(&bigger, x->pointers[k].key,
							     x->pointers[k].type)] = x->pointers[k];
		free(x->pointers);
		x->pointers = bigger.pointers;
		x->pointers_cap = bigger.pointers_cap;
		i = find_pointer(x, raw, type);
	}
	if (add_name(f, raw, type, out))
		return -ENOMEM;
	x->npointers++;
	x->pointers[i] = (struct pointer_slot){ raw, *out, type };
	return 0;
}

/* One more frame at the end of the path that is being written. */
static int push_frame(struct flame *f, const char *raw, enum flame_type type)
{
	uint32_t name;

	if (get_name(f, raw, type, &name) ||
	    grow(&f->paths, f->npaths, &f->paths_cap, sizeof(*f->paths)))
		return -ENOMEM;
	f->paths[f->npaths++] = name;
	return 0;
}

/* The row for the path that begins at first. */
static int push_row(struct flame *f, size_t first, unsigned column, bool sampled, uint64_t ns,
		    uint64_t n)
{
	if (f->npaths > UINT32_MAX || grow(&f->rows, f->nrows, &f->rows_cap, sizeof(*f->rows)))
		return -ENOMEM;
	f->rows[f->nrows++] = (struct flame_row){
		.first = (uint32_t)first,
		.depth = (uint16_t)(f->npaths - first),
		.column = (uint8_t)column,
		.how = sampled ? FLAME_SAMPLED : FLAME_MEASURED,
		.ns = ns,
		.n = n,
	};
	return 0;
}

struct remainder {
	uint64_t rest;
	size_t row;
};

static int by_rest(const void *a, const void *b)
{
	const struct remainder *x = a, *y = b;

	if (x->rest != y->rest)
		return x->rest < y->rest ? 1 : -1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* Divides the rows from begin on by routers, so that they add up to their sum
 * divided by it: floors first, then one ns each to the largest remainders. */
static int scale_rows(struct flame *f, size_t begin, uint32_t routers)
{
	size_t count = f->nrows - begin;
	struct remainder *r;
	uint64_t sum = 0, floors = 0, missing;

	if (routers <= 1 || !count)
		return 0;
	r = calloc(count, sizeof(*r));
	if (!r)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct flame_row *row = &f->rows[begin + i];

		sum += row->ns;
		r[i] = (struct remainder){ row->ns % routers, begin + i };
		row->ns /= routers;
		floors += row->ns;
	}
	missing = sum / routers + (sum % routers * 2 >= routers) - floors;
	qsort(r, count, sizeof(*r), by_rest);
	for (size_t i = 0; i < missing && i < count; i++)
		f->rows[r[i].row].ns++;
	free(r);
	return 0;
}

static int push_leaf(struct flame *f, const struct frt_stackrow *s)
{
	if (s->kind == FRT_STACK_OFF) {
		bool runq = s->tip && strcmp(s->tip, "runqueue") == 0;

		return push_frame(f, s->tip ? s->tip : "other", runq ? FLAME_RUNQ : FLAME_WAIT);
	}
	if (s->nframes)
		return 0;
	if (s->tip && strcmp(s->tip, "user") == 0)
		return push_frame(f, "user", FLAME_USER);
	return push_frame(f, s->sampled ? "[kernel]" : "[not sampled]", FLAME_KERNEL);
}

int flame__add_stacks(struct flame *f, const struct frt_steprow *s, unsigned kinds, unsigned column,
		      uint32_t routers)
{
	size_t begin = f->nrows;

	for (size_t i = 0; i < s->nstacks; i++) {
		const struct frt_stackrow *row = &s->stacks[i];
		bool kernel = row->in_kernel || row->kind == FRT_STACK_OFF;
		size_t first = f->npaths;

		if (!(kinds & (row->kind == FRT_STACK_CPU ? FLAME_CPU : FLAME_OFF)) || !row->ns)
			continue;
		if (push_frame(f, s->step, FLAME_STEP) ||
		    push_frame(f, row->action < s->nactions ? s->actions[row->action].action : NULL,
			       FLAME_ACTION))
			return -ENOMEM;
		for (size_t k = 0; k < row->nframes && k < FLAME_DEPTH; k++)
			if (push_frame(f, row->frames[k], kernel ? FLAME_KERNEL : FLAME_USER))
				return -ENOMEM;
		if (row->nframes > FLAME_DEPTH && push_frame(f, "[deeper]", FLAME_KERNEL))
			return -ENOMEM;
		if (push_leaf(f, row) || push_row(f, first, column, row->sampled, row->ns, row->n))
			return -ENOMEM;
	}
	return scale_rows(f, begin, routers);
}

static uint64_t function_ns(const struct frt_fn *fn, unsigned kinds)
{
	double ns = kinds == FLAME_WALL	 ? fn->total_ns
		    : kinds == FLAME_CPU ? fn->cpu_ns
					 : fn->total_ns - fn->cpu_ns;

	return ns > 0 ? (uint64_t)llround(ns) : 0;
}

/* The rows of fn and below it; its frames so far are `path`, depth of them. */
static int add_function(struct flame *f, const struct frt_fn *fn, unsigned kinds, unsigned column,
			uint32_t *path, unsigned depth)
{
	uint64_t total = function_ns(fn, kinds), below = 0;
	size_t first = f->npaths;

	if (depth == FLAME_DEPTH)
		return 0;
	if (get_name(f, fn->function, FLAME_FUNCTION, &path[depth]))
		return -ENOMEM;
	depth++;
	for (unsigned i = 0; i < depth; i++) {
		if (grow(&f->paths, f->npaths, &f->paths_cap, sizeof(*f->paths)))
			return -ENOMEM;
		f->paths[f->npaths++] = path[i];
	}
	for (size_t i = 0; i < fn->nchildren; i++)
		below += function_ns(&fn->children[i], kinds);
	if (push_row(f, first, column, false, total > below ? total - below : 0, fn->n))
		return -ENOMEM;
	for (size_t i = 0; i < fn->nchildren; i++)
		if (add_function(f, &fn->children[i], kinds, column, path, depth))
			return -ENOMEM;
	return 0;
}

int flame__add_functions(struct flame *f, const struct frt_steprow *s, unsigned kinds,
			 unsigned column, uint32_t routers)
{
	uint32_t path[FLAME_DEPTH];
	size_t begin = f->nrows;

	for (size_t i = 0; i < s->nactions; i++) {
		const struct frt_action *a = &s->actions[i];

		if (!a->nfunctions)
			continue;
		if (get_name(f, s->step, FLAME_STEP, &path[0]) ||
		    get_name(f, a->action, FLAME_ACTION, &path[1]))
			return -ENOMEM;
		for (size_t k = 0; k < a->nfunctions; k++)
			if (add_function(f, &a->functions[k], kinds, column, path, 2))
				return -ENOMEM;
	}
	return scale_rows(f, begin, routers);
}

bool step_has_functions(const struct frt_steprow *s)
{
	for (size_t i = 0; i < s->nactions; i++)
		if (s->actions[i].nfunctions)
			return true;
	return false;
}

/* Steps stay in the order they came, as everywhere else; the rest goes by text,
 * so that the same frame has the same neighbours in every graph. */
static int by_name(const void *a, const void *b, void *names)
{
	const struct flame_name *x = (const struct flame_name *)names + *(const uint32_t *)a;
	const struct flame_name *y = (const struct flame_name *)names + *(const uint32_t *)b;
	int d;

	if ((x->type == FLAME_STEP) != (y->type == FLAME_STEP))
		return x->type == FLAME_STEP ? -1 : 1;
	d = x->type == FLAME_STEP ? 0 : strcmp(x->text, y->text);
	if (!d)
		d = x->type < y->type ? -1 : x->type > y->type;
	if (!d)
		d = x < y ? -1 : x > y;
	return d;
}

/* Renumbers the names in sorted order, in names and paths, so that comparing
 * paths is comparing numbers. */
static int sort_names(struct flame *f)
{
	uint32_t *order = malloc((f->nnames + 1) * sizeof(*order));
	uint32_t *rank = malloc((f->nnames + 1) * sizeof(*rank));
	struct flame_name *sorted = malloc((f->nnames + 1) * sizeof(*sorted));
	int err = order && rank && sorted ? 0 : -ENOMEM;

	if (err)
		goto out;
	for (size_t i = 0; i < f->nnames; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, f->nnames, sizeof(*order), by_name, f->names);
	for (size_t i = 0; i < f->nnames; i++) {
		rank[order[i]] = (uint32_t)i;
		sorted[i] = f->names[order[i]];
	}
	for (size_t i = 0; i < f->npaths; i++)
		f->paths[i] = rank[f->paths[i]];
	free(f->names);
	f->names = sorted;
	sorted = NULL;
out:
	free(order);
	free(rank);
	free(sorted);
	return err;
}

static int by_path(const void *a, const void *b, void *paths)
{
	const struct flame_row *x = a, *y = b;
	const uint32_t *p = (const uint32_t *)paths + x->first,
		       *q = (const uint32_t *)paths + y->first;
	unsigned n = x->depth < y->depth ? x->depth : y->depth;

	for (unsigned i = 0; i < n; i++)
		if (p[i] != q[i])
			return p[i] < q[i] ? -1 : 1;
	return (int)x->depth - (int)y->depth;
}

static bool same_path(const struct flame *f, const struct flame_leaf *l, const struct flame_row *r)
{
	return l->depth == r->depth &&
	       memcmp(f->paths + l->first, f->paths + r->first, r->depth * sizeof(*f->paths)) == 0;
}

int flame__finish(struct flame *f)
{
	if (sort_names(f))
		return -ENOMEM;
	if (f->nrows)
		qsort_r(f->rows, f->nrows, sizeof(*f->rows), by_path, f->paths);
	f->leaves = calloc(f->nrows + 1, sizeof(*f->leaves));
	f->ns = calloc((f->nrows + 1) * f->columns, sizeof(*f->ns));
	f->n = calloc((f->nrows + 1) * f->columns, sizeof(*f->n));
	if (!f->leaves || !f->ns || !f->n)
		return -ENOMEM;
	for (size_t i = 0; i < f->nrows; i++) {
		const struct flame_row *r = &f->rows[i];
		struct flame_leaf *l;
		size_t at;

		if (!f->nleaves || !same_path(f, &f->leaves[f->nleaves - 1], r))
			f->leaves[f->nleaves++] = (struct flame_leaf){ r->first, r->depth, 0 };
		l = &f->leaves[f->nleaves - 1];
		at = (f->nleaves - 1) * f->columns + r->column;
		l->how |= r->how;
		f->ns[at] += r->ns;
		f->n[at] += r->n;
		f->total[r->column] += r->ns;
	}
	free(f->rows);
	f->rows = NULL;
	f->nrows = f->rows_cap = 0;
	index__free(f->index);
	f->index = NULL;
	return 0;
}
