/* SPDX-License-Identifier: BSD-2-Clause */
/* From trail to profile: pure functions, no I/O. */
#ifndef FRTRACE_ANALYZE_H
#define FRTRACE_ANALYZE_H

#include <frtrace/model.h>
#include <frtrace/trail.h>

struct analyze_opts {
	uint64_t predict[8]; /* existing counts to predict for; 0 ends */
	size_t npredict;
};

/* Everything: assembly, accounting, statistics, growth, finding. Returns 0 or
 * -errno (-ENOMEM). The profile keeps no pointer into the trail. */
int analyze__profile(const struct frt_trail *t, const struct analyze_opts *o,
		     struct frt_profile **out);
void profile__free(struct frt_profile *p);

#endif
