/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The profile format of pprof: a gzipped protocol buffer. Sample types cpu/ns,
 * off/ns and count; labels step, action (text) and existing (number), so that
 * -tagfocus and -diff_base choose what is compared. Values are sums over the
 * routers of a level. A frame is a function with one location: there are no
 * addresses in a record.
 */
#include "report/exporters.h"
#include "report/select.h"

#include <errno.h>
#include <profile.pb-c.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include "util/util.h"

typedef Perftools__Profiles__Profile Profile;
typedef Perftools__Profiles__ValueType ValueType;
typedef Perftools__Profiles__Sample Sample;
typedef Perftools__Profiles__Label Label;
typedef Perftools__Profiles__Mapping Mapping;
typedef Perftools__Profiles__Location Location;
typedef Perftools__Profiles__Line Line;
typedef Perftools__Profiles__Function Function;

/* The strings every profile has, in the order of the string table. */
enum word {
	WORD_EMPTY,
	WORD_CPU,
	WORD_OFF,
	WORD_COUNT,
	WORD_NS,
	WORD_STEP,
	WORD_ACTION,
	WORD_EXISTING,
	WORD_KERNEL,
	WORDS
};
static const char *const words[WORDS] = { "",	  "cpu",    "off",	"count",   "ns",
					  "step", "action", "existing", "[kernel]" };
enum { VALUES = 3 };

struct building {
	const struct flame *f;
	struct arena *arena;
	Profile *profile;
	Label **step, **action; /* one of each per name, made when needed */
	Label **existing;	/* one per level */
	size_t nlevels;
};

#define NEW(b, type, init) new_message((b)->arena, sizeof(type), &(const type)init)

static void *new_message(struct arena *a, size_t size, const void *init)
{
	void *m = arena__alloc(a, size);

	if (m)
		memcpy(m, init, size);
	return m;
}

static ValueType *new_type(struct building *b, enum word type, enum word unit)
{
	ValueType *t = NEW(b, ValueType, PERFTOOLS__PROFILES__VALUE_TYPE__INIT);

	if (t) {
		t->type = type;
		t->unit = unit;
	}
	return t;
}

static Label *new_label(struct building *b, enum word key, int64_t str, int64_t num)
{
	Label *l = NEW(b, Label, PERFTOOLS__PROFILES__LABEL__INIT);

	if (l) {
		l->key = key;
		l->str = str;
		l->num = num;
	}
	return l;
}

static int64_t text_of(uint32_t name)
{
	return WORDS + (int64_t)name;
}

static int fill_names(struct building *b, const struct frt_profile *p)
{
	Profile *m = b->profile;
	size_t n = b->f->nnames;

	m->n_string_table = WORDS + n + 2;
	m->string_table = arena__alloc(b->arena, m->n_string_table * sizeof(*m->string_table));
	m->function = arena__alloc(b->arena, (n + 1) * sizeof(*m->function));
	m->location = arena__alloc(b->arena, (n + 1) * sizeof(*m->location));
	if (!m->string_table || !m->function || !m->location)
		return -ENOMEM;
	for (int i = 0; i < WORDS; i++)
		m->string_table[i] = arena__strdup(b->arena, words[i]);
	for (size_t i = 0; i < n; i++) {
		Function *f = NEW(b, Function, PERFTOOLS__PROFILES__FUNCTION__INIT);
		Location *l = NEW(b, Location, PERFTOOLS__PROFILES__LOCATION__INIT);
		Line *line = NEW(b, Line, PERFTOOLS__PROFILES__LINE__INIT);

		m->string_table[WORDS + i] = (char *)b->f->names[i].text;
		if (!f || !l || !line)
			return -ENOMEM;
		l->line = arena__alloc(b->arena, sizeof(*l->line));
		if (!l->line)
			return -ENOMEM;
		f->id = l->id = line->function_id = i + 1;
		f->name = f->system_name = text_of((uint32_t)i);
		l->mapping_id = 1;
		l->line[0] = line;
		l->n_line = 1;
		m->function[m->n_function++] = f;
		m->location[m->n_location++] = l;
	}
	m->string_table[WORDS + n] = arena__printf(b->arena, "Linux %s %s",
						   environment_text(p, "kernel", "unknown"),
						   environment_text(p, "machine", ""));
	m->string_table[WORDS + n + 1] = arena__printf(b->arena, "frtrace %s", FRT_VERSION);
	for (size_t i = 0; i < m->n_string_table; i++)
		if (!m->string_table[i])
			return -ENOMEM;
	m->comment = arena__alloc(b->arena, 2 * sizeof(*m->comment));
	if (!m->comment)
		return -ENOMEM;
	m->comment[m->n_comment++] = text_of((uint32_t)n);
	m->comment[m->n_comment++] = text_of((uint32_t)n + 1);
	return 0;
}

static int fill_head(struct building *b, const struct frt_profile *p, bool off)
{
	Profile *m = b->profile;
	Mapping *map = NEW(b, Mapping, PERFTOOLS__PROFILES__MAPPING__INIT);
	struct tm tm = { 0 };

	m->sample_type = arena__alloc(b->arena, VALUES * sizeof(*m->sample_type));
	m->mapping = arena__alloc(b->arena, sizeof(*m->mapping));
	if (!map || !m->sample_type || !m->mapping)
		return -ENOMEM;
	m->sample_type[0] = new_type(b, WORD_CPU, WORD_NS);
	m->sample_type[1] = new_type(b, WORD_OFF, WORD_NS);
	m->sample_type[2] = new_type(b, WORD_COUNT, WORD_COUNT);
	m->period_type = new_type(b, WORD_CPU, WORD_NS);
	if (!m->sample_type[0] || !m->sample_type[1] || !m->sample_type[2] || !m->period_type)
		return -ENOMEM;
	m->n_sample_type = VALUES;
	m->period = p->freq ? 1000000000 / p->freq : 0;
	m->default_sample_type = off ? WORD_OFF : WORD_CPU;
	/* Names are complete; pprof shall not look for a binary. */
	map->id = 1;
	map->filename = WORD_KERNEL;
	map->has_functions = 1;
	m->mapping[0] = map;
	m->n_mapping = 1;
	if (p->created && strptime(p->created, "%Y-%m-%dT%H:%M:%S", &tm))
		m->time_nanos = (int64_t)timegm(&tm) * 1000000000;
	return 0;
}

static Label *label_of(struct building *b, Label **slot, enum word key, uint32_t name)
{
	if (!slot[name])
		slot[name] = new_label(b, key, text_of(name), 0);
	return slot[name];
}

/* One leaf at one level. */
static int add_sample(struct building *b, size_t leaf, size_t level, uint64_t cpu, uint64_t off,
		      uint64_t n)
{
	const struct flame_leaf *l = &b->f->leaves[leaf];
	const uint32_t *path = b->f->paths + l->first;
	Sample *s = NEW(b, Sample, PERFTOOLS__PROFILES__SAMPLE__INIT);
	size_t labels = l->depth < 2 ? l->depth : 2;

	if (!s)
		return -ENOMEM;
	s->location_id = arena__alloc(b->arena, l->depth * sizeof(*s->location_id));
	s->value = arena__alloc(b->arena, VALUES * sizeof(*s->value));
	s->label = arena__alloc(b->arena, 3 * sizeof(*s->label));
	if (!s->location_id || !s->value || !s->label)
		return -ENOMEM;
	for (unsigned d = l->depth; d-- > 0;)
		s->location_id[s->n_location_id++] = path[d] + 1;
	s->value[0] = (int64_t)cpu;
	s->value[1] = (int64_t)off;
	s->value[2] = (int64_t)n;
	s->n_value = VALUES;
	s->label[s->n_label++] = b->existing[level];
	if (labels > 0)
		s->label[s->n_label++] = label_of(b, b->step, WORD_STEP, path[0]);
	if (labels > 1)
		s->label[s->n_label++] = label_of(b, b->action, WORD_ACTION, path[1]);
	for (size_t i = 0; i < s->n_label; i++)
		if (!s->label[i])
			return -ENOMEM;
	b->profile->sample[b->profile->n_sample++] = s;
	return 0;
}

static int fill_samples(struct building *b, const struct level_pick *const *levels)
{
	const struct flame *f = b->f;
	Profile *m = b->profile;

	b->step = arena__alloc(b->arena, (f->nnames + 1) * sizeof(*b->step));
	b->action = arena__alloc(b->arena, (f->nnames + 1) * sizeof(*b->action));
	b->existing = arena__alloc(b->arena, b->nlevels * sizeof(*b->existing));
	m->sample = arena__alloc(b->arena, (f->nleaves + 1) * b->nlevels * sizeof(*m->sample));
	if (!b->step || !b->action || !b->existing || !m->sample)
		return -ENOMEM;
	for (size_t i = 0; i < b->nlevels; i++) {
		b->existing[i] = new_label(b, WORD_EXISTING, 0, (int64_t)levels[i]->existing);
		if (!b->existing[i])
			return -ENOMEM;
	}
	for (size_t i = 0; i < f->nleaves; i++) {
		for (size_t l = 0; l < b->nlevels; l++) {
			const uint64_t *ns = f->ns + i * f->columns + 2 * l;
			const uint64_t *n = f->n + i * f->columns + 2 * l;

			/* The n of a function is the same in both of its columns. */
			if ((ns[0] || ns[1]) &&
			    add_sample(b, i, l, ns[0], ns[1], f->functions ? n[0] : n[0] + n[1]))
				return -ENOMEM;
		}
	}
	return 0;
}

/* Always the same bytes: zlib leaves the time in the gzip header 0. */
static int write_gzip(FILE *out, const uint8_t *data, size_t size)
{
	uint8_t buf[65536];
	z_stream z = { 0 };
	int rc = Z_OK;

	if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	do {
		size_t part = size < 1u << 30 ? size : 1u << 30;

		z.next_in = (Bytef *)data;
		z.avail_in = (uInt)part;
		data += part;
		size -= part;
		do {
			z.next_out = buf;
			z.avail_out = sizeof(buf);
			rc = deflate(&z, size ? Z_NO_FLUSH : Z_FINISH);
			fwrite(buf, 1, sizeof(buf) - z.avail_out, out);
		} while (z.avail_out == 0);
	} while (size);
	deflateEnd(&z);
	return rc == Z_STREAM_END ? 0 : -EIO;
}

static int write_profile(FILE *out, const struct flame *f, const struct frt_profile *p,
			 const struct level_pick *const *levels, size_t nlevels, bool off)
{
	Profile m = PERFTOOLS__PROFILES__PROFILE__INIT;
	struct building b = { .f = f, .profile = &m, .nlevels = nlevels };
	uint8_t *data = NULL;
	size_t size;
	int err = -ENOMEM;

	b.arena = arena__new();
	if (!b.arena)
		return err;
	if (fill_names(&b, p) || fill_head(&b, p, off) || fill_samples(&b, levels))
		goto out;
	size = perftools__profiles__profile__get_packed_size(&m);
	data = malloc(size + 1);
	if (!data)
		goto out;
	perftools__profiles__profile__pack(&m, data);
	err = write_gzip(out, data, size);
out:
	free(data);
	arena__free(b.arena);
	return err;
}

int pprof__write(EXPORT_ARGS)
{
	const struct flame_kind *kind = find_kind(o->kind, "pprof", err, errlen);
	const struct level_pick *levels[SELECT_LEVELS];
	struct level_picks picks;
	struct flame *f = NULL;
	size_t n = 0;
	int rc;

	if (!kind)
		return -EINVAL;
	rc = picks__fill(&picks, p, err, errlen);
	if (rc)
		return rc;
	rc = check_step(p, o->step, err, errlen);
	if (!rc && o->at >= 0 && !picks__find(&picks, o->at, err, errlen))
		rc = -EINVAL;
	if (rc)
		goto out;
	for (size_t i = 0; i < picks.n; i++)
		if (o->at < 0 || picks.v[i].at == (uint64_t)o->at)
			levels[n++] = &picks.v[i];
	f = flame__new(2 * (unsigned)n, kind->functions);
	rc = f ? 0 : -ENOMEM;
	for (unsigned i = 0; i < 2 * n && !rc; i++) {
		struct flame_kind half = *kind;

		half.kinds = i % 2 ? FLAME_OFF : FLAME_CPU;
		if (half.kinds & kind->kinds)
			rc = pick__flame(f, p, levels[i / 2], o->step ? o->step : SELECT_EVERY,
					 &half, i, false);
	}
	if (!rc)
		rc = flame__finish(f);
	if (!rc && !f->nleaves) {
		rc = no_stacks(p, kind, err, errlen);
		goto out;
	}
	if (!rc)
		rc = write_profile(out, f, p, levels, n, kind->kinds == FLAME_OFF);
	if (rc)
		fail(err, errlen, rc, "pprof: %s; choose one --step",
		     rc == -ENOMEM ? "out of memory" : "compressing failed");
out:
	flame__free(f);
	picks__free(&picks);
	return rc;
}
