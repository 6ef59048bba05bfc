/* SPDX-License-Identifier: BSD-2-Clause */
#include "analyze/csv.h"

#include "util/util.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Decimal digits that a double always holds exactly. */
#define DIGITS_MAX 15

/* More columns than anybody compares; their names are told apart pairwise. */
#define COLUMNS_MAX 1000

struct reader {
	const char *name, *p, *end;
	unsigned long line;
	char *err;
	size_t errlen;
	const char **field; /* of the line just split */
	size_t nfields, cap;
	struct arena *scratch; /* the fields of one line, the cells of the table */
};

#define bad(r, fmt, ...) \
	fail((r)->err, (r)->errlen, -EINVAL, "%s:%lu: " fmt, (r)->name, (r)->line, ##__VA_ARGS__)

/* A field as it may be quoted in an error: printable and short. */
struct quoted {
	char s[64];
};

static struct quoted quote(const char *field)
{
	struct quoted q = { "" };

	printable(q.s, sizeof(q.s), field);
	return q;
}

static int reader__push(struct reader *r, const char *field)
{
	if (!field || grow(&r->field, r->nfields, &r->cap, sizeof(*r->field)))
		return -ENOMEM;
	r->field[r->nfields++] = field;
	return 0;
}

static const char *trim(char *s)
{
	size_t n;

	while (*s == ' ')
		s++;
	n = strlen(s);
	while (n && s[n - 1] == ' ')
		s[--n] = '\0';
	return s;
}

/* Splits one line at its commas; RFC 4180 quotes are undone, a quoted field
 * ends on its line. */
static int reader__split(struct reader *r, const char *s, const char *end)
{
	char *o = arena__alloc(r->scratch, (size_t)(end - s) + 1);
	int rc;

	if (!o)
		return -ENOMEM;
	r->nfields = 0;
	for (;;) {
		char *field = o;

		if (s < end && *s == '"') {
			for (s++; s < end && (*s != '"' || (s + 1 < end && s[1] == '"')); s++) {
				if (*s == '"')
					s++;
				*o++ = *s;
			}
			if (s == end)
				return bad(r, "a quoted field does not end on its line");
			s++;
			if (s < end && *s != ',')
				return bad(r, "text behind the closing quote of a field");
		} else {
			while (s < end && *s != ',')
				*o++ = *s++;
		}
		*o++ = '\0'; /* in place of the comma, or of the line's end */
		rc = reader__push(r, trim(field));
		if (rc || s == end)
			return rc;
		s++;
	}
}

/* The next line that says something, split: 1, 0 at the end, or -errno. */
static int reader__next(struct reader *r)
{
	while (r->p < r->end) {
		const char *s = r->p, *end = memchr(s, '\n', (size_t)(r->end - s));
		int rc;

		r->p = end ? end + 1 : r->end;
		end = end ? end : r->end;
		r->line++;
		if (end > s && end[-1] == '\r')
			end--;
		if (memchr(s, '\0', (size_t)(end - s)))
			return bad(r, "a NUL byte: not a text file");
		if (s == end || *s == '#')
			continue;
		rc = reader__split(r, s, end);
		return rc ? rc : 1;
	}
	return 0;
}

/* A plain decimal number, whatever the locale: digits and at most one point.
 * Exact to the last bit because both mantissa and power of ten are. */
static bool decimal(const char *s, double *out)
{
	double mantissa = 0, scale = 1;
	unsigned digits = 0, seen = 0;
	bool point = false;

	for (; *s; s++) {
		if (*s == '.' && !point) {
			point = true;
			continue;
		}
		if (*s < '0' || *s > '9')
			return false;
		seen++;
		digits += digits || *s != '0';
		scale *= point ? 10 : 1;
		mantissa = mantissa * 10 + (*s - '0');
		if (digits > DIGITS_MAX || scale > 1e15)
			return false;
	}
	*out = mantissa / scale;
	return seen > 0;
}

/* Which other separator this header was written with; 0: none that is known. */
static char other_separator(const char *header)
{
	static const char known[] = ";\t|";

	for (const char *sep = known; *sep; sep++) {
		size_t n = strcspn(header, known);

		if (header[n] == *sep)
			return *sep;
	}
	return 0;
}

static int parse_header(struct reader *r, struct csv_table *t)
{
	size_t first;

	if (strcasecmp(r->field[0], "time") == 0) {
		t->layout = CSV_STREAMS;
		first = 1;
	} else if (r->nfields > 1 && strcasecmp(r->field[0], "from") == 0 &&
		   strcasecmp(r->field[1], "to") == 0) {
		t->layout = CSV_RATES;
		first = 2;
	} else if (other_separator(r->field[0])) {
		char sep = other_separator(r->field[0]);

		return bad(r, "fields are separated by %s; a rate table is separated by commas",
			   sep == '\t'	? "tabs"
			   : sep == ';' ? "semicolons"
					: "vertical bars");
	} else {
		return bad(r, "the header starts with '%s'; 'from,to,…' or 'Time,…' is expected",
			   quote(r->field[0]).s);
	}
	t->ncols = r->nfields - first;
	if (!t->ncols)
		return bad(r, "no column of readings behind '%s'", first == 2 ? "from,to" : "Time");
	if (t->ncols > COLUMNS_MAX)
		return bad(r, "%zu columns, at most %d can be read", t->ncols, COLUMNS_MAX);
	t->label = arena__alloc(t->arena, t->ncols * sizeof(*t->label));
	if (!t->label)
		return -ENOMEM;
	for (size_t c = 0; c < t->ncols; c++) {
		t->label[c] = arena__strdup(t->arena, r->field[first + c]);
		if (!t->label[c])
			return -ENOMEM;
		if (!*t->label[c])
			return bad(r, "column %zu has no name", first + c + 1);
		for (size_t k = 0; k < c; k++)
			if (strcmp(t->label[k], t->label[c]) == 0)
				return bad(r, "two columns are named '%s'", quote(t->label[c]).s);
	}
	return 0;
}

static const char *column_name(const struct csv_table *t, size_t i)
{
	size_t first = t->layout == CSV_RATES ? 2 : 1;

	if (i >= first)
		return t->label[i - first];
	return t->layout == CSV_STREAMS ? "Time" : i ? "to" : "from";
}

static int parse_field(struct reader *r, const struct csv_table *t, size_t i, double *out)
{
	const char *s = r->field[i];

	if (!*s && i >= (t->layout == CSV_RATES ? 2 : 1)) {
		*out = NAN;
		return 0;
	}
	if (!*s)
		return bad(r, "'%s' is empty", column_name(t, i));
	if (!decimal(s, out))
		return bad(r, "'%s' in column '%s' is not a number", quote(s).s,
			   quote(column_name(t, i)).s);
	return 0;
}

/* Whether the axis of the row just read goes on where it should, and its
 * readings can be what they claim to be. prev: the last row, or NULL; last:
 * the last reading of each column. */
static int check_row(struct reader *r, const struct csv_table *t, const double *axis,
		     const double *prev, const double *value, double *last)
{
	if (t->layout == CSV_RATES) {
		if (axis[0] >= axis[1])
			return bad(r, "from %.15g to %.15g: the row is empty or runs backwards",
				   axis[0], axis[1]);
		if (axis[0] != floor(axis[0]) || axis[1] != floor(axis[1]))
			return bad(r, "from and to are whole numbers of routers");
		if (prev && axis[0] < prev[1])
			return bad(r, "from %.15g lies in the row before, which goes to %.15g",
				   axis[0], prev[1]);
	} else if (prev && axis[0] <= prev[0]) {
		return bad(r, "Time %.15g does not come after %.15g", axis[0], prev[0]);
	}
	for (size_t c = 0; c < t->ncols; c++) {
		struct quoted q = quote(t->label[c]);

		if (isnan(value[c]))
			continue;
		if (t->layout == CSV_RATES && value[c] <= 0)
			return bad(r, "column '%s': a rate of 0 routers/s has no cost", q.s);
		if (t->layout == CSV_STREAMS && value[c] != floor(value[c]))
			return bad(r, "column '%s': %.15g is not a whole number of routers", q.s,
				   value[c]);
		if (t->layout == CSV_STREAMS && value[c] < last[c])
			return bad(r, "column '%s': the count falls from %.15g to %.15g", q.s,
				   last[c], value[c]);
		last[c] = value[c];
	}
	return 0;
}

/* A line with too few or too many fields. */
static int row_width(struct reader *r, const struct csv_table *t, size_t want)
{
	if (r->nfields > want)
		return bad(r, "%zu fields, the header has %zu", r->nfields, want);
	return bad(r, "%zu field%s, the header has %zu: missing from column '%s' on", r->nfields,
		   r->nfields == 1 ? "" : "s", want, quote(column_name(t, r->nfields)).s);
}

/* The rows, kept as axis[2] + value[ncols] each until their number is known. */
static int parse_rows(struct reader *r, struct csv_table *t, double **cells, double *last)
{
	size_t width = t->ncols + 2, first = t->layout == CSV_RATES ? 2 : 1, cap = 0;
	int rc;

	while ((rc = reader__next(r)) > 0) {
		double *row;

		if (r->nfields != first + t->ncols)
			return row_width(r, t, first + t->ncols);
		if (grow(cells, t->nrows, &cap, width * sizeof(**cells)))
			return -ENOMEM;
		row = *cells + t->nrows * width;
		row[1] = NAN;
		for (size_t i = 0; i < r->nfields; i++) {
			rc = parse_field(r, t, i, row + (i < first ? i : i - first + 2));
			if (rc)
				return rc;
		}
		rc = check_row(r, t, row, t->nrows ? row - width : NULL, row + 2, last);
		if (rc)
			return rc;
		t->nrows++;
	}
	return rc;
}

static int fill_table(struct csv_table *t, const double *cells)
{
	size_t width = t->ncols + 2;

	t->from = arena__alloc(t->arena, t->nrows * sizeof(double));
	t->to = arena__alloc(t->arena, t->nrows * sizeof(double));
	t->value = arena__alloc(t->arena, t->nrows * t->ncols * sizeof(double));
	if (!t->from || !t->to || !t->value)
		return -ENOMEM;
	for (size_t i = 0; i < t->nrows; i++) {
		t->from[i] = cells[i * width];
		t->to[i] = cells[i * width + 1];
		memcpy(t->value + i * t->ncols, cells + i * width + 2, t->ncols * sizeof(double));
	}
	return 0;
}

static int parse_table(struct reader *r, struct csv_table *t, double **cells, double **last)
{
	int rc = reader__next(r);

	if (rc == 0)
		return fail(r->err, r->errlen, -EINVAL, "%s: empty: no header and no rows",
			    r->name);
	if (rc < 0)
		return rc;
	rc = parse_header(r, t);
	if (rc)
		return rc;
	*last = calloc(t->ncols, sizeof(**last));
	if (!*last)
		return -ENOMEM;
	rc = parse_rows(r, t, cells, *last);
	if (rc)
		return rc;
	if (!t->nrows)
		return fail(r->err, r->errlen, -EINVAL, "%s: a header, but no rows", r->name);
	for (size_t c = 0; c < t->ncols; c++) {
		size_t n = 0;

		for (size_t i = 0; i < t->nrows; i++)
			n += !isnan((*cells)[i * (t->ncols + 2) + 2 + c]);
		if (!n)
			return fail(r->err, r->errlen, -EINVAL, "%s: column '%s' has no reading",
				    r->name, quote(t->label[c]).s);
	}
	return fill_table(t, *cells);
}

int csv__parse(const char *text, size_t len, const char *name, struct csv_table *out, char *err,
	       size_t errlen)
{
	struct reader r = {
		.name = name, .p = text, .end = text + len, .err = err, .errlen = errlen
	};
	double *cells = NULL, *last = NULL;
	int rc = -ENOMEM;

	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		r.p += 3; /* the byte order mark some spreadsheets write */
	memset(out, 0, sizeof(*out));
	out->arena = arena__new();
	r.scratch = arena__new();
	if (out->arena && r.scratch)
		rc = parse_table(&r, out, &cells, &last);
	if (rc == -ENOMEM)
		fail(err, errlen, rc, "%s: out of memory", name);
	free(cells);
	free(last);
	free(r.field);
	arena__free(r.scratch);
	if (rc)
		csv__free(out);
	return rc;
}

void csv__free(struct csv_table *t)
{
	arena__free(t->arena);
	memset(t, 0, sizeof(*t));
}
