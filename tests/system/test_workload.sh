#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 600
# The workload by its interface, without a tracer: build/tests/workload, whose
# cases isolate themselves. test_workload.sh [CASE…] runs those named.
dir=${FRT_BUILD:-$(cd "$(dirname "$0")/../.." && pwd)/build}
[ "$(id -u)" -eq 0 ] || { echo "skip: not root"; exit 77; }
[ -x "$dir/tests/workload" ] || { echo "skip: $dir/tests/workload is not built (make system)"; exit 77; }
exec "$dir/tests/workload" "$@"
