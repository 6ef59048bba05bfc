/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading a record: the lines of known types by a parser that knows nothing
 * but arrays of numbers and texts (most of a record, and what has to be fast),
 * the header, the end and whatever is new by jansson.
 */
#include "record/fields.h"
#include "record/record.h"
#include "record/source.h"
#include "util/util.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 64 /* of a line, as the header lists them */
#define SKIP 0xff

/* Where the values of a line go, in the order of the header's list. */
struct line_map {
	bool listed;
	uint32_t n;
	uint8_t field[FIELDS_MAX]; /* index in the type's table, or SKIP */
};

struct reader {
	const char *name; /* for errors */
	char *err;
	size_t errlen;
	uint64_t lineno, base, bytes, bytes_max;
	struct frt_trail *t;
	struct arena *arena;
	struct intern *intern;
	struct line_map map[FRT_RECS];
	uint64_t item[64]; /* any of the structs */
};

static const char out_of_memory[] = "out of memory";

__attribute__((format(printf, 3, 4))) static int bad(struct reader *r, int rc, const char *fmt, ...)
{
	char what[200], name[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	printable(name, sizeof(name), r->name);
	if (!r->lineno)
		return fail(r->err, r->errlen, rc, "%s: %s", name, what);
	return fail(r->err, r->errlen, rc, "%s: line %" PRIu64 ": %s", name, r->lineno, what);
}

static int no_memory(struct reader *r)
{
	return bad(r, -ENOMEM, out_of_memory);
}

static char *skip_blanks(char *p)
{
	while (*p == ' ' || *p == '\t' || *p == '\r')
		p++;
	return p;
}

/* An integer as JSON writes it. NULL with *why when it is none. */
static char *read_number(char *p, uint64_t *v, int *negative, const char **why)
{
	uint64_t n = 0;
	char *begin;

	*negative = *p == '-';
	p += *negative;
	for (begin = p; *p >= '0' && *p <= '9'; p++) {
		unsigned digit = (unsigned)(*p - '0');

		if (n > (UINT64_MAX - digit) / 10) {
			*why = "number out of range";
			return NULL;
		}
		n = n * 10 + digit;
	}
	if (p == begin || (*begin == '0' && p - begin > 1) || *p == '.' || (*p | 0x20) == 'e') {
		*why = p == begin ? "not a number" : "not a whole number";
		return NULL;
	}
	*v = n;
	return p;
}

/* Puts v into the field at; NULL or why not. */
static const char *store_number(const struct record_field *f, char *at, uint64_t v, int negative,
				uint64_t base)
{
	static const char range[] = "number out of range";
	uint64_t half = 1ull << (f->type == FIELD_I32 ? 31 : 63);
	uint32_t u32 = (uint32_t)v;

	if (f->limit && (negative || v >= f->limit))
		return range;
	switch ((enum field_type)f->type) {
	case FIELD_U32:
		if (v > UINT32_MAX || (negative && v))
			return range;
		memcpy(at, &u32, sizeof(u32));
		return NULL;
	case FIELD_U64:
		if (negative && v)
			return range;
		break;
	case FIELD_I32:
	case FIELD_I64:
		if (v > half - !negative)
			return range;
		if (negative)
			v = -v;
		u32 = (uint32_t)v;
		if (f->type == FIELD_I32) {
			memcpy(at, &u32, sizeof(u32));
			return NULL;
		}
		break;
	case FIELD_TIME:
		if (time__decode(v, negative, base, &v))
			return "time out of range";
		break;
	case FIELD_TEXT:
	case FIELD_TEXT_OR_NULL:
		return "a number where a text belongs";
	}
	memcpy(at, &v, sizeof(v));
	return NULL;
}

/* One value into item; f NULL: a field this version does not know. */
static char *read_value(struct reader *r, char *p, const struct record_field *f, char *item,
			const char **why)
{
	bool text = f && (f->type == FIELD_TEXT || f->type == FIELD_TEXT_OR_NULL);
	const char *stored;
	char *s = NULL;
	uint64_t v;
	int negative;

	if (*p == '"') {
		p = text__decode(p, &s, why);
		if (!p || !f)
			return p;
		if (!text) {
			*why = "a text where a number belongs";
			return NULL;
		}
		stored = *s ? intern__get(r->intern, s) : "";
		if (!stored) {
			*why = out_of_memory;
			return NULL;
		}
		memcpy(item + f->offset, &stored, sizeof(stored));
		return p;
	}
	if (*p == 'n' && !strncmp(p, "null", 4) && (!f || text))
		return p + 4; /* what an absent value is */
	p = read_number(p, &v, &negative, why);
	if (p && f) {
		*why = store_number(f, item + f->offset, v, negative, r->base);
		if (*why)
			return NULL;
	}
	return p;
}

/* The values from behind the opening bracket on, up to the end of the line. */
static int read_values(struct reader *r, enum frt_rec rec, char *p, char *item)
{
	const struct record_type *t = &record_types[rec];
	const struct line_map *map = &r->map[rec];
	const struct record_field *f;
	const char *why = NULL;
	uint32_t i = 0;

	p = skip_blanks(p);
	while (*p != ']') {
		if (i == map->n)
			return bad(r, -EINVAL, "%s: more values than the header lists fields",
				   t->name);
		f = map->field[i] == SKIP ? NULL : &t->fields[map->field[i]];
		p = read_value(r, p, f, item, &why);
		if (!p)
			return bad(r, why == out_of_memory ? -ENOMEM : -EINVAL, "%s: %s%s%s",
				   t->name, f ? f->name : "", f ? ": " : "", why);
		i++;
		p = skip_blanks(p);
		if (*p == ',') {
			p = skip_blanks(p + 1);
			if (*p != ']')
				continue;
		} else if (*p == ']') {
			break;
		}
		return bad(r, -EINVAL, "%s: malformed after value %u", t->name, i);
	}
	p = skip_blanks(p + 1);
	if (*p != '}')
		return bad(r, -EINVAL, "%s: malformed behind its values", t->name);
	p = skip_blanks(p + 1);
	return *p == '\n' ? 0 : bad(r, -EINVAL, "%s: something behind the line's end", t->name);
}

/* What makes items safe to be used as an index. */
static int check_item(struct reader *r, enum frt_rec rec, const void *item)
{
	struct frt_trail *t = r->t;
	const struct frt_node *node = item;
	const struct frt_level *level = item;
	uint32_t stack = 0;

	switch (rec) {
	case FRT_REC_NODE:
		if (node->id != t->node.n + 1)
			return bad(r, -EINVAL, "node: id %u where %zu is next", node->id,
				   t->node.n + 1);
		if (node->parent >= node->id)
			return bad(r, -EINVAL, "node: parent %u of node %u is not before it",
				   node->parent, node->id);
		break;
	case FRT_REC_LEVEL:
		/* a level that failed leaves a gap */
		if (level->id <= (t->level.n ? t->level.v[t->level.n - 1].id : 0))
			return bad(r, -EINVAL, "level: id %u is not above the one before",
				   level->id);
		break;
	case FRT_REC_OFF:
		stack = ((const struct frt_off *)item)->stack;
		break;
	case FRT_REC_SAMPLE:
		stack = ((const struct frt_sample *)item)->stack;
		break;
	case FRT_REC_LOCK:
		stack = ((const struct frt_lock *)item)->stack;
		break;
	default:
		break;
	}
	if (stack > t->node.n)
		return bad(r, -EINVAL, "%s: stack %u has no node", record_types[rec].name, stack);
	return 0;
}

static int read_item(struct reader *r, enum frt_rec rec, char *p)
{
	const struct record_type *t = &record_types[rec];
	char *item = (char *)r->item;
	struct record_array a;
	const char *none = "";
	int err;

	if (!r->map[rec].listed)
		return bad(r, -EINVAL, "%s: the header does not list its fields", t->name);
	memset(item, 0, t->size);
	for (uint32_t i = 0; i < t->nfields; i++)
		if (t->fields[i].type == FIELD_TEXT)
			memcpy(item + t->fields[i].offset, &none, sizeof(none));
	err = read_values(r, rec, p, item);
	if (!err)
		err = check_item(r, rec, item);
	if (err)
		return err;
	r->bytes += t->size;
	if (r->bytes > r->bytes_max)
		return bad(r, -EFBIG, "more than %" PRIu64 " MiB of data", r->bytes_max >> 20);
	memcpy(&a, (char *)r->t + t->array, sizeof(a));
	if (grow(&a.v, a.n, &a.cap, t->size))
		return no_memory(r);
	memcpy((char *)a.v + a.n++ * t->size, item, t->size);
	memcpy((char *)r->t + t->array, &a, sizeof(a));
	return 0;
}

static int find_type(const char *name, size_t len)
{
	for (int i = 0; i < FRT_RECS; i++)
		if (strlen(record_types[i].name) == len && !memcmp(record_types[i].name, name, len))
			return i;
	return -1;
}

/* The start of a line's only key's value; NULL when it does not look like one. */
static char *read_key(char *line, char **key, size_t *len)
{
	char *p = skip_blanks(line);

	if (*p != '{')
		return NULL;
	p = skip_blanks(p + 1);
	if (*p != '"')
		return NULL;
	*key = ++p;
	while ((*p >= 'a' && *p <= 'z') || *p == '_')
		p++;
	*len = (size_t)(p - *key);
	if (*p != '"')
		return NULL;
	p = skip_blanks(p + 1);
	return *p == ':' ? skip_blanks(p + 1) : NULL;
}

static json_t *load_object(struct reader *r, const char *line, size_t len, int *err)
{
	json_error_t e;
	json_t *o = json_loadb(line, len, JSON_REJECT_DUPLICATES, &e);

	*err = 0;
	if (!o)
		*err = bad(r, -EINVAL, "not JSON: %s", e.text);
	else if (!json_is_object(o) || !json_object_size(o))
		*err = bad(r, -EINVAL, "not an object");
	if (*err) {
		json_decref(o);
		o = NULL;
	}
	return o;
}

static int read_other(struct reader *r, const char *line, size_t len)
{
	json_t *o, *end;
	int err;

	o = load_object(r, line, len, &err);
	if (!o)
		return err;
	end = json_object_get(o, "end");
	if (!end)
		r->t->unknown_lines++;
	else if (!json_is_object(end))
		err = bad(r, -EINVAL, "end: not an object");
	else
		r->t->end = json_incref(end);
	json_decref(o);
	return err;
}

static int read_line(struct reader *r, char *line, size_t len)
{
	size_t keylen;
	char *key, *p = read_key(line, &key, &keylen);
	int rec = p ? find_type(key, keylen) : -1;

	if (r->t->end)
		return bad(r, -EINVAL, "a line after the end line");
	if (rec < 0)
		return read_other(r, line, len);
	if (*p != '[')
		return bad(r, -EINVAL, "%s: not an array", record_types[rec].name);
	return read_item(r, (enum frt_rec)rec, p + 1);
}

static int map_fields(struct reader *r, const char *name, const json_t *list)
{
	int rec = find_type(name, strlen(name));
	const struct record_type *t;
	struct line_map *map;
	json_t *field;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > FIELDS_MAX)
		return bad(r, -EINVAL, "fields of %.40s: not a list of at most %d names", name,
			   FIELDS_MAX);
	if (rec < 0)
		return 0; /* a type of a later version: its lines will be counted */
	t = &record_types[rec];
	map = &r->map[rec];
	map->listed = true;
	map->n = (uint32_t)json_array_size(list);
	json_array_foreach(list, i, field)
	{
		if (!json_is_string(field))
			return bad(r, -EINVAL, "fields of %s: not a name", t->name);
		map->field[i] = SKIP;
		for (uint8_t k = 0; k < t->nfields; k++)
			if (!strcmp(json_string_value(field), t->fields[k].name))
				map->field[i] = k;
		for (size_t k = 0; k < i; k++)
			if (map->field[i] != SKIP && map->field[k] == map->field[i])
				return bad(r, -EINVAL, "fields of %s: %s twice", t->name,
					   t->fields[map->field[i]].name);
	}
	return 0;
}

static int read_header(struct reader *r, const char *line, size_t len)
{
	json_t *version, *mono, *fields, *list;
	const char *name;
	int err;

	r->t->header = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	version = json_object_get(r->t->header, "frtrace");
	if (!json_is_integer(version))
		return bad(r, -EINVAL, "not an frtrace record");
	if (json_integer_value(version) != RECORD_FORMAT)
		return bad(
			r, -EINVAL,
			"record format %lld; this frtrace reads format %d: use the frtrace that wrote it",
			(long long)json_integer_value(version), RECORD_FORMAT);
	mono = json_object_get(json_object_get(r->t->header, "clock"), "mono");
	if (!json_is_integer(mono) || json_integer_value(mono) <= 0)
		return bad(r, -EINVAL, "the header has no clock.mono");
	r->base = (uint64_t)json_integer_value(mono);
	fields = json_object_get(r->t->header, "fields");
	if (!json_is_object(fields))
		return bad(r, -EINVAL, "the header has no fields");
	json_object_foreach(fields, name, list)
	{
		err = map_fields(r, name, list);
		if (err)
			return err;
	}
	return 0;
}

static int read_lines(struct reader *r, struct record_lines *lines)
{
	char *line, why[160];
	bool cut = false;
	size_t len;
	int err;

	for (;;) {
		why[0] = '\0';
		err = record_lines__next(lines, &line, &len, &cut, why, sizeof(why));
		r->lineno++;
		if (err < 0 && !why[0]) {
			r->lineno = 0;
			return bad(r, err, "cannot read: %s", strerror(-err));
		}
		if (err < 0)
			return bad(r, err, "%s", why);
		if (err == 0)
			break;
		if (r->lineno == 1)
			err = read_header(r, line, len);
		else
			err = read_line(r, line, len);
		if (err)
			return err;
	}
	if (!r->t->header) {
		r->lineno = 0;
		return bad(r, -EINVAL, "%s",
			   record_lines__empty(lines) ? "empty: not an frtrace record"
						      : "cut off before the end of its first line");
	}
	/* without its check sum the end cannot be relied on either */
	if (cut) {
		json_decref(r->t->end);
		r->t->end = NULL;
	}
	r->t->truncated = !r->t->end;
	return 0;
}

int trail__read_source(struct record_source *src, const char *name, struct frt_trail *out,
		       char *err, size_t errlen)
{
	struct record_lines *lines = NULL;
	struct reader *r = calloc(1, sizeof(*r));
	int rc = -ENOMEM;

	memset(out, 0, sizeof(*out));
	if (!r)
		return fail(err, errlen, rc, "%s: out of memory", name);
	r->name = name;
	r->err = err;
	r->errlen = errlen;
	r->t = out;
	r->bytes_max = src->data_max ? src->data_max : RECORD_DATA_MAX;
	r->arena = arena__new();
	out->arena = r->arena;
	r->intern = r->arena ? intern__new(r->arena) : NULL;
	if (!r->intern || record_lines__new(src, &lines)) {
		rc = no_memory(r);
		goto out;
	}
	rc = read_lines(r, lines);
out:
	record_lines__free(lines);
	intern__free(r->intern);
	free(r);
	if (rc)
		trail__free(out);
	return rc;
}

void trail__free(struct frt_trail *t)
{
	struct record_array a;

	for (unsigned i = 0; i < FRT_RECS; i++) {
		memcpy(&a, (char *)t + record_types[i].array, sizeof(a));
		free(a.v);
	}
	json_decref(t->header);
	json_decref(t->end);
	arena__free(t->arena);
	memset(t, 0, sizeof(*t));
}
