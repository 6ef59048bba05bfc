/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzer input as a record: as it is, or, when it begins with "@", as the lines
 * behind a proper header. */
#ifndef FUZZ_LINES_H
#define FUZZ_LINES_H

#include "record/fields.h"
#include "record/source.h"

#include <stdio.h>
#include <stdlib.h>

static inline void require(int ok)
{
	if (!ok)
		abort();
}

/* A header that lists all fields, and the input behind it. */
static inline char *with_header(const uint8_t *data, size_t size, size_t *n)
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

/* What to read; *text is to be freed after it. */
static inline struct record_source fuzz_source(const uint8_t *data, size_t size, char **text)
{
	struct record_source src = {
		.fd = -1, .mem = data, .left = size, .text_max = 4 << 20, .data_max = 16 << 20
	};

	*text = NULL;
	if (size && data[0] == '@') {
		*text = with_header(data + 1, size - 1, &src.left);
		src.mem = *text;
	}
	return src;
}

#endif
