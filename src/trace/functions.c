// SPDX-License-Identifier: BSD-2-Clause
/* Which functions are probed, and where they are: the kernel's own lists. */
#include "trace/functions.h"

#include "analyze/decode.h"
#include "analyze/symbols.h"
#include "trace/internal.h"
#include "trace/types.h"
#include "env/kallsyms.h"
#include "util/util.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <fnmatch.h>
#include <frtrace/events.h>
#include <frtrace/trail.h>
#include <jansson.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

const char *functions__rung_name(enum trace_backend rung)
{
	static const char *const names[] = {
		[TRACE_AUTO] = "auto",	 [TRACE_NONE] = "none",	    [TRACE_FENTRY] = "fentry",
		[TRACE_MULTI] = "multi", [TRACE_KPROBE] = "kprobe",
	};

	return names[rung];
}

/* Known not to return, as the kernel's own checker has them: an exit would never be seen. */
static bool never_returns(const char *name)
{
	static const char *const names[] = {
		"__do_sys_exit",
		"__do_sys_exit_group",
		"__x64_sys_exit",
		"__x64_sys_exit_group",
		"do_exit",
		"do_group_exit",
		"do_task_dead",
		"make_task_dead",
		"kthread_exit",
		"kthread_complete_and_exit",
		"panic",
		"cpu_startup_entry",
		"__stack_chk_fail",
		"machine_halt",
		"kernel_halt",
		"rewind_stack_and_make_dead",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

struct function *functions__new(struct functions *f, const char *name)
{
	struct function *fn;

	if (grow(&f->v, f->n, &f->cap, sizeof(*f->v)))
		return NULL;
	fn = &f->v[f->n++];
	memset(fn, 0, sizeof(*fn));
	snprintf(fn->name, sizeof(fn->name), "%s", name);
	snprintf(fn->wanted, sizeof(fn->wanted), "%s", name);
	fn->rung = TRACE_NONE;
	fn->entry_fd = fn->exit_fd = -1;
	fn->entry_only = never_returns(name);
	return fn;
}

static struct function *find(const struct functions *f, const char *wanted)
{
	for (size_t i = 0; i < f->n; i++)
		if (strcmp(f->v[i].wanted, wanted) == 0)
			return &f->v[i];
	return NULL;
}

static bool is_pattern(const char *s)
{
	return strpbrk(s, "*?[") != NULL;
}

/* A module's functions are there only when it is. The loader needs no answer:
 * without the module its rows say so. */
static void load_module(const char *name)
{
	char path[128];
	pid_t pid;

	snprintf(path, sizeof(path), "/sys/module/%s", name);
	if (access(path, F_OK) == 0)
		return;
	pid = fork();
	if (pid == 0) {
		execlp("modprobe", "modprobe", "-q", name, (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static int add_wanted(struct functions *f, const char *const *probes)
{
	struct function *fn;

	for (size_t i = 0; i < FRT_NPROBES; i++) {
		fn = functions__new(f, frt_probes[i].function);
		if (!fn)
			return -ENOMEM;
		fn->def = &frt_probes[i];
		fn->entry_only |= frt_probes[i].entry_only;
		if (frt_probes[i].module)
			load_module(frt_probes[i].module);
	}
	for (size_t i = 0; probes && probes[i]; i++) {
		if (is_pattern(probes[i]))
			continue;
		fn = find(f, probes[i]);
		if (!fn)
			fn = functions__new(f, probes[i]);
		if (!fn)
			return -ENOMEM;
		fn->by_name = true;
	}
	return 0;
}

/* Code with an address. */
static bool is_code(const struct kallsym *s)
{
	return s->addr && strchr("tTwW", s->type);
}

static bool probeable_name(const char *name)
{
	return strncmp(name, "__pfx_", 6) != 0 && strncmp(name, "__cfi_", 6) != 0 &&
	       !strstr(name, ".cold");
}

/* How well a symbol answers what is wanted: 0 not at all; the plain name is best,
 * then another kernel's name, then one with a compiler's suffix. */
static int fit(const struct function *fn, const char *name, const char *folded)
{
	if (strcmp(fn->wanted, name) == 0)
		return 4;
	for (int i = 0; fn->def && i < 2 && fn->def->others[i]; i++)
		if (strcmp(fn->def->others[i], name) == 0)
			return 3 - i;
	return strcmp(fn->wanted, folded) == 0 ? 1 : 0;
}

static int compare_wanted(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names that any row could be answered by, sorted, so that most symbols are
 * dismissed by one search. Copies: the rows move when patterns add to them. */
static char **interesting(const struct functions *f, size_t *n)
{
	char **v = calloc(f->n * 3 + 1, sizeof(*v));

	*n = 0;
	for (size_t i = 0; v && i < f->n; i++) {
		v[(*n)++] = strdup(f->v[i].wanted);
		for (int k = 0; f->v[i].def && k < 2 && f->v[i].def->others[k]; k++)
			v[(*n)++] = strdup(f->v[i].def->others[k]);
	}
	for (size_t i = 0; i < *n; i++)
		if (!v[i]) {
			v[i] = v[--*n];
			i--;
		}
	if (v)
		qsort(v, *n, sizeof(*v), compare_wanted);
	return v;
}

static void free_names(char **v, size_t n)
{
	for (size_t i = 0; v && i < n; i++)
		free(v[i]);
	free(v);
}

static void consider(struct functions *f, const struct kallsym *s, const char *folded,
		     uint8_t *best)
{
	for (size_t i = 0; i < f->n; i++) {
		struct function *fn = &f->v[i];
		int q = fit(fn, s->name, folded);

		if (!q || q < best[i])
			continue;
		if (q > best[i]) {
			best[i] = (uint8_t)q;
			fn->times = 0;
			fn->addr = s->addr;
			snprintf(fn->name, sizeof(fn->name), "%.*s", (int)sizeof(fn->name) - 1,
				 s->name);
			snprintf(fn->module, sizeof(fn->module), "%.*s",
				 (int)sizeof(fn->module) - 1, s->module);
		}
		fn->times++;
	}
}

static int take_pattern(struct functions *f, const struct kallsym *s, const char *const *probes,
			size_t cap, size_t *over)
{
	for (size_t i = 0; probes && probes[i]; i++) {
		struct function *fn;

		if (!is_pattern(probes[i]) || fnmatch(probes[i], s->name, 0) != 0)
			continue;
		if (i < 64)
			f->matched |= 1ull << i;
		fn = find(f, s->name);
		if (fn) {
			fn->times += fn->addr != s->addr && !fn->def;
			return 0;
		}
		if (f->n >= cap) {
			(*over)++;
			return 0;
		}
		fn = functions__new(f, s->name);
		if (!fn)
			return -ENOMEM;
		fn->addr = s->addr;
		fn->times = 1;
		snprintf(fn->module, sizeof(fn->module), "%.*s", (int)sizeof(fn->module) - 1,
			 s->module);
	}
	return 0;
}

static int look_up_symbols(struct functions *f, const char *const *probes, size_t cap,
			   struct operations *ops)
{
	uint8_t *best = calloc(f->n + 1, 1);
	size_t ninteresting, over = 0, table = f->n;
	char **names = interesting(f, &ninteresting);
	struct kallsyms *in = kallsyms__open_kept();
	struct kallsym s;
	int rc = 0;

	if (!best || !names)
		rc = -ENOMEM;
	while (!rc && kallsyms__next(in, &s)) {
		char folded[256];
		const char *key = folded;

		if (!is_code(&s) || !probeable_name(s.name))
			continue;
		operations__symbol(ops, &s);
		symbols__fold(folded, sizeof(folded), s.name);
		if (bsearch(&key, names, ninteresting, sizeof(*names), compare_wanted)) {
			size_t all = f->n;

			f->n = table; /* patterns are found by themselves */
			consider(f, &s, folded, best);
			f->n = all;
		}
		rc = take_pattern(f, &s, probes, cap, &over);
	}
	if (over)
		snprintf(f->said, sizeof(f->said),
			 "%zu more functions match --probe: this rung takes %zu at most", over,
			 cap);
	kallsyms__close(in);
	free_names(names, ninteresting);
	free(best);
	return rc;
}

/* First of the two places tracefs may be mounted at that has the file. */
static FILE *open_tracefs(const char *file)
{
	char path[128];
	FILE *in;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/%s", file);
	in = fopen(path, "re");
	if (in)
		return in;
	snprintf(path, sizeof(path), "/sys/kernel/debug/tracing/%s", file);
	return fopen(path, "re");
}

static void look_up_blacklist(struct functions *f)
{
	FILE *in = fopen("/sys/kernel/debug/kprobes/blacklist", "re");
	unsigned long long from, to;

	while (in && fscanf(in, "%llx-%llx%*[^\n]", &from, &to) == 2)
		for (size_t i = 0; i < f->n; i++)
			f->v[i].blacklisted |= f->v[i].addr >= from && f->v[i].addr < to;
	if (in)
		fclose(in);
}

/* Where ftrace can stop. When the list cannot be read everything may be tried. */
static void look_up_traceable(struct functions *f)
{
	FILE *in = open_tracefs("available_filter_functions");
	size_t cap = 0;
	char *line = NULL;
	bool any = false;

	while (in && getline(&line, &cap, in) > 0) {
		const char *key = line;

		line[strcspn(line, " \t\n")] = '\0';
		any = true;
		for (size_t i = 0; i < f->n; i++)
			if (!f->v[i].traceable && f->v[i].name[0] == key[0] &&
			    strcmp(f->v[i].name, key) == 0)
				f->v[i].traceable = true;
	}
	for (size_t i = 0; !any && i < f->n; i++)
		f->v[i].traceable = true;
	if (in)
		fclose(in);
	free(line);
}

/* The descriptor of a module's BTF; -1 when it has none (before 5.11, or built
 * without). */
static int module_btf_fd(const char *module)
{
	__u32 id = 0;

	while (bpf_btf_get_next_id(id, &id) == 0) {
		struct bpf_btf_info info = { 0 };
		__u32 len = sizeof(info);
		char name[64] = "";
		int fd = bpf_btf_get_fd_by_id(id);

		if (fd < 0)
			continue;
		info.name = (uintptr_t)name;
		info.name_len = sizeof(name);
		if (!bpf_obj_get_info_by_fd(fd, &info, &len) && info.kernel_btf &&
		    strcmp(name, module) == 0)
			return fd;
		close(fd);
	}
	return -1;
}

/* BTF ids for fentry; a name that occurs twice has none that is sure to be right. */
static void look_up_btf(struct functions *f)
{
	struct btf *base = types__kernel();

	for (size_t i = 0; base && i < f->n; i++) {
		struct function *fn = &f->v[i];
		struct btf *btf = base;

		if (!fn->addr || fn->times != 1 || fn->undo)
			continue;
		if (fn->module[0]) {
			fn->btf_fd = module_btf_fd(fn->module);
			btf = fn->btf_fd > 0 ? btf__load_module_btf(fn->module, base) : NULL;
			if (!btf)
				continue;
		}
		fn->btf_id = btf__find_by_name_kind(btf, fn->name, BTF_KIND_FUNC);
		if (fn->btf_id < 0)
			fn->btf_id = 0;
		if (btf != base)
			btf__free(btf);
	}
}

static void explain_missing(struct functions *f)
{
	for (size_t i = 0; i < f->n; i++) {
		struct function *fn = &f->v[i];

		if (!fn->addr)
			snprintf(
				fn->reason, sizeof(fn->reason),
				fn->def && fn->def->module
					? "absent: not in the symbol table, module %s not loaded or function inlined"
					: "absent: not in the symbol table; inlined, renamed or not built in",
				fn->def ? fn->def->module : "");
		else if (fn->blacklisted)
			snprintf(fn->reason, sizeof(fn->reason),
				 "blacklisted: the kernel forbids probes there");
	}
}

int functions__look_up(struct functions *f, const char *const *probes, size_t cap,
		       struct operations *ops)
{
	int rc = add_wanted(f, probes);

	if (!rc)
		rc = look_up_symbols(f, probes, cap, ops);
	if (!rc)
		rc = operations__add(f, ops);
	if (rc)
		return rc;
	look_up_blacklist(f);
	look_up_traceable(f);
	look_up_btf(f);
	explain_missing(f);
	/* A pattern that matched nothing is a row like any other. */
	for (size_t i = 0; probes && probes[i]; i++) {
		bool hit = i >= 64 || (f->matched & 1ull << i);

		if (!is_pattern(probes[i]))
			continue;
		if (!hit) {
			struct function *fn = functions__new(f, probes[i]);

			if (!fn)
				return -ENOMEM;
			fn->by_name = true;
			snprintf(fn->reason, sizeof(fn->reason),
				 "absent: no function matches the pattern");
		}
	}
	return 0;
}

/* What a message of several asks, as the call's own name would say it. */
static const char *rtnl_name(uint64_t key, char buf[DECODE_MAX])
{
	struct frt_call c = { .nl_type = (uint16_t)key, .nl_flags = (uint16_t)(key >> 16) };
	char kind[FRT_RTNL_KIND_BYTES + 1] = "";

	c.text = key & FRT_RTNL_MOVED ? "@netns" : "";
	if (key & FRT_RTNL_KIND) {
		for (int i = 0; i < FRT_RTNL_KIND_BYTES; i++)
			kind[i] = (char)(key >> 8 * i);
		c.text = kind;
		c.nl_type = RTM_NEWLINK;
		c.nl_flags = NLM_F_CREATE;
	}
	return decode__rtnl(&c, buf);
}

void functions__label(const struct functions *f, struct stacks *s, uint32_t func, uint16_t variant,
		      uint64_t key, char *buf, size_t size)
{
	const struct function *fn = func < f->n ? &f->v[func] : NULL;
	char folded[96], message[DECODE_MAX];

	if (!fn) {
		snprintf(buf, size, "[unknown]");
		return;
	}
	symbols__fold(folded, sizeof(folded), fn->wanted[0] ? fn->wanted : fn->name);
	if (fn->def && (fn->def->split == FRT_PROBE_INIT || fn->def->split == FRT_PROBE_OPS))
		snprintf(buf, size, "%s[%s]", folded, key ? stacks__frame(s, key) : "no init");
	else if (fn->def && fn->def->split == FRT_PROBE_RTNL && key)
		snprintf(buf, size, "%s[%s]", folded, rtnl_name(key, message));
	else if (fn->def && fn->def->split == FRT_PROBE_FLAG && !variant)
		snprintf(buf, size, "%s (%s)", folded, fn->def->idle);
	else
		snprintf(buf, size, "%s", folded);
}

static json_t *attached_json(const struct function *fn)
{
	json_t *o = json_pack("{s:s, s:s, s:s}", "function", fn->wanted, "as", fn->name, "rung",
			      functions__rung_name(fn->rung));

	/* of several with one name the first is the one */
	if (o && fn->times > 1)
		json_object_set_new(o, "first_of", json_integer(fn->times));
	return o;
}

struct json_t *functions__json(const struct functions *f)
{
	json_t *missing = json_array(), *list = json_array(), *rungs = json_object();
	uint32_t wanted = 0;
	json_t *o;

	for (size_t i = 0; i < f->n; i++) {
		const struct function *fn = &f->v[i];

		wanted++;
		if (fn->rung == TRACE_NONE)
			json_array_append_new(
				missing,
				json_pack("{s:s, s:s}", "function", fn->wanted, "reason",
					  fn->reason[0] ? fn->reason : "no rung works here"));
		else
			json_array_append_new(list, attached_json(fn));
	}
	for (int r = TRACE_FENTRY; r <= TRACE_KPROBE; r++)
		json_object_set_new(rungs, functions__rung_name((enum trace_backend)r),
				    json_string(f->have[r] ? "yes" : f->why[r]));
	o = json_pack("{s:s, s:i, s:i, s:o, s:o, s:o}", "backend", functions__rung_name(f->best),
		      "wanted", (int)wanted, "attached", (int)f->attached, "missing", missing,
		      "functions", list, "rungs", rungs);
	if (o) {
		json_object_set_new(o, "load_ns", json_integer((json_int_t)f->load_ns));
		json_object_set_new(o, "attach_ns", json_integer((json_int_t)f->attach_ns));
	}
	if (o && f->said[0])
		json_object_set_new(o, "said", json_string(f->said));
	return o;
}

uint32_t trace__probes_missing(const struct trace *t)
{
	uint32_t n = 0;

	for (size_t i = 0; i < t->fn.n; i++)
		n += t->fn.v[i].by_name && t->fn.v[i].rung == TRACE_NONE;
	return n;
}

void trace__probes_explain(const struct trace *t,
			   void (*put)(void *ctx, bool missing, const char *line), void *ctx)
{
	char line[512];

	for (size_t i = 0; i < t->fn.n; i++) {
		const struct function *fn = &t->fn.v[i];

		if (!fn->by_name || (fn->rung != TRACE_NONE && fn->times < 2))
			continue;
		if (fn->rung != TRACE_NONE)
			snprintf(line, sizeof(line),
				 "--probe %s: the name occurs %u times; the first is attached",
				 fn->wanted, fn->times);
		else
			snprintf(line, sizeof(line), "--probe %s: not attached: %s", fn->wanted,
				 fn->reason[0] ? fn->reason : "no rung works here");
		put(ctx, fn->rung == TRACE_NONE, line);
	}
	if (t->fn.said[0])
		put(ctx, false, t->fn.said);
}

void trace__probes_times(const struct trace *t, uint64_t *attach_ns, uint64_t *detach_ns)
{
	*attach_ns = t->fn.attach_ns;
	*detach_ns = t->fn.detach_ns;
}

void functions__free(struct functions *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->v[i].btf_fd > 0)
			close(f->v[i].btf_fd);
	free(f->v);
	memset(f, 0, sizeof(*f));
}
