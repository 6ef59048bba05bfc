/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/follow.h"

#include "cmd/cli.h"
#include "cmd/live.h"
#include "cmd/present.h"
#include "cmd/recording.h"
#include "util/util.h"
#include "workload/procfs.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT_EVERY_NS 1000000000ull
#define RING_LOOK_MS 20 /* the ring wakes us when it fills; look at it anyway */

static json_t *options_object(const struct follow_opts *o)
{
	json_t *opts = json_object(), *steps = json_array(), *predict = json_array();

	for (unsigned i = 0; i < o->nsteps; i++)
		json_array_append_new(steps, json_string(o->step[i]));
	for (size_t i = 0; i < o->npredict; i++)
		json_array_append_new(predict, json_integer((json_int_t)o->predict[i]));
	json_object_set_new(opts, "by", json_string(foreign__by_names[o->by]));
	json_object_set_new(opts, "every", json_integer((json_int_t)o->every));
	json_object_set_new(opts, "steps", steps);
	json_object_set_new(opts, "predict", predict);
	json_object_set_new(opts, "freq", json_integer((json_int_t)o->freq));
	json_object_set_new(opts, "argv", json_boolean(o->argv));
	return opts;
}

static int put(void *ctx, enum frt_rec type, const void *item)
{
	struct follow *f = ctx;
	struct frt_sink sink = session__sink(&f->s);

	if (f->o->live)
		live__take(f->rules, type, item);
	return sink.put(sink.ctx, type, item);
}

static int open_trace(struct follow *f)
{
	const struct follow_opts *o = f->o;
	struct trace_opts to = {
		.backend = o->backend,
		.freq = (unsigned)o->freq,
		.probes = o->nprobes ? o->probes : NULL,
		.streams = 2, /* others run while we drain */
		.waits = true,
		.sink = { .put = put, .ctx = f },
		.comm = o->comm,
		.cgroup = o->cgroup,
	};

	if (trace__open(&to, &f->s.trace, f->err, sizeof(f->err)))
		return cli__error(CLI_UNABLE, "%s", f->err);
	return 0;
}

static int open_record(struct follow *f, const char *mode, const char *command)
{
	struct recording rec = {
		.output = f->o->output,
		.command = command,
		.mode = mode,
		.options = options_object(f->o),
		.notes = json_array(),
	};

	return recording__begin(&f->s, &rec);
}

static void begin_period(struct follow *f)
{
	f->period = (struct frt_level){ .id = f->period.id + 1,
					.run = 1,
					.mode = FRT_WORK_FOREIGN,
					.existing = f->period.existing_end,
					.t0 = now_ns() };
	f->steal = steal_ns();
}

/* A period ends with a count, and the next begins with it. */
static int end_period(struct follow *f)
{
	struct frt_level *l = &f->period;
	int rc = trace__count_netns(f->s.trace, &l->existing_end);

	if (rc) /* the list would not hold still: the creations seen tell */
		l->existing_end = l->existing;
	l->t1 = now_ns();
	l->steal_ns = steal_ns() - f->steal;
	l->cpu_ns = (l->t1 - l->t0) * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	rc = session__put_level(&f->s, l);
	begin_period(f);
	return rc;
}

int follow__open(struct follow *f, const struct follow_opts *o, const char *mode,
		 const char *command)
{
	int status, rc;

	f->o = o;
	f->out = f->out ? f->out : stdout;
	session__init(&f->s, 2, (unsigned)o->freq);
	f->opened = true;
	f->rules = rules__new();
	if (!f->rules)
		return cli__error(CLI_FAILED, "out of memory");
	for (unsigned i = 0; i < o->nsteps; i++)
		if (rules__add(f->rules, o->step[i], f->err, sizeof(f->err)))
			return cli__error(CLI_USAGE, "%s", f->err);
	if (!o->argv)
		f->s.mask = f->rules;
	if (geteuid())
		return cli__error(CLI_UNABLE,
				  "not root: tracing needs CAP_BPF and CAP_PERFMON; run it with "
				  "sudo");
	if (o->report) {
		rc = replace__open(&f->file, o->report);
		if (rc)
			return cli__error(CLI_FAILED, "%s: %s; give another --report FILE",
					  o->report, strerror(-rc));
		f->out = f->file.out;
	}
	status = open_trace(f);
	if (!status && f->held && follow__signalled(NULL))
		status = follow__interrupted();
	if (!status)
		status = open_record(f, mode, command);
	if (status)
		return status;
	trace__count_netns(f->s.trace, &f->period.existing_end);
	begin_period(f);
	/* over the whole time: there is no telling when it is quiet */
	if (trace__outside_begin(f->s.trace, false))
		return cli__error(CLI_FAILED, "no memory");
	if (o->freq)
		trace__sampling(f->s.trace, true);
	return 0;
}

int follow__wait(struct follow *f, int fd, int ms)
{
	struct pollfd p[2] = { { .fd = trace__fd(f->s.trace), .events = POLLIN },
			       { .fd = fd, .events = POLLIN } };
	uint64_t end = now_ns() + (uint64_t)ms * 1000000, now;
	bool ready;
	int rc;

	do {
		if (poll(p, 2, RING_LOOK_MS) < 0 && errno != EINTR)
			return -errno;
		ready = fd >= 0 && p[1].revents;
		rc = session__drain(&f->s);
		now = now_ns();
		if (!rc && now - f->period.t0 >= COUNT_EVERY_NS) {
			rc = end_period(f);
			if (f->o->live)
				live__draw(f->period.existing);
		}
	} while (!rc && !ready && now < end && !follow__signalled(NULL));
	return rc ? rc : ready;
}

static int report(struct follow *f)
{
	struct present_opts po = { .json = f->o->json, .out = f->out };
	struct frt_trail trail = { 0 };
	int rc = record__load(f->s.rec, &trail);

	memcpy(po.predict, f->o->predict, sizeof(po.predict));
	po.npredict = f->o->npredict;
	if (!rc)
		rc = foreign__name(&trail, NULL, f->err, sizeof(f->err));
	if (!rc)
		rc = present__trail(&trail, &po);
	trail__free(&trail);
	if (!rc && f->file.out)
		rc = replace__commit(&f->file);
	return rc;
}

int follow__finish(struct follow *f, int status)
{
	bool ended;
	int rc;

	if (f->o->live)
		live__end();
	trace__sampling(f->s.trace, false);
	session__put_outside(&f->s);
	end_period(f);
	ended = recording__end(&f->s, NULL, &status);
	if (session__error(&f->s))
		status = cli__worse(status, recording__failed(&f->s));
	if (!ended)
		return status;
	rc = report(f);
	if (rc)
		status = cli__worse(
			status, f->o->report
					? cli__error(CLI_FAILED,
						     "%s: the report: %s; give another "
						     "--report FILE, or read the record",
						     f->o->report, strerror(-rc))
					: cli__error(CLI_FAILED, "the report: %s", strerror(-rc)));
	f->missing = f->o->nprobes ? trace__probes_missing(f->s.trace) : 0;
	if (f->missing)
		cli__note("%u function%s asked for by name could not be attached (see the report)",
			  f->missing, f->missing == 1 ? "" : "s");
	if (!status && f->o->strict && session__lost(&f->s))
		status = cli__error(CLI_LOST, "data was lost (see the report); --strict");
	recording__tell(&f->s, f->o->quiet);
	return status;
}

void follow__close(struct follow *f)
{
	if (f->file.out) /* the run failed: what stood there stays */
		replace__abort(&f->file);
	if (f->opened)
		session__close(&f->s);
	record__free(f->s.rec);
	rules__free(f->rules);
}

static volatile sig_atomic_t signalled, by_terminal;

static void on_signal(int sig, siginfo_t *info, void *ctx)
{
	(void)ctx;
	signalled = sig;
	by_terminal = info->si_code == SI_KERNEL;
}

void follow__signals(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	sigemptyset(&sa.sa_mask);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		sigaction(ends[i], &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
}

int follow__signalled(bool *from_terminal)
{
	int sig = signalled;

	if (from_terminal) {
		*from_terminal = by_terminal;
		signalled = 0;
	}
	return sig;
}

int follow__interrupted(void)
{
	return cli__error(128 + signalled, "interrupted before the command was begun");
}
