/* SPDX-License-Identifier: BSD-2-Clause */
/* The ledger: killed at any moment, clean removes exactly the rest. */
#include "wlt.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const enum frt_workmode modes[] = { FRT_WORK_SCRIPT, FRT_WORK_EXACT, FRT_WORK_LEAN,
					   FRT_WORK_BATCH };

/* Somebody else's things, some of them looking much like ours. */
static void foreign_things(void)
{
	CHECK(!wlt_run("ip netns add foreign"));
	CHECK(!wlt_run("ip netns add bar-00000000-1111-4222-8333-444444444444"));
	CHECK(!wlt_run("ip link add ro-00000000-11 type veth peer name ri-00000000-11"
		       " netns bar-00000000-1111-4222-8333-444444444444"));
	CHECK(!wlt_run("ip link add foreign0 type veth peer name foreign1"));
	CHECK(!wlt_run("mkdir /run/foreign && mount -t tmpfs foreign /run/foreign"));
	CHECK(!wlt_run(": > /run/netns/bar-55555555-1111-4222-8333-444444444444"));
}

static void say(void *ctx, const char *line)
{
	char **all = ctx;
	size_t n = *all ? strlen(*all) : 0;

	*all = realloc(*all, n + strlen(line) + 2);
	CHECK(*all);
	sprintf(*all + n, "%s\n", line);
}

static int do_clean(bool dry, char **said)
{
	*said = NULL;
	return workload__clean(dry, say, said);
}

/* The life of a run, over and over. Does not return. */
static void live(enum frt_workmode mode)
{
	struct workload_opts o = wlt_options(mode, NULL);
	char err[1024];

	o.streams = 2;
	for (;;) {
		struct frt_level l = { .id = 1 };
		struct workload *w;

		if (workload__open(&o, &w, err, sizeof(err)) || workload__fill(w, 12, &l) ||
		    workload__create(w, &l, 1, 3) || workload__delete_created(w, &l) ||
		    workload__remove_all(w) || workload__close(w))
			_exit(1);
	}
}

static pid_t start_life(enum frt_workmode mode)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid)
		live(mode);
	return pid;
}

static void kill_run(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	CHECK(waitpid(pid, &status, 0) == pid);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		FAIL("the run had ended by itself, status %x", (unsigned)status);
}

/* At moments spread over a run's whole life; FRT_LONG=1: four times as many. */
static void kill_nine(void)
{
	const char *is_long = getenv("FRT_LONG");
	bool many = is_long && strcmp(is_long, "0");
	char *before, *said;

	foreign_things();
	before = wlt_snapshot();
	srandom((unsigned)time(NULL));
	for (unsigned i = 0; i < (many ? 80 : 20); i++) {
		enum frt_workmode mode = modes[i % 4];
		useconds_t at = (useconds_t)(random() % 350000);
		char when[64];
		pid_t pid = start_life(mode);
		int rc;

		usleep(at);
		kill_run(pid);
		rc = do_clean(false, &said);
		snprintf(when, sizeof(when), "after kill -9 in %s at %u us,",
			 workload__mode_name(mode), at);
		if (rc < 0)
			FAIL("%s clean: %d\n%s", when, rc, said ? said : "");
		wlt_same(before, when);
		free(said);
		/* nothing left to do */
		rc = do_clean(false, &said);
		if (rc)
			FAIL("%s a second clean: %d\n%s", when, rc, said ? said : "");
	}
}

/* The same, but the run is killed while filling by script, and nobody cleans
 * before the next one is killed too: one clean takes all. */
static void kill_many(void)
{
	char *before, *said;

	foreign_things();
	before = wlt_snapshot();
	for (int i = 0; i < 8; i++) {
		pid_t pid = start_life(modes[i % 4]);

		usleep((useconds_t)(20000 + random() % 200000));
		kill_run(pid);
	}
	if (do_clean(false, &said) < 1)
		FAIL("clean found nothing:\n%s", said ? said : "");
	wlt_same(before, "after cleaning eight runs");
}

/* A dry run counts and says, and touches nothing. */
static void dry_run(void)
{
	struct workload_opts o = wlt_options(FRT_WORK_SCRIPT, NULL);
	char *before = wlt_snapshot(), *made, *after, *said;
	struct frt_level l = { .id = 1 };
	struct workload *w;
	int dry, real;

	o.keep = true;
	w = wlt_open(&o);
	CHECK(!workload__create(w, &l, 0, 3));
	CHECK(!workload__close(w)); /* kept */
	CHECK(wlt_names() == 3);
	made = wlt_snapshot();
	dry = do_clean(true, &said);
	/* three namespaces, six links that go with them or on their own, the ledger */
	if (dry < 4 || !strstr(said, "bar-") || !strstr(said, ".ledger"))
		FAIL("dry run: %d\n%s", dry, said ? said : "");
	after = wlt_snapshot();
	if (strcmp(made, after))
		FAIL("a dry run changed something:\n%s---\n%s", made, after);
	real = do_clean(false, &said);
	if (real < 4)
		FAIL("clean: %d\n%s", real, said ? said : "");
	wlt_same(before, "after clean");
	CHECK(do_clean(true, &said) == 0);
}

/* Beside a run that lives: its things stay, and it goes on. */
static void beside_live(void)
{
	struct workload_opts o = wlt_options(FRT_WORK_SCRIPT, NULL);
	char *before = wlt_snapshot(), *with_live, *said;
	struct frt_level l = { .id = 1 };
	struct workload *w = wlt_open(&o);
	pid_t pid;

	CHECK(!workload__fill(w, 5, &l));
	CHECK(!workload__create(w, &l, 0, 3));
	with_live = wlt_snapshot();
	for (int i = 0; i < 4; i++) {
		pid = start_life(modes[i]);
		usleep(150000);
		kill_run(pid);
		CHECK(do_clean(false, &said) >= 0);
		wlt_same(with_live, "with a live run beside");
	}
	CHECK(!workload__delete_created(w, &l));
	CHECK(!workload__create(w, &l, 0, 2));
	CHECK(!workload__close(w));
	wlt_same(before, "after the live run");
}

static void two_at_once(void)
{
	char *before = wlt_snapshot();
	pid_t pid[4];

	for (int i = 0; i < 4; i++) {
		pid[i] = fork();
		CHECK(pid[i] >= 0);
		if (!pid[i]) {
			struct wlt_seen *s = calloc(1, sizeof(*s));
			struct workload_opts o = wlt_options(modes[i], s);
			struct frt_level l = { .id = 1 };
			struct workload *w = wlt_open(&o);

			for (int k = 0; k < 3; k++)
				if (workload__fill(w, 10 * (unsigned)(k + 1), &l) ||
				    workload__create(w, &l, 1, 4) ||
				    workload__delete_created(w, &l))
					FAIL("%s: %s", workload__mode_name(modes[i]),
					     workload__error(w));
			CHECK(!workload__remove_all(w));
			CHECK(!workload__close(w));
			CHECK(s->routers == 15 && s->deletes == 15 && !s->bad);
			fflush(stdout);
			_exit(0);
		}
	}
	for (int i = 0; i < 4; i++) {
		int status;

		CHECK(waitpid(pid[i], &status, 0) == pid[i]);
		if (status)
			FAIL("run %d ended with %x", i, (unsigned)status);
	}
	wlt_same(before, "after four runs at once");
}

/* first: the network namespace the run was in; 0: ours. */
static void write_ledger_of(const char *id, const char *boot, uint64_t first, const char *lines)
{
	char path[128];
	struct stat st;
	FILE *f;

	CHECK(!stat("/proc/self/ns/net", &st));
	if (!first)
		first = st.st_ino;

	mkdir("/run/frtrace", 0700);
	snprintf(path, sizeof(path), "/run/frtrace/%s.ledger", id);
	f = fopen(path, "w");
	CHECK(f);
	fprintf(f, "frtrace-ledger 1\nrun %s\nboot %s\nfirst %llu\ndir 1:1\n%s", id, boot,
		(unsigned long long)first, lines);
	fclose(f);
}

static void write_ledger(const char *id, const char *boot, const char *lines)
{
	write_ledger_of(id, boot, 0, lines);
}

static char *boot(void)
{
	char *id = wlt_output("cat /proc/sys/kernel/random/boot_id");

	id[strcspn(id, "\n")] = '\0';
	return id;
}

#define U1 "bar-11111111-1111-4222-8333-444444444444"
#define U2 "bar-22222222-1111-4222-8333-444444444444"
#define U3 "bar-33333333-1111-4222-8333-444444444444"
#define U4 "bar-44444444-1111-4222-8333-444444444444"
#define U5 "bar-55555555-1111-4222-8333-444444444444"

/* What a ledger names but may not be removed, and what may. */
static void only_ours(void)
{
	char lines[1024], *said;
	struct timespec t;
	int rc;

	CHECK(!wlt_run("ip netns add " U1 "; ip netns add " U2 "; : > /run/netns/" U3
		       "; echo full > /run/netns/" U4 "; : > /run/netns/" U5
		       "; : > /run/precious"));
	clock_gettime(CLOCK_REALTIME, &t);
	snprintf(lines, sizeof(lines),
		 /* have, but another namespace stands there now */
		 "want " U1 " 1\nhave " U1 " 4:1234567 0 0\n"
		 /* only wanted, and newer than its line */
		 "want " U2 " %llu\n"
		 /* an empty file that is older than its line */
		 "want " U3 " %llu\n"
		 /* a file with something in it */
		 "want " U4 " 1\n"
		 /* the empty file `ip` leaves */
		 "want " U5 " %llu\n"
		 /* nonsense, and names that would lead elsewhere */
		 "want ../precious 1\nwant bar-../../precious 1\nhave\nwant\nxyz 5\nwant " U1,
		 (unsigned long long)(t.tv_sec - 100) * 1000000000ull,
		 (unsigned long long)(t.tv_sec + 1000) * 1000000000ull,
		 (unsigned long long)(t.tv_sec - 100) * 1000000000ull);
	write_ledger("aaaa", boot(), lines);
	rc = do_clean(false, &said);
	if (rc < 0)
		FAIL("clean: %d\n%s", rc, said ? said : "");
	CHECK(!wlt_run("test -e /run/netns/" U1 " -a ! -e /run/netns/" U2 " -a -e /run/netns/" U3
		       " -a -e /run/netns/" U4 " -a ! -e /run/netns/" U5 " -a -e /run/precious"));
	CHECK(strstr(said, U1) && strstr(said, "another namespace"));
	CHECK(strstr(said, U3) && strstr(said, "older"));
	CHECK(strstr(said, U4) && strstr(said, "neither"));
	/* the ledger is done with all the same */
	CHECK(wlt_run("test -e /run/frtrace/aaaa.ledger"));
}

static void other_boot(void)
{
	char *said;

	CHECK(!wlt_run("ip netns add " U1));
	write_ledger("bbbb", "00000000-0000-0000-0000-000000000000", "want " U1 " 1\n");
	CHECK(do_clean(false, &said) == 1);
	CHECK(!wlt_run("test -e /run/netns/" U1 " -a ! -e /run/frtrace/bbbb.ledger"));
	/* an empty one: killed before its first line */
	CHECK(!wlt_run("mkdir -p /run/frtrace; : > /run/frtrace/cccc.ledger"));
	CHECK(do_clean(false, &said) == 1);
	CHECK(wlt_run("test -e /run/frtrace/cccc.ledger"));
}

/* A namespace that somebody is still in keeps its links alive: they go by name,
 * index and kind. */
static void held_namespace(void)
{
	struct workload_opts o = wlt_options(FRT_WORK_LEAN, NULL);
	struct frt_level l = { .id = 1 };
	struct workload *w;
	char *said;
	int rc;

	o.keep = true;
	w = wlt_open(&o);
	CHECK(!workload__create(w, &l, 0, 1));
	CHECK(!workload__close(w));
	CHECK(!wlt_run("ip netns exec $(ls /run/netns) sleep 300 >/dev/null 2>&1 & sleep 0.3"));
	CHECK(!wlt_run("umount /run/netns/bar-* && rm /run/netns/bar-*"));
	CHECK(!wlt_run("ip link | grep -q ro-"));
	rc = do_clean(false, &said);
	/* two links, the ledger, the run directory */
	if (rc < 3 || !strstr(said, "link ro-") || !strstr(said, "link go-"))
		FAIL("clean: %d\n%s", rc, said ? said : "");
	CHECK(wlt_run("ip link | grep -q ro-"));
}

/* From another network namespace than the run's: that is entered for its links,
 * and where it cannot be found the names are not lost. */
static void from_elsewhere(void)
{
	struct workload_opts o = wlt_options(FRT_WORK_LEAN, NULL);
	struct frt_level l = { .id = 1 };
	struct workload *w;
	int rc, status;
	char *said;
	pid_t pid;

	o.keep = true;
	w = wlt_open(&o);
	CHECK(!workload__create(w, &l, 0, 1));
	CHECK(!workload__close(w));
	CHECK(!wlt_run("ip netns exec $(ls /run/netns) sleep 300 >/dev/null 2>&1 & sleep 0.3"));
	CHECK(!wlt_run("ip link | grep -q ro-"));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		CHECK(!unshare(CLONE_NEWNET));
		rc = do_clean(false, &said);
		/* the namespace, two links, the ledger */
		if (rc < 4 || !strstr(said, "link ro-") || !strstr(said, "link go-"))
			FAIL("clean: %d\n%s", rc, said ? said : "");
		/* and is back where it was */
		CHECK(wlt_run("ip link | grep -q -e ro- -e go-"));
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	CHECK(wlt_run("ip link | grep -q -e ro- -e go-"));
	CHECK(wlt_run("ls /run/frtrace/*.ledger 2>/dev/null"));

	write_ledger_of("dddd", boot(), 1, "want " U1 " 1\n");
	for (int i = 0; i < 2; i++) {
		CHECK(do_clean(i == 0, &said) == -ESRCH);
		if (!said || !strstr(said, "dddd") || !strstr(said, "network namespace 1,"))
			FAIL("said: %s", said ? said : "nothing");
		CHECK(!wlt_run("grep -q " U1 " /run/frtrace/dddd.ledger"));
	}
	CHECK(!wlt_run("rm /run/frtrace/dddd.ledger"));
	CHECK(do_clean(false, &said) >= 0);
}

/* Killed while a command that outlives its parent runs: clean ends it. */
static void orphans(void)
{
	struct workload_opts o = wlt_options(FRT_WORK_SCRIPT, NULL);
	char *said;
	pid_t pid;

	CHECK(!wlt_run(
		"printf '#!/bin/sh\\nsetsid sleep 98765 &\\nexec sleep 98766\\n' > /run/hang;"
		"chmod +x /run/hang"));
	o.ip = "/run/hang";
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		struct frt_level l = { .id = 1 };
		struct workload *w = wlt_open(&o);

		workload__create(w, &l, 0, 1);
		_exit(0);
	}
	for (int i = 0; i < 100 && wlt_run("pgrep -f '^sleep 98765' > /dev/null"); i++)
		usleep(50000);
	if (wlt_run("grep -q ^cgroup /run/frtrace/*.ledger")) {
		kill_run(pid);
		wlt_run("pkill -f '^sleep 98765'");
		wlt_skip("no cgroup v2 that can be written: only the command itself dies");
	}
	kill_run(pid);
	usleep(300000);
	/* the command died with its parent; what it started did not */
	CHECK(wlt_run("pgrep -f '^sleep 98766' > /dev/null"));
	CHECK(!wlt_run("pgrep -f '^sleep 98765' > /dev/null"));
	CHECK(do_clean(false, &said) >= 0);
	usleep(300000);
	CHECK(wlt_run("pgrep -f '^sleep 98765' > /dev/null"));
}

/* --create loops are undone by their own --destroy. */
static void foreign_left(void)
{
	struct workload_opts o = wlt_options(FRT_WORK_SCRIPT, NULL);
	char *said;
	pid_t pid;

	CHECK(!wlt_run("mkdir /run/made"));
	o.create = "echo {uuid} > /run/made/{i}; sleep 0.05";
	o.destroy = "test \"$(cat /run/made/{i})\" = {uuid} && rm /run/made/{i}";
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		struct frt_level l = { .id = 1 };
		struct workload *w = wlt_open(&o);

		workload__create(w, &l, 0, 100);
		_exit(0);
	}
	usleep(400000);
	kill_run(pid);
	usleep(100000);
	CHECK(!wlt_run("test $(ls /run/made | wc -l) -ge 3"));
	do_clean(false, &said);
	if (wlt_run("test $(ls /run/made | wc -l) = 0"))
		FAIL("left: %s\n%s", wlt_output("ls /run/made"), said ? said : "");
}

const struct wlt_test tests_clean[] = { { "kill_nine", kill_nine, 300, false },
					{ "kill_many", kill_many, 180, false },
					{ "dry_run", dry_run, 180, false },
					{ "beside_live", beside_live, 180, false },
					{ "two_at_once", two_at_once, 180, false },
					{ "only_ours", only_ours, 180, false },
					{ "other_boot", other_boot, 180, false },
					{ "held_namespace", held_namespace, 180, false },
					{ "from_elsewhere", from_elsewhere, 180, false },
					{ "orphans", orphans, 180, false },
					{ "foreign_left", foreign_left, 180, false },
					{ 0 } };
