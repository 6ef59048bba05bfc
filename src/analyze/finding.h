/* SPDX-License-Identifier: BSD-2-Clause */
/* The finding in plain words, made of nothing but the profile's figures. */
#ifndef FRTRACE_ANALYZE_FINDING_H
#define FRTRACE_ANALYZE_FINDING_H

#include "util/util.h"

#include <frtrace/model.h>

/* Fills p->finding with one to three sentences from p's levels, stepgrowth and
 * growth. They claim only what the intervals support. 0 or -ENOMEM. */
int finding__write(struct frt_profile *p, struct arena *arena);

/* ns as "12.3 ms", three significant digits; size 24 is enough. */
char *finding__ms(char *buf, size_t size, double ns);

#endif
