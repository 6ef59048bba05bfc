/* SPDX-License-Identifier: BSD-2-Clause */
/* Rates and comparisons made by hand, for the tests of both. */
#ifndef RATE_TABLES_H
#define RATE_TABLES_H

#include "analyze/compare.h"

#include <stdbool.h>

#define RATES_2014 "data/rates-2014.csv"
#define STREAMS_2014 "data/streams-2014.csv"

/* Of a table; anything wrong with it fails the test. */
struct rate *rate_of_text(const char *text, size_t len);
struct rate *rate_of_file(const char *path);
/* Of rows as a record of kernel 6.1 with two CPUs would hold them. */
struct rate *rate_of_rows(struct frt_raterow *rows, size_t n);
/* 100 routers from 0 whose walls alternate mean ± s. */
struct frt_raterow live_row(uint32_t mode, uint32_t run, double mean_us, double s_us);

struct compare *compare_inputs(const struct compare_input *in, size_t n);
/* The row of that key; none fails the test. */
const struct compare_row *find_row(const struct compare *c, const char *key);
bool has_line(const char **v, size_t n, const char *piece);

#endif
