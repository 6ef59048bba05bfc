#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# kernels: newest
# vm: --exact-time --memory 4096 --with bpftrace
#
# As test_graph.sh, where the kernel's function_graph and kprobe.multi are one engine: the third that
# knows nothing of ours is bpftrace, with a kprobe and a kretprobe of its own for each function.
set -euo pipefail

bad=0
fail() {
	echo "FAIL: $*"
	bad=1
}
# shellcheck source=tests/vm/calls.sh
. "$(dirname "$0")/calls.sh"
# The dearer of the two that do nothing: this tracer's pair is not the same for every function.
leaf='copy_mnt_ns (no NEWNS)'
# By name: what has a suffix in this kernel it does not find.
traced=$(for f in $functions; do
	if grep -qE " [tT] $f( |\$|\s\[)" /proc/kallsyms; then
		echo "$f"
	fi
done | paste -sd' ')

for f in $traced; do
	cat <<BT
kprobe:$f /comm != "frtrace"/ { @${f}[tid] = nsecs; }
kretprobe:$f /@${f}[tid]/ { printf("$f|%d\n", nsecs - @${f}[tid]); delete(@${f}[tid]); }
BT
done >/tmp/third.bt
probes=$((2 * $(wc -w <<<"$traced")))
of_third() {
	grep -cE "  [kr]  .*(${traced// /|})\+0x" /sys/kernel/debug/kprobes/list || true
}

ip netns add first
ip netns del first
for rung in fentry kprobe multi; do
	bpftrace -q -o /tmp/third /tmp/third.bt 2>/tmp/third.err &
	third=$!
	for ((i = 0; i < 600 && $(of_third) < probes; i++)); do
		sleep 0.2
	done
	[ "$(of_third)" -ge "$probes" ] || fail "bpftrace attached $(of_third) of $probes probes: $(head -n 3 /tmp/third.err)"
	sleep 1
	build/frtrace --at 0 --routers 5 --warmup 0 --settle 1 --freq 0 --probes "$rung" --quiet --json \
		-o "$RESULTS/$rung.frt" >"$RESULTS/$rung.json" || fail "$rung: exit status $?"
	sleep 1
	kill -INT "$third"
	wait "$third" || fail "$rung: bpftrace: exit status $?: $(tail -n 1 /tmp/third.err)"
	! grep -h Lost /tmp/third /tmp/third.err || fail "$rung: bpftrace lost events"
	grep '^[a-z_]*|[0-9]*$' /tmp/third >/tmp/other || true
	compare "$rung" "$traced" bpftrace
done
exit "$bad"
