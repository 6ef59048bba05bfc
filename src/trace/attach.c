// SPDX-License-Identifier: BSD-2-Clause
/* Links of the programs to their tracepoints, and the sampling events. */
#include "trace/internal.h"

#include "frtrace.skel.h"
#include "util/util.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RAW_TP "raw_tp/"
#define PERF_TP "tp/"

static int attach_one(struct trace *t, struct bpf_program *prog, char *err, size_t errlen)
{
	const char *name = strrchr(bpf_program__section_name(prog), '/') + 1;
	char reason[160], remedy[160];
	struct bpf_link *link;
	int rc;

	if (t->at.n == TRACE_LINKS_MAX)
		return fail(err, errlen, -E2BIG, "%s: more programs than links", name);
	link = bpf_program__attach(prog);
	if (!link) {
		rc = -errno;
		explain__bpf(-rc, reason, sizeof(reason), remedy, sizeof(remedy));
		return fail(err, errlen, rc, "tracepoint %s: cannot attach: %s; %s", name, reason,
			    remedy);
	}
	t->at.link[t->at.n++] = link;
	return 0;
}

int attach__all(struct trace *t, char *err, size_t errlen)
{
	struct bpf_program *prog, *first = t->skel->progs.frt_switch;
	const char *sec;
	int rc;

	/* Who is on which CPU must be known before anything else is told. */
	rc = attach_one(t, first, err, errlen);
	if (rc)
		goto undo;
	bpf_object__for_each_program(prog, t->skel->obj) {
		sec = bpf_program__section_name(prog);
		/* Sampling has events to be attached to, control programs have nothing. */
		if (prog == first ||
		    (strncmp(sec, RAW_TP, strlen(RAW_TP)) &&
		     strncmp(sec, PERF_TP, strlen(PERF_TP))) ||
		    !bpf_program__autoload(prog))
			continue;
		rc = attach_one(t, prog, err, errlen);
		if (rc)
			goto undo;
	}
	t->skel->bss->attached = 1;
	return 0;
undo:
	attach__none(t);
	return rc;
}

static void samples__close(struct attached *at)
{
	for (unsigned i = 0; i < at->ncpus; i++) {
		bpf_link__destroy(at->sample[i]);
		/* The link owns the event's descriptor once it is there. */
		if (!at->sample[i] && at->sample_fd[i] >= 0)
			close(at->sample_fd[i]);
	}
	free(at->sample);
	free(at->sample_fd);
	at->sample = NULL;
	at->sample_fd = NULL;
	at->ncpus = 0;
}

void attach__none(struct trace *t)
{
	if (t->skel && t->skel->bss)
		t->skel->bss->attached = 0;
	samples__close(&t->at);
	for (unsigned i = 0; i < t->at.n; i++)
		bpf_link__destroy(t->at.link[i]);
	t->at.n = 0;
}

int attach__samples(struct trace *t, unsigned hz, char *why, size_t len)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = hz,
		.disabled = 1,
	};
	int cpus = libbpf_num_possible_cpus(), rc = 0, fd;
	struct attached *at = &t->at;
	char remedy[160];
	unsigned n = 0;

	at->sample = calloc(cpus > 0 ? cpus : 1, sizeof(*at->sample));
	at->sample_fd = calloc(cpus > 0 ? cpus : 1, sizeof(*at->sample_fd));
	if (cpus <= 0 || !at->sample || !at->sample_fd) {
		samples__close(at);
		return fail(why, len, cpus < 0 ? cpus : -ENOMEM, "the CPUs cannot be counted");
	}
	for (int cpu = 0; cpu < cpus; cpu++) {
		fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd < 0 && errno == ENODEV)
			continue; /* possible, but not there or not on */
		if (fd < 0) {
			rc = -errno;
			explain__perf(-rc, why, len, remedy, sizeof(remedy));
			break;
		}
		at->sample_fd[n] = fd;
		at->ncpus = n + 1;
		at->sample[n] = bpf_program__attach_perf_event(t->skel->progs.frt_sample, fd);
		if (!at->sample[n]) {
			rc = -errno;
			explain__bpf(-rc, why, len, remedy, sizeof(remedy));
			break;
		}
		/* libbpf switches it on; nobody has asked yet. */
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		n++;
	}
	if (rc)
		samples__close(at);
	return rc;
}

void attach__enable_samples(struct trace *t, bool on)
{
	for (unsigned i = 0; i < t->at.ncpus; i++)
		ioctl(t->at.sample_fd[i], on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}
