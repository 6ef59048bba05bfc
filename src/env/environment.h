/* SPDX-License-Identifier: BSD-2-Clause */
/* The facts of this machine that decide how namespaces behave. */
#ifndef FRTRACE_ENVIRONMENT_H
#define FRTRACE_ENVIRONMENT_H

struct json_t;

/* The "environment" object of the record and of the JSON report. Facts that
 * cannot be read are null. ip and sudo: the commands whose versions are asked
 * (NULL: not asked). The caller owns the result; NULL when out of memory. */
struct json_t *environment__gather(const char *ip, const char *sudo);

#endif
