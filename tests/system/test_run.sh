#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# frtrace run: loops of many kinds, each with a known number of routers.
# timeout: 480
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

# is NAME 'add=5 …': exactly these steps, and nothing lost.
is() {
	local got
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
}

# took NAME NS: all rows and gaps are within 2 % (and 1 ms) of what the loop,
# or all loops together, took.
took() {
	local ns
	ns=$(jq '[.levels[] | (.steps[] | select(.step != "router") | .n * .wall_ns.mean),
		.gap_ns.n * .gap_ns.mean] | add' "$1.json")
	jq -en --argjson a "$ns" --argjson b "${2:-0}" '($a - $b) | fabs < 0.02 * $b + 1e6' \
		>/dev/null || {
		echo "rows and gaps are $ns ns, the loop took ${2:-0} ns"
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

# what a command takes, printed in ns behind what it prints itself
# shellcheck disable=SC2016
clock=(bash -c 'a=${EPOCHREALTIME/[.,]/}; "$@"; b=${EPOCHREALTIME/[.,]/}; echo $(((b - a) * 1000))' clock)

clear_netns() {
	ip -all netns del 2>/dev/null
}

# walls CASE NAME STEPS CMD…: CMD, which follows a loop into NAME.json and writes what its
# loops took into NAME.out, one number a line. The steps are exactly these and nothing is
# lost, every time; the walls may come out on the third, as other load is in what the loop
# takes before its clock and behind it.
walls() {
	local case=$1 name=$2 want=$3 try bad
	shift 3
	for try in 1 2 3; do
		"$@"
		bad=$(is "$name" "$want") || break
		bad=$(took "$name" "$(sum "$name.out")") && break
		[ "$try" -eq 3 ] || {
			echo "retry $case: ${bad//$'\n'/; }"
			clear_netns
		}
	done
	[ -z "$bad" ] || {
		fail "$case" "$bad"
		return 1
	}
	pass "$case"
}

# measures CASE NAME STEPS CMD…: the same of `frtrace run`
measures() {
	local case=$1 name=$2 want=$3
	shift 3
	walls "$case" "$name" "$want" follow "$name" -- "$@"
}

measures "a shell script of 2014" script "add=15 exec=15 sysctl=15 veth=30" "$L/script.sh" 15
check "its rows add up to their walls" adds_up script.json
clear_netns

if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
	measures "the same with sudo" sudo "add=8 exec=8 sysctl=8 veth=16 wrapper=40" \
		"$L/script.sh" 8 sudo -n
	check "its rows add up" adds_up sudo.json
	clear_netns
	# sudo makes a terminal of its own then, and is three tasks (use_pty)
	if command -v script >/dev/null; then
		on_terminal() {
			script -qec "exec '$FRTRACE' run --json --quiet -o none --report pty.json -- \
				$L/script.sh 8 sudo -n >pty.out 2>pty.err" /dev/null </dev/null >/dev/null
		}
		walls "and on a terminal" pty "add=8 exec=8 sysctl=8 veth=16 wrapper=40" on_terminal
		check "its rows add up too" adds_up pty.json
		clear_netns
	fi
else
	skip "the same with sudo" "sudo asks for a password or is not here"
fi

measures "four of them in parallel" parallel "add=32 exec=32 sysctl=32 veth=64" \
	sh -c "for i in 1 2 3 4; do $L/script.sh 8 & done; wait"
check "four loops are four streams" \
	jq -e '[.levels[].streams] | max == 4' parallel.json
clear_netns

for i in $(seq 100); do
	echo "netns add b$i"
	echo "link add bo$i type veth peer name bi$i netns b$i"
	echo "link set bo$i up"
done >batch.txt
measures "ip -batch" batch "add=100 enter=100 link-up=100 veth=100" \
	"${clock[@]}" ip -batch batch.txt
clear_netns

many_unshare='a=${EPOCHREALTIME/[.,]/}; for i in {1..20}; do unshare -n true; done
	b=${EPOCHREALTIME/[.,]/}; echo $(((b - a) * 1000))'
measures "unshare -n true in a loop" unshare "unshare=20" bash -c "$many_unshare"

measures "several netlink messages in one send" sends "add=1 rtnl-batch=30" "$B/batch" 30
check "each of them is counted" sh -c \
	"'$FRTRACE' run -o none -- '$B/batch' 4 2>&1 >/dev/null | grep -q '20 messages in 4 sends'"

measures "system calls from C" direct "add=20 enter=40 exec=20 sysctl=20 veth=40" \
	"$B/direct" 20
clear_netns

check "rows of calls add up to their walls" adds_up direct.json
measures "the same from four threads" threads \
	"add=20 enter=40 exec=20 sysctl=20 veth=40" "$B/direct" 5 4
clear_netns

if command -v python3 >/dev/null; then
	measures "raw system calls from Python" python "add=20 enter=60 sysctl=20" \
		python3 "$L/raw.py" 20
else
	skip "raw system calls from Python" "no python3"
fi

measures "a veth is made, then moved" move "add=8 veth=8 veth-move=8" "$L/move.sh" 8
clear_netns

# Each waits for the process that holds its namespace, beside the others: five loops.
# shellcheck disable=SC2016 # the inner shell's
held='for i in 1 2 3 4 5; do
	{ a=${EPOCHREALTIME/[.,]/}; unshare -n sleep 1; b=${EPOCHREALTIME/[.,]/}
	  echo $(((b - a) * 1000)); } &
done; wait'
measures "nameless namespaces held by processes" held "unshare=5" bash -c "$held"
measures "and by processes that stay" stay "unshare=12" "$L/holders.sh" 12

# The loop's last command goes on without it; cat ends with that.
measures "a loop killed midway" killed "add=15 exec=15 sysctl=14 veth=14" \
	sh -c "'$L/killed.sh' 15 | cat"
check "what it made is there" test "$(find /run/netns -name 'k*' | wc -l)" -eq 15
clear_netns

walls "two hundred processes of a millisecond" short "tiny=200" \
	follow short --step tiny=true -- "$L/true.sh" 200

if [ -w /proc/sys/kernel/ns_last_pid ]; then
	measures "one PID again and again" same "sysctl=10 unshare=10" \
		unshare -p -f --mount-proc "$L/same.sh" 10
	check "it was the same PID" test "$(sort pids | uniq -c | awk '{ print $1 % 10 }')" = 0
else
	skip "one PID again and again" "ns_last_pid cannot be written"
fi

measures "a loop in a PID namespace" pidns "add=12 exec=12 sysctl=12 veth=24" \
	unshare -p -f --mount-proc "$L/script.sh" 12
clear_netns

# Existing namespaces are the axis: those of others on the machine, too.
follow axis --every 10 -- "$L/script.sh" 40
check "existing namespaces are the axis: rows, rate, growth" jq -e '
	(.levels | length >= 2) and ([.levels[].routers] | add == 40)
	and all(.levels[]; .rate_per_s > 0 and (.steps | length) >= 5)
	and ([.levels[].existing] | . == sort and . == unique)
	and (.growth | length > 0)
	and ([.growth[].share] | all(. == null) or (add - 1 | fabs < 0.001))' axis.json
clear_netns

# Wrappers are looked through.
follow wrapped -- sh -c 'for i in 1 2 3; do
	env A=1 ip netns add w$i; nice -n 1 ip netns exec w$i true; flock lock ip netns exec w$i true
	timeout 9 ip link add wo$i type veth peer name wi$i netns w$i; sh -c "ip netns del w$i; exit 0"
done'
check "wrappers are looked through" is wrapped "add=3 delete=3 exec=6 veth=3 wrapper=15"
clear_netns

# until FILE LINES: until so many lines are there (a slow machine may take its time)
until_lines() {
	local i
	for ((i = 0; i < 300; i++)); do
		[ ! -e "$1" ] || [ "$(wc -l <"$1")" -lt "$2" ] || return 0
		sleep 0.1
	done
	return 1
}
if command -v script >/dev/null; then
	# The keyboard stays open: script(1) that meets its end does not wait for the status.
	mkfifo keys
	exec 7<>keys
	(until_lines rounds 5; printf '\003' >&7) &
	script -qec "exec '$FRTRACE' run --json --quiet -o none --report int.json -- sh -c \
		'trap \"echo reached >int; exit 9\" INT; while :; do unshare -n true; echo x >>rounds; sleep 0.1; done'" \
		/dev/null <keys >int.tty 7>&-
	status=$?
	exec 7>&-
	wait
	check "Ctrl-C ends the loop, whose status is kept" \
		sh -c 'echo "status $1"; cat int.tty; [ "$1" -eq 9 ]' - "$status"
	check "it reached the loop" grep -q reached int
	check "and what was seen is reported" jq -e \
		'[.levels[].steps[] | select(.step == "unshare") | .instances] | add > 2' int.json
else
	skip "Ctrl-C" "no script(1)"
fi

if command -v script >/dev/null; then
	script -qec "exec '$FRTRACE' run --live -o none --report live.txt -- sh -c \
		'for i in 1 2 3; do unshare -n true; sleep 1; done'" live.tty >/dev/null
	check "--live shows steps, their rate and what exists" sh -c \
		'grep -q "existing network namespaces" live.tty && grep -q "H.\[2Kunshare  *[23] " live.tty'
	check "and takes them away at the end" grep -q '\[r.\[[0-9]*;1H.\[J.8' live.tty
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
"$FRTRACE" run --quiet -o none --report term.json --json -- sh -c \
	'trap "kill \$!; exit 9" TERM; sleep 60 & echo x >>begun; wait' >/dev/null 2>&1 &
pid=$!
until_lines begun 1
kill -TERM "$pid"
wait "$pid"
check "a signal for frtrace reaches the loop" test $? -eq 9
check "and the report is written" jq -e .schema term.json


# While everything is attached there is nothing yet that a signal could be passed to.
loading() { # until its programs are being loaded
	local i
	for ((i = 0; i < 300; i++)); do
		grep -qs '^prog_id' "/proc/$1/fdinfo/"* && return
		sleep 0.01
	done
	return 1
}
echo old >early.txt
"$FRTRACE" run --quiet -o early.frt --report early.txt -- touch early.ran 2>early.err &
pid=$!
check "its programs are loaded" loading "$pid"
kill -TERM "$pid"
wait "$pid"
check "a signal before the command begins ends both" test $? -eq 143 -a ! -e early.ran
check "it is said in a line, and nothing is written" sh -c \
	'[ "$(wc -l <early.err)" -eq 1 ] && [ ! -e early.frt ] && grep -qx old early.txt'

# The report stands in its place when it is whole, and belongs to who asked for it.
echo old >kept.txt
"$FRTRACE" run --quiet -o none --report kept.txt --probe no_such_function* --probes nonsense -- true 2>/dev/null
check "a run that did not begin leaves the report that was there" grep -qx old kept.txt
SUDO_UID=$(id -u nobody) SUDO_GID=$(id -g nobody) SUDO_USER=nobody "$FRTRACE" run -o none \
	--report kept.txt -- true 2>as.err
check "the report is the sudo user's" test "$(stat -c %U kept.txt)" = nobody -a "$(wc -l <kept.txt)" -gt 5
check "it is said as whom the command runs" grep -q 'runs as root; --user nobody' as.err
chmod 755 . && mkdir full && mount -t tmpfs -o size=4k tmpfs full
"$FRTRACE" run --quiet -o none --report full/r.txt -- sh -c 'head -c 4096 /dev/zero >full/all' 2>full.err
check "a report that does not fit is one line" test $? -eq 125 -a "$(wc -l <full.err)" -eq 1
check "and leaves nothing half" test "$(ls full)" = all
umount full

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
long=$(head -c 131071 /dev/zero | tr '\0' x) # with its end 128 KiB: no longer one can be
follow strange -- sh -c 'for a in "$@"; do unshare -n true "$a"; done; unshare -n true "" ""' \
	sh "$long" "$(printf 'a\nb\tc\033[31m')" "$(printf '\377\376')" ''
check "argv that is long, odd or empty" is strange "unshare=5"
check "what was cut is counted" grep -q '2 commands have longer arguments' strange.json

# So are they in a record that keeps them, as are strange names of programs, or none.
odd=$(printf 'a\nb\033[31m\377')
cp "$(command -v ip)" "$odd"
"$FRTRACE" run --by command --argv --quiet -o odd.frt --report odd.txt -- bash -c \
	'for a in "$@"; do unshare -n true "$a"; done; "./$0" link set lo up; (exec -a "" ip link set lo up)' \
	"$odd" "$long" "$odd" '' 2>/dev/null
check "a record keeps them" jq -en \
	'[inputs | .levels[].steps[] | select(.step == "unshare" or .step == "other") | .instances] == [3, 2]' \
	<("$FRTRACE" report --json odd.frt)
check "what is printed of them is text" sh -c \
	'LC_ALL=C grep -q "^20[^ ]* · frtrace run" odd.txt && grep -qF "is: ? link set ×1, a\x0ab" odd.txt && iconv -f utf-8 -t utf-8 odd.txt >/dev/null &&
	 ! LC_ALL=C grep -q "[[:cntrl:]]" odd.txt'
check "so is its export" sh -c "'$FRTRACE' export odd.frt --format trace | jq -e '.traceEvents | length > 5'"

follow other --by command -- sh -c 'for i in 1 2 3; do ip rule show; ip netns add o$i; done'
check "what no rule names is other" is other "add=3 other=3"
check "and its commands are listed" grep -q 'other is: ip ×3' other.json
clear_netns

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
check "a rule that is no text" usage --step "$(printf 'x=ip \377')" -- true
check "--every 0" usage --every 0 -- true
check "no such user" usage --user no-such-user -- true

# The user's own create command, through the rules.
run_json create.json --create "$L/mk.sh {i}" --at 0 --routers 6 --warmup 1 --freq 0
check "--create gives back the steps" test \
	"$(steps create)" = "add=6 exec=6 sysctl=6 true=6 veth=12"
clear_netns
run_json levels.json --create "$L/mk.sh {i}" --destroy "ip netns del mk-{i}" --at 0,20 --routers 5 \
	--warmup 1 --freq 0
check "through levels, and again at the first" jq -e '
	[.levels[] | [.level, .again, ([.steps[] | select(.step == "veth" or .step == "delete") | .instances])]]
	== [[0, false, [10, 5]], [20, false, [10, 5]], [0, true, [10, 5]]]' levels.json
check "--destroy takes all of them away" test -z "$(ls /run/netns)"

# Ten thousand decoded calls a second, for ten seconds; a quarter of them are writes.
follow busy -- "$B/busy" 10
read -r n ms <busy.out
check "ten thousand decoded calls a second" test "$n" -eq 25000 -a "$ms" -lt 10500
check "none of them is lost" test -z "$(lost busy)"
check "each of its writes was seen" test \
	"$(jq '[.levels[].steps[] | select(.step == "sysctl") | .instances] | add' busy.json)" = "$n"

finish
