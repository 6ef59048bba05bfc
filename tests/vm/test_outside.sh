#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# kernels: 5.10 newest
# vm: --memory 3072 --cpus 2
# vm 5.10: --cpus 1
#
# What others do meanwhile and what comes later, on other kernels: the cases of
# tests/system/test_waits.sh where a daemon answers links or namespaces die.
set -euo pipefail

tests/system/test_waits.sh daemon background bulk deleted ftrace | tee /tmp/cases
# Nobody else is here: nothing is skipped.
! grep '^skip' /tmp/cases
