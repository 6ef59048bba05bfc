#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# kernels: 6.1
# vm: --exact-time --memory 4096
#
# `ip netns exec` copies the mount table, and each router has mounts in it: between 0 and 1000 of them the
# growth of exec is copy_mnt_ns and what it calls, measured, each existing namespace so many ns. The
# same copying without a tracer, timed by who asks for it, grows as much.
# shellcheck disable=SC2016 # the dollars are jq's
set -euo pipefail

bad=0
fail() {
	echo "FAIL: $*"
	bad=1
}
frt=$RESULTS/growth.frt
json=$RESULTS/growth.json
build/frtrace --at 0,1000 --routers 20 --settle 2 --quiet -o "$frt" >"$RESULTS/growth.txt" || fail "exit status $?"
build/frtrace report --json "$frt" >"$json"
sed -n '/^ *GROWTH/,/^$/p' "$RESULTS/growth.txt"

# Rows of the growth of exec's copying, that are measured.
# Half of the routers are only for samples.
rows=$(jq -c '[.growth[] | select(.step == "exec" and .action == "unshare(NEWNS)" and .kind == "kernel" and
	.source == "measured" and (.where | test("copy_(mnt_ns|tree)$")))]' "$json")
echo "$rows" | jq -c '.[] | [.where, .n, .delta_ns, .ci99, .share, .ns_per_existing]'
jq -e 'length > 0 and all(.[]; .n >= 10 and .ci99[0] > 0 and .delta_ns > 0 and .ns_per_existing > 0 and .share > 0)' \
	<<<"$rows" >/dev/null || fail "no measured row that grows: $rows"
# Slope and growth say the same.
jq -e --slurpfile run "$json" '([$run[0].levels[] | select(.again | not) | .existing] | max - min) as $more |
	all(.[]; (.delta_ns / $more / .ns_per_existing - 1 | fabs) < 0.02)' <<<"$rows" >/dev/null ||
	fail "the slope is not the growth by what exists more"
# It is the largest of what grows in exec's system calls.
jq -e '[.growth[] | select(.step == "exec" and .kind == "kernel" and .action == "unshare(NEWNS)")] |
	max_by(.delta_ns).where | test("copy_(mnt_ns|tree)$")' "$json" >/dev/null || fail "something else grows more"
# And in the report that people read.
grep -qE '^ *[0-9.]+ % .*exec +unshare\(NEWNS\) +kernel copy_(mnt_ns|tree) +measured' "$RESULTS/growth.txt" ||
	fail "no such row in the text"

# The same without a tracer: many copies in a row, with as many namespaces.
copies() {
	local t0=$EPOCHREALTIME t1
	for _ in {1..20}; do
		unshare --mount --propagation unchanged true
	done
	t1=$EPOCHREALTIME
	echo $((((${t1%.*} - ${t0%.*}) * 1000000 + 10#${t1#*.} - 10#${t0#*.}) * 1000 / 20))
}
[ -z "$(ip netns list)" ] || fail "namespaces are left"
none=$(copies)
build/frtrace --untraced --at 1000 --routers 1 --warmup 0 --settle 1 --keep --quiet -o none >/dev/null || fail "fill: exit status $?"
full=$(copies)
build/frtrace clean >/dev/null
copied=$(jq 'map(.delta_ns) | add // 0 | floor' <<<"$rows")
echo "20 copies each with its end: $none ns with none, $full ns with 1000; copying itself grew by $copied ns as traced"
# Its end takes the table down again, which is not copying: about half of the whole.
if [ "$copied" -lt $(((full - none) / 5)) ] || [ "$copied" -gt $((full - none)) ]; then
	fail "copying cannot have grown by $copied ns of $((full - none))"
fi
exit "$bad"
