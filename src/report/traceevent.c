/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace-event format (JSON object form, complete events "X"): what Perfetto,
 * the Chromium and the Firefox viewers read. A process is one stream at one
 * level, and begins at 0, so that the same step at two levels stands one above
 * the other. Times are µs with ns behind the point.
 */
#include "report/exporters.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "analyze/timeline.h"
#include "report/emit.h"
#include "report/select.h"
#include "util/util.h"

static void write_us(FILE *out, uint64_t ns)
{
	fprintf(out, "%llu.%03u", (unsigned long long)(ns / 1000), (unsigned)(ns % 1000));
}

static void write_names(FILE *out, const struct timeline *tl)
{
	for (size_t i = 0; i < tl->ngroups; i++) {
		const struct track_group *g = &tl->groups[i];
		bool used[64] = { false };
		char name[128], run[32] = "";

		if (g->run > 1)
			snprintf(run, sizeof(run), ", run %u", g->run);
		snprintf(name, sizeof(name), "at %u%s%s, stream %u", g->asked,
			 g->again ? " again" : "", run, g->stream + 1);
		fprintf(out,
			"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%zu,\"tid\":0,\"args\":{\"name\":",
			i + 1);
		emit_json(out, name);
		fprintf(out,
			"}},\n{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%zu,\"tid\":0,"
			"\"args\":{\"sort_index\":%zu}},\n",
			i + 1, i);
		for (size_t k = 0; k < tl->nspans; k++)
			if (tl->spans[k].group == i && tl->spans[k].track < ARRAY_SIZE(used))
				used[tl->spans[k].track] = true;
		for (unsigned t = 0; t < ARRAY_SIZE(used); t++)
			if (used[t])
				fprintf(out,
					"{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%zu,\"tid\":%u,"
					"\"args\":{\"name\":\"%s\"}},\n"
					"{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%zu,\"tid\":%u,"
					"\"args\":{\"sort_index\":%u}},\n",
					i + 1, t + 1, track_name(t), i + 1, t + 1, t);
	}
}

static void write_span(FILE *out, const struct span *s, const struct track_group *g)
{
	char name[EMIT_NAME_MAX + 8];

	fprintf(out, "{\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":", s->group + 1, s->track + 1);
	write_us(out, s->t0 - g->t0);
	fputs(",\"dur\":", out);
	write_us(out, s->t1 - s->t0);
	fprintf(out, ",\"cat\":\"%s\",\"name\":", span_kind_names[s->kind]);
	emit_json(out, clean_name(name, s->name));
	fprintf(out, ",\"args\":{\"router\":%u", s->router);
	if (s->kind == SPAN_WAIT && s->by && *s->by) {
		fputs(",\"ended by\":", out);
		emit_json(out, clean_name(name, s->by));
	}
	if (s->kind == SPAN_ACTION)
		fprintf(out, ",\"ret\":%lld", (long long)s->ret);
	if (s->kind == SPAN_ACTION || s->kind == SPAN_FUNCTION)
		fprintf(out, ",\"cpu ns\":%llu", (unsigned long long)s->cpu_ns);
	if (s->kind == SPAN_FUNCTION)
		fprintf(out, ",\"calls\":%llu,\"begin\":\"not recorded\"",
			(unsigned long long)s->n);
	fputs("}}", out);
}

static bool has(const uint32_t *v, size_t n, uint32_t id)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] == id)
			return true;
	return false;
}

/* The worst of each level, and the last K that --timeline asked to keep. */
static int choose(const struct frt_profile *p, const struct frt_trail *t, uint32_t **out,
		  size_t *count)
{
	const json_t *k = json_object_get(json_object_get(t->header, "options"), "timeline");
	json_int_t keep = json_is_integer(k) ? json_integer_value(k) : 0;
	size_t n = 0, cap = 0;
	uint32_t *v = NULL;

	for (size_t i = 0; i < p->nlevels; i++) {
		const struct frt_levelrow *l = &p->levels[i];
		json_int_t left = keep;

		for (size_t w = 0; w < l->nworst; w++) {
			if (has(v, n, l->worst[w].router))
				continue;
			if (grow(&v, n, &cap, sizeof(*v)))
				goto no_memory;
			v[n++] = l->worst[w].router;
		}
		for (size_t r = t->router.n; r-- > 0 && left > 0;) {
			const struct frt_router *router = &t->router.v[r];

			if (router->level != l->id || (router->flags & FRT_ROUTER_WARMUP))
				continue;
			left--;
			if (has(v, n, router->id))
				continue;
			if (grow(&v, n, &cap, sizeof(*v)))
				goto no_memory;
			v[n++] = router->id;
		}
	}
	*out = v;
	*count = n;
	return 0;
no_memory:
	free(v);
	return -ENOMEM;
}

int traceevent__write(EXPORT_ARGS)
{
	struct timeline tl = { .nspans = 0 };
	uint32_t *routers = NULL;
	size_t n = 0;
	int rc;

	rc = choose(p, o->trail, &routers, &n);
	if (!rc)
		rc = timeline__build(o->trail, routers, n, &tl);
	if (rc) {
		fail(err, errlen, rc, "trace: out of memory; record with a smaller --timeline");
		goto out;
	}
	if (!tl.nspans) {
		rc = fail(err, errlen, -ENODATA,
			  "no router of a level in it, so there is no timeline; record again with "
			  "`frtrace profile`");
		goto out;
	}
	fputs("{\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"program\":\"frtrace " FRT_VERSION
	      "\",\"kernel\":",
	      out);
	emit_json(out, environment_text(p, "kernel", "unknown"));
	fputs(",\"command\":", out);
	emit_json(out, p->command ? p->command : "");
	fputs("},\n\"traceEvents\":[\n", out);
	write_names(out, &tl);
	for (size_t i = 0; i < tl.nspans; i++) {
		write_span(out, &tl.spans[i], &tl.groups[tl.spans[i].group]);
		fputs(i + 1 < tl.nspans ? ",\n" : "\n", out);
	}
	fputs("]}\n", out);
out:
	timeline__free(&tl);
	free(routers);
	return rc;
}
