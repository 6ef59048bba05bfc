/* SPDX-License-Identifier: BSD-2-Clause */
/* --create and --destroy: somebody else's way to make what is measured. */
#include "workload/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define COMMAND_MAX 4096

/* Runs a template as one step. */
static int run(struct maker *m, const char *template, uint32_t id, const struct router_name *n,
	       enum frt_step step, struct frt_stepinst *inst)
{
	char cmd[COMMAND_MAX];
	const char *argv[] = { "sh", "-c", cmd, NULL };
	struct step_job j = { .m = m, .name = n, .step = step, .inst = inst, .text = cmd };
	int rc;

	rc = template__expand(cmd, sizeof(cmd), template, id, n->uuid_text);
	if (rc)
		return wl__fail(m->w, rc, "the command is longer than %d bytes", COMMAND_MAX);
	maker__begin(&j);
	rc = script__run(m, "/bin/sh", argv, inst);
	return rc ? rc : script__check(&j);
}

static int foreign__router(struct maker *m, struct wrouter *wr, struct frt_router *r,
			   struct frt_stepinst *inst, unsigned *n)
{
	struct router_name name;
	int rc;

	rc = uuid__new(wr->uuid);
	if (rc)
		return wl__fail(m->w, rc, "getrandom: %s", strerror(-rc));
	name__from_uuid(&name, wr->uuid);
	rc = ledger__write(&m->w->ledger, "create %s %u", name.uuid_text, r->id);
	if (rc)
		return wl__fail(m->w, rc, "%s: %s", m->w->ledger.path, strerror(-rc));
	memset(inst, 0, sizeof(*inst));
	inst->router = r->id;
	inst->level = r->level;
	/* a step of no row: the report names it `create` */
	rc = run(m, m->w->o.create, r->id, &name, FRT_STEPS, inst);
	*n = 1;
	r->t0 = inst->t0;
	r->t1 = inst->t1;
	return rc;
}

static int foreign__remove(struct maker *m, struct wrouter *wr, struct frt_stepinst *inst)
{
	struct router_name name;
	int rc = 0;

	name__from_uuid(&name, wr->uuid);
	if (m->w->o.destroy)
		rc = run(m, m->w->o.destroy, wr->id, &name, FRT_STEP_DELETE, inst);
	if (!rc)
		ledger__write(&m->w->ledger, "destroyed %s", name.uuid_text);
	return rc;
}

static int destroy_main(struct workload *w, unsigned i, void *arg)
{
	struct maker m;
	int rc;

	(void)arg;
	rc = maker__open(&m, w, i, FRT_WORK_FOREIGN, false);
	for (; !rc && w->made_next < w->made.n; w->made_next++) {
		struct frt_stepinst inst = { 0 };

		rc = foreign__remove(&m, &w->made.v[w->made_next], &inst);
		wl__progress(w, "removing", w->made_next + 1, w->made.n);
	}
	maker__close(&m);
	return rc;
}

int foreign__destroy_all(struct workload *w)
{
	int rc;

	if (w->o.mode != FRT_WORK_FOREIGN || w->made_next >= w->made.n)
		return 0;
	rc = wl__threads(w, 1, destroy_main, NULL);
	if (!rc)
		w->made.n = w->made_next = 0;
	return rc;
}

const struct mode mode_foreign = { .name = "create",
				   .router = foreign__router,
				   .remove = foreign__remove };
