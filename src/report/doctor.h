/* SPDX-License-Identifier: BSD-2-Clause */
/* What works here, as a table or as JSON. */
#ifndef FRTRACE_REPORT_DOCTOR_H
#define FRTRACE_REPORT_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct json_t;

struct doctor_row {
	const char *name, *state, *reason, *remedy; /* state: yes | no | partly */
};

/* 0 or -errno. */
int report__doctor_text(FILE *f, const struct doctor_row *v, size_t n, bool color);
/* {"features":[{name,state,reason,remedy}]}; the caller owns it. */
struct json_t *report__doctor_json(const struct doctor_row *v, size_t n);

#endif
