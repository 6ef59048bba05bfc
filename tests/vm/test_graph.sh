#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# kernels: 5.10 6.1 6.12
# vm: --exact-time
#
# Call by call against the kernel's own function_graph tracer, both at once: as many calls, each
# as long. Under instruction-counted time nothing comes between the two clocks but their own
# work: a leaf that does nothing shows how much that is. (From 6.14 on fprobe and function_graph are
# one engine, so newer kernels would be compared with themselves: test_third.sh.)
set -euo pipefail

bad=0
fail() {
	echo "FAIL: $*"
	bad=1
}
# shellcheck source=tests/vm/calls.sh
. "$(dirname "$0")/calls.sh"
tracing=/sys/kernel/tracing

graph() {
	echo 0 >$tracing/tracing_on
	echo nop >$tracing/current_tracer
	[ "$1" = on ] || return 0
	echo 8192 >$tracing/buffer_size_kb
	echo >$tracing/trace
	tr ' ' '\n' <<<"$functions" >$tracing/set_ftrace_filter
	echo mono >$tracing/trace_clock
	echo function_graph >$tracing/current_tracer
	echo 1 >$tracing/options/funcgraph-proc
	echo 1 >$tracing/options/funcgraph-tail
	echo 1 >$tracing/tracing_on
}

# FUNCTION|ns in order of their ends; a line with a duration is an end.
cat >/tmp/graph.awk <<'AWK'
/frtrace-/ { next }
{
	n = split($0, part, "|")
	if (n < 3 || !match(part[n - 1], /[0-9.]+ us/))
		next
	us = substr(part[n - 1], RSTART, RLENGTH - 3)
	f = part[n]
	sub(/ \[[a-z]*\]/, "", f)
	if (f ~ /\/\*/) {
		sub(/.*\/\* /, "", f)
		sub(/ \*\/.*/, "", f)
	} else {
		gsub(/[ (){};]/, "", f)
	}
	printf "%s|%d\n", f, us * 1000
}
AWK

ip netns add first
ip netns del first
case $FRT_VM in
# Before 5.16 function_graph does not see a function that has an fentry trampoline.
5.10) rungs=kprobe ;;
6.1) rungs='fentry kprobe' ;;
*) rungs='fentry kprobe multi' ;;
esac
for rung in $rungs; do
	frt=$RESULTS/$rung.frt
	graph on
	build/frtrace --at 0 --routers 5 --warmup 0 --settle 1 --freq 0 --probes "$rung" --quiet --json -o "$frt" \
		>"$RESULTS/$rung.json" || fail "$rung: exit status $?"
	echo 0 >$tracing/tracing_on
	cat $tracing/trace >"$RESULTS/$rung.trace"
	grep -h '^overrun: [1-9]' $tracing/per_cpu/cpu*/stats && fail "$rung: function_graph lost events"
	graph off
	awk -f /tmp/graph.awk "$RESULTS/$rung.trace" >/tmp/other
	compare "$rung" "$functions" function_graph
done
exit "$bad"
