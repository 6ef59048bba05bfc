/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the commands are. */
#include "workload/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* `ip` and `sysctl` are looked for where root has them, whoever's PATH it is. */
static const char *const sbin[] = { "/usr/local/sbin", "/usr/sbin", "/sbin" };

static bool path_has(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	for (const char *p = path; p; p = strchr(p, ':') ? strchr(p, ':') + 1 : NULL)
		if (!strncmp(p, dir, n) && (p[n] == ':' || !p[n]))
			return true;
	return false;
}

static int make_env(struct workload *w)
{
	const char *path = getenv("PATH");
	size_t n = 0, j = 0;
	char *full;

	full = arena__strdup(w->arena, path ? path : "/usr/bin:/bin");
	for (size_t i = 0; full && i < ARRAY_SIZE(sbin); i++)
		if (!path_has(full, sbin[i]))
			full = arena__printf(w->arena, "%s:%s", full, sbin[i]);
	while (environ && environ[n])
		n++;
	w->tools.env = arena__alloc(w->arena, (n + 2) * sizeof(char *));
	if (!full || !w->tools.env)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], "PATH=", 5))
			w->tools.env[j++] = environ[i];
	w->tools.env[j] = arena__printf(w->arena, "PATH=%s", full);
	return w->tools.env[j] ? 0 : -ENOMEM;
}

static const char *env_path(const struct workload *w)
{
	for (char **e = w->tools.env; *e; e++)
		if (!strncmp(*e, "PATH=", 5))
			return *e + 5;
	return "";
}

static int try_file(const char *file)
{
	struct stat st;

	if (stat(file, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EACCES;
	return access(file, X_OK) ? -errno : 0;
}

/* Looks name up as execvp does; the file in *out. 0 or -errno. */
static int find(struct workload *w, const char *name, const char **out)
{
	int rc = -ENOENT;

	if (strchr(name, '/')) {
		*out = name;
		return try_file(name);
	}
	for (const char *p = env_path(w); p; p = strchr(p, ':') ? strchr(p, ':') + 1 : NULL) {
		int n = (int)strcspn(p, ":");
		char *file = arena__printf(w->arena, "%.*s%s%s", n, p, n ? "/" : "./", name);
		int e;

		if (!file)
			return -ENOMEM;
		e = try_file(file);
		if (!e) {
			*out = file;
			return 0;
		}
		if (e != -ENOENT && e != -ENOTDIR)
			rc = e;
	}
	return rc;
}

static int need(struct workload *w, const char *name, const char *remedy, const char **out,
		char *err, size_t errlen)
{
	char shown[256];
	int rc = find(w, name, out);

	if (!rc)
		return 0;
	return fail(err, errlen, rc, "%s: %s%s; %s", printable(shown, sizeof(shown), name),
		    rc == -ENOENT ? "not found" : strerror(-rc),
		    rc == -ENOENT && !strchr(name, '/') ? " in PATH" : "", remedy);
}

static int split_prefix(struct workload *w, char *err, size_t errlen)
{
	struct tools *t = &w->tools;
	char *s, *save = NULL;

	s = arena__strdup(w->arena, w->o.sudo);
	if (!s)
		return fail(err, errlen, -ENOMEM, "out of memory");
	for (char *p = strtok_r(s, " \t", &save); p; p = strtok_r(NULL, " \t", &save)) {
		if (t->nprefix + 1 >= ARRAY_SIZE(t->prefix))
			return fail(err, errlen, -E2BIG,
				    "--sudo: more than %zu words; use a script as the prefix",
				    ARRAY_SIZE(t->prefix) - 1);
		t->prefix[t->nprefix++] = p;
	}
	if (!t->nprefix)
		return fail(err, errlen, -EINVAL, "--sudo: the command is empty");
	return need(w, t->prefix[0], "install it, or leave --sudo out", &t->prefix_path, err,
		    errlen);
}

static bool uses_commands(enum frt_workmode m)
{
	return m == FRT_WORK_SCRIPT || m == FRT_WORK_BATCH;
}

int tools__find(struct workload *w, char *err, size_t errlen)
{
	struct tools *t = &w->tools;
	const char *sysctl;
	int rc;

	if (make_env(w))
		return fail(err, errlen, -ENOMEM, "out of memory");
	t->ip = w->o.ip ? w->o.ip : "ip";
	if (w->o.sudo) {
		rc = split_prefix(w, err, errlen);
		if (rc)
			return rc;
	}
	if (w->o.control) {
		rc = need(w, "true", "it is the control step; install coreutils", &t->true_path,
			  err, errlen);
		if (rc)
			return rc;
	}
	if (!uses_commands(w->o.mode) && !uses_commands(w->o.fill))
		return 0;
	rc = need(w, t->ip,
		  w->o.ip ? "give --ip the path of an iproute2 `ip`"
			  : "install iproute2, or name another with --ip PATH",
		  &t->ip_path, err, errlen);
	if (rc)
		return rc;
	return need(w, "sysctl", "install procps", &sysctl, err, errlen);
}
