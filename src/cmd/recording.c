/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/recording.h"

#include "cmd/cli.h"
#include "env/environment.h"
#include "util/util.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* JSON is UTF-8; a command line need not be. */
static json_t *json_of(const char *s)
{
	json_t *j = json_string(s);
	struct arena *a;

	if (j)
		return j;
	a = arena__new();
	if (!a)
		return NULL;
	j = json_string(arena__printable(a, s));
	arena__free(a);
	return j;
}

static int write_header(struct session *s, const struct recording *r)
{
	json_t *h = json_object();
	time_t now = time(NULL);
	char date[40];
	struct tm tm;
	int rc;

	gmtime_r(&now, &tm);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &tm);
	json_object_set_new(h, "created", json_string(date));
	json_object_set_new(h, "command", json_of(r->command));
	json_object_set_new(h, "mode", json_string(r->mode));
	json_object_set_new(h, "environment", environment__gather(r->ip ? r->ip : "ip", r->sudo));
	json_object_set_new(h, "options", r->options);
	if (s->trace)
		json_object_set_new(h, "probes", trace__probes(s->trace));
	else
		json_object_set_new(h, "probes",
				    json_pack("{s:s, s:i, s:i, s:[]}", "backend", "untraced",
					      "wanted", 0, "attached", 0, "missing"));
	json_object_set_new(h, "notes", r->notes);
	rc = record__header(s->rec, h);
	json_decref(h);
	return rc;
}

int recording__begin(struct session *s, const struct recording *r)
{
	const char *path = r->output;
	char name[64];
	int uid, gid, rc;

	cli__owner(&uid, &gid);
	if (!path) {
		cli__record_name(name, sizeof(name));
		path = name;
	}
	if (strcmp(path, "none") == 0)
		rc = record__create(NULL, -1, -1, &s->rec);
	else
		rc = record__create(path, uid, gid, &s->rec);
	if (rc) {
		json_decref(r->options);
		json_decref(r->notes);
		return cli__error(CLI_FAILED,
				  "%s: cannot create the record: %s; give another -o FILE", path,
				  strerror(-rc));
	}
	rc = write_header(s, r);
	if (rc)
		return cli__error(
			CLI_FAILED,
			"%s: cannot write the record: %s; free some space or give another -o FILE",
			path, strerror(-rc));
	return 0;
}

int recording__failed(struct session *s)
{
	char line[512];

	if (!s->said && session__why(s, line, sizeof(line)))
		cli__error(CLI_FAILED, "%s", line);
	s->said = true;
	return CLI_FAILED;
}

bool recording__end(struct session *s, json_t *end, int *status)
{
	uint64_t maps = s->trace ? trace__map_bytes(s->trace) : 0;
	struct rusage ru;
	int rc;

	getrusage(RUSAGE_SELF, &ru);
	if (!end)
		end = json_object();
	json_object_set_new(end, "status", json_integer(*status));
	json_object_set_new(end, "vmhwm_kb", json_integer((json_int_t)ru.ru_maxrss));
	json_object_set_new(end, "map_bytes", json_integer((json_int_t)maps));
	rc = record__finish(s->rec, end);
	json_decref(end);
	if (rc && session__error(s))
		*status = cli__worse(*status, recording__failed(s));
	else if (rc)
		*status = cli__worse(
			*status,
			cli__error(CLI_FAILED,
				   "the record: %s; free some space or give another -o FILE",
				   strerror(-rc)));
	return !rc;
}

void recording__tell(const struct session *s, bool quiet)
{
	if (record__path(s->rec) && !quiet)
		fprintf(stderr, "recorded in %s\n", record__path(s->rec));
}
