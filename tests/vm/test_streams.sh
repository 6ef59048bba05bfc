#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# kernels: 6.12 newest
# vm: --exact-time --memory 3072 --cpus 2
#
# Many streams, work that outlives its level and stacks that cannot be walked,
# see tests/system/test_waits.sh: on kernels that tell of contended locks.
set -euo pipefail

tests/system/test_waits.sh streams outlives stackless | tee /tmp/cases
# Nobody else is here: nothing is skipped.
! grep '^skip' /tmp/cases
