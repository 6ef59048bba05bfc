/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/option.h"

#include "cmd/cli.h"
#include "trace/trace.h"
#include "util/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const option__backends[] = {
	[TRACE_AUTO] = "auto",	 [TRACE_NONE] = "none",	    [TRACE_FENTRY] = "fentry",
	[TRACE_MULTI] = "multi", [TRACE_KPROBE] = "kprobe", NULL,
};

void option__wrong(const char *line)
{
	exit(cli__error(CLI_USAGE, "%s", line));
}

bool option__number(const struct option_number *v, size_t n, int key, const char *arg, void *opts)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t value;

		if (v[i].key != key)
			continue;
		value = option__uint(v[i].name, arg, v[i].min, v[i].max);
		memcpy((char *)opts + v[i].offset, &value, sizeof(value));
		return true;
	}
	return false;
}

uint64_t option__uint(const char *name, const char *arg, uint64_t min, uint64_t max)
{
	char err[256];
	uint64_t v;

	if (cli__number(name, arg, min, max, &v, err, sizeof(err)))
		option__wrong(err);
	return v;
}

void option__list(const char *name, const char *arg, uint64_t min, uint64_t max, uint64_t *v,
		  size_t cap, size_t *n)
{
	char err[256];

	if (cli__list(name, arg, min, max, true, v, cap, n, err, sizeof(err)))
		option__wrong(err);
}

void option__predict(const char *arg, uint64_t *v, size_t cap, size_t *n)
{
	option__list("--predict", arg, 1, 100000000, v, cap, n);
}

int option__choice(const char *name, const char *const *names, const char *arg)
{
	char all[128] = "", shown[64];

	for (int i = 0; names[i]; i++) {
		if (*names[i] && strcmp(names[i], arg) == 0)
			return i;
		if (*names[i])
			snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s",
				 *all ? ", " : "", names[i]);
	}
	exit(cli__error(CLI_USAGE, "%s '%s': unknown; give one of %s", name,
			printable(shown, sizeof(shown), arg), all));
}
