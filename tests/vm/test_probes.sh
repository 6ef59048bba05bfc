#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# kernels: 6.12
#
# Functions asked for by name that cannot be had (not there, not allowed, gone meanwhile), and
# patterns that are nothing or too much: one clear line each, the others are traced all the same.
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
# What the kernel refuses though nothing says so before: whoever it is is left out, the others stay.
tracefs=/sys/kernel/tracing
mountpoint -q $tracefs || mount -t tracefs tracefs $tracefs
list=$tracefs/available_filter_functions
untraced=$(comm -23 <(awk 'NF == 3 && $2 == "T" && $3 ~ /^ring_buffer_[a-z_]*$/ { print $3 }' /proc/kallsyms | sort) \
	<(awk '{ print $1 }' $list | sort) | head -n 1)
echo "untraced: $untraced"
mount --bind /dev/null $list
probe 3 multi "$untraced" path_mount
umount $list
said 1 "--probe $untraced: not attached: multi: "
said 0 "--probe path_mount"
attached 50

# gone RUNG AT COMMAND…: how a run ended whose module was unloaded at AT.
begin='build/frtrace --at 0 --routers 1 --warmup 0 --settle 0 --probe dummy_xmit --probe path_mount --json -o none --probes'
gone() {
	local rung=$1 at=$2 rc=$3
	[ "$rc" = 3 ] || fail "$rung, module gone at $at: exit status $rc, not 3: $(cat /tmp/said)"
	said 1 "--probe dummy_xmit: not attached: absent: module dummy was unloaded before it could be probed"
	said 0 "--probe path_mount"
	attached 50
	jq -e '[.levels[].steps[] | select(.step == "veth") | .n > 0] == [true]' /tmp/probe.json >/dev/null ||
		fail "$rung, module gone at $at: the run itself is not there"
	[ -z "$(ip netns list)" ] || fail "$rung, module gone at $at: namespaces are left"
}
# After the symbols were read: what is read next is a pipe, where it waits.
mkfifo /tmp/held
for rung in kprobe multi fentry; do
	for file in /sys/kernel/debug/kprobes/blacklist $list; do
		rc=0
		modprobe dummy
		cat "$file" >/tmp/content
		mount --bind /tmp/held "$file"
		$begin "$rung" >/tmp/probe.json 2>/tmp/said </dev/null &
		pid=$!
		exec 3>/tmp/held
		cat /tmp/content >&3
		rmmod dummy || fail "dummy is in use at $file"
		exec 3>&-
		wait "$pid" || rc=$?
		umount "$file"
		gone "$rung" "$file" "$rc"
	done
done
# And when it attaches already: stopped at the first probe after the trial.
rc=0
modprobe dummy
strace -f -o /tmp/strace -e trace=perf_event_open -e inject=perf_event_open:signal=SIGSTOP:when=2 \
	$begin kprobe >/tmp/probe.json 2>/tmp/said </dev/null &
pid=$!
until grep -q 'stopped by SIGSTOP' /tmp/strace 2>/dev/null || ! kill -0 "$pid" 2>/dev/null; do
	sleep 0.1
done
rmmod dummy || fail "dummy is in use before it is probed"
pkill -CONT -P "$pid" frtrace
wait "$pid" || rc=$?
gone kprobe "attaching" "$rc"

# More than a rung takes: the cap is said.
probe 0 kprobe 's*' 'd*'
said 1 "more functions match --probe: this rung takes 500 at most"
attached 300
exit "$bad"
