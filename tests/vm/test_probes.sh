#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# kernels: 6.12
# vm: --exact-time
#
# Functions asked for by name that cannot be had, and patterns that are nothing or too much: one
# clear line each, the others are traced all the same.
set -euo pipefail

bad=0
fail() {
	echo "FAIL: $*"
	bad=1
}
mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug

# probe STATUS RUNG PROBE…: a short run; what it says in said, JSON in probe.json.
probe() {
	local status=$1 rung=$2 rc=0 p
	local -a options=()
	shift 2
	for p; do
		options+=(--probe "$p")
	done
	build/frtrace --at 0 --routers 1 --warmup 0 --settle 0 --probes "$rung" "${options[@]}" --json -o none \
		>/tmp/probe.json 2>/tmp/said </dev/null || rc=$?
	[ "$rc" = "$status" ] || fail "--probes $rung ${options[*]}: exit status $rc, not $status: $(cat /tmp/said)"
	[ -z "$(ip netns list)" ] || fail "--probes $rung ${options[*]}: namespaces are left"
}
# reason FUNCTION WORDS: why it is missing.
reason() {
	jq -e --arg f "$1" --arg w "$2" '.probes.missing[] | select(.function == $f) | .reason | contains($w)' \
		/tmp/probe.json >/dev/null ||
		fail "$1: not missing with \"$2\": $(jq -c --arg f "$1" '.probes.missing[] | select(.function == $f)' /tmp/probe.json)"
}
# said LINES WORDS: in exactly so many lines of what was said.
said() {
	[ "$(grep -cF -- "$2" /tmp/said)" = "$1" ] || fail "\"$2\" is not in $1 lines of: $(cat /tmp/said)"
}
attached() {
	jq -e --argjson least "$1" '.probes.attached >= $least' /tmp/probe.json >/dev/null ||
		fail "$(jq -c .probes.attached /tmp/probe.json) attached, not $1 or more"
}

# A function that kprobes may not touch, and a name that stands twice outside of what is freed
# after boot.
forbidden=$(awk '$2 ~ /^[a-z_]*$/ { print $2 }' /sys/kernel/debug/kprobes/blacklist |
	while read -r f; do if grep -q " [tT] $f\$" /proc/kallsyms; then echo "$f" && break; fi; done)
twice=$(awk 'NF == 3 && $2 == "t" && $3 ~ /^[a-z][a-z_]*_(open|show|release)$/ { n[$3]++ }
	END { for (f in n) if (n[f] == 2) print f }' /proc/kallsyms | sort | head -n 1)
echo "forbidden: $forbidden; twice: $twice"
[ -n "$forbidden" ] && [ -n "$twice" ] || fail "nothing to try it with"

for rung in kprobe multi fentry; do
	# asked for by name and not to be had: said, the rest is traced, then status 3
	probe 3 "$rung" no_such_function "$forbidden" do_exit "$twice" path_mount
	said 1 "--probe no_such_function: not attached: absent"
	said 1 "--probe $forbidden: not attached: blacklisted"
	said 0 "--probe path_mount"
	reason no_such_function absent
	reason "$forbidden" blacklisted
	attached 50
	case $rung in
	fentry)
		said 1 "--probe do_exit: not attached: fentry: it never returns"
		said 1 "--probe $twice: not attached: fentry: the name occurs 2 times"
		;;
	*)
		said 0 "--probe do_exit"
		said 1 "--probe $twice: the name occurs 2 times; the first is attached"
		;;
	esac
	jq -e '[.levels[].steps[] | select(.step == "add") | .n] == [1]' /tmp/probe.json >/dev/null ||
		fail "$rung: the run itself is not there"
done
# A name that the default table has and this kernel inlines or lacks is not asked for: no word.
probe 0 kprobe path_mount
[ ! -s /tmp/said ] || ! grep -q 'not attached' /tmp/said || fail "said of the default table: $(cat /tmp/said)"
jq -e '.probes.missing | length > 0 and all(.[]; .reason | length > 0)' /tmp/probe.json >/dev/null ||
	fail "functions are missing without a reason"

probe 3 kprobe 'no_such_*' 'nothing_at_all*'
said 1 "--probe no_such_*: not attached: absent: no function matches the pattern"
said 1 "--probe nothing_at_all*: not attached: absent: no function matches the pattern"
attached 50
# A module that goes after its symbols were read and before its function is probed: frtrace is
# stopped while it attaches, the table's own functions first.
modprobe dummy
grep -q ' dummy_xmit.*\[dummy\]' /proc/kallsyms || fail "no function of a module to try it with"
list=/sys/kernel/debug/kprobes/list
build/frtrace --at 0 --routers 1 --warmup 0 --settle 0 --probes kprobe --probe dummy_xmit --json -o none \
	>/tmp/probe.json 2>/tmp/said </dev/null &
tracer=$!
# a trial of each rung comes before the symbols
until [ "$(wc -l <"$list")" -ge 5 ] || ! kill -0 "$tracer" 2>/dev/null; do :; done
kill -STOP "$tracer"
! grep -q dummy_xmit "$list" || fail "dummy_xmit was attached before the module could go"
rmmod dummy
kill -CONT "$tracer"
rc=0
wait "$tracer" || rc=$?
[ "$rc" = 3 ] || fail "a module that was unloaded: exit status $rc, not 3: $(cat /tmp/said)"
said 1 "--probe dummy_xmit: not attached: absent: module dummy was unloaded"
reason dummy_xmit "module dummy was unloaded"
attached 50

# More than a rung takes: the cap is said.
probe 0 kprobe 's*' 'd*'
said 1 "more functions match --probe: this rung takes 500 at most"
attached 300
exit "$bad"
