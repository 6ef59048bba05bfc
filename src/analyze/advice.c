/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Known causes: each row looks for its pattern in the results and says in one or two
 * sentences what it saw, with this run's figures, and what helps. A row speaks only
 * when what it goes by is above the noise: an amount with an interval above 0, or a
 * share of the router's wall that no scatter explains. The next cause is a row.
 */
#include "analyze/advice.h"

#include "analyze/decode.h"
#include "analyze/finding.h"

#include <errno.h>
#include <frtrace/events.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#define ROUTERS_MIN 5	  /* fewer allow no interval: no advice */
#define SHARE_MIN 0.05	  /* of a router's wall: worth a line */
#define GROWTH_SHARE 0.10 /* of a router's growth */
#define NS_MIN 100000.0	  /* per router: below, it is no one's problem */

struct facts {
	struct analysis *an;
	const struct frt_profile *p;
	const struct frt_levelrow *last; /* the highest level; not `again` */
	const struct level *level;	 /* the same */
	double router_ns;
	double growth_ns; /* of the router; NAN when it did not grow */
};

static const char *ms(struct facts *f, double ns)
{
	char buf[24];

	return arena__strdup(f->an->arena, finding__ms(buf, sizeof(buf), ns));
}

#define say(f, ...) arena__printf((f)->an->arena, __VA_ARGS__)

/* What an action took per router, over the creation steps; kind or all (FRT_KINDS). */
static double action_ns(const struct facts *f, const char *action, int kind)
{
	double sum = 0;

	for (size_t i = 0; i < f->last->nsteps; i++) {
		const struct frt_steprow *s = &f->last->steps[i];

		for (size_t k = 0; s->creation && k < s->nactions; k++)
			if (strcmp(s->actions[k].action, action) == 0)
				sum += kind == FRT_KINDS ? s->actions[k].wall_ns
							 : s->actions[k].kind_ns[kind];
	}
	return sum;
}

/* Growth per router of the rows of an action whose interval is above 0; kind or all.
 * NULL: of every action. */
static double growth_of(const struct facts *f, const char *action, int kind)
{
	double sum = 0;

	for (size_t i = 0; i < f->p->ngrowth; i++) {
		const struct frt_growthrow *g = &f->p->growth[i];

		if (g->action && (!action || strcmp(g->action, action) == 0) && g->lo > 0 &&
		    (kind == FRT_KINDS || (int)g->kind == kind))
			sum += g->delta_ns;
	}
	return sum;
}

/* Waits of a class (or all that begin so, with a '*' behind) per router; *top the one
 * that took longest. */
static double waits_ns(const struct facts *f, const char *class, const struct frt_wait **top)
{
	size_t n = strcspn(class, "*");
	double sum = 0, most = 0;

	*top = NULL;
	for (size_t i = 0; i < f->last->nsteps; i++) {
		const struct frt_steprow *s = &f->last->steps[i];

		for (size_t k = 0; s->creation && s->n && k < s->nactions; k++)
			for (size_t j = 0; j < s->actions[k].nwaits; j++) {
				const struct frt_wait *w = &s->actions[k].waits[j];

				if (w->sampled)
					continue; /* not waiting, but kernel time */
				if (class[n] ? strncmp(w->class, class, n)
					     : strcmp(w->class, class))
					continue;
				sum += w->ns / s->n;
				if (w->ns / s->n > most) {
					most = w->ns / s->n;
					*top = w;
				}
			}
	}
	return sum;
}

/* Sampled or probed time per router under a function whose name begins so, below the
 * action; the largest of them, *name its name. */
static double function_ns(const struct facts *f, const char *action, const char *const *begins,
			  size_t n, const char **name)
{
	double most = 0;

	for (size_t i = 0; i < f->last->nsteps; i++) {
		const struct frt_steprow *s = &f->last->steps[i];

		for (size_t k = 0; s->creation && k < s->nactions; k++) {
			const struct frt_action *a = &s->actions[k];

			if (strcmp(a->action, action) != 0)
				continue;
			for (size_t j = 0; j < a->nframes; j++)
				for (size_t b = 0; b < n; b++)
					if (a->frames[j].samples >= 5 &&
					    a->frames[j].total_ns > most &&
					    !strncmp(a->frames[j].frame, begins[b],
						     strlen(begins[b]))) {
						most = a->frames[j].total_ns;
						*name = a->frames[j].frame;
					}
		}
	}
	return most;
}

static const json_t *env(const struct facts *f, const char *key)
{
	return json_object_get(f->p->environment, key);
}

static const json_t *option(const struct facts *f, const char *key)
{
	return json_object_get(json_object_get(f->an->t->header, "options"), key);
}

static bool is_large(const struct facts *f, double ns)
{
	return ns >= NS_MIN && ns >= SHARE_MIN * f->router_ns;
}

/* Growth of exits in the steps that copy the mount table: it is torn down there. */
static double exit_growth(const struct facts *f)
{
	double sum = 0;

	for (size_t i = 0; i < f->p->ngrowth; i++) {
		const struct frt_growthrow *g = &f->p->growth[i];
		bool copies = false;

		if (!g->action || strcmp(g->action, ACTION_EXIT) != 0 || !(g->lo > 0))
			continue;
		for (size_t s = 0; s < f->last->nsteps; s++)
			for (size_t k = 0; k < f->last->steps[s].nactions; k++)
				if (!strcmp(f->last->steps[s].step, g->step) &&
				    !strcmp(f->last->steps[s].actions[k].action, "unshare(NEWNS)"))
					copies = true;
		sum += copies ? g->delta_ns : 0;
	}
	return sum;
}

static const char *mount_table(struct facts *f)
{
	static const char *const of_exec[] = { "unshare(NEWNS)", "mount(slave,rec /)",
					       "umount2(/sys)", "setns(NEWNS)" };
	double grown = 0, all = 0, on_exit;

	for (size_t i = 0; i < ARRAY_SIZE(of_exec); i++) {
		grown += growth_of(f, of_exec[i], FRT_KINDS);
		all += action_ns(f, of_exec[i], FRT_KINDS);
	}
	on_exit = exit_growth(f);
	if (!(all > 0) || isnan(f->growth_ns) || grown + on_exit < GROWTH_SHARE * f->growth_ns ||
	    !(grown > 0))
		return NULL;
	return say(f,
		   "`ip netns exec` copies the whole mount table (%llu mounts here) for every "
		   "command and tears it down at exit: %s of the %s growth per router are that. "
		   "Enter the network namespace alone (nsenter --net=FILE, or setns in a process "
		   "of your own), and keep the names out of the mount table of whoever does not "
		   "need them.",
		   (unsigned long long)f->level->l->mounts, ms(f, grown + on_exit),
		   ms(f, f->growth_ns));
}

/* `ip -n NAME` or `ip -netns NAME` among the commands? */
static bool uses_ip_n(const struct facts *f)
{
	for (size_t i = 0; i < f->an->t->exec.n; i++) {
		const char *a = f->an->t->exec.v[i].args, *base, *end;

		end = a ? strchr(a, '\x1f') : NULL;
		if (!end)
			continue;
		base = end;
		while (base > a && base[-1] != '/')
			base--;
		if (end - base == 2 && !strncmp(base, "ip", 2) &&
		    (!strncmp(end + 1, "-n\x1f", 3) || !strncmp(end + 1, "-netns\x1f", 7)))
			return true;
	}
	return false;
}

static const char *ip_n(struct facts *f)
{
	double ns = action_ns(f, "unshare(NEWNS)", FRT_KINDS) +
		    action_ns(f, "mount(slave,rec /)", FRT_KINDS);

	if (!is_large(f, ns) || !uses_ip_n(f))
		return NULL;
	return say(f,
		   "`ip -n NAME` makes a mount namespace for every command, as `ip netns exec` "
		   "does: %s per router. One `ip -n NAME -batch FILE` pays it once.",
		   ms(f, ns));
}

static const char *veth_moved(struct facts *f)
{
	double ns = action_ns(f, "rtnl move", FRT_KINDS);
	double blocked = action_ns(f, "rtnl move", FRT_KIND_BLOCKED);

	if (!is_large(f, ns))
		return NULL;
	return say(f,
		   "A link is made first and moved into its namespace afterwards: %s per router, "
		   "%s of it waiting, with the RTNL held. Let it be born in place (`ip link add … "
		   "netns NAME`, `peer name … netns NAME`).",
		   ms(f, ns), ms(f, blocked));
}

static const char *tunnels(struct facts *f)
{
	static const char *const inits[] = { "ip_tunnel_init_net", "ipip_init_net",
					     "sit_init_net",	   "ip6_tnl_init_net",
					     "ipgre_init_net",	   "ipgre_tap_init_net",
					     "ip6gre_init_net",	   "vti_init_net",
					     "vti6_init_net",	   "erspan_init_net" };
	const json_t *only = env(f, "tunnels_only_init_net");
	const char *name = NULL;
	double ns = function_ns(f, "unshare(NEWNET)", inits, ARRAY_SIZE(inits), &name);

	if (!is_large(f, ns) || !json_is_integer(only) || json_integer_value(only))
		return NULL;
	return say(f,
		   "Every new namespace gets fallback tunnel devices (%s, sampled): %s per "
		   "router. `sysctl net.core.fb_tunnels_only_for_init_net=1` leaves them out.",
		   name, ms(f, ns));
}

static const char *sudo_lists(struct facts *f)
{
	double ns = action_ns(f, "rtnl dump", FRT_KINDS);

	if (!json_is_string(option(f, "sudo")) || !is_large(f, ns))
		return NULL;
	return say(f,
		   "sudo lists all interfaces at every call (rtnl dump): %s per router%s%s%s. `Set "
		   "probe_interfaces false` in /etc/sudo.conf leaves that out.",
		   ms(f, ns), growth_of(f, "rtnl dump", FRT_KINDS) > 0 ? ", " : "",
		   growth_of(f, "rtnl dump", FRT_KINDS) > 0
			   ? ms(f, growth_of(f, "rtnl dump", FRT_KINDS))
			   : "",
		   growth_of(f, "rtnl dump", FRT_KINDS) > 0 ? " of it growth" : "");
}

/* Mounts in the first namespace per namespace made, from the lowest level to this. */
static const char *double_mounts(struct facts *f)
{
	const struct level *first = f->an->group[0].level[0];
	double made = (double)f->level->l->existing - (double)first->l->existing;
	double per = ((double)f->level->l->mounts - (double)first->l->mounts) / made;

	if (f->an->ngroups < 2 || made < 50 || per < 1.5)
		return NULL;
	return say(f,
		   "Every namespace is mounted %.1f times (%llu mounts at %llu existing): "
		   "/run/netns lies on a mount that is shared, so that each name shows up once "
		   "more. Whatever walks the mount table pays for all of them; make /run private "
		   "or slave where the names are made.",
		   per, (unsigned long long)f->level->l->mounts,
		   (unsigned long long)f->level->l->existing);
}

static const char *stacked_run(struct facts *f)
{
	json_int_t n = json_integer_value(env(f, "run_netns_mounts"));

	if (n < 2)
		return NULL;
	return say(f,
		   "/run/netns is mounted on itself %lld times: every new name is propagated to "
		   "each layer. Unmount all but one (`umount /run/netns`, when no name is in use).",
		   (long long)n);
}

static const char *rtnl_spin(struct facts *f)
{
	double ns = 0, restarts = 0;

	for (size_t i = 0; i < f->last->nsteps; i++)
		for (size_t k = 0; f->last->steps[i].creation && k < f->last->steps[i].nactions;
		     k++) {
			ns += f->last->steps[i].actions[k].spin_ns;
			if (f->last->steps[i].actions[k].spin_ns > 0)
				restarts += f->last->steps[i].actions[k].restarts;
		}
	if (!is_large(f, ns))
		return NULL;
	return say(f,
		   "Writes below /proc/sys do not wait for the RTNL but try again: %.0f times and "
		   "%s of CPU time per router. Fewer creators at once, or a default "
		   "(net.ipv4.conf.default.*) set before, avoids it.",
		   restarts, ms(f, ns));
}

static const char *rcu_normal(struct facts *f)
{
	const struct frt_wait *top;
	double ns = waits_ns(f, "rcu:normal", &top);
	json_int_t hz = json_integer_value(env(f, "hz"));

	if (!is_large(f, ns))
		return NULL;
	return say(f,
		   "%s per router are spent waiting for normal RCU grace periods, most of it for "
		   "%s; at HZ %lld one takes several ticks. `echo 1 > /sys/kernel/rcu_expedited` "
		   "makes them short at the price of interrupting every CPU.",
		   ms(f, ns), top && top->where ? top->where : "an unknown caller", (long long)hz);
}

/* A probed pernet init: "ops_init[NAME]" and its children. */
static const struct frt_fn *largest_init(const struct frt_fn *v, size_t n, double *sum)
{
	const struct frt_fn *top = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct frt_fn *below;
		double s = 0;

		if (!strncmp(v[i].function, "ops_init[", 9)) {
			*sum += v[i].total_ns;
			if (!top || v[i].total_ns > top->total_ns)
				top = &v[i];
			continue;
		}
		below = largest_init(v[i].children, v[i].nchildren, &s);
		*sum += s;
		if (below && (!top || below->total_ns > top->total_ns))
			top = below;
	}
	return top;
}

static const char *one_init(struct facts *f)
{
	for (size_t i = 0; i < f->last->nsteps; i++)
		for (size_t k = 0; f->last->steps[i].creation && k < f->last->steps[i].nactions;
		     k++) {
			const struct frt_action *a = &f->last->steps[i].actions[k];
			double sum = 0, n = f->last->steps[i].n;
			const struct frt_fn *top = largest_init(a->functions, a->nfunctions, &sum);

			if (!top || !n || top->total_ns < 0.5 * sum ||
			    !is_large(f, top->total_ns / n))
				continue;
			return say(f,
				   "One subsystem dominates a new namespace: %s takes %s of the %s "
				   "that all per-namespace inits take. Without its module, or "
				   "built without it, a namespace is that much cheaper.",
				   top->function, ms(f, top->total_ns / n), ms(f, sum / n));
		}
	return NULL;
}

/* Of all lock waits per router: what cleanup_net held; *held by anybody. */
static double held_by(const struct facts *f, const char *task, double *held)
{
	double sum = 0;

	*held = 0;
	for (size_t i = 0; i < f->last->nsteps; i++) {
		const struct frt_steprow *s = &f->last->steps[i];

		for (size_t k = 0; s->creation && s->n && k < s->nactions; k++)
			for (size_t j = 0; j < s->actions[k].nwaits; j++) {
				const struct frt_wait *w = &s->actions[k].waits[j];

				for (size_t h = 0; h < w->nholders; h++) {
					*held += w->holders[h].ns / s->n;
					if (!strcmp(w->holders[h].task, task))
						sum += w->holders[h].ns / s->n;
				}
			}
	}
	return sum;
}

/* Did cleanup_net run while it was measured? Without it, more namespaces than were
 * made are somebody else's new ones. */
static bool cleanup_ran(const struct facts *f)
{
	for (size_t i = 0; i < f->p->noutside; i++)
		if (strcmp(f->p->outside[i].task, "cleanup_net") == 0)
			return true;
	return false;
}

static const char *backlog(struct facts *f)
{
	double held, ns = held_by(f, "cleanup_net", &held);
	int64_t dead = f->last->backlog;
	double made = f->last->routers + f->last->warmup;

	if (is_large(f, ns))
		return say(f,
			   "The kernel's own clean-up of dead namespaces (cleanup_net) holds the "
			   "locks that creating needs: %s of waiting per router. Delete at another "
			   "time than you create, or fewer at once.",
			   ms(f, ns));
	if (!cleanup_ran(f) || dead == INT64_MIN || dead < 20 || (double)dead < 0.2 * made)
		return NULL;
	return say(f,
		   "Namespaces die faster than the kernel frees them: %lld were dead but not gone "
		   "after %0.f were made. Creation that outruns clean-up ends in memory.",
		   (long long)dead, made);
}

/* Somebody outside holds the locks. */
static const char *lock_holder(struct facts *f)
{
	const struct frt_wait *top;
	double ns = waits_ns(f, "lock:*", &top), held;
	const struct frt_holder *h = top && top->nholders ? &top->holders[0] : NULL;

	if (!h || !is_large(f, ns) || strcmp(h->kind, "outside") != 0 || h->ns < 0.5 * top->ns)
		return NULL;
	ns = held_by(f, h->task, &held);
	if (!is_large(f, ns))
		return NULL;
	return say(f,
		   "%s, which is not part of this workload, holds locks that the steps wait for "
		   "(%s most of all): %s per router. Stop it, or let it do that work at another "
		   "time.",
		   h->task, top->class + strlen("lock:"), ms(f, ns));
}

static const char *storms(struct facts *f)
{
	static const struct {
		const char *task, *remedy;
	} known[] = {
		{ "systemd-udevd", "a rule that ends early for veth* (or `udevadm control "
				   "--stop-exec-queue` while creating)" },
		{ "(udev-worker)", "a rule that ends early for veth* (or `udevadm control "
				   "--stop-exec-queue` while creating)" },
		{ "systemd", "a mount namespace of the creators' own: pid 1 reads the whole "
			     "mountinfo whenever it changes" },
		{ "NetworkManager", "`unmanaged-devices=interface-name:…` for these links" },
		{ "systemd-network", "`Unmanaged=yes` for these links" },
		{ "dbus-daemon", "fewer services that watch links" },
		{ "avahi-daemon", "`deny-interfaces=` for these links" },
	};
	const char *text = NULL;

	for (size_t i = 0; i < f->p->noutside && !text; i++) {
		const struct frt_outsiderow *o = &f->p->outside[i];

		if (o->own || isnan(o->baseline_ns) || !is_large(f, o->per_router_ns) ||
		    o->cpu_ns < 3 * o->baseline_ns)
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(known); k++)
			if (strcmp(o->task, known[k].task) == 0)
				text = say(
					f,
					"%s answers every router with %s of CPU time%s%s%s. What "
					"helps: %s.",
					o->task, ms(f, o->per_router_ns), o->woken_by ? " (" : "",
					o->woken_by ? o->woken_by : "", o->woken_by ? ")" : "",
					known[k].remedy);
		/* the rest only when the link to the steps was seen */
		if (!text && o->woken_by && strncmp(o->task, "kworker", 7) &&
		    (strstr(o->woken_by, "uevent") || strstr(o->woken_by, "netlink") ||
		     strstr(o->woken_by, "mountinfo")))
			text = say(f,
				   "%s answers every router with %s of CPU time (%s): it listens "
				   "to what the steps change.",
				   o->task, ms(f, o->per_router_ns), o->woken_by);
	}
	return text;
}

static const char *processes(struct facts *f)
{
	double ns = action_ns(f, ACTION_START, FRT_KINDS) + action_ns(f, "execve", FRT_KINDS) +
		    action_ns(f, ACTION_USER, FRT_KIND_USER);
	size_t commands = 0;

	if (!f->p->mode || strcmp(f->p->mode, "script") != 0 || ns < 0.3 * f->router_ns ||
	    !is_large(f, ns))
		return NULL;
	for (int i = 0; i < FRT_STEPS; i++)
		commands += frt_steps[i].creation ? frt_steps[i].per_router : 0;
	return say(f,
		   "%.0f %% of a router (%s) is starting, loading and running %zu commands in user "
		   "mode, not their requests. One process for all (`ip -batch`, or netlink from "
		   "your own program) saves most of it.",
		   100 * ns / f->router_ns, ms(f, ns), commands);
}

static const char *memory(struct facts *f)
{
	double have = 1024 * (double)json_integer_value(env(f, "memory_available_kb"));
	double each = (double)f->last->memory_per_router, want;

	if (f->last->memory_per_router <= 0 || !(have > 0) || !f->an->npredict || !f->last->filled)
		return NULL;
	want = each * (double)f->an->predict[0];
	if (want < 0.8 * have)
		return NULL;
	return say(f,
		   "%llu routers take %.1f GiB at %.0f KiB each, of %.1f GiB that are available: "
		   "memory is the first limit.",
		   (unsigned long long)f->an->predict[0], want / (1 << 30), each / 1024,
		   have / (1 << 30));
}

static const char *(*const advice[])(struct facts *f) = {
	mount_table,   ip_n,	    veth_moved,	 tunnels,   sudo_lists,
	double_mounts, stacked_run, lock_holder, backlog,   rtnl_spin,
	rcu_normal,    one_init,    storms,	 processes, memory,
};

/* The highest level, and what a router takes there. False: too little to go by. */
static bool find_facts(struct facts *f)
{
	struct analysis *an = f->an;
	const struct group *g = an->ngroups ? &an->group[an->ngroups - 1] : NULL;

	if (!g || !g->traced)
		return false;
	f->level = g->level[g->nlevels - 1];
	f->last = f->level->out;
	for (size_t i = 0; i < f->last->nsteps; i++)
		if (strcmp(f->last->steps[i].step, "router") == 0 &&
		    f->last->steps[i].n >= ROUTERS_MIN)
			f->router_ns = f->last->steps[i].wall.mean;
	f->growth_ns = an->p->growth_lo > 0 ? an->p->growth_ns : NAN;
	return f->router_ns > 0;
}

int advice__fill(struct analysis *an)
{
	struct facts f = { .an = an, .p = an->p };

	an->p->advice = arena__alloc(an->arena, ARRAY_SIZE(advice) * sizeof(*an->p->advice));
	if (!an->p->advice)
		return -ENOMEM;
	if (!find_facts(&f))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(advice); i++) {
		const char *text = advice[i](&f);

		if (text)
			an->p->advice[an->p->nadvice++] = text;
	}
	return 0;
}
