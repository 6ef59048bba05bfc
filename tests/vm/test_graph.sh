#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# kernels: 5.10 6.1 6.12
# vm: --exact-time
#
# Call by call against the kernel's own function_graph tracer, both at once: as many calls, each
# as long. Under instruction-counted time nothing comes between the two clocks but their own
# work: a leaf that does nothing shows how much that is. (From 6.14 on fprobe and function_graph are
# one engine, so newer kernels would be compared with themselves.)
set -euo pipefail

bad=0
fail() {
	echo "FAIL: $*"
	bad=1
}
functions='setup_net copy_net_ns copy_mnt_ns copy_tree register_netdevice veth_newlink path_umount attach_recursive_mnt'
leaf='copy_net_ns (no NEWNET)'
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

# From the record, call by call: FUNCTION|calls|ns|probed calls inside|with variant
cat >/tmp/record.awk <<'AWK'
BEGIN { FS = "|" }
function flush(    i, f, seen) {
	for (i = nodes; i > 0; i--)
		inside[parent[i]] += n[i] + inside[i]
	for (i = 1; i <= nodes; i++) {
		f = name[i]
		sub(/ \(.*/, "", f)
		calls[f] += n[i]; ns[f] += total[i]; below[f] += inside[i]; full[f] = name[i]
	}
	for (i = 1; i <= nodes; i++) {
		f = name[i]
		sub(/ \(.*/, "", f)
		if (f in calls)
			printf "%s|%d|%d|%d|%s\n", f, calls[f], ns[f], below[f], full[f]
		delete calls[f]; delete ns[f]; delete below[f]
	}
	for (i in inside)
		delete inside[i]
	nodes = 0
}
$1 "|" $2 "|" $3 != call { flush(); call = $1 "|" $2 "|" $3 }
{ nodes = $4; parent[$4] = $5; n[$4] = $6; total[$4] = $7; name[$4] = $8 }
END { flush() }
AWK

# Both, side by side.
cat >/tmp/compare.awk <<'AWK'
BEGIN { FS = "|" }
NR == FNR { g[$1, ++graphs[$1]] = $2; next }
{
	b = 0
	for (i = 0; i < $2; i++)
		b += g[$1, ++at[$1]]
	d = $3 > b ? $3 - b : b - $3
	calls++
	# What is inside costs both the same; only each one's own entry and exit lie within the other's.
	if (d > 0.001 * b + $2 * pair) {
		printf "%s: %d ns here, %d ns by function_graph, %d calls, %d probed inside\n", $5, $3, b, $2, $4
		wrong++
	}
}
END {
	for (f in graphs)
		if (at[f] != graphs[f]) {
			printf "%s: %d calls here, %d by function_graph\n", f, at[f], graphs[f]
			uneven = 1
		}
	# A timer's interrupt may fall between the two readings of the clock.
	exit uneven || !calls || wrong > calls / 50
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
	# where a function is not attached there is nothing to compare
	jq -r '.probes.missing[].function' "$RESULTS/$rung.json" >/tmp/missing
	awk -f /tmp/graph.awk "$RESULTS/$rung.trace" | grep -vE "^($(paste -sd'|' /tmp/missing))\|" >/tmp/graph || true
	zcat "$frt" | jq -r 'select(.func) | .func | [.[0], .[1], .[3], .[5], .[6], .[8], .[9], .[13]] | join("|")' |
		awk -f /tmp/record.awk | grep -E "^(${functions// /|})\|" >/tmp/record || true
	# The leaf does nothing, so what the slower of the two sees of it is what a pair costs.
	pair=$(for f in record graph; do
		awk -F'|' -v f="$leaf" '$5 == f { print $3 } NF == 2 && index(f, $1 " ") == 1 { print $2 }' "/tmp/$f" |
			sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] + 0 }'
	done | sort -n | tail -n 1)
	grep -qF "$leaf" /tmp/record || fail "$rung: $leaf was not seen"
	awk -v pair="$pair" -f /tmp/compare.awk /tmp/graph /tmp/record >/tmp/wrong || {
		head -n 12 /tmp/wrong
		fail "$rung: $(wc -l </tmp/wrong) differ by more than 0.1 % and a pair of $pair ns"
	}
	cp /tmp/graph "$RESULTS/$rung.graph"
	cp /tmp/record "$RESULTS/$rung.record"
	echo "$rung: $(wc -l </tmp/record) calls compared, a pair costs at most $pair ns"
done
exit "$bad"
