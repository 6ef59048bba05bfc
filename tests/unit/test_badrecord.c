/* SPDX-License-Identifier: BSD-2-Clause */
/* What is no record, or half of one: a clear error or what is left, never a crash. */
#include "util/util.h" /* before cmocka, which makes a macro of fail() */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "record/fields.h"
#include "record/record.h"
#include "record/source.h"
#include "record_help.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void test_malformed(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "", "x.frt: empty" },
		{ "{\"frtrace\":1", "cut off before the end of its first line" },
		{ "\n", "line 1: not an frtrace record" },
		{ "hello\n", "line 1: not an frtrace record" },
		{ "[1]\n", "not an frtrace record" },
		{ "{\"frtrace\":\"1\"}\n", "not an frtrace record" },
		{ "{\"frtrace\":2}\n", "line 1: record format 2; this frtrace reads format 1" },
		{ "{\"frtrace\":1}\n", "no clock.mono" },
		{ "{\"frtrace\":1,\"clock\":{\"mono\":-5}}\n", "no clock.mono" },
		{ "{\"frtrace\":1,\"clock\":{\"mono\":5}}\n", "no fields" },
		{ "{\"frtrace\":1,\"frtrace\":1}\n", "not an frtrace record" },
		{ "{\"frtrace\":1,\"clock\":{\"mono\":5},\"fields\":{\"call\":7}}\n",
		  "fields of call" },
		{ "{\"frtrace\":1,\"clock\":{\"mono\":5},\"fields\":{\"call\":[7]}}\n",
		  "not a name" },
		{ "{\"frtrace\":1,\"clock\":{\"mono\":5},\"fields\":{\"call\":[\"nr\",\"nr\"]}}\n",
		  "nr twice" },
		{ HEAD "\n", "line 2: not JSON" },
		{ HEAD "{\"end\":{}}\n{\"end\":{}}\n", "line 3: a line after the end line" },
		{ HEAD "{\"end\":1}\n", "end: not an object" },
		{ HEAD "{}\n", "line 2: not an object" },
		{ HEAD "[]\n", "line 2: not an object" },
		{ HEAD "{\"new\":[1,]}\n", "line 2: not JSON" },
		{ HEAD "{\"new\":NaN}\n", "line 2: not JSON" },
		{ HEAD "{\"call\":[1]}\n", "does not list its fields" },
		{ HEAD "{\"dead\":{}}\n", "dead: not an array" },
		{ HEAD "{\"dead\":[1\n", "dead: malformed after value 1" },
		{ HEAD "{\"dead\":[1}\n", "dead: malformed after value 1" },
		{ HEAD "{\"dead\":[1,]}\n", "dead: malformed after value 1" },
		{ HEAD "{\"dead\":[1 2]}\n", "dead: malformed after value 1" },
		{ HEAD "{\"dead\":[,1]}\n", "dead: task: not a number" },
		{ HEAD "{\"dead\":[1]\n", "malformed behind its values" },
		{ HEAD "{\"dead\":[1],\"dead\":[2]}\n", "malformed behind its values" },
		{ HEAD "{\"dead\":[1]} x\n", "something behind" },
		{ HEAD "{\"dead\":[1,2,3,4]}\n", "more values than the header lists" },
		{ HEAD "{\"dead\":[NaN]}\n", "task: not a number" },
		{ HEAD "{\"dead\":[Infinity]}\n", "task: not a number" },
		{ HEAD "{\"dead\":[true]}\n", "task: not a number" },
		{ HEAD "{\"dead\":[null]}\n", "task: not a number" },
		{ HEAD "{\"dead\":[[1]]}\n", "task: not a number" },
		{ HEAD "{\"dead\":[+1]}\n", "task: not a number" },
		{ HEAD "{\"dead\":[1.5]}\n", "task: not a whole number" },
		{ HEAD "{\"dead\":[1e3]}\n", "task: not a whole number" },
		{ HEAD "{\"dead\":[01]}\n", "task: not a whole number" },
		{ HEAD "{\"dead\":[-1]}\n", "task: number out of range" },
		{ HEAD "{\"dead\":[4294967296]}\n", "task: number out of range" },
		{ HEAD "{\"dead\":[18446744073709551616]}\n", "task: number out of range" },
		{ HEAD "{\"dead\":[1,2147483648]}\n", "code: number out of range" },
		{ HEAD "{\"dead\":[1,-2147483649]}\n", "code: number out of range" },
		{ HEAD "{\"dead\":[1,0,-1001]}\n", "t: time out of range" },
		{ HEAD "{\"dead\":[1,0,18446744073709551615]}\n", "t: time out of range" },
		{ HEAD "{\"dead\":[\"1\"]}\n", "task: a text where a number belongs" },
		{ HEAD "{\"node\":[1,0,7]}\n", "frame: a number where a text belongs" },
		{ HEAD "{\"node\":[1,0,\"a]}\n", "frame: text without its closing quote" },
		{ HEAD "{\"node\":[1,0,\"a\tb\"]}\n", "frame: control character" },
		{ HEAD "{\"node\":[1,0,\"\\x41\"]}\n", "frame: bad escape" },
		{ HEAD "{\"node\":[1,0,\"\\\n", "frame: bad escape" },
		{ HEAD "{\"node\":[1,0,\"\\u00\n", "frame: bad \\u escape" },
		{ HEAD "{\"node\":[1,0,\"\\u0000\"]}\n", "frame: bad \\u escape" },
		{ HEAD "{\"node\":[1,0,\"\\ud800\"]}\n", "frame: bad \\u escape" },
		{ HEAD "{\"node\":[1,0,\"\\udc00\"]}\n", "frame: bad \\u escape" },
		{ HEAD "{\"node\":[1,0,\"\xff\"]}\n", "frame: text that is not UTF-8" },
		{ HEAD "{\"node\":[1,0,\"\xe2\x82\"]}\n", "frame: text that is not UTF-8" },
		{ HEAD "{\"node\":[2,0,\"a\"]}\n", "node: id 2 where 1 is next" },
		{ HEAD "{\"node\":[0,0,\"a\"]}\n", "node: id 0 where 1 is next" },
		{ HEAD "{\"node\":[1,1,\"a\"]}\n", "node: parent 1 of node 1 is not before it" },
		{ HEAD "{\"node\":[1,0,\"a\"]}\n{\"node\":[2,3,\"a\"]}\n", "parent 3 of node 2" },
		{ HEAD "{\"sample\":[0,1,1]}\n", "sample: stack 1 has no node" },
		{ HEAD "{\"sample\":[0,1,0,0,1,4]}\n", "sample: mode: number out of range" },
		{ HEAD "{\"level\":[0,0]}\n", "level: id 0 is not above the one before" },
		{ HEAD "{\"level\":[3,0]}\n{\"level\":[3,0]}\n",
		  "line 3: level: id 3 is not above" },
		{ HEAD "{\"level\":[1,5]}\n", "level: mode: number out of range" },
	};
	struct frt_trail t;
	char err[300];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		err[0] = '\0';
		if (read_text(bad[i].text, &t, err, sizeof(err)) != -EINVAL)
			fail_msg("accepted: %s", bad[i].text);
		if (!strstr(err, bad[i].says) || strchr(err, '\n'))
			fail_msg("\"%s\" gives \"%s\", not \"%s\"", bad[i].text, err, bad[i].says);
		assert_null(t.header);
		assert_null(t.node.v);
	}
	assert_int_equal(read_text("", &t, NULL, 0), -EINVAL);
}

/* A record of all kinds of lines. */
static void write_sample(const char *path, json_t *end)
{
	struct record_writer *w;
	struct frt_node node = { .frame = "schedule" };
	struct frt_exec ex = { .task = 1, .args = "ip\x1fnetns", .comm = "ip" };
	struct frt_call call = { .task = 1, .nr = 272, .ret = -22, .text = "/sys" };

	assert_int_equal(record__create(path, -1, -1, &w), 0);
	assert_int_equal(record__header(w, NULL), 0);
	for (uint32_t i = 1; i <= 5; i++) {
		node.id = i;
		node.parent = i - 1;
		call.t0 = call.t1 = ex.t = 1000000 + random_u64() % 100000000;
		assert_int_equal(record__put(w, FRT_REC_NODE, &node), 0);
		assert_int_equal(record__put(w, FRT_REC_EXEC, &ex), 0);
		assert_int_equal(record__put(w, FRT_REC_CALL, &call), 0);
		assert_int_equal(record__flush(w), 0);
	}
	assert_int_equal(record__finish(w, end), 0);
	record__free(w);
}

/* However short: what is left is read, and said to be truncated. */
static void test_truncated_anywhere(void **state)
{
	json_t *end = json_pack("{s:i}", "status", 0);
	struct frt_trail t;
	char err[300], *data;
	size_t n, nodes = 0, len;
	int rc;

	(void)state;
	write_sample(in_dir("cut.frt"), end);
	json_decref(end);
	data = get_file(in_dir("cut.frt"), &n);
	for (len = 0; len < n; len++) {
		rc = read_bytes(data, len, &t, err, sizeof(err));
		if (rc && (rc != -EINVAL || nodes || len < 2 ? len > 1 : !strstr(err, "cut off")))
			fail_msg("%zu of %zu bytes: %s", len, n, err);
		if (rc)
			continue;
		assert_true(t.truncated);
		assert_null(t.end);
		assert_true(t.node.n >= nodes);
		nodes = t.node.n;
		trail__free(&t);
	}
	assert_int_equal(nodes, 5);
	assert_int_equal(read_bytes(data, n, &t, err, sizeof(err)), 0);
	assert_false(t.truncated);
	trail__free(&t);
	free(data);
}

/* Damaged anywhere: an error, or what a check sum cannot see; never a crash. */
static void test_damaged_anywhere(void **state)
{
	json_t *end = json_pack("{s:i}", "status", 0);
	struct frt_trail t;
	char err[300], *data;
	size_t n, refused = 0;

	(void)state;
	write_sample(in_dir("bad.frt"), end);
	json_decref(end);
	data = get_file(in_dir("bad.frt"), &n);
	for (size_t i = 0; i < n; i++) {
		for (int bit = 0; bit < 8; bit++) {
			data[i] ^= (char)(1 << bit);
			err[0] = '\0';
			if (read_bytes(data, n, &t, err, sizeof(err))) {
				assert_true(err[0] && !strchr(err, '\n'));
				refused++;
			} else {
				trail__free(&t);
			}
			data[i] ^= (char)(1 << bit);
		}
	}
	assert_true(refused > 7 * n);
	data[n] = 'x';
	assert_int_equal(read_bytes(data, n + 1, &t, err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "not gzip after the end"));
	free(data);
}

static void test_not_a_record(void **state)
{
	static const unsigned char gz_rubbish[] = {
		0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff
	};
	struct frt_trail t;
	char err[300];

	(void)state;
	assert_int_equal(trail__read(record_dir, &t, err, sizeof(err)), -EISDIR);
	assert_non_null(strstr(err, "a directory, not a record"));
	assert_int_equal(trail__read(in_dir("none"), &t, err, sizeof(err)), -ENOENT);
	assert_non_null(strstr(err, "none: cannot open: No such file"));
	put_file(in_dir("empty"), "", 0);
	assert_int_equal(trail__read(in_dir("empty"), &t, err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "empty: not an frtrace record"));
	put_file(in_dir("rubbish"), gz_rubbish, sizeof(gz_rubbish));
	assert_int_equal(trail__read(in_dir("rubbish"), &t, err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "damaged gzip stream"));
	put_file(in_dir("new\nline"), "", 0);
	assert_int_equal(trail__read(in_dir("new\nline"), &t, err, sizeof(err)), -EINVAL);
	assert_null(strchr(err, '\n'));
	trail__free(&t); /* of what was never read */
}

/* Text of n times the same line behind a header, compressed. */
static unsigned char *bomb(const char *line, size_t n, size_t *len)
{
	size_t cap = 1 << 20, rest = strlen(line);
	unsigned char *out = malloc(cap);
	z_stream z = { .next_out = out, .avail_out = (unsigned)cap };

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (unsigned char *)(uintptr_t)HEAD;
	z.avail_in = sizeof(HEAD) - 1;
	for (size_t i = 0; i <= n; i++) {
		assert_int_equal(deflate(&z, i == n ? Z_FINISH : Z_NO_FLUSH),
				 i == n ? Z_STREAM_END : Z_OK);
		z.next_in = (unsigned char *)(uintptr_t)line;
		z.avail_in = (unsigned)rest;
	}
	*len = cap - z.avail_out;
	deflateEnd(&z);
	return out;
}

static void test_limits(void **state)
{
	struct record_source src = { .fd = -1 };
	struct frt_trail t;
	char err[300], *line;
	unsigned char *data;
	size_t n;

	(void)state;
	/* a line without end */
	data = bomb("xxxxxxxxxxxxxxxx", 1 << 20, &n);
	assert_int_equal(read_bytes(data, n, &t, err, sizeof(err)), -EFBIG);
	assert_non_null(strstr(err, "line 2: a line of more than 1048576 bytes"));
	free(data);
	/* small lines, very many */
	data = bomb("{\"dead\":[]}\n", 1 << 20, &n);
	src.mem = data;
	src.left = n;
	src.text_max = 8 << 20;
	assert_int_equal(trail__read_source(&src, "x.frt", &t, err, sizeof(err)), -EFBIG);
	assert_non_null(strstr(err, "more than 8 MiB of text"));
	src.mem = data;
	src.left = n;
	src.text_max = 0;
	src.data_max = 16 << 20;
	assert_int_equal(trail__read_source(&src, "x.frt", &t, err, sizeof(err)), -EFBIG);
	assert_non_null(strstr(err, "more than 16 MiB of data"));
	assert_null(t.dead.v);
	free(data);
	/* the longest line that is one */
	n = strlen(HEAD);
	line = malloc(n + RECORD_LINE_MAX + 1);
	memcpy(line, HEAD, n);
	memset(line + n, ' ', RECORD_LINE_MAX);
	memcpy(line + n, "{\"new\":1}", 9);
	line[n + RECORD_LINE_MAX - 1] = '\n';
	assert_int_equal(read_bytes(line, n + RECORD_LINE_MAX, &t, err, sizeof(err)), 0);
	assert_int_equal(t.unknown_lines, 1);
	trail__free(&t);
	free(line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_malformed),	 cmocka_unit_test(test_truncated_anywhere),
		cmocka_unit_test(test_damaged_anywhere), cmocka_unit_test(test_not_a_record),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, record_help__setup, record_help__teardown);
}
