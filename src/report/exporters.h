/* SPDX-License-Identifier: BSD-2-Clause */
/* The exporters, one function each; exporters.c has their table. All have the
 * signature of struct exporter's write. */
#ifndef FRTRACE_REPORT_EXPORTERS_H
#define FRTRACE_REPORT_EXPORTERS_H

#include "report/report.h"

#define EXPORT_ARGS                                                                     \
	FILE *out, const struct frt_profile *p, const struct export_opts *o, char *err, \
		size_t errlen

int folded__write(EXPORT_ARGS);
int svg__write(EXPORT_ARGS);
int svg__write_rate(EXPORT_ARGS);
int html__write(EXPORT_ARGS);
int speedscope__write(EXPORT_ARGS);
int pprof__write(EXPORT_ARGS);
int traceevent__write(EXPORT_ARGS);
int csv__write(EXPORT_ARGS);
int csv__write_steps(EXPORT_ARGS);

#endif
