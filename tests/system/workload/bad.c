/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands that fail, hang, are killed or print nonsense; surroundings that do
 * not allow it. One line that names object and reason, nothing left. */
#include "wlt.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

static void script(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	CHECK(f);
	fprintf(f, "#!/bin/sh\n%s\n", text);
	fclose(f);
	CHECK(!wlt_run("chmod +x %s", path));
}

static void one_line(const char *error, const char *const *words)
{
	if (strpbrk(error, "\n\r\033\t") || strlen(error) < 20)
		FAIL("not one clean line: %s", error);
	for (; *words; words++)
		if (!strstr(error, *words))
			FAIL("'%s' is not in: %s", *words, error);
}

/* create with an ip that behaves badly. */
static void bad_ip(enum frt_workmode mode, const char *text, int want, unsigned max_s,
		   const char *const *words)
{
	static struct wlt_seen s;
	struct workload_opts o = wlt_options(mode, &s);
	struct frt_level l = { .id = 1 };
	struct workload *w;
	char *before;
	uint64_t t0;
	int rc;

	script("/run/badip", text);
	before = wlt_snapshot();
	o.ip = "/run/badip";
	o.step_timeout_s = 1;
	w = wlt_open(&o);
	t0 = now_ns();
	rc = workload__create(w, &l, 0, 3);
	if (rc != want)
		FAIL("rc %d, not %d: %s", rc, want, workload__error(w));
	if (now_ns() - t0 > max_s * 1000000000ull)
		FAIL("took %.1f s", (double)(now_ns() - t0) / 1e9);
	one_line(workload__error(w), words);
	if (s.routers > 1 || s.failed != s.routers)
		FAIL("%u routers, %u failed: the first one failed, and is the last", s.routers,
		     s.failed);
	CHECK(!workload__close(w));
	wlt_same(before, "after a bad ip");
	free(before);
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void fails(void)
{
	bad_ip(FRT_WORK_SCRIPT, "printf 'no \\033[31mway\\nmore\\n' >&2; exit 7", -EIO, 10,
	       WORDS("badip netns add bar-", "status 7", "no \\x1b[31mway"));
	bad_ip(FRT_WORK_SCRIPT, "exit 3", -EIO, 10, WORDS("status 3", "no reason"));
	/* in the third command, with much made already */
	bad_ip(FRT_WORK_SCRIPT, "case $4 in sysctl) echo gone wrong; exit 2;; esac; exec ip \"$@\"",
	       -EIO, 10, WORDS("sysctl -w net.ipv4.ip_forward=1", "status 2", "gone wrong"));
	bad_ip(FRT_WORK_BATCH, "echo no batch >&2; exit 9", -EIO, 10,
	       WORDS("-batch", "status 9", "no batch"));
	/* a real one that fails in the middle of a batch */
	bad_ip(FRT_WORK_BATCH,
	       "case $1 in -*) sed -u 's/veth/vethx/' | exec ip \"$@\";; *) exec ip \"$@\";; esac",
	       -EIO, 10, WORDS("link add ro-", "type veth", "arguments"));
}

static void killed(void)
{
	bad_ip(FRT_WORK_SCRIPT, "kill -SEGV $$", -EIO, 10, WORDS("netns add", "signal 11"));
	/* killed after it has made the namespace */
	bad_ip(FRT_WORK_SCRIPT, "ip \"$@\"; kill -KILL $$", -EIO, 10,
	       WORDS("netns add", "signal 9"));
	bad_ip(FRT_WORK_BATCH, "kill -TERM $$", -EIO, 10, WORDS("signal 15"));
}

static void hangs(void)
{
	bad_ip(FRT_WORK_SCRIPT, "exec sleep 1000", -ETIMEDOUT, 10,
	       WORDS("netns add", "1 s", "--step-timeout", "nanosleep", "killed"));
	/* what hangs is a grandchild: its stack, and it is gone afterwards */
	bad_ip(FRT_WORK_SCRIPT, "sleep 54321; true", -ETIMEDOUT, 10, WORDS("nanosleep"));
	if (!wlt_run("pgrep -f '^sleep 54321' >/dev/null"))
		FAIL("the grandchild is still there");
	bad_ip(FRT_WORK_BATCH, "exec sleep 1000", -ETIMEDOUT, 10, WORDS("netns add", "1 s"));
	/* signals that could be ignored */
	bad_ip(FRT_WORK_SCRIPT, "trap '' TERM INT; while :; do sleep 1; done", -ETIMEDOUT, 10,
	       WORDS("netns add"));
}

static void nonsense(void)
{
	bad_ip(FRT_WORK_SCRIPT, "echo lorem ipsum; exit 0", -ENODEV, 10,
	       WORDS("no namespace", "/run/netns/bar-", "lorem ipsum"));
	/* more than a pipe holds */
	bad_ip(FRT_WORK_SCRIPT,
	       "[ $1 = netns ] && [ $2 = add ] && head -c 3000000 /dev/urandom; exit 0", -ENODEV,
	       10, WORDS("no namespace"));
	bad_ip(FRT_WORK_BATCH, "head -c 3000000 /dev/urandom >&2; exit 0", -EIO, 10,
	       WORDS("-batch", "status 0"));
	/* everything but the links */
	bad_ip(FRT_WORK_SCRIPT, "[ $1 = link ] && [ $2 = add ] && exit 0; exec ip \"$@\"", -ENODEV,
	       10, WORDS("no such link", "go-"));
	/* a file, but no namespace */
	bad_ip(FRT_WORK_SCRIPT, "[ $1$2 = netnsadd ] && : > /run/netns/$3; exit 0", -ENODEV, 10,
	       WORDS("no namespace"));
}

static void clash(void)
{
	/* the name is taken between our look and the command */
	bad_ip(FRT_WORK_SCRIPT, "[ $1$2 = netnsadd ] && ip \"$@\"; exec ip \"$@\"", -EIO, 10,
	       WORDS("netns add", "File exists"));
	bad_ip(FRT_WORK_SCRIPT, "[ $1$2 = netnsadd ] && : > /run/netns/$3; exec ip \"$@\"", -EIO,
	       10, WORDS("File exists"));
	/* a link of that name */
	bad_ip(FRT_WORK_SCRIPT, "[ $2 = add ] && [ $1 = link ] && ip \"$@\"; exec ip \"$@\"", -EIO,
	       10, WORDS("link add ro-", "File exists"));
}

static void missing_tools(void)
{
	struct workload_opts o = wlt_options(FRT_WORK_SCRIPT, NULL);
	struct workload *w;
	char err[1024], *before = wlt_snapshot();

	o.ip = "/no/such/ip";
	CHECK(workload__open(&o, &w, err, sizeof(err)) == -ENOENT && !w);
	one_line(err, WORDS("/no/such/ip", "not found", "--ip"));
	o.ip = "no-such-ip";
	CHECK(workload__open(&o, &w, err, sizeof(err)) == -ENOENT);
	one_line(err, WORDS("no-such-ip", "PATH"));
	o.ip = "/etc/passwd";
	CHECK(workload__open(&o, &w, err, sizeof(err)) == -EACCES);
	one_line(err, WORDS("/etc/passwd", "ermission denied"));
	o.ip = "/etc";
	CHECK(workload__open(&o, &w, err, sizeof(err)) < 0);
	o.ip = NULL;
	o.sudo = "no-such-sudo -n";
	CHECK(workload__open(&o, &w, err, sizeof(err)) == -ENOENT);
	one_line(err, WORDS("no-such-sudo", "--sudo"));
	o.sudo = "  ";
	CHECK(workload__open(&o, &w, err, sizeof(err)) == -EINVAL);
	o.sudo = "a b c d e f g h i j";
	CHECK(workload__open(&o, &w, err, sizeof(err)) == -E2BIG);
	/* what is not needed is not asked for */
	o = wlt_options(FRT_WORK_LEAN, NULL);
	o.ip = "/no/such/ip";
	CHECK(!workload__open(&o, &w, err, sizeof(err)));
	CHECK(!workload__close(w));
	wlt_same(before, "after missing tools");
}

static void preflight_says(const struct workload_opts *o, uint64_t n, const char *const *words)
{
	char err[1024] = "";
	struct workload *w = wlt_open(o);
	int rc = workload__preflight(w, n, err, sizeof(err));

	if (!rc)
		FAIL("nothing against %lu routers", (unsigned long)n);
	one_line(err, words);
	CHECK(!workload__close(w));
}

static void limits(void)
{
	struct workload_opts o = wlt_options(FRT_WORK_SCRIPT, NULL);
	char *before = wlt_snapshot();
	char err[1024];
	struct workload *w;

	preflight_says(&o, 1000000000, WORDS("1000000000 routers", "limit", "MiB"));
	w = wlt_open(&o);
	CHECK(!workload__preflight(w, 10, err, sizeof(err)));
	CHECK(!workload__close(w));
	/* inodes where the names go */
	CHECK(!wlt_run("mkdir /run/netns && mount -t tmpfs -o nr_inodes=40 t /run/netns"));
	preflight_says(&o, 100, WORDS("100 routers", "inodes of /run/netns"));
	CHECK(!wlt_run("umount /run/netns && rmdir /run/netns"));
	/* a user's limit on namespaces is global: only read here, not set */
	wlt_same(before, "after the limits");
}

static void read_only(void)
{
	struct workload_opts o = wlt_options(FRT_WORK_SCRIPT, NULL);

	CHECK(!wlt_run("mkdir /run/netns && mount -t tmpfs -o ro t /run/netns"));
	preflight_says(&o, 1, WORDS("/run/netns", "Read-only", "writable"));
	CHECK(!wlt_run("umount /run/netns && rmdir /run/netns && : > /run/netns"));
	preflight_says(&o, 1, WORDS("/run/netns", "no directory"));
}

static void no_ledger(void)
{
	struct workload_opts o = wlt_options(FRT_WORK_SCRIPT, NULL);
	struct workload *w;
	char err[1024];

	CHECK(!wlt_run("mount -o remount,ro /run"));
	CHECK(workload__open(&o, &w, err, sizeof(err)) == -EROFS);
	one_line(err, WORDS("/run/frtrace", "Read-only"));
	CHECK(!wlt_run("mount -o remount,rw /run; mkdir /run/frtrace;"
		       "mount -t tmpfs -o mode=700,size=4k,nr_inodes=2 t /run/frtrace;"
		       "head -c 4096 /dev/zero > /run/frtrace/full 2>/dev/null"));
	CHECK(workload__open(&o, &w, err, sizeof(err)) == -ENOSPC);
	one_line(err, WORDS("/run/frtrace", "No space"));
	CHECK(!wlt_run("test $(ls /run/frtrace) = full"));
	/* What others may write to is not believed. */
	CHECK(!wlt_run("umount /run/frtrace && chmod 777 /run/frtrace"));
	CHECK(workload__open(&o, &w, err, sizeof(err)) == -EPERM);
	one_line(err, WORDS("/run/frtrace", "others"));
}

/* The last line that opening writes does not fit: nothing stays of the others. */
static void ledger_cut(void)
{
	struct workload_opts o = wlt_options(FRT_WORK_SCRIPT, NULL);
	struct rlimit was, few = { 300, 300 };
	char err[1024], destroy[480];
	struct workload *w;
	int rc;

	memset(destroy, 'x', sizeof(destroy) - 1);
	destroy[sizeof(destroy) - 1] = '\0';
	o.create = "true";
	o.destroy = destroy;
	CHECK(!getrlimit(RLIMIT_FSIZE, &was));
	few.rlim_max = was.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	CHECK(!setrlimit(RLIMIT_FSIZE, &few));
	rc = workload__open(&o, &w, err, sizeof(err));
	CHECK(!setrlimit(RLIMIT_FSIZE, &was));
	if (rc != -ENOSPC && rc != -EFBIG)
		FAIL("open: %d", rc);
	one_line(err, WORDS("/run/frtrace"));
	CHECK(wlt_run("test -e /run/frtrace"));
}

/* Out of inodes in the middle of a fill: the limit by name, and a clean end. */
static void full_disk(void)
{
	struct workload_opts o = wlt_options(FRT_WORK_LEAN, NULL);
	struct frt_level l = { .id = 1 };
	char *before;
	struct workload *w;
	int rc;

	CHECK(!wlt_run("mkdir /run/netns && mount -t tmpfs -o nr_inodes=20 t /run/netns &&"
		       "mount --make-shared /run/netns"));
	before = wlt_snapshot();
	w = wlt_open(&o);
	rc = workload__fill(w, 50, &l);
	if (rc != -ENOSPC)
		FAIL("rc %d: %s", rc, workload__error(w));
	one_line(workload__error(w),
		 WORDS("/run/netns/bar-", "No space", "the limit is", "inodes"));
	CHECK(l.filled >= 10 && l.filled <= 20);
	CHECK(!workload__close(w));
	wlt_same(before, "after a full disk");
}

static void write_to(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (!f || fputs(text, f) < 0 || fclose(f))
		wlt_skip("%s: %s", path, strerror(errno));
}

/* The limit on namespaces is one of a user namespace: in one of our own it can be
 * lowered without anybody else feeling it. */
static void namespace_limit(void)
{
	static const enum frt_workmode all[] = { FRT_WORK_SCRIPT, FRT_WORK_EXACT, FRT_WORK_LEAN };
	char err[1024], *before;

	if (unshare(CLONE_NEWUSER))
		wlt_skip("no user namespaces: %s", strerror(errno));
	write_to("/proc/self/uid_map", "0 0 1");
	write_to("/proc/self/setgroups", "deny");
	write_to("/proc/self/gid_map", "0 0 1");
	if (unshare(CLONE_NEWNS | CLONE_NEWNET) || mount("run", "/run", "tmpfs", 0, NULL))
		wlt_skip("in a user namespace: %s", strerror(errno));
	write_to("/proc/sys/user/max_net_namespaces", "12");
	before = wlt_snapshot();
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct workload_opts o = wlt_options(all[i], NULL);
		struct frt_level l = { .id = 1 };
		struct workload *w = wlt_open(&o);
		int rc;

		rc = workload__preflight(w, 1000, err, sizeof(err));
		if (rc != -ENOSPC)
			FAIL("preflight: %d %s", rc, err);
		one_line(err, WORDS("1000 routers", "12 namespaces", "user.max_net_namespaces"));
		rc = workload__create(w, &l, 0, 30);
		if (rc >= 0)
			FAIL("%s: 30 namespaces where 12 are allowed", workload__mode_name(all[i]));
		one_line(workload__error(w), WORDS("No space", "bar-"));
		if (all[i] != FRT_WORK_SCRIPT)
			one_line(workload__error(w), WORDS("user.max_net_namespaces = 12"));
		CHECK(!workload__close(w));
		wlt_same(before, "after the limit was hit");
	}
}

/* Too few descriptors for that many streams, in every mode: by name, and clean. */
static void few_files(void)
{
	static const enum frt_workmode all[] = { FRT_WORK_SCRIPT, FRT_WORK_EXACT, FRT_WORK_LEAN,
						 FRT_WORK_BATCH };
	struct rlimit r = { 40, 40 };
	char err[1024], *before = wlt_snapshot();

	CHECK(!setrlimit(RLIMIT_NOFILE, &r));
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct workload_opts o = wlt_options(all[i], NULL);
		struct frt_level l = { .id = 1 };
		struct workload *w;
		int rc;

		o.streams = 30;
		w = wlt_open(&o);
		if (!workload__preflight(w, 60, err, sizeof(err)))
			FAIL("preflight found nothing");
		one_line(err, WORDS("40 files", "RLIMIT_NOFILE"));
		rc = workload__create(w, &l, 0, 60);
		if (rc != -EMFILE)
			FAIL("%s: %d: %s", workload__mode_name(all[i]), rc, workload__error(w));
		one_line(workload__error(w), WORDS("Too many open files", "RLIMIT_NOFILE"));
		CHECK(!workload__close(w));
		wlt_same(before, "without descriptors");
	}
}

const struct wlt_test tests_bad[] = { { "fails", fails, 180, false },
				      { "killed", killed, 180, false },
				      { "hangs", hangs, 180, false },
				      { "nonsense", nonsense, 180, false },
				      { "clash", clash, 180, false },
				      { "missing_tools", missing_tools, 180, false },
				      { "limits", limits, 180, false },
				      { "read_only", read_only, 180, false },
				      { "no_ledger", no_ledger, 180, false },
				      { "ledger_cut", ledger_cut, 180, false },
				      { "full_disk", full_disk, 180, false },
				      { "few_files", few_files, 180, false },
				      { "namespace_limit", namespace_limit, 180, false },
				      { 0 } };
