#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# frtrace run: loops of many kinds, each with a known number of routers.
# timeout: 300
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
isolate "$@"
need_tools date cut
L=$top/tests/system/loops
B=$BUILD/loops
[ -x "$B/direct" ] || skip_all "$B/direct is not built (make system)"
ahead

# follow NAME [OPTION…] -- CMD…: its report in NAME.json, its standard output in
# NAME.out; the status is CMD's.
follow() {
	local name=$1
	shift
	"$FRTRACE" run --json --quiet -o none --report "$name.json" "$@" \
		>"$name.out" 2>"$name.err" </dev/null
}

# steps NAME: "add=5 exec=5 …", summed over the buckets, by name.
steps() {
	jq -r '[.levels[].steps[] | select(.step != "router")] | group_by(.step)
		| map("\(.[0].step)=\([.[].instances] | add)") | join(" ")' "$1.json"
}

# lost NAME: what was lost, in words; nothing is a pass.
lost() {
	jq -r '.loss | to_entries[] | select(.key != "samples" and .value > 0)
		| "\(.key) \(.value)"' "$1.json"
}

# is NAME 'add=5 …' [NS]: exactly these steps, nothing lost, and the routers' rows
# and gaps within 2 % (and 1 ms) of what the loop took.
is() {
	local got ns
	got=$(steps "$1")
	[ "$got" = "$2" ] || {
		echo "steps are '$got', not '$2'"
		tail -n 3 "$1.err"
		return 1
	}
	got=$(lost "$1")
	[ -z "$got" ] || {
		echo "lost: $got"
		return 1
	}
	[ -n "${3:-}" ] || return 0
	ns=$(jq '[.levels[].steps[] | select(.step == "router") | .n * .wall_ns.mean] | add' \
		"$1.json")
	jq -en --argjson a "$ns" --argjson b "$3" '($a - $b) | fabs < 0.02 * $b + 1e6' \
		>/dev/null || {
		echo "rows and gaps are $ns ns, the loop took $3 ns"
		return 1
	}
}

# sum FILE: of the numbers in it
sum() {
	awk '{ s += $1 } END { printf "%.0f\n", s }' "$1"
}

# adds_up FILE: what every traced report keeps. Short calls of the loop's own task are
# only summed up, and nobody knows how many of them fell into a step.
adds_up() {
	local out
	out=$(sums_hold "$1" | grep -v 'other calls: n 0$')
	[ -z "$out" ] || {
		echo "$out"
		return 1
	}
}

clear_netns() {
	ip -all netns del 2>/dev/null
}

# measures NAME STEPS CMD…: follows CMD, which prints what its loops took, one number
# a line; once more when the sum is out, as other load can make it.
measures() {
	local name=$1 want=$2
	shift 2
	follow "$name" -- "$@"
	is "$name" "$want" "$(sum "$name.out")" && return
	echo "once more"
	clear_netns
	follow "$name" -- "$@"
	is "$name" "$want" "$(sum "$name.out")"
}

check "a shell script of 2014" measures script "add=15 exec=15 sysctl=15 veth=30" \
	"$L/script.sh" 15
check "its rows add up to their walls" adds_up script.json
clear_netns

if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
	check "the same with sudo" measures sudo "add=8 exec=8 sysctl=8 veth=16 wrapper=40" \
		"$L/script.sh" 8 sudo -n
	check "its rows add up" adds_up sudo.json
	clear_netns
	# sudo makes a terminal of its own then, and is three tasks (use_pty)
	if command -v script >/dev/null; then
		script -qec "'$FRTRACE' run --json --quiet -o none --report pty.json -- \
			$L/script.sh 8 sudo -n >pty.out 2>pty.err" /dev/null </dev/null >/dev/null
		check "and on a terminal" is pty "add=8 exec=8 sysctl=8 veth=16 wrapper=40" \
			"$(cat pty.out)"
		check "its rows add up too" adds_up pty.json
		clear_netns
	fi
else
	skip "the same with sudo" "sudo asks for a password or is not here"
fi

check "four of them in parallel" measures parallel "add=32 exec=32 sysctl=32 veth=64" \
	sh -c "for i in 1 2 3 4; do $L/script.sh 8 & done; wait"
check "four loops are four streams" \
	jq -e '[.levels[].streams] | max == 4' parallel.json
clear_netns

for i in 1 2 3 4 5 6 7 8; do
	echo "netns add b$i"
	echo "link add bo$i type veth peer name bi$i netns b$i"
	echo "link set bo$i up"
done >batch.txt
follow batch -- ip -batch batch.txt
check "ip -batch" is batch "add=8 enter=8 link-up=8 veth=8"
clear_netns

follow unshare -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do unshare -n true; done'
check "unshare -n true in a loop" is unshare "unshare=10"

check "system calls from C" measures direct "add=20 enter=40 exec=20 sysctl=20 veth=40" \
	"$B/direct" 20
clear_netns

check "rows of calls add up to their walls" adds_up direct.json
check "the same from four threads" measures threads \
	"add=20 enter=40 exec=20 sysctl=20 veth=40" "$B/direct" 5 4
clear_netns

if command -v python3 >/dev/null; then
	follow python -- python3 "$L/raw.py" 10
	check "raw system calls from Python" is python "add=10 enter=30 sysctl=10"
else
	skip "raw system calls from Python" "no python3"
fi

follow move -- "$L/move.sh" 6
check "a veth is made, then moved" is move "add=6 veth=6 veth-move=6"
clear_netns

follow held -- sh -c 'for i in 1 2 3 4 5; do unshare -n sleep 1 & done; wait'
check "nameless namespaces held by processes" is held "unshare=5"

cat >kill.sh <<END
$L/script.sh 1000 &
while [ \$(ls /run/netns 2>/dev/null | wc -l) -lt 6 ]; do sleep 0.1; done
kill -9 \$!
wait
sleep 0.3
END
follow killed -- sh kill.sh
made=$(find /run/netns -name 'bar-*' | wc -l)
adds=$(jq '[.levels[].steps[] | select(.step == "add") | .instances] | add' killed.json)
check "a loop killed midway: $adds of $made routers are there" \
	test "$adds" -ge $((made - 1)) -a "$adds" -le $((made + 1))
clear_netns

follow short -- sh -c 'i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i + 1)); done; unshare -n true'
check "two hundred processes of a millisecond" is short "unshare=1"

if [ -w /proc/sys/kernel/ns_last_pid ]; then
	echo 'for i in 1 2 3 4; do
		unshare -n sh -c "echo \$\$ >>pids"
		echo 200 >/proc/sys/kernel/ns_last_pid
	done' >same.sh
	follow same -- unshare -p -f --mount-proc sh same.sh
	check "one PID again and again" is same "sysctl=4 unshare=4"
	check "it was the same PID" test "$(tail -n 3 pids | sort -u | wc -l)" -eq 1
else
	skip "one PID again and again" "ns_last_pid cannot be written"
fi

check "a loop in a PID namespace" measures pidns "add=12 exec=12 sysctl=12 veth=24" \
	unshare -p -f --mount-proc "$L/script.sh" 12
clear_netns

if command -v script >/dev/null; then
	script -qec "'$FRTRACE' run --live -o none --report live.txt -- sh -c \
		'for i in 1 2 3; do unshare -n true; sleep 1; done'" live.tty >/dev/null
	check "--live shows steps, their rate and what exists" sh -c \
		'grep -q "existing network namespaces" live.tty && grep -q "^unshare  *[23] " live.tty'
else
	skip "--live" "no script(1)"
fi

# The status is the command's, and so is standard output.
status_is() {
	local want=$1 got
	shift
	"$FRTRACE" run --quiet -o none --report status.txt -- "$@" >status.out 2>status.err
	got=$?
	[ "$got" -eq "$want" ] || {
		echo "status $got, not $want"
		cat status.err
		return 1
	}
}
check "status of the command" status_is 7 sh -c 'echo here; exit 7'
check "standard output is the command's" test "$(cat status.out)" = here
check "ended by a signal" status_is 137 sh -c 'kill -9 $$'
check "no such command" status_is 127 ./not-there
echo 'not a program' >noexec
check "not executable" status_is 126 ./noexec
check "the default report goes to stderr" sh -c \
	"'$FRTRACE' run -o none -- true 2>&1 >/dev/null | grep -q FINDING"
"$FRTRACE" run --quiet -o none --report term.json --json -- sh -c 'trap "kill \$!; exit 9" TERM; sleep 20 & wait' \
	>/dev/null 2>&1 &
pid=$!
sleep 1.5
kill -TERM "$pid"
wait "$pid"
check "a signal for frtrace reaches the loop" test $? -eq 9
check "and the report is written" jq -e .schema term.json

check "runs as another user" test \
	"$("$FRTRACE" run --quiet -o none --report u.txt --user nobody -- id -u 2>/dev/null)" = \
	"$(id -u nobody)"

# Arguments are not kept unless they are wanted; old records can be read with new rules.
"$FRTRACE" run --quiet -o masked.frt --report m.txt -- sh -c 'ip netns add secret1; true secret2; exit 0' 2>/dev/null
check "arguments are not kept" sh -c '! zcat masked.frt | grep "^{.exec" | grep secret'
"$FRTRACE" run --quiet --argv -o whole.frt --report m.txt -- sh -c 'ip netns exec secret1 true; exit 0' 2>/dev/null
check "--argv keeps them" sh -c 'zcat whole.frt | grep "^{.exec" | grep -q secret1'
check "a record read with another rule" sh -c \
	"'$FRTRACE' report --json --step 'mine=ip netns exec secret?' whole.frt |
	 jq -e '[.levels[].steps[].step] | index(\"mine\") != null'"
check "a rule that matched nothing is named" sh -c \
	"'$FRTRACE' report --step 'mine=ip netns exec nobody*' whole.frt | tr -s ' \n' ' ' |
	 grep -q 'matched no command'"
check "rules that overlap are counted" sh -c \
	"'$FRTRACE' report --step 'a=ip netns' --step 'b=ip * exec' whole.frt | tr -s ' \n' ' ' |
	 grep -q '1 more went to an earlier rule'"
check "by action, afterwards" sh -c \
	"'$FRTRACE' report --json --by action whole.frt |
	 jq -e '[.levels[].steps[].step] | index(\"exec\") != null'"
clear_netns

# Strange arguments are data.
long=$(head -c 100000 /dev/zero | tr '\0' x)
follow strange -- sh -c 'for a in "$@"; do unshare -n true "$a"; done; unshare -n true "" ""' \
	sh "$long" "$(printf 'a\nb\tc\033[31m')" "$(printf '\377\376')" ''
check "argv that is long, odd or empty" is strange "unshare=5"

# What cannot be, is said so.
usage() {
	"$FRTRACE" run "$@" >usage.out 2>&1
	[ $? -eq 2 ] && [ "$(wc -l <usage.out)" -eq 1 ] || {
		cat usage.out
		return 1
	}
}
check "no command" usage -o none
check "the command without --" usage true
check "an unknown --by" usage --by thread -- true
check "a rule without =" usage --step x -- true
check "a rule without a pattern" usage --step x= -- true
check "--every 0" usage --every 0 -- true
check "no such user" usage --user no-such-user -- true

# The user's own create command, through the rules.
run_json create.json --create "$L/mk.sh {i}" --at 0 --routers 6 --warmup 1 --freq 0
check "--create gives back the steps" test \
	"$(steps create)" = "add=6 exec=6 sysctl=6 true=6 veth=12"
clear_netns

# Ten thousand decoded calls a second.
follow busy -- "$B/busy" $((LONG ? 10 : 3))
n=$(cut -d ' ' -f 1 busy.out)
check "ten thousand decoded calls a second" test "$(lost busy)" = "" -a "$n" -gt 5000
check "each of its writes was seen" test \
	"$(jq '[.levels[].steps[] | select(.step == "sysctl") | .instances] | add' busy.json)" = "$n"

finish
