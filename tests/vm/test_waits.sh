#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# kernels: 5.10 newest
# vm: --memory 3072 --cpus 2
# vm newest: --exact-time
#
# Ground truth of waiting on other kernels: the cases of tests/system/test_waits.sh where a
# helper holds a lock and writes down when. 5.10 does not tell of contended locks: there
# holders come from stacks and wakings, and the report must say so. The other cases are in
# test_outside.sh and test_streams.sh.
set -euo pipefail

bad=0
fail() {
	echo "FAIL: $*"
	bad=1
}

tests/system/test_waits.sh rtnl mounts flock moved | tee /tmp/cases ||
	fail "ground truth, see above"
# Nobody else is here: nothing is skipped.
! grep '^skip' /tmp/cases || fail "a case was skipped"

frt=$RESULTS/waits.frt
build/frtrace --at 0 --routers 6 --warmup 1 --settle 1 --streams 2 --probes none --quiet --json -o "$frt" >"$RESULTS/waits.json"
build/frtrace report "$frt" >"$RESULTS/waits.txt"
header=$(zcat "$frt" | sed -n 1p)
case $FRT_VM in
5.10)
	jq -e '.probes.contention == false' <<<"$header" >/dev/null || fail "5.10 tells of contended locks?"
	tr -s '\n ' ' ' <"$RESULTS/waits.txt" | grep -q 'told by stacks and wakings' ||
		fail "the report does not say how holders were found"
	;;
*)
	jq -e '.probes.contention == true' <<<"$header" >/dev/null || fail "contended locks are not told of"
	! grep -q 'told by stacks and wakings' "$RESULTS/waits.txt" || fail "the report says something untrue"
	# Data symbols are here: a lock that is a variable has its name from there.
	zcat "$frt" | jq -rn 'input | .fields.lock as $f | [inputs | .lock? // empty | arrays |
		.[$f | index("name")] // "" | select(. != "")] | unique[]' >"$RESULTS/names"
	grep -qE '_(mutex|sem|rwsem|lock)$' "$RESULTS/names" || fail "no lock has its name from a symbol"
	;;
esac
exit "$bad"
