/* SPDX-License-Identifier: BSD-2-Clause */
/* Writing a record: lines into a text buffer, that into deflate, that to disk. */
#include "record/fields.h"
#include "record/source.h"
#include "record/record.h"
#include "record/file.h"
#include "util/util.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#define TEXT_SIZE 65536
#define OUT_SIZE 65536
/* Level 1 costs a third of level 6 and gives a file 1.3 times as large. */
#define LEVEL 1

struct record_writer {
	struct record_file file;
	z_stream z;
	bool deflating, has_header, finished, dirty;
	int err; /* sticky */
	uint64_t base, bytes;
	char *text;
	size_t used, size;
	unsigned char out[OUT_SIZE];
};

int record__create(const char *path, int uid, int gid, struct record_writer **out)
{
	struct record_writer *w = calloc(1, sizeof(*w));
	int err;

	*out = NULL;
	if (!w)
		return -ENOMEM;
	w->file.fd = w->file.dir = -1;
	w->size = TEXT_SIZE;
	w->text = malloc(w->size);
	/* 15 + 16: the largest window, with gzip's header and check sum */
	if (!w->text || deflateInit2(&w->z, LEVEL, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY)) {
		err = -ENOMEM;
		goto out;
	}
	w->deflating = true;
	err = record_file__create(&w->file, path, uid, gid);
	if (err)
		goto out;
	*out = w;
	return 0;
out:
	record__free(w);
	return err;
}

/* Writes what deflate gives for the text so far. */
static int record__deflate(struct record_writer *w, int flush)
{
	size_t n;
	int rc;

	w->z.next_in = (unsigned char *)w->text;
	w->z.avail_in = (unsigned)w->used;
	do {
		w->z.next_out = w->out;
		w->z.avail_out = OUT_SIZE;
		rc = deflate(&w->z, flush);
		if (rc == Z_STREAM_ERROR)
			return -EIO;
		n = OUT_SIZE - w->z.avail_out;
		rc = record_file__write(&w->file, w->out, n);
		if (rc)
			return rc;
		w->bytes += n;
	} while (w->z.avail_out == 0);
	w->used = 0;
	return 0;
}

/* Room for a line of up to need bytes. */
static int record__room(struct record_writer *w, size_t need)
{
	char *text;
	int err;

	if (w->size - w->used >= need)
		return 0;
	err = record__deflate(w, Z_NO_FLUSH);
	if (err || w->size >= need)
		return err;
	text = realloc(w->text, need);
	if (!text)
		return -ENOMEM;
	w->text = text;
	w->size = need;
	return 0;
}

static char *put_number(char *p, uint64_t v, int negative)
{
	char digits[20];
	int n = 0;

	do {
		digits[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	if (negative)
		*p++ = '-';
	while (n)
		*p++ = digits[--n];
	return p;
}

static char *put_signed(char *p, int64_t v)
{
	return put_number(p, v < 0 ? -(uint64_t)v : (uint64_t)v, v < 0);
}

static const char *field_text(const struct record_field *f, const void *item)
{
	const char *s;

	memcpy(&s, (const char *)item + f->offset, sizeof(s));
	return s;
}

static bool is_text(const struct record_field *f)
{
	return f->type == FIELD_TEXT || f->type == FIELD_TEXT_OR_NULL;
}

/* *plain: whether it is what a reader takes an absent value for. */
static char *put_field(char *p, const struct record_field *f, const void *item, uint64_t base,
		       bool *plain)
{
	const char *at = (const char *)item + f->offset;
	uint64_t u64 = 0;
	uint32_t u32;
	int64_t i64 = 0;
	int32_t i32;
	int negative;

	switch ((enum field_type)f->type) {
	case FIELD_TEXT:
	case FIELD_TEXT_OR_NULL:
		at = field_text(f, item);
		*plain = f->type == FIELD_TEXT ? !at || !*at : !at;
		if (!at && f->type == FIELD_TEXT_OR_NULL)
			return (char *)mempcpy(p, "null", 4);
		return text__encode(p, at ? at : "");
	case FIELD_U32:
		memcpy(&u32, at, sizeof(u32));
		*plain = u32 == 0;
		return put_number(p, u32, 0);
	case FIELD_U64:
		memcpy(&u64, at, sizeof(u64));
		*plain = u64 == 0;
		return put_number(p, u64, 0);
	case FIELD_TIME:
		memcpy(&u64, at, sizeof(u64));
		*plain = u64 == 0;
		u64 = time__encode(u64, base, &negative);
		return put_number(p, u64, negative);
	case FIELD_I32:
		memcpy(&i32, at, sizeof(i32));
		i64 = i32;
		break;
	case FIELD_I64:
		memcpy(&i64, at, sizeof(i64));
		break;
	}
	*plain = i64 == 0;
	return put_signed(p, i64);
}

/* Bytes the line can take at most; 0 when it would be beyond the limit. */
static size_t line_room(const struct record_type *t, const void *item)
{
	size_t need = strlen(t->name) + 16 + t->nfields * 22u;

	for (uint32_t i = 0; i < t->nfields; i++) {
		const char *s = is_text(&t->fields[i]) ? field_text(&t->fields[i], item) : NULL;
		size_t n = s ? strlen(s) : 0;

		if (n > RECORD_LINE_MAX / 6 || (need += 6 * n) > RECORD_LINE_MAX)
			return 0;
	}
	return need;
}

static int record__put_line(struct record_writer *w, const struct record_type *t, const void *item)
{
	size_t need = line_room(t, item);
	char *p, *end;
	bool plain;
	int err;

	if (!need)
		return -E2BIG;
	err = record__room(w, need);
	if (err)
		return err;
	p = w->text + w->used;
	*p++ = '{';
	*p++ = '"';
	p = mempcpy(p, t->name, strlen(t->name));
	*p++ = '"';
	*p++ = ':';
	*p++ = '[';
	end = p; /* what follows the last value that says something is left out */
	for (uint32_t i = 0; i < t->nfields; i++) {
		if (i)
			*p++ = ',';
		p = put_field(p, &t->fields[i], item, w->base, &plain);
		if (!plain)
			end = p;
	}
	*end++ = ']';
	*end++ = '}';
	*end++ = '\n';
	w->used = (size_t)(end - w->text);
	w->dirty = true;
	return 0;
}

static int record__put_json(struct record_writer *w, const json_t *obj)
{
	char *line = json_dumps(obj, JSON_COMPACT);
	size_t n;
	int err;

	if (!line)
		return -EINVAL; /* or no memory: jansson does not tell */
	n = strlen(line);
	if (n + 1 > RECORD_LINE_MAX) {
		err = -E2BIG;
		goto out;
	}
	err = record__room(w, n + 1);
	if (err)
		goto out;
	memcpy(w->text + w->used, line, n);
	w->text[w->used + n] = '\n';
	w->used += n + 1;
	w->dirty = true;
out:
	free(line);
	return err;
}

static json_t *fields_object(void)
{
	json_t *all = json_object();

	for (unsigned i = 0; i < FRT_RECS; i++) {
		json_t *names = json_array();

		for (uint32_t k = 0; k < record_types[i].nfields; k++)
			json_array_append_new(names, json_string(record_types[i].fields[k].name));
		json_object_set_new(all, record_types[i].name, names);
	}
	return all;
}

int record__header(struct record_writer *w, struct json_t *fields)
{
	struct timespec ts;
	json_t *head;
	uint64_t wall;

	if (w->err)
		return w->err;
	if (w->has_header || w->finished)
		return -EINVAL;
	w->base = now_ns();
	clock_gettime(CLOCK_REALTIME, &ts);
	wall = (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
	head = json_pack("{s:i, s:s, s:{s:I, s:I}, s:o}", "frtrace", RECORD_FORMAT, "version",
			 FRT_VERSION, "clock", "mono", (json_int_t)w->base, "wall",
			 (json_int_t)wall, "fields", fields_object());
	if (!head || (fields && json_object_update_missing(head, fields)))
		w->err = -ENOMEM;
	else
		w->err = record__put_json(w, head);
	json_decref(head);
	w->has_header = !w->err;
	return w->err;
}

int record__put(void *ctx, enum frt_rec type, const void *item)
{
	struct record_writer *w = ctx;

	if (w->err)
		return w->err;
	if (!w->has_header || w->finished || (unsigned)type >= FRT_RECS)
		return -EINVAL;
	w->err = record__put_line(w, &record_types[type], item);
	return w->err;
}

struct frt_sink record__sink(struct record_writer *w)
{
	return (struct frt_sink){ .put = record__put, .ctx = w };
}

int record__flush(struct record_writer *w)
{
	if (w->err)
		return w->err;
	if (!w->has_header || w->finished)
		return -EINVAL;
	if (!w->dirty)
		return 0;
	w->err = record__deflate(w, Z_SYNC_FLUSH);
	if (!w->err)
		w->err = record_file__publish(&w->file);
	w->dirty = w->err != 0;
	return w->err;
}

int record__finish(struct record_writer *w, struct json_t *end)
{
	json_t *line;

	if (w->finished)
		return w->err;
	if (!w->err && !w->has_header)
		w->err = -EINVAL;
	if (!w->err && end) {
		line = json_pack("{s:O}", "end", end);
		w->err = line ? record__put_json(w, line) : -ENOMEM;
		json_decref(line);
	}
	if (!w->err)
		w->err = record__deflate(w, Z_FINISH);
	if (!w->err)
		w->err = record_file__publish(&w->file);
	w->finished = true;
	return w->err;
}

int record__load(struct record_writer *w, struct frt_trail *out)
{
	struct record_source src = { .fd = w->file.fd, .seekable = true };

	return trail__read_source(&src, w->file.path ? w->file.path : "the record", out, NULL, 0);
}

const char *record__path(const struct record_writer *w)
{
	return w->file.path;
}

uint64_t record__bytes(const struct record_writer *w)
{
	return w->bytes;
}

void record__free(struct record_writer *w)
{
	if (!w)
		return;
	if (w->deflating)
		deflateEnd(&w->z);
	record_file__close(&w->file);
	free(w->text);
	free(w);
}
