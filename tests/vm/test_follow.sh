#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# kernels: 5.10 newest
# vm: --exact-time
# vm newest: --cpus 2
#
# Loops of others on each kernel: every step counted, nothing lost; what comes into a control
# group or takes a name is found with all its threads; of several netlink messages in one send
# each is told where the function that takes them is probed.
set -euo pipefail

bad=0
fail() {
	echo "FAIL: $*"
	bad=1
}
# told FILE FILTER: FILTER gives true
told() {
	jq -e "$2" "$1" >/dev/null || fail "$1: $2: $(jq -c '[.levels[].steps[] | [.step, .instances]], .loss' "$1" 2>&1 | head -c 600)"
}
steps() {
	told "$1" "[.levels[].steps[] | select(.step != \"router\")] | group_by(.step)
		| map(\"\(.[0].step)=\([.[].instances] | add)\") | join(\" \") == \"$2\""
	told "$1" '[.loss | to_entries[] | select(.key != "samples") | .value] | add == 0'
}
follow() {
	local out=$RESULTS/$1.json
	shift
	build/frtrace run --json --quiet -o none --report "$out" "$@" >/dev/null || fail "$*: exit status $?"
}
attach() {
	local out=$RESULTS/$1.json
	shift
	build/frtrace attach --json --quiet -o none --probes none --report "$out" "$@" >/dev/null &
	pid=$!
	for ((i = 0; i < 400; i++)); do # time is slow here
		! grep -qs 'tp_name.*sys_exit' "/proc/$pid/fdinfo/"* || break
		sleep 0.1
	done
	sleep 3
}

follow direct --probes none -- build/loops/direct 5 2
steps "$RESULTS/direct.json" "add=10 enter=20 exec=10 sysctl=10 veth=20"

mkdir /sys/fs/cgroup/follow
attach group --cgroup /sys/fs/cgroup/follow --for 20
build/loops/moved 5 /sys/fs/cgroup/follow
wait "$pid" || fail "attach --cgroup: exit status $?"
steps "$RESULTS/group.json" "add=10"

attach named --comm frtnamed --for 20
build/loops/moved 5 =frtnamed
wait "$pid" || fail "attach --comm: exit status $?"
steps "$RESULTS/named.json" "add=10"

rungs=$(build/frtrace doctor --json | jq -r '.features[] | select(.name | IN("fentry", "multi", "kprobe")) |
	select(.state == "yes") | .name')
[[ $rungs == *kprobe* ]] || fail "doctor does not find kprobe"
for rung in none $rungs; do
	follow "batch-$rung" --probes $rung -- build/loops/batch 6
	# the namespace itself is made by the loop's first call
	steps "$RESULTS/batch-$rung.json" "add=1 rtnl-batch=6"
	[ $rung != none ] || continue
	told "$RESULTS/batch-$rung.json" '[.levels[].steps[] | select(.step == "rtnl-batch") | .actions[].functions
		| .. | objects | select(.function? // "" | startswith("rtnetlink_rcv_msg")) | [.function, .n]]
		| group_by(.[0]) | map([.[0][0], (map(.[1]) | add)]) == [
			["rtnetlink_rcv_msg[rtnl newaddr]", 6], ["rtnetlink_rcv_msg[rtnl newlink bridge]", 6],
			["rtnetlink_rcv_msg[rtnl newlink veth]", 12], ["rtnetlink_rcv_msg[rtnl setlink]", 6]]'
	echo "batch: $rung"
done
exit $bad
