#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 150
# Two records of the same work say the same: the 99.9 % interval of each step's
# difference contains 0, or the difference is below 5 %. One retry, said so.
# shellcheck disable=SC2016 # the dollars are jq's
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
isolate "$@"
ahead

routers=40
[ "$LONG" = 0 ] || routers=200

record() {
	run_json "$1" --at 0 --routers "$routers" --freq 0 &&
		counts_are "$1" "$routers" && sums_hold "$1"
}

# differ A B: the rows that differ, one line each.
differ() {
	query -rn --slurpfile a "$1" --slurpfile b "$2" 'include "checks";
		def se: (.ci95[1] - .ci95[0]) / 2 / t95($a[0].levels[0].routers - 1);
		$a[0].levels[0].steps[] as $x
		| ($b[0].levels[0].steps[] | select(.step == $x.step)) as $y
		| ($y.wall_ns.mean - $x.wall_ns.mean) as $d
		| ($x.wall_ns | se) as $sx | ($y.wall_ns | se) as $sy
		# the smaller df is the safe side of Welch
		| (($sx * $sx + $sy * $sy | sqrt) * t999($x.n - 1)) as $half
		| select(($d | abs) > $half and ($d | abs) > $x.wall_ns.mean * 0.05)
		| "\($x.step): \($x.wall_ns.mean) and \($y.wall_ns.mean) ns differ by \($d), more than \($half)"'
}

for try in 1 2; do
	bad=$(record a.json && record b.json) && bad=$(differ a.json b.json) && [ -z "$bad" ] && break
	[ "$try" -eq 2 ] || echo "retry two records of the same work: ${bad//$'\n'/; }"
done
if [ -z "$bad" ]; then
	pass "two records of the same work agree"
else
	fail "two records of the same work agree" "$bad"
fi

# The comparison itself must be able to fail.
jq '.levels[0].steps[] |= (if .step == "exec" then .wall_ns |= (map_values(numbers * 4) + {ci95: .ci95}) else . end)' \
	b.json >c.json
check "a step that is four times as slow is seen" grep -q '^exec: ' <(differ a.json c.json)
finish
