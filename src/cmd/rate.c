/* SPDX-License-Identifier: BSD-2-Clause */
/* frtrace rate: routers per second as their number grows, one or many streams. */
#include "cmd/rate.h"

#include "cmd/cli.h"
#include "cmd/present.h"
#include "cmd/recording.h"
#include "cmd/replace.h"
#include "report/rate.h"
#include "util/util.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static json_t *numbers(const uint64_t *v, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(a, json_integer((json_int_t)v[i]));
	return a;
}

static json_t *options_object(const struct rate_opts *o)
{
	json_t *opts = json_object(), *modes = json_array();

	for (size_t i = 0; i < o->nmodes; i++)
		json_array_append_new(modes, json_string(workload__mode_name(o->mode[i])));
	json_object_set_new(opts, "to", json_integer((json_int_t)o->to));
	json_object_set_new(opts, "every", json_integer((json_int_t)o->every));
	json_object_set_new(opts, "modes", modes);
	json_object_set_new(opts, "predict", numbers(o->predict, o->npredict));
	if (o->over_time) {
		json_object_set_new(opts, "streams", numbers(o->streams, o->nstreams));
		json_object_set_new(opts, "interval", json_integer((json_int_t)o->interval));
	}
	json_object_set_new(opts, "sample", json_integer((json_int_t)o->sample));
	if (o->nat)
		json_object_set_new(opts, "at", numbers(o->at, o->nat));
	json_object_set_new(opts, "repeat", json_integer((json_int_t)o->repeat));
	json_object_set_new(opts, "stall", json_integer((json_int_t)o->stall));
	if (o->sudo)
		json_object_set_new(opts, "sudo", json_string(o->sudo));
	if (o->ip)
		json_object_set_new(opts, "ip", json_string(o->ip));
	return opts;
}

static int open_record(struct rate_run *r, const char *command)
{
	const struct rate_opts *o = r->o;
	struct recording rec = {
		.output = o->output,
		.command = command,
		.mode = o->nmodes == 1 ? workload__mode_name(o->mode[0]) : "several",
		.ip = o->ip,
		.sudo = o->sudo,
		.options = options_object(o),
		.notes = json_array(),
	};

	for (size_t i = 0; i < o->nmodes; i++)
		if (workload__mode_note(o->mode[i]))
			json_array_append_new(rec.notes,
					      json_string(workload__mode_note(o->mode[i])));
	return recording__begin(&r->s, &rec);
}

static int open_all(struct rate_run *r, const char *command)
{
	const struct rate_opts *o = r->o;
	struct trace_opts to = {
		.backend = TRACE_AUTO,
		.streams = (unsigned)o->streams[o->nstreams - 1],
		.waits = true,
	};
	struct utsname u;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int rc;

	if (geteuid())
		return cli__error(
			CLI_UNABLE,
			"not root: network namespaces need CAP_SYS_ADMIN; run it with sudo");
	uname(&u);
	snprintf(r->kernel, sizeof(r->kernel), "%s", u.release);
	r->cpus = cpus > 0 ? (uint32_t)cpus : 0;
	session__init(&r->s, to.streams, 0);
	if (o->trace) {
		to.sink = session__sink(&r->s);
		rc = trace__open(&to, &r->s.trace, r->err, sizeof(r->err));
		if (rc)
			return cli__error(CLI_UNABLE, "%s; or leave --trace out", r->err);
	}
	return open_record(r, command);
}

static int measure_all(struct rate_run *r)
{
	const struct rate_opts *o = r->o;
	bool go_on = true, first = true;
	int status = CLI_OK;

	for (uint64_t run = 1; go_on && run <= o->repeat; run++)
		for (size_t m = 0; go_on && m < o->nmodes; m++)
			for (size_t s = 0; go_on && s < o->nstreams; s++, first = false) {
				if (!first && !o->json)
					putchar('\n');
				status = cli__worse(status, rate__case(r, o->mode[m],
								       (uint32_t)o->streams[s],
								       (uint32_t)run, &go_on));
			}
	return status;
}

static int write_csv(const struct rate_opts *o, const struct frt_trail *t)
{
	struct replace out;
	struct rate *rate;
	int rc;

	rc = analyze__rate(t, NULL, NULL, 0, &rate);
	if (rc)
		return rc == -ENODATA ? 0 : rc; /* nothing was measured: no table */
	rc = replace__open(&out, o->csv);
	if (!rc) {
		rc = report__rate_csv(out.out, rate);
		if (rc)
			replace__abort(&out);
		else
			rc = replace__commit(&out);
	}
	rate__free(rate);
	return rc;
}

/* The record's end, then what stands below the rows, from what was recorded. */
static int finish(struct rate_run *r, int status)
{
	const struct rate_opts *o = r->o;
	struct present_opts po = { .json = o->json };
	struct frt_trail trail = { 0 };
	json_t *end;
	int rc;

	memcpy(po.predict, o->predict, sizeof(po.predict));
	po.npredict = o->npredict;
	end = json_object();
	if (*r->cause)
		json_object_set_new(end, "cause", json_string(r->cause));
	if (!recording__end(&r->s, end, &status))
		return status;
	rc = record__load(r->s.rec, &trail);
	if (!rc && (trail.rate.n || trail.point.n))
		rc = present__rate(&trail, &po, !o->json);
	if (rc)
		status = cli__worse(status,
				    cli__error(CLI_FAILED, "the report: %s", strerror(-rc)));
	if (o->csv) {
		rc = write_csv(o, &trail);
		if (rc)
			status = cli__worse(status, cli__error(CLI_FAILED,
							       "%s: %s; give another --csv FILE",
							       o->csv, strerror(-rc)));
	}
	trail__free(&trail);
	recording__tell(&r->s, o->quiet);
	return status;
}

int cmd_rate(int argc, char **argv)
{
	struct rate_opts o;
	struct rate_run *r;
	char *command = cli__command_line(argc, argv);
	int status, rc = rate__options(argc, argv, &o);

	if (rc || !command) {
		free(command);
		return rc ? rc - 1000 : CLI_FAILED;
	}
	r = calloc(1, sizeof(*r));
	if (!r) {
		free(command);
		return cli__error(CLI_FAILED, "out of memory");
	}
	r->o = &o;
	status = open_all(r, command);
	free(command);
	if (!status) {
		status = measure_all(r);
		if (!status && o.strict && session__lost(&r->s))
			status = cli__error(CLI_LOST, "data was lost; --strict");
		status = finish(r, status);
	}
	if (r->s.streams)
		session__close(&r->s);
	record__free(r->s.rec);
	free(r);
	return status;
}
