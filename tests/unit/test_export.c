/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every exporter on profiles made by hand: stored outputs, sums against the
 * profile's own, and what they say to selections that make no sense.
 * With --write DIR it leaves all outputs there, for readers that are not ours.
 */
#include "util/util.h" /* before cmocka, which makes a macro of fail() */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/analyze.h"
#include "analyze/csv.h"
#include "analyze/rate.h"
#include "build_trail.h"
#include "golden.h"
#include "report/report.h"
#include "sample_profile.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <profile.pb-c.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const struct export_opts everything = { .at = -1, .diff = { -1, -1 } };

static const struct exporter *find(const char *format)
{
	for (const struct exporter *e = report__exporters; e->format; e++)
		if (strcmp(e->format, format) == 0)
			return e;
	fail_msg("no format %s", format);
	return NULL;
}

static int try_export(const char *format, const struct frt_profile *p, const struct export_opts *o,
		      char **text, size_t *n, char *err, size_t errlen)
{
	FILE *f = open_memstream(text, n);
	int rc = find(format)->write(f, p, o, err, errlen);

	assert_int_equal(fclose(f), 0);
	return rc;
}

static char *export(const char *format, const struct frt_profile *p, const struct export_opts *o,
		    size_t *n)
{
	char err[512] = "";
	char *text = NULL;
	int rc = try_export(format, p, o, &text, n, err, sizeof(err));

	if (rc)
		fail_msg("%s: %d %s", format, rc, err);
	return text;
}

/* Rates of the two tables of 2014. */
struct tables {
	struct rate *rate[2];
	struct frt_trail trail;
};

static struct rate *read_table(const char *path)
{
	static char text[65536];
	struct csv_table t;
	struct rate *r = NULL;
	FILE *f = fopen(path, "r");
	char err[256];
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, sizeof(text), f);
	fclose(f);
	assert_int_equal(csv__parse(text, n, path, &t, err, sizeof(err)), 0);
	assert_int_equal(analyze__rate_table(&t, NULL, 0, &r), 0);
	csv__free(&t);
	return r;
}

/* Two streams at one level: a router each, with a call, a wait and functions. */
static void fill_trail(struct frt_trail *t)
{
	static const struct frt_func functions[] = {
		{ .node = 1,
		  .parent = 0,
		  .n = 1,
		  .total_ns = 7000,
		  .child_ns = 5000,
		  .function = "copy_mnt_ns" },
		{ .node = 2,
		  .parent = 1,
		  .n = 31,
		  .total_ns = 5000,
		  .off_ns = 400,
		  .function = "copy_tree" },
	};

	memset(t, 0, sizeof(*t));
	trail__header(t, "{\"environment\":{\"machine\":\"x86_64\"},\"options\":{\"timeline\":2}}");
	trail__level(t, 4000, 4003);
	for (uint32_t stream = 0; stream < 2; stream++) {
		uint64_t t0 = 1000000 + stream * 5000, child = 10 + stream;
		struct frt_stepinst *s;
		struct frt_func *f;
		struct frt_off *o;

		trail__creator(t, stream + 1);
		trail__router(t, t0)->stream = stream;
		s = trail__step(t, FRT_STEP_EXEC, 40000, stream + 1);
		trail__born(t, s->instance, (uint32_t)child, stream + 1, t0 + 100, t0 + 200,
			    t0 + 300, (struct used){ 0 });
		trail__call(t, s->instance, (uint32_t)child, 272, t0 + 2000, t0 + 12000, 10000);
		for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
			f = trail_add(t, func);
			*f = functions[i];
			f->task = (uint32_t)child;
			f->instance = s->instance;
			f->seq = t->call.v[t->call.n - 1].seq;
			f->nr = 272;
		}
		trail__call(t, s->instance, (uint32_t)child, 35, t0 + 13000, t0 + 30000, 1000);
		o = trail__slept(t, s->instance, (uint32_t)child, 35, t0 + 13500, t0 + 29000,
				 t0 + 29500, (struct used){ 12000, 1000 }, 0, (struct used){ 0 });
		o->waker_comm = "swapper/<0>";
		trail__preempted(t, s->instance, (uint32_t)child, t0 + 31000, t0 + 31500,
				 (struct used){ 13000, 1500 });
		trail__dead(t, s->instance, (uint32_t)child, t0 + 39000,
			    (struct used){ 20000, 2000 });
	}
}

static int set_up(void **state)
{
	struct tables *x = calloc(1, sizeof(*x));

	x->rate[0] = read_table("data/rates-2014.csv");
	x->rate[1] = read_table("data/streams-2014.csv");
	fill_trail(&x->trail);
	*state = x;
	return 0;
}

static int tear_down(void **state)
{
	struct tables *x = *state;

	rate__free(x->rate[0]);
	rate__free(x->rate[1]);
	trail__drop(&x->trail);
	free(x);
	return 0;
}

/* One stored output. */
static const struct output {
	const char *file, *format;
	struct frt_profile *(*make)(void);
	struct export_opts o;
} outputs[] = {
#define O(s, a, k, d0, d1, top)                                                  \
	{                                                                        \
		.step = s, .at = a, .kind = k, .diff = { d0, d1 }, .icicle = top \
	}
	{ "traced.folded", "folded", sample__traced, O(NULL, -1, NULL, -1, -1, false) },
	{ "exec-0-cpu.folded", "folded", sample__traced, O("exec", 0, "cpu", -1, -1, false) },
	{ "delete-off.folded", "folded", sample__traced, O("delete", -1, "off", -1, -1, false) },
	{ "diff.folded", "folded", sample__traced, O(NULL, -1, NULL, 0, 4000, false) },
	{ "functions.folded", "folded", sample__traced, O(NULL, -1, "functions", -1, -1, false) },
	{ "runs.folded", "folded", sample__three_levels, O("add", 1000, NULL, -1, -1, false) },
	{ "levels.svg", "svg", sample__traced, O(NULL, -1, NULL, -1, -1, false) },
	{ "exec-4000.svg", "svg", sample__one_level, O("exec", 4000, NULL, -1, -1, false) },
	{ "exec-4000-icicle-off.svg", "svg", sample__traced, O("exec", 4000, "off", -1, -1, true) },
	{ "diff.svg", "svg", sample__traced, O(NULL, -1, NULL, 0, 4000, false) },
	{ "diff-back.svg", "svg", sample__traced, O("exec", -1, "cpu", 4000, 0, false) },
	{ "functions.svg", "svg", sample__traced, O(NULL, 4000, "functions", -1, -1, false) },
	{ "rate.svg", "svg", sample__empty, O(NULL, -1, "rate", -1, -1, false) },
	{ "rate-levels.svg", "svg", sample__untraced, O(NULL, -1, "rate", -1, -1, false) },
	{ "traced.html", "html", sample__traced, O(NULL, -1, NULL, -1, -1, false) },
	{ "untraced.html", "html", sample__untraced, O(NULL, -1, NULL, -1, -1, false) },
	{ "one-level.html", "html", sample__one_level, O(NULL, -1, NULL, -1, -1, false) },
	{ "three-levels.html", "html", sample__three_levels, O(NULL, -1, NULL, -1, -1, false) },
	{ "empty.html", "html", sample__empty, O(NULL, -1, NULL, -1, -1, false) },
	{ "traced.speedscope.json", "speedscope", sample__traced,
	  O(NULL, -1, NULL, -1, -1, false) },
	{ "veth-off.speedscope.json", "speedscope", sample__traced,
	  O("veth", 4000, "off", -1, -1, false) },
	{ "timeline.trace.json", "trace", sample__one_level, O(NULL, -1, NULL, -1, -1, false) },
	{ "traced.csv", "csv", sample__traced, O("exec", -1, NULL, -1, -1, false) },
	{ "untraced-4000.csv", "csv", sample__untraced, O("router", 4000, NULL, -1, -1, false) },
	{ "traced-steps.csv", "csv-steps", sample__traced, O(NULL, -1, NULL, -1, -1, false) },
	{ "untraced-steps.csv", "csv-steps", sample__untraced, O(NULL, 0, NULL, -1, -1, false) },
	{ "rate.csv", "csv", sample__empty, O(NULL, -1, "rate", -1, -1, false) },
	{ "traced.pb.gz", "pprof", sample__traced, O(NULL, -1, NULL, -1, -1, false) },
#undef O
};

/* What an output needs besides the profile. */
static struct export_opts complete(const struct output *out, struct tables *x)
{
	struct export_opts o = out->o;

	o.trail = &x->trail;
	if (out->make == sample__empty) {
		o.rates = (const struct rate *const *)x->rate;
		o.nrates = 2;
	}
	return o;
}

/* Scripts and style sheets are files of their own: the stored outputs hold what
 * stands around them. */
static size_t cut(char *text, size_t n, const char *from, const char *to)
{
	char *at = text, *begin, *end;

	while ((begin = strstr(at, from)) && (end = strstr(begin, to))) {
		begin += strlen(from);
		memmove(begin, end, n + 1 - (size_t)(end - text));
		n -= (size_t)(end - begin);
		at = begin;
	}
	return n;
}

/* A new version is no new output. */
static size_t cut_version(char *text, size_t n)
{
	char *at = text;

	while ((at = strstr(at, FRT_VERSION))) {
		memmove(at, at + strlen(FRT_VERSION),
			n + 1 - (size_t)(at + strlen(FRT_VERSION) - text));
		n -= strlen(FRT_VERSION);
	}
	return n;
}

static void test_golden(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(outputs); i++) {
		const struct output *out = &outputs[i];
		struct export_opts o = complete(out, *state);
		struct frt_profile *p = out->make();
		char name[100], *text, *again;
		size_t n, m;

		text = export(out->format, p, &o, &n);
		again = export(out->format, p, &o, &m);
		assert_int_equal(n, m);
		assert_memory_equal(text, again, n);
		profile__free(p);
		/* The bytes of a compressed file are zlib's affair. */
		if (strcmp(out->format, "pprof") != 0) {
			n = cut(text, n, "<style>", "</style>");
			n = cut(text, n, "<script>", "</script>");
			n = strstr(out->file, "html") || strstr(out->file, "json")
				    ? cut_version(text, n)
				    : n;
			snprintf(name, sizeof(name), "export/%s", out->file);
			golden__check(name, text, n);
		}
		free(text);
		free(again);
	}
}

static const struct frt_steprow *step_at(const struct frt_profile *p, uint32_t asked,
					 const char *step)
{
	for (size_t i = 0; i < p->nlevels; i++)
		for (size_t k = 0; k < p->levels[i].nsteps; k++)
			if (p->levels[i].asked == asked && !p->levels[i].again &&
			    strcmp(p->levels[i].steps[k].step, step) == 0)
				return &p->levels[i].steps[k];
	fail_msg("no step %s", step);
	return NULL;
}

static double total_of(const struct frt_steprow *s, const char *kind)
{
	return (strcmp(kind, "off") != 0 ? s->cpu_total_ns : 0) +
	       (strcmp(kind, "cpu") != 0 ? s->off_total_ns : 0);
}

/* Reads folded text by others' rules: the value is what stands behind the last
 * space, frames are parted by ";" and none is empty. Sums the columns. */
static void read_folded(char *text, unsigned columns, uint64_t *sum)
{
	for (char *line = text, *end; *line; line = end + 1) {
		char *frame, *next;

		end = strchr(line, '\n');
		assert_non_null(end);
		*end = '\0';
		for (unsigned c = columns; c-- > 0;) {
			char *space = strrchr(line, ' '), *stop;

			assert_non_null(space);
			sum[c] += strtoull(space + 1, &stop, 10);
			assert_true(stop > space + 1 && *stop == '\0');
			*space = '\0';
		}
		assert_int_equal(strncmp(line, "frtrace;", 8), 0);
		for (frame = line; frame; frame = next ? next + 1 : NULL) {
			next = strchr(frame, ';');
			assert_true(*frame && frame != next);
			assert_null(strstr(frame, "ffffffff"));
		}
	}
}

static void test_folded_sums(void **state)
{
	static const char *const kinds[] = { "cpu", "off", "wall" };
	static const char *const steps[] = { "add",    "exec",	 "sysctl", "veth",
					     "router", "delete", "true" };
	struct frt_profile *p = sample__traced();

	(void)state;
	for (size_t s = 0; s < ARRAY_SIZE(steps); s++) {
		for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
			struct export_opts o = {
				.at = 4000, .diff = { -1, -1 }, .step = steps[s], .kind = kinds[k]
			};
			const struct frt_steprow *row = step_at(p, 4000, steps[s]);
			const struct frt_steprow *first = step_at(p, 0, steps[s]);
			uint64_t sum[2] = { 0, 0 };
			size_t n;
			char *text = export("folded", p, &o, &n);

			read_folded(text, 1, sum);
			assert_int_equal(sum[0], (uint64_t)total_of(row, kinds[k]));
			free(text);
			if (strcmp(steps[s], "router") == 0)
				continue; /* rounded once per step */
			o.at = -1;
			o.diff[0] = 0;
			o.diff[1] = 4000;
			text = export("folded", p, &o, &n);
			sum[0] = 0;
			read_folded(text, 2, sum);
			assert_int_equal(sum[0], llround(total_of(first, kinds[k]) / first->n));
			assert_int_equal(sum[1], llround(total_of(row, kinds[k]) / row->n));
			free(text);
		}
	}
	profile__free(p);
}

/* 97 routers do not divide anything: the columns still add up. */
static void test_scaled_sums(void **state)
{
	struct export_opts o = { .at = -1, .diff = { 0, 4000 }, .step = "exec" };
	struct frt_profile *p = sample__traced();
	uint64_t sum[2] = { 0, 0 }, raw = 0;
	size_t n;
	char *text;

	(void)state;
	for (size_t i = 0; i < p->nlevels; i++)
		for (size_t k = 0; k < p->levels[i].nsteps; k++)
			p->levels[i].steps[k].n = 97;
	for (size_t i = 0; i < step_at(p, 4000, "exec")->nstacks; i++)
		raw += step_at(p, 4000, "exec")->stacks[i].ns;
	text = export("folded", p, &o, &n);
	read_folded(text, 2, sum);
	assert_int_equal(sum[1], llround((double)raw / 97));
	free(text);
	profile__free(p);
}

static void test_speedscope_sums(void **state)
{
	struct frt_profile *p = sample__traced();
	size_t n, i, k;
	char *text = export("speedscope", p, &everything, &n);
	json_t *j = json_loads(text, 0, NULL), *sheet, *w, *stack, *frame;
	json_int_t frames, sum = 0;

	(void)state;
	assert_non_null(j);
	frames = (json_int_t)json_array_size(
		json_object_get(json_object_get(j, "shared"), "frames"));
	json_array_foreach(json_object_get(j, "profiles"), i, sheet)
	{
		json_int_t all = 0;

		assert_int_equal(json_array_size(json_object_get(sheet, "samples")),
				 json_array_size(json_object_get(sheet, "weights")));
		json_array_foreach(json_object_get(sheet, "weights"), k, w)
			all += json_integer_value(w);
		assert_int_equal(all, json_integer_value(json_object_get(sheet, "endValue")));
		if (strstr(json_string_value(json_object_get(sheet, "name")), "exec at 4000, cpu"))
			sum = all;
		json_array_foreach(json_object_get(sheet, "samples"), k, stack)
		{
			size_t d;

			json_array_foreach(stack, d, frame)
				assert_in_range(json_integer_value(frame), 0, frames - 1);
		}
	}
	assert_int_equal(sum, (json_int_t)step_at(p, 4000, "exec")->cpu_total_ns);
	json_decref(j);
	free(text);
	profile__free(p);
}

static uint8_t *gunzip(const char *data, size_t n, size_t *out_n)
{
	z_stream z = { .next_in = (Bytef *)data, .avail_in = (uInt)n };
	uint8_t *out = malloc(1 << 22);

	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	z.next_out = out;
	z.avail_out = 1 << 22;
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	*out_n = z.total_out;
	inflateEnd(&z);
	return out;
}

static void test_pprof_sums(void **state)
{
	struct frt_profile *p = sample__traced();
	size_t n, m;
	char *data = export("pprof", p, &everything, &n);
	uint8_t *raw = gunzip(data, n, &m);
	Perftools__Profiles__Profile *g = perftools__profiles__profile__unpack(NULL, m, raw);
	int64_t cpu = 0, off = 0;
	uint64_t nloc;

	(void)state;
	assert_non_null(g);
	assert_int_equal(g->n_sample_type, 3);
	assert_string_equal(g->string_table[0], "");
	assert_string_equal(g->string_table[g->sample_type[0]->type], "cpu");
	assert_string_equal(g->string_table[g->sample_type[0]->unit], "ns");
	assert_string_equal(g->string_table[g->sample_type[1]->type], "off");
	assert_string_equal(g->string_table[g->sample_type[2]->type], "count");
	nloc = g->n_location;
	for (size_t i = 0; i < g->n_sample; i++) {
		const Perftools__Profiles__Sample *s = g->sample[i];
		const char *step = "";
		int64_t existing = -1;

		assert_int_equal(s->n_value, 3);
		for (size_t k = 0; k < s->n_location_id; k++)
			assert_in_range(s->location_id[k], 1, nloc);
		for (size_t k = 0; k < s->n_label; k++) {
			if (strcmp(g->string_table[s->label[k]->key], "step") == 0)
				step = g->string_table[s->label[k]->str];
			if (strcmp(g->string_table[s->label[k]->key], "existing") == 0)
				existing = s->label[k]->num;
		}
		if (strcmp(step, "sysctl") == 0 && existing == 4003) {
			cpu += s->value[0];
			off += s->value[1];
		}
	}
	assert_int_equal(cpu, (int64_t)step_at(p, 4000, "sysctl")->cpu_total_ns);
	assert_int_equal(off, (int64_t)step_at(p, 4000, "sysctl")->off_total_ns);
	perftools__profiles__profile__free_unpacked(g, NULL);
	free(raw);
	free(data);
	profile__free(p);
}

/* The data in the page: the nodes of depth 1 are the steps. */
static void test_html_sums(void **state)
{
	struct frt_profile *p = sample__traced();
	size_t n, stride = 3 + 4 * 2;
	char *text = export("html", p, &everything, &n), *at, *end;
	json_t *j, *nodes, *names, *set;
	json_int_t cpu = 0, off = 0;

	(void)state;
	assert_true(n < 2 << 20);
	at = strstr(text, "id=\"data\">");
	assert_non_null(at);
	at = strchr(at, '>') + 1;
	end = strstr(at, "</script>");
	assert_non_null(end);
	*end = '\0';
	j = json_loads(at, 0, NULL);
	assert_non_null(j);
	set = json_array_get(json_object_get(j, "sets"), 0);
	nodes = json_object_get(set, "nodes");
	names = json_object_get(set, "names");
	for (size_t i = 0; i < json_array_size(nodes); i += stride) {
		size_t name = (size_t)json_integer_value(json_array_get(nodes, i));

		if (json_integer_value(json_array_get(nodes, i + 1)) != 1 ||
		    strcmp(json_string_value(json_array_get(names, name)), "exec") != 0)
			continue;
		cpu += json_integer_value(json_array_get(nodes, i + 3 + 4));
		off += json_integer_value(json_array_get(nodes, i + 5 + 4));
	}
	assert_int_equal(cpu, (json_int_t)step_at(p, 4000, "exec")->cpu_total_ns);
	assert_int_equal(off, (json_int_t)step_at(p, 4000, "exec")->off_total_ns);
	json_decref(j);
	free(text);
	profile__free(p);
}

static void refuse(const char *format, struct frt_profile *(*make)(void), struct export_opts o,
		   int want, const char *part)
{
	struct frt_profile *p = make();
	static struct frt_trail none;
	char err[512] = "", *text = NULL;
	size_t n;
	int rc;

	o.trail = &none;
	rc = try_export(format, p, &o, &text, &n, err, sizeof(err));
	if (rc != want || !strstr(err, part) || strchr(err, '\n') || n)
		fail_msg("%s: %d, %zu bytes, '%s' (wanted %d, '%s')", format, rc, n, err, want,
			 part);
	free(text);
	profile__free(p);
}

static void test_refusals(void **state)
{
	static const char *const stacked[] = { "folded", "svg", "speedscope", "pprof" };
#define O(s, a, k, d0, d1, top) \
	(struct export_opts){ .step = s, .at = a, .kind = k, .diff = { d0, d1 }, .icicle = top }

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(stacked); i++) {
		const char *f = stacked[i];

		refuse(f, sample__traced, O("exce", -1, NULL, -1, -1, false), -EINVAL, "'exce'");
		refuse(f, sample__traced, O("exce", -1, NULL, -1, -1, false), -EINVAL,
		       "add, exec, sysctl, veth");
		refuse(f, sample__traced, O("a\033[31m", -1, NULL, -1, -1, false), -EINVAL,
		       "'a\\x1b[31m'");
		refuse(f, sample__traced, O(NULL, 17, NULL, -1, -1, false), -EINVAL,
		       "choose from 0, 4000");
		refuse(f, sample__traced, O(NULL, -1, "gpu", -1, -1, false), -EINVAL, "gpu");
		refuse(f, sample__untraced, O(NULL, -1, NULL, -1, -1, false), -ENODATA, "untraced");
		refuse(f, sample__empty, O(NULL, -1, NULL, -1, -1, false), -ENODATA, "no level");
		refuse(f, sample__traced, O("true", -1, "functions", -1, -1, false), -ENODATA,
		       "no function was probed");
	}
	refuse("folded", sample__traced, O(NULL, -1, NULL, 0, 17, false), -EINVAL, "17");
	refuse("svg", sample__traced, O(NULL, -1, NULL, 17, 0, false), -EINVAL, "17");
	refuse("csv", sample__traced, O("exce", -1, NULL, -1, -1, false), -EINVAL, "'exce'");
	refuse("csv", sample__traced, O(NULL, 1, NULL, -1, -1, false), -EINVAL,
	       "choose from 0, 4000");
	refuse("csv", sample__empty, O(NULL, -1, "rate", -1, -1, false), -ENODATA, "frtrace rate");
	refuse("csv-steps", sample__empty, O(NULL, -1, NULL, -1, -1, false), -ENODATA, "no level");
	refuse("svg", sample__empty, O(NULL, -1, "rate", -1, -1, false), -ENODATA, "frtrace rate");
	refuse("trace", sample__empty, O(NULL, -1, NULL, -1, -1, false), -ENODATA, "no router");
#undef O
}

static int write_all(const char *dir)
{
	struct tables *x;
	void *state;

	set_up(&state);
	x = state;
	for (size_t i = 0; i < ARRAY_SIZE(outputs); i++) {
		struct export_opts o = complete(&outputs[i], x);
		struct frt_profile *p = outputs[i].make();
		char path[4096], err[512];
		FILE *f;

		snprintf(path, sizeof(path), "%s/%s", dir, outputs[i].file);
		f = fopen(path, "w");
		if (!f || find(outputs[i].format)->write(f, p, &o, err, sizeof(err)) || fclose(f)) {
			fprintf(stderr, "%s: not written\n", path);
			return 1;
		}
		profile__free(p);
	}
	tear_down(&state);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),	    cmocka_unit_test(test_folded_sums),
		cmocka_unit_test(test_scaled_sums), cmocka_unit_test(test_speedscope_sums),
		cmocka_unit_test(test_pprof_sums),  cmocka_unit_test(test_html_sums),
		cmocka_unit_test(test_refusals),
	};

	if (argc == 3 && strcmp(argv[1], "--write") == 0)
		return write_all(argv[2]);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
