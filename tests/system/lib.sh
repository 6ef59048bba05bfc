# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# What the system tests share. A test sources this file, calls `isolate "$@"`
# first, reports its cases with pass, fail and skip (or check), and ends with
# `finish`. Every test may be run by hand, alone.
set -uo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILD=${FRT_BUILD:-$top/build}
FRTRACE=${FRTRACE:-$BUILD/frtrace}
LONG=${FRT_LONG:-0}
export FRTRACE LONG
n_pass=0 n_fail=0

# skip_all REASON: the whole test.
skip_all() {
	echo "skip: $*"
	exit 77
}

pass() {
	n_pass=$((n_pass + 1))
	echo "ok $*"
}

# fail NAME [DETAIL…]: the details go on lines of their own.
fail() {
	n_fail=$((n_fail + 1))
	echo "not ok $1"
	shift
	[ $# -eq 0 ] || printf '%s\n' "$@" | sed 's/^/    /'
}

# skip NAME REASON
skip() {
	echo "skip $1: $2"
}

# check NAME COMMAND…: a case that passes when the command does; its output is
# the detail when it does not.
check() {
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then
		pass "$name"
	else
		fail "$name" "$out"
		return 1
	fi
}

finish() {
	[ $((n_pass + n_fail)) -gt 0 ] || fail "no case was run"
	exit $((n_fail > 0))
}

need_tools() {
	local t
	for t in "$@"; do
		command -v "$t" >/dev/null || skip_all "no $t"
	done
}

# own_cgroup: a control group of this test's own, where there is version 2, so that
# the groups of its runs can be told from those of others.
own_cgroup() {
	local mount path
	mount=$(awk '/ - cgroup2 / && $4 == "/" { print $5; exit }' /proc/self/mountinfo)
	path=$(sed -n 's/^0:://p' /proc/self/cgroup)
	cgroup_back=$mount${path%/}
	cgroup=$cgroup_back/frtest-$$
	if [ -n "$mount" ] && mkdir "$cgroup" 2>/dev/null; then
		echo $$ >"$cgroup/cgroup.procs" && return
		rmdir "$cgroup"
	fi
	cgroup=
}

# shellcheck disable=SC2317 # called by the trap
clear_away() {
	local m
	[ "$BASHPID" = $$ ] || return 0 # not when a subshell dies
	cd /
	while read -r m; do
		umount -l "$m"
	done < <(awk -v t="$T/" 'index($5, t) == 1 { print $5 }' /proc/self/mountinfo)
	rm -rf --one-file-system "$T"
	[ -n "$cgroup" ] && echo $$ >"$cgroup_back/cgroup.procs" || return 0
	for _ in 1 2 3 4 5 6 7 8 9 10; do # the dead leave it a little later
		rmdir "$cgroup" 2>/dev/null && return
		sleep 0.1
	done
}

# isolate "$@": the rest of the test in mount and network namespaces of its own,
# with an empty /run, so that other runs on the machine see nothing of it and
# it nothing of them. $T is an empty directory and the current one.
isolate() {
	[ "$(id -u)" -eq 0 ] || skip_all "not root"
	[ -x "$FRTRACE" ] || skip_all "$FRTRACE is not built"
	need_tools unshare jq ip setpriv
	if [ -z "${FRT_ISOLATED:-}" ]; then
		FRT_ISOLATED=1 exec unshare -m -n --propagation private -- "$BASH" "$0" "$@"
	fi
	# what a child of ours inherits, but not a child of a child of ours
	unset FRT_ISOLATED
	mount -t tmpfs -o mode=755 run /run || skip_all "no tmpfs for /run"
	ip link set lo up
	T=$(mktemp -d "${TMPDIR:-/tmp}/frtrace-test.XXXXXX") || exit 1
	chmod 755 "$T"
	cd "$T" || exit 1
	trap clear_away EXIT
	own_cgroup
}

# held_bpf KIND: numbers of the BPF objects (prog, map, link) that a process holds.
held_bpf() {
	cat /proc/[0-9]*/fdinfo/* 2>/dev/null | sed -n "s/^$1_id:[[:space:]]*//p" | sort -u
}

# orphan_bpf FILE: BPF programs, maps and links that came after the snapshot in FILE
# and live without a process: pinned, or forgotten. (Every one has a higher number
# than those of its kind before it.)
orphan_bpf() {
	local kind after
	for kind in prog map link; do
		after=$(sed -n "s/^bpf $kind up to //p" "$1")
		[ -n "$after" ] || continue
		comm -23 <(bpftool -j "$kind" show 2>/dev/null |
			jq -r --argjson after "$after" '.[].id | select(. > $after)' | sort -u) \
			<(held_bpf "$kind") | sed "s/^/$kind /"
	done
}

# Everything that a run could leave behind, one object a line. The two
# directories that ip and frtrace make in /run are none; what is in them is.
snapshot() {
	local kind
	ip -o link show 2>/dev/null | awk -F': ' '{ sub(/@.*/, "", $2); print "link " $2 }'
	find /run -mindepth 1 ! -path /run/netns ! -path /run/frtrace -printf 'file %p\n'
	awk '{ shared = ""
	       for (i = 7; $i != "-"; i++) { sub(/:.*/, "", $i); shared = shared " " $i }
	       print "mount " $5 " " $(i + 1) shared }' /proc/self/mountinfo
	find /sys/fs/bpf -mindepth 1 -printf 'pinned %p\n' 2>/dev/null
	for kind in prog map link; do
		echo "bpf $kind up to $(bpftool -j $kind show 2>/dev/null | jq '[.[].id] | max // 0')"
	done
	[ -z "${cgroup:-}" ] || find "$cgroup" -mindepth 1 -type d -printf 'cgroup %p\n'
	sessions
}

# Processes of this session other than the shells that ask.
sessions() {
	ps -o pid=,ppid=,comm= -s "$(ps -o sid= -p $$ | tr -d ' ')" |
		awk '$3 ~ /^(frtrace|ip|sudo|sysctl|true)$/ { print "process " $3 }'
}

# left_since FILE: what is there now and was not when FILE was written, or the
# reverse. Some things (BPF objects, dying processes) take a moment to go, and others
# on the machine have some that come and go: what stays all the time is left.
left_since() {
	local i diff bpf='' now
	for ((i = 0; i < 50; i++)); do
		# not by the status: with pipefail that is diff's, 1 when they differ
		diff=$(diff <(grep -v '^bpf ' "$1" | sort) <(snapshot | grep -v '^bpf ' | sort) |
			grep '^[<>]')
		now=$(orphan_bpf "$1" | sort)
		[ "$i" -eq 0 ] || now=$(comm -12 <(echo "$bpf") <(echo "$now"))
		bpf=$now
		[ -n "$diff$bpf" ] || return 0
		sleep 0.2
	done
	[ -z "$bpf" ] || diff+=$'\n'"> BPF objects without a process: ${bpf//$'\n'/, }"
	printf 'since the snapshot (< gone, > left behind):\n%s\n' "$diff"
	return 1
}

# ahead: what this test runs goes ahead of other load, where that is allowed.
# Sessions are scheduled as groups on many kernels, so nice alone is not enough.
ahead() {
	renice -n -20 -p $$ >/dev/null 2>&1
	{ echo -20 >/proc/$$/autogroup; } 2>/dev/null
}

# run_json FILE ARGS…: the main job, its JSON in FILE and its remarks in FILE.err;
# returns its status.
run_json() {
	local file=$1
	shift
	"$FRTRACE" --json --quiet -o none --settle 0 "$@" >"$file" 2>"$file.err" </dev/null
}

# query ARGS…: jq with the tests' own definitions at hand.
query() {
	jq -L "$top/tests/system" "$@"
}

# sums_hold FILE: the rules that every traced report keeps: the four kinds and
# what is unaccounted add up to the wall (to a rounded ns per term), unaccounted
# is below 1 %, the actions add up to no more than the step, frames to their
# action's kernel time, and nothing is lost.
sums_hold() {
	local out
	out=$(query -r 'include "checks"; broken_rules' "$1" 2>&1) || {
		echo "$1: $out"
		return 1
	}
	[ -z "$out" ] || {
		echo "$out"
		return 1
	}
}

# counts_are FILE ROUTERS [N]: every level has just that many, and every row N of
# them: with sampling half, since walls come from the routers without.
counts_are() {
	local out
	out=$(jq -r --argjson k "$2" --argjson n "${3:-$2}" '
		.levels[] | .level as $l
		| (select(.routers != $k) | "level \($l): routers \(.routers), not \($k)"),
		  (.steps[] | select(.n != $n) | "level \($l) \(.step): n \(.n), not \($n)"),
		  ((["add", "exec", "sysctl", "veth", "delete", "true", "router"] - [.steps[].step])[]
		   | "level \($l): no row \(.)")' "$1" 2>&1) || {
		echo "$1: $out"
		return 1
	}
	[ -z "$out" ] || {
		echo "$out"
		return 1
	}
}
