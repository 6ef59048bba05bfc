/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload/inproc.h"
#include "workload/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int inproc__failed(struct step_job *j, const char *call, const char *object)
{
	int err = errno;

	j->call = call;
	j->object = object;
	return -err;
}

int inproc__report(struct step_job *j, int rc)
{
	char hint[256];

	if (wl__stopping(j->m->w) && rc == -EINTR)
		return wl__fail(j->m->w, rc, "interrupted");
	return wl__fail(j->m->w, rc, "%s %s: %s of %s: %s%s%s%s", frt_steps[j->step].name,
			j->name->ns, j->call ? j->call : "a call",
			j->object ? j->object : j->name->ns, strerror(-rc), *j->detail ? ": " : "",
			j->detail, limit__hint(hint, sizeof(hint), j->call ? j->call : "", rc));
}
