/* SPDX-License-Identifier: BSD-2-Clause */
/* What compare and export read: records and tables of rates. */
#ifndef FRTRACE_CMD_LOAD_H
#define FRTRACE_CMD_LOAD_H

#include "analyze/rate.h"
#include "record/input.h"

/* The table in `in`, as rates. 0, or -errno and one line in err. */
int load__table(struct input *in, const uint64_t *predict, size_t npredict, struct rate **out,
		char *err, size_t errlen);
/* The record in `in`; steps of a foreign loop are named. 0, or -errno and one line in err. */
int load__trail(struct input *in, struct frt_trail *out, char *err, size_t errlen);

#endif
