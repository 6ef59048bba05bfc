/* SPDX-License-Identifier: BSD-2-Clause */
/* frtrace profile: the main job, from the workload to the report. */
#include "cmd/profile.h"

#include "analyze/analyze.h"
#include "analyze/foreign.h"
#include "cmd/cli.h"
#include "cmd/present.h"
#include "cmd/recording.h"
#include "cmd/session.h"
#include "util/util.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Blocks of --overhead (design 3.7): ABBA, so that a drift of the machine falls
 * on both sides alike. */
#define OVERHEAD_ROUTERS 10
#define OVERHEAD_BLOCKS 24

struct profile_run {
	const struct profile_opts *o;
	struct session s;
	struct workload *w;
	struct rules *rules; /* --create: for what is kept of arguments */
	struct frt_level level[PROFILE_LEVELS_MAX + 1];
	uint32_t level_id;
	char err[512];
};

/* A failure of the workload as an error line; the exit status. */
static int workload_failed(struct profile_run *r, int rc)
{
	if (rc == -EINTR || cli__interrupted())
		return CLI_INTERRUPTED;
	if (session__error(&r->s))
		return recording__failed(&r->s);
	return cli__error(CLI_FAILED, "%s", workload__error(r->w));
}

static int outside_begin(struct session *s, bool baseline)
{
	int rc = s->trace ? trace__outside_begin(s->trace, baseline) : 0;

	return session__cannot(s, "count what else runs", rc);
}

static int outside_end(struct session *s)
{
	int rc = s->trace ? trace__outside_end(s->trace) : 0;

	return session__cannot(s, "count what else ran", rc);
}

/* What the machine does by itself while nothing is created. */
#define BASELINE_FIRST_MS 2000
#define BASELINE_MS 1000

static int take_baseline(struct profile_run *r)
{
	int ms = r->level_id == 1 ? BASELINE_FIRST_MS : BASELINE_MS;
	struct session *s = &r->s;
	int rc;

	/* Who does not want to wait for quiet has no baseline. */
	if (!s->trace || !r->o->settle)
		return 0;
	rc = outside_begin(s, true);
	for (; !rc && ms > 0 && !cli__interrupted(); ms -= 100)
		poll(NULL, 0, 100);
	return rc ? rc : outside_end(s);
}

static int measure_level(struct profile_run *r, uint32_t asked, bool again, uint64_t *existing)
{
	const struct profile_opts *o = r->o;
	struct frt_level l = {
		.id = ++r->level_id,
		.asked = asked,
		.again = again,
		.run = r->s.run,
		.streams = (uint32_t)o->streams,
		.mode = o->create ? FRT_WORK_FOREIGN : o->mode,
	};
	int rc;

	rc = workload__fill(r->w, asked, &l);
	if (!rc && l.filled)
		cli__note("filled to %u in %.1f s on %u thread%s (%s)", asked,
			  (double)l.fill_ns / 1e9, l.fill_threads, l.fill_threads == 1 ? "" : "s",
			  l.fill_threads == 1 ? "one was fastest" : "the fastest of a short trial");
	if (!rc)
		rc = workload__settle(r->w, &l);
	if (!rc)
		rc = take_baseline(r);
	if (!rc)
		rc = outside_begin(&r->s, false);
	if (!rc)
		rc = session__begin_creating(&r->s);
	if (rc)
		return rc;
	rc = workload__create(r->w, &l, (uint32_t)o->warmup, (uint32_t)o->routers);
	session__end_creating(&r->s);
	if (outside_end(&r->s) && !rc)
		rc = session__error(&r->s);
	if (!rc && !o->keep)
		rc = workload__delete_created(r->w, &l);
	*existing = l.existing;
	if (session__put_level(&r->s, &l) && !rc)
		rc = session__error(&r->s);
	return rc;
}

static int measure_overhead(struct profile_run *r)
{
	static const bool untraced[4] = { true, false, false, true };
	const struct profile_opts *o = r->o;
	int rc = 0;

	for (unsigned b = 0; !rc && b < OVERHEAD_BLOCKS; b++) {
		struct frt_level l = { .id = r->level_id,
				       .run = r->s.run,
				       .streams = (uint32_t)o->streams };
		bool off = untraced[b % 4];

		cli__progress("overhead", b, OVERHEAD_BLOCKS);
		r->s.router_flags = FRT_ROUTER_OVERHEAD | (off ? FRT_ROUTER_UNTRACED : 0);
		r->s.block = b + 1;
		if (off)
			rc = session__cannot(&r->s, "detach the probes", trace__pause(r->s.trace));
		if (!rc && !off)
			rc = outside_begin(&r->s, false);
		if (!rc)
			rc = session__begin_creating(&r->s);
		if (!rc)
			rc = workload__create(
				r->w, &l, (uint32_t)o->streams,
				(uint32_t)(o->streams > 1 ? 2 * o->streams : OVERHEAD_ROUTERS));
		session__end_creating(&r->s);
		/* on as in a measured level: it costs, too */
		if (!off && outside_end(&r->s) && !rc)
			rc = session__error(&r->s);
		if (!rc)
			rc = workload__delete_created(r->w, &l);
		if (off && !rc)
			rc = session__cannot(&r->s, "attach the probes again",
					     trace__resume(r->s.trace));
	}
	r->s.router_flags = 0;
	r->s.block = 0;
	cli__progress_end();
	return rc;
}

static int measure_all(struct profile_run *r)
{
	const struct profile_opts *o = r->o;
	uint64_t existing;
	int rc = 0;

	for (uint64_t run = 1; !rc && run <= o->repeat; run++) {
		r->s.run = (uint32_t)run;
		for (size_t i = 0; !rc && i < o->nat; i++) {
			rc = measure_level(r, (uint32_t)o->at[i], false, &existing);
			if (!rc && i == 0 && run == 1 && o->overhead)
				rc = measure_overhead(r);
		}
		if (!rc && !o->keep)
			rc = workload__remove_all(r->w);
		/* the first level once more: what did not come back is drift */
		if (!rc && !o->keep && o->nat > 1)
			rc = measure_level(r, (uint32_t)o->at[0], true, &existing);
		if (!rc && !o->keep)
			rc = workload__remove_all(r->w);
	}
	return rc;
}

static json_t *options_object(const struct profile_opts *o)
{
	json_t *opts = json_object(), *at = json_array(), *predict = json_array();

	for (size_t i = 0; i < o->nat; i++)
		json_array_append_new(at, json_integer((json_int_t)o->at[i]));
	for (size_t i = 0; i < o->npredict; i++)
		json_array_append_new(predict, json_integer((json_int_t)o->predict[i]));
	json_object_set_new(opts, "at", at);
	json_object_set_new(opts, "predict", predict);
	json_object_set_new(opts, "routers", json_integer((json_int_t)o->routers));
	json_object_set_new(opts, "warmup", json_integer((json_int_t)o->warmup));
	json_object_set_new(opts, "streams", json_integer((json_int_t)o->streams));
	json_object_set_new(opts, "repeat", json_integer((json_int_t)o->repeat));
	json_object_set_new(opts, "freq", json_integer(o->untraced ? 0 : (json_int_t)o->freq));
	json_object_set_new(opts, "timeline", json_integer((json_int_t)o->timeline));
	json_object_set_new(opts, "keep", json_boolean(o->keep));
	if (o->sudo)
		json_object_set_new(opts, "sudo", json_string(o->sudo));
	if (o->ip)
		json_object_set_new(opts, "ip", json_string(o->ip));
	return opts;
}

static int open_record(struct profile_run *r, const char *command)
{
	const struct profile_opts *o = r->o;
	const char *note = o->create ? NULL : workload__mode_note(o->mode);
	struct recording rec = {
		.output = o->output,
		.command = command,
		.mode = o->create ? "create" : workload__mode_name(o->mode),
		.ip = o->ip,
		.sudo = o->sudo,
		.options = options_object(o),
		.notes = json_array(),
	};

	if (note)
		json_array_append_new(rec.notes, json_string(note));
	return recording__begin(&r->s, &rec);
}

/* A probe asked for by name that is not there: said at once, the status is for the end. */
static void explain_probe(void *ctx, bool missing, const char *line)
{
	(void)ctx;
	if (missing)
		cli__error(CLI_UNABLE, "%s", line);
	else
		cli__note("%s", line);
}

/* Opens tracer, workload and record. 0 or the exit status; nothing of the
 * workload was created when it fails. */
static int open_all(struct profile_run *r, const char *command)
{
	const struct profile_opts *o = r->o;
	struct workload_opts wo = {
		.mode = o->mode,
		.fill = o->fill,
		.streams = (unsigned)o->streams,
		.ip = o->ip,
		.sudo = o->sudo,
		.create = o->create,
		.destroy = o->destroy,
		.step_timeout_s = (unsigned)o->step_timeout,
		.settle_max_s = (unsigned)o->settle,
		.keep = o->keep,
		.control = true,
	};
	struct trace_opts to = {
		.backend = o->backend,
		.freq = (unsigned)o->freq,
		.probes = o->nprobes ? o->probes : NULL,
		/* who knows how many tasks a command of the user's runs at a time */
		.streams = o->create && o->streams < 2 ? 2 : (unsigned)o->streams,
		.waits = !o->core,
	};
	int rc;

	if (geteuid())
		return cli__error(
			CLI_UNABLE,
			"not root: network namespaces need CAP_SYS_ADMIN; run it with sudo");
	/* from here on there is something to clean up */
	cli__on_signal(NULL, NULL);
	session__init(&r->s, (unsigned)o->streams, o->untraced ? 0 : (unsigned)o->freq);
	if (o->create && !o->argv) {
		r->s.mask = r->rules = rules__new();
		if (!r->rules)
			return cli__error(CLI_FAILED, "out of memory");
	}
	r->s.progress = o->quiet ? NULL : cli__progress;
	if (!o->untraced) {
		to.sink = session__sink(&r->s);
		rc = trace__open(&to, &r->s.trace, r->err, sizeof(r->err));
		if (rc)
			return cli__error(CLI_UNABLE,
					  "%s; or use --untraced for walls and growth by step",
					  r->err);
		trace__probes_explain(r->s.trace, explain_probe, NULL);
	}
	wo.hooks = session__hooks(&r->s);
	rc = workload__open(&wo, &r->w, r->err, sizeof(r->err));
	if (rc)
		return cli__error(CLI_UNABLE, "%s", r->err);
	cli__on_signal((void (*)(void *))workload__stop, r->w);
	rc = workload__preflight(r->w, o->at[o->nat - 1] + o->warmup + o->routers, r->err,
				 sizeof(r->err));
	if (rc)
		return cli__error(CLI_UNABLE, "%s", r->err);
	return open_record(r, command);
}

/* The record's end, then the report from what was recorded. */
static int finish(struct profile_run *r, int status)
{
	const struct profile_opts *o = r->o;
	struct present_opts po = { .json = o->json };
	struct frt_trail trail = { 0 };
	uint64_t attach_ns = 0, detach_ns = 0;
	struct rusage ru;
	json_t *end;
	int rc;

	memcpy(po.predict, o->predict, sizeof(po.predict));
	po.npredict = o->npredict;
	if (r->s.trace) { /* all is drained: how long it takes to detach is part of the record */
		trace__pause(r->s.trace);
		trace__probes_times(r->s.trace, &attach_ns, &detach_ns);
	}
	end = json_pack("{s:I}", "detach_ns", (json_int_t)detach_ns);
	if (!recording__end(&r->s, end, &status))
		return status;
	rc = record__load(r->s.rec, &trail);
	if (!rc && foreign__is(&trail))
		rc = foreign__name(&trail, NULL, r->err, sizeof(r->err));
	if (!rc)
		rc = present__trail(&trail, &po);
	trail__free(&trail);
	if (rc)
		status = cli__worse(status,
				    cli__error(CLI_FAILED, "the report: %s", strerror(-rc)));
	getrusage(RUSAGE_SELF, &ru);
	cli__note("used %.0f MiB of memory%s", (double)ru.ru_maxrss / 1024,
		  r->s.trace ? "" : ", no BPF");
	if (r->s.trace)
		cli__note("BPF maps %.1f MiB", (double)trace__map_bytes(r->s.trace) / 1048576);
	recording__tell(&r->s, o->quiet);
	return status;
}

int cmd_profile(int argc, char **argv)
{
	struct profile_opts o;
	struct profile_run r = { .o = &o };
	char *command = cli__command_line(argc - 1, argv + 1);
	int status, rc = profile__options(argc, argv, &o);

	if (rc || !command) {
		free(command);
		return rc ? rc - 1000 : CLI_FAILED;
	}
	status = open_all(&r, command);
	free(command);
	if (status)
		goto out;
	rc = measure_all(&r);
	cli__progress_end();
	if (rc)
		status = workload_failed(&r, rc);
	if (!o.keep || status) {
		rc = workload__remove_all(r.w);
		if (rc && rc != -EINTR)
			status = cli__worse(status,
					    cli__error(CLI_FAILED, "%s", workload__error(r.w)));
	}
	if (session__drain_rest(&r.s))
		status = cli__worse(status, recording__failed(&r.s));
	if (!status && o.nprobes && trace__probes_missing(r.s.trace))
		status = CLI_UNABLE;
	if (!status && o.strict && session__lost(&r.s))
		status = cli__error(CLI_LOST, "data was lost (see the report); --strict");
	if (cli__interrupted()) /* also when all was done but the cleaning up */
		status = cli__worse(status, CLI_INTERRUPTED);
	status = finish(&r, status);
out:
	if (r.w) {
		cli__on_signal(NULL, NULL);
		workload__close(r.w);
	}
	if (r.s.streams)
		session__close(&r.s);
	record__free(r.s.rec);
	rules__free(r.rules);
	return cli__interrupted() ? cli__worse(status, CLI_INTERRUPTED) : status;
}
