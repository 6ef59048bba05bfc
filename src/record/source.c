/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/source.h"
#include "record/fields.h"
#include "util/util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define IN_SIZE 65536
#define TEXT_SIZE 262144

enum stage { STAGE_BEGIN, STAGE_PLAIN, STAGE_GZIP, STAGE_DONE };

struct record_lines {
	struct record_source *src;
	enum stage stage;
	z_stream z;
	bool inflating, eof, cut;
	uint64_t total; /* text given out by read or inflate */
	size_t in_used, in_len;
	size_t begin, end; /* of what is not yet consumed in text */
	size_t size;	   /* of text; grows to RECORD_LINE_MAX + TEXT_SIZE */
	char *text;
	unsigned char in[IN_SIZE];
};

int record_lines__new(struct record_source *src, struct record_lines **out)
{
	struct record_lines *l = calloc(1, sizeof(*l));

	*out = NULL;
	if (!l)
		return -ENOMEM;
	l->src = src;
	l->size = TEXT_SIZE;
	l->text = malloc(l->size);
	if (!l->text) {
		record_lines__free(l);
		return -ENOMEM;
	}
	*out = l;
	return 0;
}

void record_lines__free(struct record_lines *l)
{
	if (!l)
		return;
	if (l->inflating)
		inflateEnd(&l->z);
	free(l->text);
	free(l);
}

bool record_lines__empty(const struct record_lines *l)
{
	return l->stage == STAGE_DONE && l->total == 0 && !l->inflating;
}

/* Bytes read, 0 at the end, -errno. */
static ssize_t source__read(struct record_source *src, void *buf, size_t n)
{
	ssize_t r;

	if (src->left || src->fd < 0) {
		if (n > src->left)
			n = src->left;
		if (n)
			memcpy(buf, src->mem, n);
		src->mem = (const char *)src->mem + n;
		src->left -= n;
		return (ssize_t)n;
	}
	do
		r = src->seekable ? pread(src->fd, buf, n, src->pos) : read(src->fd, buf, n);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return -errno;
	src->pos += r;
	return r;
}

/* Raw bytes into in; 0 also at the end (eof). */
static int lines__fill_input(struct record_lines *l)
{
	ssize_t r;

	if (l->eof || l->in_used < l->in_len)
		return 0;
	r = source__read(l->src, l->in, IN_SIZE);
	if (r < 0)
		return (int)r;
	l->in_used = 0;
	l->in_len = (size_t)r;
	l->eof = r == 0;
	return 0;
}

static int lines__begin(struct record_lines *l)
{
	ssize_t r;

	/* a pipe may give the two bytes that tell one at a time */
	while (l->in_len < 2) {
		r = source__read(l->src, l->in + l->in_len, IN_SIZE - l->in_len);
		if (r < 0)
			return (int)r;
		if (r == 0)
			break;
		l->in_len += (size_t)r;
	}
	l->stage = l->in_len ? STAGE_PLAIN : STAGE_DONE;
	if (l->in_len >= 2 && l->in[0] == 0x1f && l->in[1] == 0x8b) {
		if (inflateInit2(&l->z, 15 + 16) != Z_OK)
			return -ENOMEM;
		l->inflating = true;
		l->stage = STAGE_GZIP;
	}
	return 0;
}

static int lines__plain(struct record_lines *l, size_t room)
{
	size_t n = l->in_len - l->in_used;

	if (!n) {
		l->stage = STAGE_DONE;
		return 0;
	}
	if (n > room)
		n = room;
	memcpy(l->text + l->end, l->in + l->in_used, n);
	l->in_used += n;
	l->end += n;
	l->total += n;
	return 0;
}

/* A member has ended: nothing, or another one, may follow. */
static int lines__member_end(struct record_lines *l, char *why, size_t whylen)
{
	int err = lines__fill_input(l);

	if (err)
		return err;
	if (l->in_used == l->in_len) {
		l->stage = STAGE_DONE;
		return 0;
	}
	if (l->in[l->in_used] != 0x1f)
		return fail(why, whylen, -EINVAL,
			    "bytes that are not gzip after the end of the stream");
	return inflateReset(&l->z) == Z_OK ? 0 : -EINVAL;
}

static int lines__inflate(struct record_lines *l, size_t room, char *why, size_t whylen)
{
	int rc;

	l->z.next_in = l->in + l->in_used;
	l->z.avail_in = (unsigned)(l->in_len - l->in_used);
	l->z.next_out = (unsigned char *)l->text + l->end;
	l->z.avail_out = (unsigned)room;
	rc = inflate(&l->z, Z_NO_FLUSH);
	l->in_used = l->in_len - l->z.avail_in;
	l->total += room - l->z.avail_out;
	l->end += room - l->z.avail_out;
	if (rc == Z_STREAM_END)
		return lines__member_end(l, why, whylen);
	if (rc == Z_OK || rc == Z_BUF_ERROR) {
		/* no input and no progress: not even the check sum is there */
		if (rc == Z_BUF_ERROR && l->eof) {
			l->stage = STAGE_DONE;
			l->cut = true;
		}
		return 0;
	}
	if (rc == Z_MEM_ERROR)
		return -ENOMEM;
	return fail(why, whylen, -EINVAL, "damaged gzip stream: %s",
		    rc == Z_NEED_DICT ? "needs a dictionary"
		    : l->z.msg	      ? l->z.msg
				      : "unknown reason");
}

/* More text behind end. */
static int lines__more(struct record_lines *l, char *why, size_t whylen)
{
	uint64_t max = l->src->text_max ? l->src->text_max : RECORD_TEXT_MAX;
	size_t room;
	char *text;
	int err;

	if (l->begin) {
		memmove(l->text, l->text + l->begin, l->end - l->begin);
		l->end -= l->begin;
		l->begin = 0;
	}
	if (l->end == l->size) {
		if (l->end >= RECORD_LINE_MAX)
			return fail(why, whylen, -EFBIG, "a line of more than %u bytes",
				    RECORD_LINE_MAX);
		text = realloc(l->text, l->size * 2);
		if (!text)
			return -ENOMEM;
		l->text = text;
		l->size *= 2;
	}
	room = l->size - l->end;
	if (l->stage == STAGE_BEGIN)
		err = lines__begin(l);
	else
		err = lines__fill_input(l);
	if (err)
		return err;
	if (l->stage == STAGE_PLAIN)
		err = lines__plain(l, room);
	else if (l->stage == STAGE_GZIP)
		err = lines__inflate(l, room, why, whylen);
	if (!err && l->total > max)
		err = fail(why, whylen, -EFBIG, "more than %llu MiB of text",
			   (unsigned long long)(max >> 20));
	return err;
}

int record_lines__next(struct record_lines *l, char **line, size_t *len, bool *cut, char *why,
		       size_t whylen)
{
	size_t seen = 0; /* of what is left, without a newline */
	char *nl;
	int err;

	for (;;) {
		nl = memchr(l->text + l->begin + seen, '\n', l->end - l->begin - seen);
		if (nl) {
			*line = l->text + l->begin;
			*len = (size_t)(nl - *line);
			l->begin += *len + 1;
			return 1;
		}
		seen = l->end - l->begin;
		if (l->stage == STAGE_DONE) {
			*cut = l->cut || seen;
			return 0;
		}
		err = lines__more(l, why, whylen);
		if (err)
			return err;
	}
}
