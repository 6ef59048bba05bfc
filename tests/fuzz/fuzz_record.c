/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading any bytes as a record: no crash, and what is read may be indexed. Input
 * that begins with "@" stands for lines behind a proper header, which chance
 * would seldom leave whole. */
#include "record/fields.h"
#include "record/source.h"
#include "record/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int ok)
{
	if (!ok)
		abort();
}

/* What record.h promises to whoever reads a trail. */
static void check_trail(const struct frt_trail *t)
{
	require(t->header && t->arena);
	require(t->truncated == !t->end);
	for (size_t i = 0; i < t->node.n; i++)
		require(t->node.v[i].id == i + 1 && t->node.v[i].parent <= i);
	for (size_t i = 0; i < t->off.n; i++)
		require(t->off.v[i].stack <= t->node.n);
	for (size_t i = 0; i < t->sample.n; i++)
		require(t->sample.v[i].stack <= t->node.n);
	for (size_t i = 0; i < t->level.n; i++)
		require(t->level.v[i].id > (i ? t->level.v[i - 1].id : 0) &&
			t->level.v[i].mode < FRT_WORKMODES);
	for (unsigned k = 0; k < FRT_RECS; k++) {
		const struct record_type *type = &record_types[k];
		struct record_array a;

		memcpy(&a, (const char *)t + type->array, sizeof(a));
		for (size_t i = 0; i < a.n; i++) {
			for (uint32_t f = 0; f < type->nfields; f++) {
				const char *s;

				if (type->fields[f].type != FIELD_TEXT)
					continue;
				memcpy(&s, (char *)a.v + i * type->size + type->fields[f].offset,
				       sizeof(s));
				require(s != NULL);
				require(strlen(s) < RECORD_LINE_MAX);
			}
		}
	}
}

/* A header that lists all fields, and the input behind it. */
static char *with_header(const uint8_t *data, size_t size, size_t *n)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, n);

	require(f != NULL);
	fprintf(f, "{\"frtrace\":%d,\"clock\":{\"mono\":1000},\"fields\":{", RECORD_FORMAT);
	for (unsigned k = 0; k < FRT_RECS; k++) {
		fprintf(f, "%s\"%s\":[", k ? "," : "", record_types[k].name);
		for (uint32_t i = 0; i < record_types[k].nfields; i++)
			fprintf(f, "%s\"%s\"", i ? "," : "", record_types[k].fields[i].name);
		fputc(']', f);
	}
	fputs("}}\n", f);
	fwrite(data, 1, size, f);
	require(fclose(f) == 0);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct record_source src = {
		.fd = -1, .mem = data, .left = size, .text_max = 4 << 20, .data_max = 16 << 20
	};
	char err[200] = "", *text = NULL;
	struct frt_trail t;

	if (size && data[0] == '@') {
		text = with_header(data + 1, size - 1, &src.left);
		src.mem = text;
	}
	if (trail__read_source(&src, "fuzz", &t, err, sizeof(err))) {
		require(err[0] && !strchr(err, '\n') && strlen(err) < sizeof(err));
		require(!t.header && !t.arena);
	} else {
		check_trail(&t);
	}
	trail__free(&t);
	free(text);
	return 0;
}
