#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 200
# Two runs at once, and `frtrace clean` beside a live one: neither touches what
# is the other's.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
isolate "$@"
snapshot >"$T/before"

"$FRTRACE" --json --quiet --settle 0 -o none --at 0,40 --routers 20 --freq 0 >a.json 2>a.err </dev/null &
# shellcheck disable=SC2034 # read by name below
a=$!
"$FRTRACE" --json --quiet --settle 0 -o none --at 0,40 --routers 20 --freq 0 --mode exact >b.json 2>b.err </dev/null &
# shellcheck disable=SC2034
b=$!
"$FRTRACE" --json --quiet --settle 0 -o none --at 0,40 --routers 20 --freq 0 --untraced --streams 2 >c.json 2>c.err </dev/null &
# shellcheck disable=SC2034
c=$!
for run in a b c; do
	wait "${!run}"
	rc=$?
	if [ "$rc" -eq 0 ]; then
		pass "run $run of three: status 0"
	else
		fail "run $run of three: status $rc" "$(cat $run.err)"
	fi
	check "run $run of three: counts" counts_are $run.json 20
done
for run in a b; do
	check "run $run of three: sums, no loss" sums_hold $run.json
done
check "three runs: nothing left" left_since "$T/before"

# The dead leave something, the living must keep theirs: clean again and again
# while one run is alive and another has been killed.
"$FRTRACE" --quiet --settle 0 -o none --at 40 --routers 5 --untraced --fill script \
	>/dev/null 2>&1 </dev/null &
dead=$!
for ((k = 0; k < 100; k++)); do
	# shellcheck disable=SC2012
	[ "$(ls /run/netns 2>/dev/null | wc -l)" -gt 10 ] && break
	sleep 0.05
done
kill -KILL "$dead"
wait "$dead" 2>/dev/null
# shellcheck disable=SC2012
check "the killed run left something" [ "$(ls /run/netns | wc -l)" -gt 5 ]
"$FRTRACE" --json --quiet --settle 0 -o none --at 0,60 --routers 20 --freq 0 --fill script >live.json 2>live.err </dev/null &
live=$!
for ((k = 0; k < 200; k++)); do
	ls /run/frtrace/*.ledger >/dev/null 2>&1 && grep -qs ' *bar-' /run/frtrace/*.ledger && break
	sleep 0.02
done
cleans=0 bad=0
while kill -0 "$live" 2>/dev/null; do
	"$FRTRACE" clean >>"$T/clean" 2>&1 || bad=$((bad + 1))
	cleans=$((cleans + 1))
	sleep 0.05
done
wait "$live"
rc=$?
if [ "$rc" -eq 0 ]; then
	pass "a live run beside $cleans cleans"
else
	fail "a live run beside $cleans cleans" "status $rc" "$(cat live.err)"
fi
check "clean beside a live run: status 0 each time" [ "$bad" -eq 0 ]
check "clean was called often enough to mean something" [ "$cleans" -ge 5 ]
check "a live run beside clean: counts" counts_are live.json 20
check "a live run beside clean: sums, no loss" sums_hold live.json
check "clean removed what the dead had left" grep -Eq 'removed [1-9]' "$T/clean"
check "all over: nothing left" left_since "$T/before"
finish
