/* SPDX-License-Identifier: BSD-2-Clause */
/* Outputs that are compared with files in tests/golden. */
#ifndef GOLDEN_H
#define GOLDEN_H

#include <stddef.h>

/* Fails the test, naming the first line that differs, when data is not what
 * tests/golden/NAME holds. With UPDATE_GOLDEN=1 in the environment it writes
 * the file instead. Tests run in the top directory. */
void golden__check(const char *name, const char *data, size_t n);

#endif
