// SPDX-License-Identifier: BSD-2-Clause
/* The tracer of a build without BPF: there is none, and it says so. */
#include "trace/trace.h"

#include "util/util.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define REASON "built without BPF (make BPF=0)"
#define REMEDY "build with plain `make`, which needs clang, bpftool and libbpf"

int trace__open(const struct trace_opts *o, struct trace **out, char *err, size_t errlen)
{
	(void)o;
	*out = NULL;
	return fail(err, errlen, -ENOTSUP,
		    "tracing: this frtrace was " REASON "; use --untraced, or " REMEDY);
}

int trace__add_creator(struct trace *t, unsigned stream, volatile uint32_t **cell, uint32_t *task)
{
	(void)t;
	(void)stream;
	*cell = NULL;
	*task = 0;
	return -ENOTSUP;
}

int trace__drop_creator(struct trace *t, unsigned stream)
{
	(void)t;
	(void)stream;
	return -ENOTSUP;
}

int trace__add_process(struct trace *t, int pidfd)
{
	(void)t;
	(void)pidfd;
	return -ENOTSUP;
}

void trace__sampling(struct trace *t, bool on)
{
	(void)t;
	(void)on;
}

int trace__drain(struct trace *t)
{
	(void)t;
	return -ENOTSUP;
}

int trace__outside_begin(struct trace *t, bool baseline)
{
	(void)t;
	(void)baseline;
	return 0;
}

int trace__outside_end(struct trace *t)
{
	(void)t;
	return 0;
}

int trace__outside_put(struct trace *t, uint32_t level)
{
	(void)t;
	(void)level;
	return 0;
}

bool trace__deferring(const struct trace *t)
{
	(void)t;
	return false;
}

int trace__fd(const struct trace *t)
{
	(void)t;
	return -ENOTSUP;
}

int trace__pause(struct trace *t)
{
	(void)t;
	return -ENOTSUP;
}

int trace__resume(struct trace *t)
{
	(void)t;
	return -ENOTSUP;
}

int trace__loss(struct trace *t, struct frt_loss *out)
{
	(void)t;
	memset(out, 0, sizeof(*out));
	return -ENOTSUP;
}

int trace__count_netns(struct trace *t, uint64_t *n)
{
	(void)t;
	*n = 0;
	return -ENOTSUP;
}

struct json_t *trace__probes(const struct trace *t)
{
	(void)t;
	return json_pack("{s:s, s:i, s:i, s:[], s:[]}", "backend", "untraced", "wanted", 0,
			 "attached", 0, "missing", "functions");
}

uint32_t trace__probes_missing(const struct trace *t)
{
	(void)t;
	return 0;
}

void trace__probes_explain(const struct trace *t,
			   void (*put)(void *ctx, bool missing, const char *line), void *ctx)
{
	(void)t;
	(void)put;
	(void)ctx;
}

void trace__probes_times(const struct trace *t, uint64_t *attach_ns, uint64_t *detach_ns)
{
	(void)t;
	*attach_ns = *detach_ns = 0;
}

uint64_t trace__map_bytes(const struct trace *t)
{
	(void)t;
	return 0;
}

void trace__close(struct trace *t)
{
	(void)t;
}

size_t trace__features(struct trace_feature *v, size_t max)
{
	if (max) {
		memset(v, 0, sizeof(*v));
		v->name = "trace";
		v->state = TRACE_NO;
		snprintf(v->reason, sizeof(v->reason), "%s", REASON);
		snprintf(v->remedy, sizeof(v->remedy), "%s", REMEDY);
	}
	return 1;
}
