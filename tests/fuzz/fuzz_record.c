/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading any bytes as a record: no crash, and what is read may be indexed. Input
 * that begins with "@" stands for lines behind a proper header, which chance
 * would seldom leave whole. */
#include "lines.h"
#include "record/record.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char err[200] = "", *text;
	struct record_source src = fuzz_source(data, size, &text);
	struct frt_trail t;

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
