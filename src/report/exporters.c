/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of exporters: a new format is a row here and a file beside it. */
#include "report/exporters.h"

#define PICK (EXPORT_STEP | EXPORT_AT | EXPORT_KIND)

const struct exporter report__exporters[] = {
	{ "folded", "folded", "folded stacks, for other flame graph programs", PICK | EXPORT_DIFF,
	  folded__write },
	{ "svg", "svg", "flame graph in one file, or the rate plot (--kind rate)",
	  PICK | EXPORT_DIFF | EXPORT_RATE, svg__write },
	{ "html", "html", "the report as one page", 0, html__write },
	{ "speedscope", "speedscope.json", "speedscope: a profile per step, level and kind", PICK,
	  speedscope__write },
	{ "pprof", "pb.gz", "pprof: cpu, off and count, with labels step, action, existing",
	  PICK | EXPORT_BINARY, pprof__write },
	{ "trace", "trace.json", "timeline of single routers, for trace-event viewers",
	  EXPORT_TRAIL, traceevent__write },
	{ "csv", "csv", "one row per measurement, or rates (--kind rate)",
	  EXPORT_STEP | EXPORT_AT | EXPORT_RATE, csv__write },
	{ "csv-steps", "csv", "one row per step and level", EXPORT_STEP | EXPORT_AT,
	  csv__write_steps },
	{ 0 },
};
