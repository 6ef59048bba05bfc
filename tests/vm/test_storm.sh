#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# kernels: newest
# vm: --memory 3072 --cpus 2 --at-once
#
# A storm of contended locks, see tests/system/test_waits.sh. A spinlock is contended only
# where two CPUs really run at once.
set -euo pipefail

tests/system/test_waits.sh storm | tee /tmp/cases
# Nobody else is here: nothing is skipped.
! grep '^skip' /tmp/cases
