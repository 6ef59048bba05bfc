#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# kernels: 5.10 6.1 6.12 newest
# vm: --exact-time
#
# The untraced profile on each kernel: every router counted, sums that add up, the record tells
# the same again, and the guest is afterwards what it was before.
set -euo pipefail

bad=0
fail() {
	echo "FAIL: $*"
	bad=1
}
state() {
	ip -o link | sed 's/<.*//'
	ip netns list
	# peer groups are numbered as they come
	sed 's/^[0-9]* [0-9]* //; s/shared:[0-9]*/shared/' /proc/self/mountinfo
	ls /run/netns /run/frtrace 2>/dev/null || true
	find /proc/[0-9]*/ns/net -printf '%l\n' 2>/dev/null | sort -u
}

# The first add on a machine mounts /run/netns and leaves it: not frtrace's doing.
ip netns add first
ip netns del first
state >/tmp/before
json=$RESULTS/report.json
rc=0
build/frtrace --untraced --at 0,50 --routers 10 --settle 3 --quiet --json -o "$RESULTS/u.frt" >"$json" || rc=$?
[ "$rc" = 0 ] || fail "exit status $rc"
state >/tmp/after
diff /tmp/before /tmp/after || fail "the machine is not what it was (< before, > after)"

# is WHAT FILTER: FILTER gives true
is() {
	jq -e "$2" "$json" >/dev/null || fail "$1: $(jq -c "$2" "$json" 2>&1 | head -c 300)"
}
is "schema" '.schema == "frtrace-report/1"'
is "kernel" ".environment.kernel == \"$(uname -r)\""
is "backend" '.probes.backend == "untraced"'
is "levels" '[.levels[] | [.level, .again]] == [[0, false], [50, false], [0, true]]'
# What a level starts from: its fill and, on this side of the count, at most its own routers.
# shellcheck disable=SC2016
is "existing" '[.levels[].existing] as $e | $e[1] - $e[0] == 50 and $e[2] == $e[0] and $e[0] <= 13'
is "routers" 'all(.levels[]; .routers == 10)'
for step in add exec sysctl veth delete router true; do
	is "n of $step" "all(.levels[].steps[] | select(.step == \"$step\"); .n == 10 and .wall_ns.mean > 0)"
	is "$step is at each level" "[.levels[].steps[] | select(.step == \"$step\")] | length == 3"
done
# The router's wall is its steps' and the gap between them.
# shellcheck disable=SC2016
is "router = steps + gap" 'all(.levels[];
	(([.steps[] | select(.step | IN("add", "exec", "sysctl", "veth")) | .wall_ns.mean] | add) + .gap_ns.mean) as $sum |
	(.steps[] | select(.step == "router") | .wall_ns.mean) as $router |
	(($sum - $router) / $router | fabs) < 0.001)'
is "growth adds up" '(.growth | length) == 0 or (([.growth[].share] | add) - 1 | fabs) < 0.001'
build/frtrace report "$RESULTS/u.frt" --json >/tmp/again.json || fail "report of the record"
cmp <(jq -S . "$json") <(jq -S . /tmp/again.json) || fail "the record tells something else than the run"
build/frtrace report "$RESULTS/u.frt" >"$RESULTS/report.txt" || fail "text report of the record"
! grep -nE '^.{101,}' "$RESULTS/report.txt" || fail "report wider than 100 columns"

# Whether a name is free is asked without having the kernel look for a module of that name.
printf '#!/bin/sh\necho "$*" >>/tmp/asked\n' >/tmp/modprobe
chmod 755 /tmp/modprobe
: >/tmp/asked
echo /tmp/modprobe >/proc/sys/kernel/modprobe
build/frtrace rate --to 3 --every 3 --settle 0 --quiet -o none >/dev/null 2>&1 ||
	fail "rate"
! grep -E '(ro|go)-' /tmp/asked || fail "a module was asked for by an interface's name"
ifconfig no-such >/dev/null 2>&1 || true # what does ask
grep -q no-such /tmp/asked || fail "nothing would have told"
exit "$bad"
