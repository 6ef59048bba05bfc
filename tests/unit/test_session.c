/* SPDX-License-Identifier: BSD-2-Clause */
/* What a session says when the record, the tracer or a thread fails: each its own
 * words, and the first of them. The tracer is one that fails as it is told to. */
#include "cmd/session.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

static struct {
	int creator, drain, put, outside, loss, count;
	struct frt_sink sink;
} fake;

int trace__add_creator(struct trace *t, unsigned stream, volatile uint32_t **cell, uint32_t *task)
{
	static volatile uint32_t instance;

	(void)t;
	(void)stream;
	*cell = &instance;
	*task = 1;
	return fake.creator;
}

int trace__drop_creator(struct trace *t, unsigned stream)
{
	(void)t;
	(void)stream;
	return 0;
}

int trace__drain(struct trace *t)
{
	struct frt_dead d = { .task = 1 };

	(void)t;
	return fake.put ? fake.sink.put(fake.sink.ctx, FRT_REC_DEAD, &d) : fake.drain;
}

int trace__fd(const struct trace *t)
{
	(void)t;
	return -1;
}

bool trace__deferring(const struct trace *t)
{
	(void)t;
	return false;
}

void trace__sampling(struct trace *t, bool on)
{
	(void)t;
	(void)on;
}

int trace__outside_end(struct trace *t)
{
	(void)t;
	return fake.outside;
}

int trace__outside_put(struct trace *t, uint32_t level)
{
	(void)t;
	(void)level;
	return 0;
}

int trace__loss(struct trace *t, struct frt_loss *out)
{
	(void)t;
	memset(out, 0, sizeof(*out));
	return fake.loss;
}

int trace__count_netns(struct trace *t, uint64_t *n)
{
	(void)t;
	*n = 42;
	return fake.count;
}

void trace__close(struct trace *t)
{
	(void)t;
}

struct world {
	struct session s;
	char line[512];
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	json_t *h = json_object();

	memset(&fake, 0, sizeof(fake));
	session__init(&w->s, 1, 0);
	w->s.trace = (struct trace *)w; /* never looked into */
	fake.sink = session__sink(&w->s);
	*state = w;
	if (record__create(NULL, -1, -1, &w->s.rec) || record__header(w->s.rec, h))
		return -1;
	json_decref(h);
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	session__close(&w->s);
	record__free(w->s.rec);
	free(w);
	return 0;
}

static void says(struct world *w, const char *object, const char *reason, const char *remedy)
{
	assert_true(session__why(&w->s, w->line, sizeof(w->line)));
	assert_non_null(strstr(w->line, object));
	assert_non_null(strstr(w->line, reason));
	assert_non_null(strstr(w->line, remedy));
}

static void nothing_failed(void **state)
{
	struct world *w = *state;
	struct frt_level l = { .id = 1 };

	assert_int_equal(session__drain(&w->s), 0);
	assert_int_equal(session__put_level(&w->s, &l), 0);
	assert_int_equal(session__cannot(&w->s, "do what went well", 0), 0);
	assert_int_equal(session__error(&w->s), 0);
	assert_false(session__why(&w->s, w->line, sizeof(w->line)));
}

/* No place for a creator is not a full disk, and ends the run at its first router. */
static void no_place_for_a_creator(void **state)
{
	struct world *w = *state;
	struct workload_hooks h = session__hooks(&w->s);
	struct frt_router r = { .id = 1 };
	uint32_t task;

	fake.creator = -ENOSPC;
	assert_null(h.creator_begin(h.ctx, 0, &task));
	says(w, "follow a creator", "No space left", "--streams");
	assert_null(strstr(w->line, "free some space"));
	assert_null(strstr(w->line, "-o FILE"));
	h.router_begin(h.ctx, &r);
	assert_int_equal(h.router_end(h.ctx, &r, NULL, 0), -ENOSPC);
}

/* A file that may not grow. */
static void full_disk(void **state)
{
	struct rlimit was, none = { 0 };
	struct world *w = *state;
	struct frt_level l = { .id = 1 };
	int rc;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	none.rlim_max = was.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &none);
	rc = session__put_level(&w->s, &l);
	setrlimit(RLIMIT_FSIZE, &was);
	assert_int_equal(rc, -EFBIG);
	says(w, "the record", "File too large", "free some space");
	/* and stays so */
	assert_int_equal(session__cannot(&w->s, "do something else", -EPERM), -EPERM);
	assert_int_equal(session__error(&w->s), -EFBIG);
}

/* What the sink refuses comes back through the tracer: it is the record's. */
static void refused_by_the_record(void **state)
{
	struct world *w = *state;

	fake.put = 1;
	w->s.put_error = -EFBIG;
	assert_int_equal(session__drain(&w->s), -EFBIG);
	assert_int_equal(w->s.error, 0);
	says(w, "the record", "File too large", "-o FILE");
}

static void an_event_that_is_none(void **state)
{
	struct world *w = *state;
	struct workload_hooks h = session__hooks(&w->s);
	struct frt_router r = { .id = 1 };

	fake.drain = -EBADMSG;
	assert_int_equal(h.router_end(h.ctx, &r, NULL, 0), -EBADMSG);
	says(w, "read what the kernel sent", "Bad message", "build it anew");
}

static void the_first_one_sticks(void **state)
{
	struct world *w = *state;
	struct frt_level l = { .id = 1 };

	fake.outside = -ENOMEM;
	fake.loss = -EPERM;
	assert_int_equal(session__put_outside(&w->s), -ENOMEM);
	assert_int_equal(session__put_level(&w->s, &l), -EPERM);
	assert_int_equal(session__error(&w->s), -ENOMEM);
	says(w, "count what else ran", "Cannot allocate memory", "memory");
}

static void a_thread(void **state)
{
	struct world *w = *state;

	assert_int_equal(session__cannot(&w->s, "start the thread that looks", -EAGAIN), -EAGAIN);
	says(w, "start the thread that looks", "temporarily unavailable", "threads-max");
}

/* Counts meanwhile: what came out is kept, what could not be counted is not, and where
 * only the cost of looking is measured nobody counts. */
static void backlog_is_counted(void **state)
{
	struct world *w = *state;
	struct workload_hooks h = session__hooks(&w->s);
	struct frt_nscount c = { .level = 1, .t = 1, .expected = 40 };
	struct frt_trail t = { 0 };

	h.backlog(h.ctx, &c);
	fake.count = -EAGAIN;
	h.backlog(h.ctx, &c);
	fake.count = 0;
	w->s.router_flags = FRT_ROUTER_OVERHEAD;
	h.backlog(h.ctx, &c);
	assert_int_equal(session__error(&w->s), 0);
	assert_int_equal(record__finish(w->s.rec, NULL), 0);
	assert_int_equal(record__load(w->s.rec, &t), 0);
	assert_int_equal(t.nscount.n, 1);
	assert_int_equal(t.nscount.v[0].existing, 42);
	assert_int_equal(t.nscount.v[0].expected, 40);
	trail__free(&t);
	/* untraced the kernel's own list cannot be read */
	w->s.trace = NULL;
	assert_null(session__hooks(&w->s).backlog);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_failed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_place_for_a_creator, set_up, tear_down),
		cmocka_unit_test_setup_teardown(full_disk, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refused_by_the_record, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_event_that_is_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_first_one_sticks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_thread, set_up, tear_down),
		cmocka_unit_test_setup_teardown(backlog_is_counted, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
