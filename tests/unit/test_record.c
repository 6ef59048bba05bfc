/* SPDX-License-Identifier: BSD-2-Clause */
/* Records: what is written is what is read, wherever it is written to. */
#include "util/util.h" /* before cmocka, which makes a macro of fail() */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "record/fields.h"
#include "record/file.h"
#include "record/record.h"
#include "record_help.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const texts[] = {
	"",
	"ip",
	"ip\x1fnetns\x1f"
	"add\x1f"
	"bar-0b8a9c1e",
	"quote \" back \\ slash / tab \t newline \n del \x7f bell \a",
	"\xff\xfe raw \x80 bytes \xc3",
	"gr\xc3\xbc\xc3\x9f\x65 \xe2\x82\xac \xf0\x9f\x90\x9b",
	"private \xee\xbe\x80 \xee\xbf\xbf range, as text",
	"overlong \xc0\xaf surrogate \xed\xa0\x80 beyond \xf4\x90\x80\x80 cut \xe2\x82",
};

/* A value for a field; kind 0: none, 1 and 2: the extremes, else at random. */
static void fill_field(const struct record_field *f, char *item, int kind)
{
	uint64_t v = kind == 0 ? 0 : kind == 1 ? UINT64_MAX : kind == 2 ? 1ull << 63 : random_u64();
	uint32_t u32 = kind == 2 ? 1u << 31 : (uint32_t)v;
	const char *text = kind == 0 ? "" : texts[random_u64() % ARRAY_SIZE(texts)];

	if (kind > 2 && random_u64() % 3 == 0)
		v = u32 = (uint32_t)(random_u64() % 1000);
	if (f->limit)
		v = u32 = (uint32_t)(v % f->limit);
	if (f->type == FIELD_TEXT_OR_NULL && kind == 0)
		text = NULL;
	switch ((enum field_type)f->type) {
	case FIELD_U32:
	case FIELD_I32:
		memcpy(item + f->offset, &u32, sizeof(u32));
		break;
	case FIELD_U64:
	case FIELD_I64:
	case FIELD_TIME:
		memcpy(item + f->offset, &v, sizeof(v));
		break;
	case FIELD_TEXT:
	case FIELD_TEXT_OR_NULL:
		memcpy(item + f->offset, &text, sizeof(text));
		break;
	}
}

static size_t field_size(const struct record_field *f)
{
	return f->type == FIELD_U32 || f->type == FIELD_I32 ? 4 : 8;
}

static void assert_same(const struct record_type *t, const char *a, const char *b)
{
	for (uint32_t i = 0; i < t->nfields; i++) {
		const struct record_field *f = &t->fields[i];

		if (f->type == FIELD_TEXT || f->type == FIELD_TEXT_OR_NULL) {
			const char *x, *y;

			memcpy(&x, a + f->offset, sizeof(x));
			memcpy(&y, b + f->offset, sizeof(y));
			if (!x || !y)
				assert_ptr_equal(x, y);
			else
				assert_string_equal(x, y);
		} else if (memcmp(a + f->offset, b + f->offset, field_size(f))) {
			fail_msg("%s.%s differs", t->name, f->name);
		}
	}
}

/* Everything a struct holds is in its table, once. */
static void test_tables_are_complete(void **state)
{
	(void)state;
	for (unsigned i = 0; i < FRT_RECS; i++) {
		const struct record_type *t = &record_types[i];
		unsigned char seen[512] = { 0 };
		uint32_t missing = 0;

		assert_true(t->size <= sizeof(seen));
		for (uint32_t k = 0; k < t->nfields; k++)
			for (size_t b = 0; b < field_size(&t->fields[k]); b++)
				assert_int_equal(seen[t->fields[k].offset + b]++, 0);
		for (uint32_t b = 0; b < t->size; b++)
			missing += !seen[b];
		/* four bytes of padding where an odd number of u32 meets a u64 */
		for (uint32_t b = 0; missing && b < t->size; b += 4)
			if (!seen[b])
				missing -= 4 * (b % 8 == 4);
		if (missing)
			fail_msg("%s: %u bytes are in no field", t->name, missing);
	}
}

static void test_round_trip(void **state)
{
	enum { EACH = 40 };
	struct record_writer *w;
	struct frt_trail t;
	char *items[FRT_RECS], err[300] = "";
	json_t *head, *end;

	(void)state;
	assert_int_equal(record__create(in_dir("round.frt"), -1, -1, &w), 0);
	head = json_pack("{s:s, s:{s:s}}", "command", "frtrace --at 0,4000", "environment",
			 "kernel", "6.x");
	assert_int_equal(record__header(w, head), 0);
	for (unsigned i = 0; i < FRT_RECS; i++)
		items[i] = calloc(EACH, record_types[i].size);
	/* nodes first: stacks point at them */
	for (int n = 0; n < EACH; n++) {
		struct frt_node *node = (struct frt_node *)items[FRT_REC_NODE] + n;

		node->id = (uint32_t)n + 1;
		node->parent = (uint32_t)n / 2;
		node->frame = texts[(unsigned)n % ARRAY_SIZE(texts)];
		assert_int_equal(record__put(w, FRT_REC_NODE, node), 0);
	}
	for (int n = 0; n < EACH; n++) {
		for (unsigned i = 0; i < FRT_RECS; i++) {
			const struct record_type *type = &record_types[i];
			char *item = items[i] + (size_t)n * type->size;

			if (i == FRT_REC_NODE)
				continue;
			for (uint32_t k = 0; k < type->nfields; k++) {
				const struct record_field *f = &type->fields[k];
				uint32_t stack = (uint32_t)(random_u64() % EACH);

				fill_field(f, item, n < 3 ? n : 3);
				if (!strcmp(f->name, "stack"))
					memcpy(item + f->offset, &stack, sizeof(stack));
			}
			if (i == FRT_REC_LEVEL)
				((struct frt_level *)item)->id = (uint32_t)n + 1;
			assert_int_equal(record__put(w, i, item), 0);
		}
		if (n % 7 == 0)
			assert_int_equal(record__flush(w), 0);
	}
	end = json_pack("{s:i}", "status", 0);
	assert_int_equal(record__finish(w, end), 0);
	assert_int_equal(record__put(w, FRT_REC_NODE, items[FRT_REC_NODE]), -EINVAL);

	for (int again = 0; again < 2; again++) {
		if (again)
			assert_int_equal(record__load(w, &t), 0);
		else if (trail__read(in_dir("round.frt"), &t, err, sizeof(err)))
			fail_msg("%s", err);
		assert_false(t.truncated);
		assert_int_equal(t.unknown_lines, 0);
		assert_true(json_equal(t.end, end));
		assert_true(json_equal(json_object_get(t.header, "environment"),
				       json_object_get(head, "environment")));
		for (unsigned i = 0; i < FRT_RECS; i++) {
			struct record_array a;

			memcpy(&a, (char *)&t + record_types[i].array, sizeof(a));
			assert_int_equal(a.n, EACH);
			for (size_t n = 0; n < EACH; n++)
				assert_same(&record_types[i], items[i] + n * record_types[i].size,
					    (char *)a.v + n * record_types[i].size);
		}
		trail__free(&t);
	}
	for (unsigned i = 0; i < FRT_RECS; i++)
		free(items[i]);
	json_decref(head);
	json_decref(end);
	record__free(w);
}

/* Every byte sequence comes back as it was. */
static void test_text_is_lossless(void **state)
{
	char text[12], coded[6 * sizeof(text) + 3], *back;
	const char *why = NULL;

	(void)state;
	for (int n = 0; n < 200000; n++) {
		size_t len = random_u64() % (sizeof(text) - 1);

		for (size_t i = 0; i < len; i++) {
			uint64_t r = random_u64();

			/* mostly the bytes that are near the edges of UTF-8 */
			text[i] =
				"\xee\xbe\xbf\x80\xef\xed\xa0\xf4\x8f\x90\xc2\xe0\xf0\xff\"\\"[r %
											       16];
			if (r % 5 == 0 && !(text[i] = (char)(r >> 32)))
				text[i] = 1;
		}
		text[len] = '\0';
		back = text__encode(coded, text);
		memcpy(back, "\n", 2);
		json_t *any = json_loads(coded, JSON_DECODE_ANY, NULL);
		assert_non_null(any); /* any JSON reader can read it */
		json_decref(any);
		assert_non_null(text__decode(coded, &back, &why));
		assert_string_equal(back, text);
	}
}

static void test_times(void **state)
{
	static const uint64_t times[] = { 0,	1,	   999,	       1000,
					  1001, 123456789, 1ull << 63, UINT64_MAX - 1000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		uint64_t back, n;
		int negative;

		n = time__encode(times[i], 1000, &negative);
		assert_int_equal(time__decode(n, negative, 1000, &back), 0);
		assert_true(back == times[i]);
		assert_true(!n == !times[i]);
	}
	assert_int_equal(time__decode(1001, 1, 1000, &(uint64_t){ 0 }), -1);
	assert_int_equal(time__decode(UINT64_MAX, 0, 1000, &(uint64_t){ 0 }), -1);
}

/* Fields are mapped by name: reordered, new, and missing ones. */
static void test_fields_by_name(void **state)
{
	struct frt_trail t;
	char err[300] = "";
	int rc;

	(void)state;
	rc = read_text(HEAD "{\"node\":[1,0,\"do_exit\"]}\n"
			    "{\"sample\":[\"text\",11,1,null,7]}\n"
			    " { \"sample\" : [ 4 , -10 ] } \r\n"
			    "{\"later\":[1,{\"deep\":[2]}]}\n"
			    "{\"other\":{},\"sample\":[]}\n"
			    "{\"outside\":[\"udevd\"]}\n"
			    "{\"outside\":[null,\"\\u00e4\\ud83d\\udc1b\\uef80\"]}\n"
			    "{\"dead\":[3,-2147483648,0]}\n"
			    "{\"end\":{\"status\":4}}\n",
		       &t, err, sizeof(err));
	if (rc)
		fail_msg("%s", err);
	assert_int_equal(t.sample.n, 2);
	assert_int_equal(t.sample.v[0].t, 1010);
	assert_int_equal(t.sample.v[0].stack, 1);
	assert_int_equal(t.sample.v[0].task, 7);
	assert_int_equal(t.sample.v[0].nr, 0);
	assert_int_equal(t.sample.v[1].t, 990);
	assert_int_equal(t.unknown_lines, 2);
	assert_string_equal(t.outside.v[0].comm, "udevd");
	assert_null(t.outside.v[0].woken_by);
	assert_string_equal(t.outside.v[1].comm, "");
	assert_string_equal(t.outside.v[1].woken_by, "\xc3\xa4\xf0\x9f\x90\x9b\x80");
	assert_int_equal(t.dead.v[0].code, INT32_MIN);
	assert_int_equal(t.dead.v[0].t, 0);
	assert_false(t.truncated);
	assert_int_equal(json_integer_value(json_object_get(t.end, "status")), 4);
	trail__free(&t);

	assert_int_equal(
		read_text(HEAD "{\"node\":[1,0,\"a\"]}\n{\"node\":[2,1", &t, err, sizeof(err)), 0);
	assert_true(t.truncated);
	assert_null(t.end);
	assert_int_equal(t.node.n, 1);
	trail__free(&t);
}

static void test_file_appears_readable(void **state)
{
	struct frt_node node = { .id = 1, .frame = "a" };
	struct record_writer *w;
	struct frt_trail t;
	char path[128], err[300];
	struct stat st;

	(void)state;
	snprintf(path, sizeof(path), "%s", in_dir("new.frt"));
	assert_int_equal(record__create(path, (int)getuid(), (int)getgid(), &w), 0);
	assert_string_equal(record__path(w), path);
	assert_int_equal(record__put(w, FRT_REC_NODE, &node), -EINVAL);
	assert_int_equal(record__flush(w), -EINVAL);
	assert_int_equal(record__header(w, NULL), 0);
	assert_int_equal(record__header(w, NULL), -EINVAL);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(record__put(w, FRT_REC_NODE, &node), 0);
	assert_int_equal(record__flush(w), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, record__bytes(w));
	assert_int_equal(trail__read(path, &t, err, sizeof(err)), 0);
	assert_true(t.truncated);
	assert_int_equal(t.node.n, 1);
	trail__free(&t);
	assert_int_equal(record__finish(w, NULL), 0);
	assert_int_equal(record__load(w, &t), 0);
	assert_true(t.truncated); /* no end line was asked for */
	trail__free(&t);
	record__free(w);
	/* never over another file, wherever it comes from */
	assert_int_equal(record__create(path, -1, -1, &w), -EEXIST);
	assert_null(w);
	assert_int_equal(record__create(in_dir("late.frt"), -1, -1, &w), 0);
	assert_int_equal(record__header(w, NULL), 0);
	put_file(in_dir("late.frt"), "mine", 4);
	assert_int_equal(record__flush(w), -EEXIST);
	assert_int_equal(record__finish(w, NULL), -EEXIST);
	record__free(w);
	assert_int_equal(stat(in_dir("late.frt"), &st), 0);
	assert_int_equal(st.st_size, 4);
	assert_int_equal(symlink("nowhere", in_dir("link.frt")), 0);
	assert_int_equal(record__create(in_dir("link.frt"), -1, -1, &w), -EEXIST);
	assert_int_equal(record__create(in_dir("no/such.frt"), -1, -1, &w), -ENOENT);
	assert_int_equal(record__create(in_dir(""), -1, -1, &w), -EISDIR);
	assert_int_equal(record__create("", -1, -1, &w), -ENOENT);
	/* nothing of a record that never began */
	assert_int_equal(record__create(in_dir("never.frt"), -1, -1, &w), 0);
	assert_int_equal(record__header(w, NULL), 0);
	record__free(w);
	assert_int_equal(access(in_dir("never.frt"), F_OK), -1);
}

static void test_without_a_name(void **state)
{
	struct frt_node node = { .id = 1, .frame = "a" };
	json_t *end = json_object();
	struct record_writer *w;
	struct frt_trail t;

	(void)state;
	setenv("TMPDIR", record_dir, 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(record__create(NULL, -1, -1, &w), 0);
		assert_null(record__path(w));
		assert_int_equal(record__header(w, NULL), 0);
		assert_int_equal(record__put(w, FRT_REC_NODE, &node), 0);
		assert_int_equal(record__finish(w, end), 0);
		assert_int_equal(record__load(w, &t), 0);
		assert_int_equal(t.node.n, 1);
		assert_false(t.truncated);
		trail__free(&t);
		record__free(w);
		setenv("TMPDIR", "/nowhere", 1); /* then in memory */
	}
	unsetenv("TMPDIR");
	json_decref(end);
}

/* Where files without a name are not supported. */
static void test_hidden_name(void **state)
{
	struct record_file f = { .fd = -1, .dir = -1, .path = strdup("x") };

	(void)state;
	f.name = "plain.frt";
	f.dir = open(record_dir, O_PATH | O_DIRECTORY);
	f.temp = strdup(".plain.frt.1");
	f.fd = openat(f.dir, f.temp, O_RDWR | O_CREAT | O_EXCL, 0600);
	assert_int_equal(record_file__publish(&f), 0);
	assert_int_equal(access(in_dir("plain.frt"), F_OK), 0);
	assert_int_equal(access(in_dir(".plain.frt.1"), F_OK), -1);
	record_file__close(&f);
	f = (struct record_file){ .fd = -1, .path = strdup("x"), .name = "plain.frt" };
	f.dir = open(record_dir, O_PATH | O_DIRECTORY);
	f.temp = strdup(".plain.frt.1");
	f.fd = openat(f.dir, f.temp, O_RDWR | O_CREAT | O_EXCL, 0600);
	assert_int_equal(record_file__publish(&f), -EEXIST);
	record_file__close(&f);
	assert_int_equal(access(in_dir(".plain.frt.1"), F_OK), -1);
}

static void test_disk_full(void **state)
{
	struct record_file full = { .fd = open("/dev/full", O_WRONLY), .dir = -1 };
	struct frt_node node = { .frame = "a" };
	struct rlimit limit, old;
	struct record_writer *w;
	struct frt_trail t;
	char err[300];
	int rc = 0;

	(void)state;
	assert_int_equal(record_file__write(&full, "x", 1), -ENOSPC);
	record_file__close(&full);
	/* a file that may not grow fails in the same place */
	assert_int_equal(record__create(in_dir("full.frt"), -1, -1, &w), 0);
	assert_int_equal(record__header(w, NULL), 0);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	limit.rlim_cur = 20000;
	setrlimit(RLIMIT_FSIZE, &limit);
	for (uint32_t i = 1; i < 1000000 && !rc; i++) {
		char frame[32];

		snprintf(frame, sizeof(frame), "%016llx", (unsigned long long)random_u64());
		node = (struct frt_node){ .id = i, .frame = frame };
		rc = record__put(w, FRT_REC_NODE, &node);
		if (!rc && i % 100 == 0)
			rc = record__flush(w);
	}
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(rc, -EFBIG);
	assert_int_equal(record__put(w, FRT_REC_NODE, &node), -EFBIG);
	assert_int_equal(record__flush(w), -EFBIG);
	assert_int_equal(record__finish(w, NULL), -EFBIG);
	record__free(w);
	if (trail__read(in_dir("full.frt"), &t, err, sizeof(err)))
		fail_msg("%s", err);
	assert_true(t.truncated);
	assert_true(t.node.n > 500);
	trail__free(&t);
}

static void test_too_long(void **state)
{
	char *long_text = malloc(RECORD_LINE_MAX + 1);
	struct frt_node node = { .id = 1, .frame = long_text };
	struct record_writer *w;
	struct frt_trail t;

	(void)state;
	memset(long_text, 'a', RECORD_LINE_MAX);
	long_text[RECORD_LINE_MAX / 7] = '\0';
	assert_int_equal(record__create(NULL, -1, -1, &w), 0);
	assert_int_equal(record__header(w, NULL), 0);
	assert_int_equal(record__put(w, FRT_REC_NODE, &node), 0);
	long_text[RECORD_LINE_MAX / 7] = 'a';
	long_text[RECORD_LINE_MAX] = '\0';
	assert_int_equal(record__flush(w), 0);
	assert_int_equal(record__put(w, FRT_REC_NODE, &node), -E2BIG);
	assert_int_equal(record__load(w, &t), 0);
	assert_int_equal(strlen(t.node.v[0].frame), RECORD_LINE_MAX / 7);
	trail__free(&t);
	record__free(w);
	free(long_text);
}

/* doc/record.md ends in what the tables say. */
static void test_documented(void **state)
{
	const char *set = getenv("UPDATE_GOLDEN");
	char *doc, *fields = NULL, *mark;
	size_t n, size;
	FILE *f;

	(void)state;
	f = open_memstream(&fields, &size);
	record__describe(f);
	fclose(f);
	doc = get_file("doc/record.md", &n);
	doc[n] = '\0';
	mark = strstr(doc, "-->\n");
	assert_non_null(mark);
	mark += 4;
	if (set && !strcmp(set, "1")) {
		f = fopen("doc/record.md", "w");
		assert_non_null(f);
		fprintf(f, "%.*s\n%s", (int)(mark - doc), doc, fields);
		assert_int_equal(fclose(f), 0);
	} else {
		assert_string_equal(mark + strspn(mark, "\n"), fields);
	}
	free(doc);
	free(fields);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables_are_complete),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_text_is_lossless),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_fields_by_name),
		cmocka_unit_test(test_file_appears_readable),
		cmocka_unit_test(test_without_a_name),
		cmocka_unit_test(test_hidden_name),
		cmocka_unit_test(test_disk_full),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_documented),
	};

	return cmocka_run_group_tests(tests, record_help__setup, record_help__teardown);
}
