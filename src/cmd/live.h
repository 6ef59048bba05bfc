/* SPDX-License-Identifier: BSD-2-Clause */
/* --live: what is being done now, refreshed on a terminal's stderr. */
#ifndef FRTRACE_CMD_LIVE_H
#define FRTRACE_CMD_LIVE_H

#include "analyze/rules.h"

#include <frtrace/trail.h>

/* One record struct passes by. */
void live__take(struct rules *rules, enum frt_rec type, const void *item);
/* Draws the table, below what the command prints; existing namespaces as just counted. */
void live__draw(uint64_t existing);
/* Leaves the terminal as it was. */
void live__end(void);

#endif
