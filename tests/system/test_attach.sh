#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# frtrace attach: loops that run already, by process, by name, by control group.
# timeout: 600
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
isolate "$@"
need_tools python3
L=$top/tests/system/loops
[ -x "$BUILD/loops/moved" ] || skip_all "$BUILD/loops/moved is not built (make system)"

steps() {
	jq -r '[.levels[].steps[] | select(.step != "router")] | group_by(.step)
		| map("\(.[0].step)=\([.[].instances] | add)") | join(" ")' "$1.json"
}

lost() {
	jq -r '.loss | to_entries[] | select(.key != "samples" and .value > 0)
		| "\(.key) \(.value)"' "$1.json"
}

# is NAME STEPS: exactly these, and nothing lost.
is() {
	[ "$(steps "$1")" = "$2" ] && [ -z "$(lost "$1")" ] || {
		echo "steps '$(steps "$1")', lost '$(lost "$1")'; wanted '$2'"
		cat "$1.err"
		return 1
	}
}

# attach NAME ARGS…: in the background, its PID in $pid.
attach() {
	local name=$1
	shift
	"$FRTRACE" attach --json --quiet -o none --report "$name.json" "$@" >/dev/null 2>"$name.err" &
	pid=$!
}

settle() {
	sleep "$1"
}

# attached: until the programs are there, and a moment for who is to be followed.
attached() {
	local i
	for ((i = 0; i < 200; i++)); do
		grep -qs 'tp_name.*sys_exit' "/proc/$pid/fdinfo/"* && break
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.05
	done
	sleep "${1:-1}"
}

# held FRTRACE PID: until it has a descriptor of that process
held() {
	local i
	for ((i = 0; i < 3000; i++)); do
		grep -qs "^Pid:[[:space:]]$2\$" "/proc/$1/fdinfo/"* && return
		sleep 0.01
	done
	return 1
}

ask() {
	python3 - "$@" <<'END'
import socket
import sys
for word in sys.argv[1:]:
    s = socket.socket(socket.AF_UNIX)
    s.connect("server")
    s.send(word.encode())
    s.recv(16)
END
}

snapshot >before

# A forking server.
# serve: its report in server.json, what its children took in server.out.
serve() {
	rm -f server
	python3 "$L/server.py" server >server.out &
	server=$!
	settle 0.7
	attach server -p "$server"
	attached
	ask 5 7 quit
	wait "$server"
	served=$?
	wait "$pid"
	ended=$?
}
# rows and gaps of all its children within 2 % (and 1 ms) of what these took
serve_adds_up() {
	local rows took
	rows=$(jq '[.levels[].steps[] | select(.step == "router") | .n * .wall_ns.mean] | add' server.json)
	took=$(awk '{ s += $1 } END { printf "%.0f", s }' server.out)
	jq -en --argjson a "$rows" --argjson b "$took" '($a - $b) | fabs < 0.02 * $b + 1e6' >/dev/null || {
		echo "rows and gaps are $rows ns, the children took $took ns"
		return 1
	}
}
serve
check "the server was left undisturbed" test "$served" -eq 0
check "the end of the last target ends the run" test "$ended" -eq 0
check "a forking server that gets its work over a socket" is server "add=120 sysctl=120"
serve_adds_up >/dev/null || serve # once more: other load can make it
check "its children's rows and gaps are what they took" serve_adds_up

# By name: what runs already, and what comes later.
cp "$(readlink -f "$(command -v sh)")" frtloop
echo 'while [ ! -e begin ]; do sleep 0.1; done; for i in 1 2 3 4; do unshare -n true; done' >loop.sh
./frtloop loop.sh &
first=$!
attach comm --comm frtloop --for 9
held "$pid" "$first"
attached
touch begin
./frtloop -c 'for i in 1 2 3; do unshare -n true; done; :'
wait "$first"
wait "$pid"
check "--comm ends at --for" test $? -eq 0
check "by name, running and to come" is comm "unshare=7"

attach named --comm frtnamed --for 4
attached
"$BUILD/loops/moved" 6 =frtnamed
wait "$pid"
check "a process that takes the name comes with all its threads" is named "add=12"

attach nobody --comm no-such-name --for 1
wait "$pid"
check "a name that nobody has is waited for" test $? -eq 0
check "and that is said" sh -c \
	"'$FRTRACE' attach --comm no-such-name --for 1 -o none 2>&1 >/dev/null | grep -q waiting"

for i in $(seq 500); do
	sleep 30 &
	echo $!
done >sleepers
attach many --comm sleep --for 2
wait "$pid"
check "five hundred processes of a name" test $? -eq 0 -a "$(lost many)" = ""
xargs kill <sleepers 2>/dev/null
wait 2>/dev/null

# By control group.
group=
for top_group in /sys/fs/cgroup/unified /sys/fs/cgroup; do
	[ "$(stat -f -c %T "$top_group" 2>/dev/null)" = cgroup2fs ] || continue
	mkdir "$top_group/frt-test-$$" 2>/dev/null && group=$top_group/frt-test-$$ && break
done
if [ -n "$group" ]; then
	trap 'rmdir "$group" 2>/dev/null; clear_away' EXIT
	attach group --cgroup "$group" --for 4
	attached
	sh -c "echo \$\$ >$group/cgroup.procs
	       for i in 1 2 3 4 5; do unshare -n true; done; :"
	wait "$pid"
	check "--cgroup ends at --for" test $? -eq 0
	check "what comes into a control group" is group "unshare=5"
	sh -c "echo \$\$ >$group/cgroup.procs
	       while [ ! -e go ]; do sleep 0.1; done
	       for i in 1 2 3; do unshare -n true; done; :" &
	settle 0.5
	attach inside --cgroup "$group" --for 4
	attached
	touch go
	wait "$pid"
	check "what is in a control group already" is inside "unshare=3"
	attach moved --cgroup "$group" --for 4
	attached
	"$BUILD/loops/moved" 7 "$group"
	wait "$pid"
	check "a process that is moved comes with all its threads" is moved "add=14"
	rmdir "$group"
else
	skip "control groups" "no version 2 hierarchy that can be written"
fi

# Fifty times to a busy loop: it does not notice, and nothing stays. (It leaves the
# kernel time to take its namespaces away again: their number has a limit.)
sh -ec 'trap "exit 0" TERM; while :; do unshare -n true; sleep 0.02; done' &
loop=$!
bad=
for _ in $(seq 50); do
	attach busy -p "$loop"
	attached 0.05
	kill -INT "$pid"
	wait "$pid" || bad="$bad $?: $(cat busy.err)"
	jq -e '.levels' busy.json >/dev/null || bad="$bad no report"
	out=$(lost busy)
	[ -z "$out" ] || bad="$bad lost: $out"
done
check "attached and detached fifty times, nothing lost" test -z "$bad" || echo "$bad"
check "the loop did not notice" kill -TERM "$loop"
wait "$loop"
check "and ends as it should" test $? -eq 0
check "nothing is left" left_since before

# What others pay: a system call of a process that is not followed, against two
# programs that do nothing at all. The best of three, for the machine's noise.
cost() {
	for _ in 1 2 3; do "$BUILD/loops/getppid"; done | sort -n | head -n 1
}
if [ -x "$BUILD/loops/empty" ]; then
	ahead
	alone=$(cost)
	mkfifo hold
	"$BUILD/loops/empty" <hold >empty.out 2>&1 &
	empty=$!
	exec 9>hold
	settle 1
	nothing=$(cost)
	exec 9>&-
	wait "$empty"
	check "two empty programs could be attached" grep -q ready empty.out
	settle 1
	sleep 60 &
	idle=$!
	attach others -p "$idle" --freq 0
	attached
	looked=$(cost)
	kill "$idle"
	wait "$pid"
	echo "ns a call: alone $alone, two empty programs $nothing, not followed $looked"
	check "who is not followed pays at most 1.5 times two empty programs" \
		awk "BEGIN { exit !($looked - $alone <= 1.5 * ($nothing - $alone)) }"
fi

# What cannot be followed.
# refuses STATUS ARGS…: with one line.
refuses() {
	local want=$1 got
	shift
	"$FRTRACE" attach --quiet -o none "$@" >refused.out 2>&1
	got=$?
	[ "$got" -eq "$want" ] && [ "$(wc -l <refused.out)" -eq 1 ] || {
		echo "status $got, not $want"
		cat refused.out
		return 1
	}
}
sh -c 'exit 0' &
gone=$!
wait "$gone"
check "a process that does not exist" refuses 3 -p "$gone"
kthread=$(ps -e -o pid=,ppid= | awk '$2 == 2 { print $1; exit }')
if [ -n "$kthread" ]; then
	check "a thread of the kernel" refuses 2 -p "$kthread"
else
	skip "a thread of the kernel" "none is visible here"
fi
check "frtrace itself" sh -c "sh -c 'exec \"$FRTRACE\" attach -p \$\$ -o none' 2>self.err; [ \$? -eq 2 ]"
check "no target" refuses 2
check "two targets" refuses 2 -p 1 --comm x
check "no number" refuses 2 -p x
check "PID 0" refuses 2 -p 0
check "a name that is too long" refuses 2 --comm sixteen-bytes-it-is
check "no such control group" refuses 3 --cgroup /sys/fs/cgroup/no-such-group
check "a folder that is no control group" refuses 3 --cgroup /tmp
python3 -c '
import threading, time
t = threading.Thread(target=lambda: time.sleep(60))
t.start()
print(t.native_id, flush=True)
t.join()' >tid &
pid=$!
for _ in $(seq 100); do [ -s tid ] && break || sleep 0.1; done
check "a thread that is not the first" refuses 2 -p "$(cat tid)"
kill "$pid"
wait "$pid" 2>/dev/null

# Between the look at it and the following of it the programs are loaded.
sleep 60 &
gone=$!
attach early -p "$gone" --for 5
check "a process is held by a descriptor" held "$pid" "$gone"
kill "$gone"
wait "$gone" 2>/dev/null
wait "$pid"
check "one that ends between look-up and attach" test $? -eq 3 -a "$(wc -l <early.err)" -eq 1
check "that is said" grep -q 'ended before it could be followed' early.err
python3 -c '
import os, time
child = os.fork()
if not child:
    time.sleep(60)
print(child, flush=True)
time.sleep(60)' >child &
parent=$!
for _ in $(seq 100); do [ -s child ] && break || sleep 0.1; done
attach zombie -p "$(cat child)" --for 5
check "so is one" held "$pid" "$(cat child)"
kill "$(cat child)"
wait "$pid"
check "that nobody has waited for" test $? -eq 3 -a "$(wc -l <zombie.err)" -eq 1
kill "$parent"
wait "$parent" 2>/dev/null

# Its number is given to another one meanwhile: that one is not followed.
if [ -w /proc/sys/kernel/ns_last_pid ]; then
	cat >reuse.sh <<'END'
sleep 60 &
gone=$!
"$FRTRACE" attach -p "$gone" --for 5 --json --quiet -o none --report reuse.json 2>reuse.err &
pid=$!
held "$pid" "$gone" || exit
kill "$gone"
wait "$gone"
for _ in $(seq 20); do
	echo $((gone - 1)) >/proc/sys/kernel/ns_last_pid
	bash -c 'echo $$ >other; for i in {1..50}; do unshare -n true; sleep 0.1; done' &
	other=$!
	[ "$other" -ne "$gone" ] || break
	kill "$other"
done
wait "$pid"
echo "$? $((other - gone))" >reuse.out
kill "$other"
END
	export -f held
	unshare -p -f --mount-proc bash reuse.sh >reuse.log 2>&1
	check "nor is another that has its number by then" test "$(cat reuse.out)" = "3 0"
else
	skip "a number that is given to another" "ns_last_pid cannot be written"
fi
check "it ends while it is looked at" sh -c "
	for i in 1 2 3 4 5; do
		sleep 0.05 & p=\$!
		'$FRTRACE' attach -p \$p --quiet -o none --for 2 >/dev/null 2>&1
		case \$? in 0 | 3) ;; *) exit 1 ;; esac
	done"

finish
