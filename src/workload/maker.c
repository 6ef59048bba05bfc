/* SPDX-License-Identifier: BSD-2-Clause */
/* A creator: one stream, or one thread of a fill. */
#include "workload/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define NSFS_MAGIC 0x6e736673 /* linux/magic.h */

static const struct mode *const modes[FRT_WORKMODES] = {
	[FRT_WORK_SCRIPT] = &mode_script,   [FRT_WORK_EXACT] = &mode_exact,
	[FRT_WORK_LEAN] = &mode_lean,	    [FRT_WORK_BATCH] = &mode_batch,
	[FRT_WORK_FOREIGN] = &mode_foreign,
};

const char *workload__mode_name(enum frt_workmode mode)
{
	return (unsigned)mode < FRT_WORKMODES ? modes[mode]->name : "unknown";
}

const char *workload__mode_note(enum frt_workmode mode)
{
	return (unsigned)mode < FRT_WORKMODES ? modes[mode]->note : NULL;
}

static int cannot(struct workload *w, int rc, const char *what)
{
	char hint[256];

	return wl__fail(w, rc, "%s: %s%s", what, strerror(-rc),
			limit__hint(hint, sizeof(hint), what, rc));
}

int maker__open(struct maker *m, struct workload *w, unsigned stream, enum frt_workmode mode,
		bool measured)
{
	const struct workload_hooks *h = &w->o.hooks;
	sigset_t set;
	int p[2], rc;

	memset(m, 0, sizeof(*m));
	m->w = w;
	m->mode = modes[mode];
	m->stream = stream;
	m->measured = measured;
	m->slot.out_fd = m->out_w = -1;
	m->slot.creator = pthread_self();
	pthread_mutex_init(&m->slot.out_lock, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMAX - 1); /* the watchdog's, to end a wait */
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	if (pipe2(p, O_CLOEXEC))
		return cannot(w, -errno, "pipe");
	m->slot.out_fd = p[0];
	m->out_w = p[1];
	fcntl(p[0], F_SETFL, O_NONBLOCK);
	rc = watch__add(w, &m->slot);
	if (rc)
		return wl__fail(w, rc, "out of memory");
	/* before it starts anything: a process that serves all its steps (ip -batch) is
	 * followed from its birth */
	if (measured && h->creator_begin) {
		m->cell = h->creator_begin(h->ctx, stream, &m->task);
		m->begun = true;
	}
	return m->mode->open ? m->mode->open(m) : 0;
}

void maker__close(struct maker *m)
{
	const struct workload_hooks *h = &m->w->o.hooks;

	if (m->mode->close)
		m->mode->close(m);
	if (m->begun && h->creator_end)
		h->creator_end(h->ctx, m->stream);
	watch__del(m->w, &m->slot);
	if (m->left && setns(m->w->firstns, CLONE_NEWNET))
		wl__fail(m->w, -errno, "setns to the first network namespace: %s", strerror(errno));
	if (m->slot.out_fd >= 0)
		close(m->slot.out_fd);
	if (m->out_w >= 0)
		close(m->out_w);
	pthread_mutex_destroy(&m->slot.out_lock);
}

static void run_path(char *dst, size_t size, const char *ns)
{
	snprintf(dst, size, "%s/%s", WL_RUN_DIR, ns);
}

int maker__name(struct maker *m, struct router_name *n)
{
	char path[sizeof(WL_RUN_DIR) + 48];
	uint8_t uuid[16];
	struct stat st;
	int rc;

	for (int tries = 0; tries < 8; tries++) {
		rc = uuid__new(uuid);
		if (rc)
			return wl__fail(m->w, rc, "getrandom: %s", strerror(-rc));
		name__from_uuid(n, uuid);
		run_path(path, sizeof(path), n->ns);
		if (lstat(path, &st) && errno == ENOENT &&
		    !wl__link_exists(m->w, n->link[0], NULL) &&
		    !wl__link_exists(m->w, n->link[1], NULL))
			return 0;
	}
	/* forty random bits eight times over: somebody makes the names for us */
	return wl__fail(m->w, -EEXIST, "%s or %s is taken already; remove it and run again", path,
			n->link[0]);
}

void maker__begin(struct step_job *j)
{
	struct maker *m = j->m;

	if (m->measured)
		j->inst->instance = atomic_fetch_add(&m->w->next_instance, 1) + 1;
	j->inst->step = j->step;
	j->inst->creator = m->task;
	atomic_store(&m->slot.timed_out, false);
	atomic_store(&m->slot.abandoned, false);
	step__text(m->slot.what, sizeof(m->slot.what), j);
}

int maker__step(struct maker *m, const struct router_name *n, enum frt_step step, unsigned nth,
		struct frt_stepinst *inst)
{
	struct step_job j = { .m = m, .name = n, .step = step, .nth = nth, .inst = inst };

	maker__begin(&j);
	return (step == FRT_STEP_CONTROL ? &mode_script : m->mode)->step(&j);
}

/* After its steps: is everything there? An `ip` that says 0 and does nothing is
 * found here. */
static int check_made(struct maker *m, const struct router_name *n, struct wrouter *wr)
{
	char path[sizeof(WL_RUN_DIR) + 48], line[256];
	const char *said = script__first_line(m, line, sizeof(line)), *missing = NULL;
	int index[2] = { 0, 0 };
	struct statfs fs;
	struct stat st;
	int rc;

	run_path(path, sizeof(path), n->ns);
	if (stat(path, &st) || statfs(path, &fs) || fs.f_type != NSFS_MAGIC)
		return wl__fail(
			m->w, -ENODEV,
			"%s: no namespace there after `%s netns add` had succeeded%s%s; is it "
			"iproute2's `ip`?",
			path, m->w->tools.ip, *said ? "; the last command printed: " : "", said);
	for (int i = 0; i < 2; i++)
		if (!wl__link_exists(m->w, n->link[i], &index[i]))
			missing = n->link[i];
	if (missing)
		return wl__fail(m->w, -ENODEV,
				"%s: no such link after `%s link add` had succeeded%s%s; is it "
				"iproute2's `ip`?",
				missing, m->w->tools.ip,
				*said ? "; the last command printed: " : "", said);
	wr->ino = st.st_ino;
	rc = ledger__have(&m->w->ledger, n->ns, st.st_dev, st.st_ino, index);
	return rc ? wl__fail(m->w, rc, "%s: %s", m->w->ledger.path, strerror(-rc)) : 0;
}

static int creation_steps(struct maker *m, const struct router_name *n, struct frt_router *r,
			  struct frt_stepinst *inst, unsigned *count)
{
	int rc = 0;

	for (unsigned s = 0; !rc && s < FRT_STEPS; s++) {
		if (!frt_steps[s].creation)
			continue;
		for (unsigned k = 0; !rc && k < frt_steps[s].per_router; k++) {
			struct frt_stepinst *i = &inst[*count];

			memset(i, 0, sizeof(*i));
			if (r) {
				i->router = r->id;
				i->level = r->level;
			}
			rc = maker__step(m, n, (enum frt_step)s, k, i);
			if (r && !r->t0)
				r->t0 = i->t0;
			if (r)
				r->t1 = i->t1;
			*count += 1;
		}
	}
	return rc;
}

static int own_router(struct maker *m, struct wrouter *wr, struct frt_router *r,
		      struct frt_stepinst *inst, unsigned *count)
{
	struct router_name n;
	int rc = maker__name(m, &n);

	if (rc)
		return rc;
	memcpy(wr->uuid, n.uuid, sizeof(wr->uuid));
	rc = ledger__want(&m->w->ledger, n.ns);
	if (rc)
		return wl__fail(m->w, rc, "%s: %s", m->w->ledger.path, strerror(-rc));
	rc = creation_steps(m, &n, r, inst, count);
	if (m->left && !setns(m->w->firstns, CLONE_NEWNET))
		m->left = false;
	return rc ? rc : check_made(m, &n, wr);
}

int maker__router(struct maker *m, struct wrouter *wr, struct frt_router *r,
		  struct frt_stepinst *inst, unsigned *count, bool control)
{
	static const struct router_name none;
	int rc;

	*count = 0;
	rc = (m->mode->router ? m->mode->router : own_router)(m, wr, r, inst, count);
	if (!rc && control) {
		struct frt_stepinst *i = &inst[*count];

		memset(i, 0, sizeof(*i));
		i->router = r->id;
		i->level = r->level;
		rc = maker__step(m, &none, FRT_STEP_CONTROL, 0, i);
		*count += 1;
	}
	return rc;
}

int maker__delete(struct maker *m, struct wrouter *wr, struct frt_stepinst *inst)
{
	struct router_name n;
	int rc;

	if (m->mode->remove)
		return m->mode->remove(m, wr, inst);
	name__from_uuid(&n, wr->uuid);
	rc = maker__step(m, &n, FRT_STEP_DELETE, 0, inst);
	if (!rc)
		ledger__gone(&m->w->ledger, n.ns);
	return rc;
}
