#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 150
# A restart storm: others turn forwarding on and off in namespaces of their own
# and hold the RTNL while they do, so the write of `sysctl -w` is restarted over
# and over. It stays one call, and its restarts are counted.
# shellcheck disable=SC2016 # the dollars are jq's
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
isolate "$@"
[ "$(nproc)" -ge 2 ] || skip_all "one CPU: nobody runs beside the holder of a lock"
[ -x "$BUILD/stimuli/storm" ] || skip_all "$BUILD/stimuli/storm is not built"
routers=15

# shellcheck disable=SC2317 # called through check
writes() {
	query -e --argjson n "$routers" 'include "checks";
		[step("sysctl") | action("write /proc/sys") | .n]
		| if . == [$n] then true else error("counted \(.)") end' "$1"
}

run_json calm.json --at 0 --routers "$routers" --freq 0
rc=$?
check "calm: status 0" [ "$rc" -eq 0 ]
check "calm: write /proc/sys is exact" writes calm.json

mkfifo storm.in
"$BUILD/stimuli/storm" "$(nproc)" 100 <storm.in >storm.out 2>storm.err &
storm=$!
exec 9>storm.in # it ends when this is closed
for ((i = 0; i < 300; i++)); do
	grep -q ready storm.out && break
	kill -0 "$storm" 2>/dev/null || break
	sleep 0.1
done
if ! grep -q ready storm.out; then
	exec 9>&-
	skip "storm" "it did not begin: $(cat storm.err)"
	finish
fi
run_json storm.json --at 0 --routers "$routers" --freq 0 9>&-
rc=$?
run_json streams.json --at 0 --routers "$routers" --freq 0 --streams 3 9>&-
rc_streams=$?
exec 9>&-
wait "$storm"
rc_storm=$?
check "the storm blew to the end" [ "$rc_storm" -eq 0 ]

for run in storm streams; do
	[ $run = storm ] || rc=$rc_streams
	check "$run: status 0" [ "$rc" -eq 0 ]
	check "$run: counts" counts_are $run.json "$routers"
	check "$run: sums, no loss" sums_hold $run.json
	check "$run: write /proc/sys is exact" writes $run.json
	check "$run: restarts are counted" query -e 'include "checks";
		[step("sysctl") | .restarts, (action("write /proc/sys") | .restarts, .spin_ns)]
		| if .[0] > 0 and .[1] > 0 and .[0] >= .[1] and .[2] > 0 then true else error("restarts \(.)") end' \
		$run.json
done
finish
