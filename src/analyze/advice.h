/* SPDX-License-Identifier: BSD-2-Clause */
/* Known causes of slow creation, found in the results. */
#ifndef FRTRACE_ANALYZE_ADVICE_H
#define FRTRACE_ANALYZE_ADVICE_H

#include "analyze/analysis.h"

/* Fills p->advice from the finished profile and the trail; nothing without a match.
 * 0 or -ENOMEM. */
int advice__fill(struct analysis *an);

#endif
