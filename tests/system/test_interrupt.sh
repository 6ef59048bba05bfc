#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 400
# Killed or interrupted at random moments: after kill -9 `frtrace clean` leaves
# the system as it was and somebody else's things untouched; after SIGINT it is
# clean at once, the record can be read and the exit status is 130.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
isolate "$@"

ip netns add foreign-keep
ip netns exec foreign-keep ip link set lo up
ip link add foreign0 type veth peer name foreign1
mkdir foreign.d && mount -t tmpfs foreign foreign.d
touch foreign.d/file /run/netns/foreign-file /run/foreign
touch "$T/record.frt"
snapshot >"$T/before"

# foreign_ok: what is not ours still works.
foreign_ok() {
	ip netns exec foreign-keep ip link show lo | grep -q UP &&
		ip link show foreign0 >/dev/null && [ -e foreign.d/file ] &&
		[ -e /run/netns/foreign-file ] && [ -e /run/foreign ]
}

modes=(script exact lean batch)
# job NUMBER: sets job_args; modes, streams and tracing take turns.
job() {
	job_args=(--quiet --settle 0 "--at=0,40" --routers 8 --warmup 1 --mode "${modes[$(($1 % 4))]}")
	[ $(($1 % 3)) -ne 1 ] || job_args+=(--streams 4)
	[ $(($1 % 2)) -eq 0 ] || job_args+=(--untraced)
	[ $(($1 % 5)) -ne 4 ] || job_args+=(--fill script)
}

# How long each kind of job takes when nobody disturbs it, in ms.
declare -A length
length_of() {
	local key="${job_args[*]}" t0 t1
	if [ -z "${length[$key]:-}" ]; then
		t0=$(date +%s%3N)
		"$FRTRACE" -o none "${job_args[@]}" >/dev/null 2>"$T/err" </dev/null ||
			fail "undisturbed: ${job_args[*]}" "$(cat "$T/err")"
		t1=$(date +%s%3N)
		length[$key]=$((t1 - t0))
	fi
	took=${length[$key]}
}

# random_wait: sleeps a random part of $took.
random_wait() {
	local ms=$((RANDOM * 32768 + RANDOM))
	ms=$((ms % (took + 1)))
	sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))"
	waited=$ms
}

# hold: stops the job, so that a signal surely finds it at work. One that has ended
# by itself was a shorter job than the measured one: the next are aimed at that.
hold() {
	local k state
	kill -STOP "$pid" 2>/dev/null
	for ((k = 0; k < 500; k++)); do
		state=$(sed 's/.*) \(.\) .*/\1/' "/proc/$pid/stat" 2>/dev/null)
		[ "$state" != T ] || return 0
		[ "$state" != Z ] || break
		sleep 0.01
	done
	length[${job_args[*]}]=$waited
	return 1
}

# start ARGS…: frtrace in the background; a job's SIGINT is ignored by the shell's
# custom, which must not reach it.
start() {
	env --default-signal=INT,TERM,HUP "$FRTRACE" "$@" >"$T/out" 2>"$T/err" </dev/null &
	pid=$!
}

kills=20 ints=14
[ "$LONG" = 0 ] || kills=200 ints=140

left_work=0
for ((i = 0; i < kills; i++)); do
	job "$i"
	length_of
	start -o none "${job_args[@]}"
	random_wait
	name="kill -9 number $i after $waited of $took ms (${job_args[*]:6})"
	hold || name+=", too late"
	kill -KILL "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	if ! timeout 60 "$FRTRACE" clean >"$T/clean" 2>&1; then
		fail "$name: clean" "$(cat "$T/clean")"
		continue
	fi
	grep -q 'removed 0 ' "$T/clean" || left_work=$((left_work + 1))
	if left=$(left_since "$T/before") && foreign_ok; then
		pass "$name"
	else
		fail "$name" "$left" "$(cat "$T/clean")" "$(ls /run/netns /run/frtrace 2>&1)"
		snapshot >"$T/before"
	fi
done
# a test that never found anything to clean would have proved nothing
check "some of the killed left something ($left_work of $kills)" [ "$left_work" -ge $((kills / 5)) ]

# --dry-run says what clean then does, and does nothing.
start -o none --quiet --settle 0 --at 60 --routers 5 --fill script --untraced
for ((k = 0; k < 200; k++)); do
	# shellcheck disable=SC2012
	[ "$(ls /run/netns | wc -l)" -gt 10 ] && break
	sleep 0.05
done
kill -KILL "$pid" 2>/dev/null
wait "$pid" 2>/dev/null
sleep 0.3
without_progs() {
	snapshot | grep -v '^programs ' | sort
}
without_progs >"$T/dirty"
"$FRTRACE" clean --dry-run >"$T/dry" 2>&1
rc=$?
check "clean --dry-run: status 0" [ "$rc" -eq 0 ]
check "clean --dry-run: changes nothing" diff "$T/dirty" <(without_progs)
"$FRTRACE" clean >"$T/clean" 2>&1
check "clean does what --dry-run said" [ "$(grep -o '[0-9]* object' "$T/dry")" = \
	"$(grep -o '[0-9]* object' "$T/clean")" ]
check "clean: nothing left" left_since "$T/before"
"$FRTRACE" clean >"$T/clean" 2>&1
check "clean again: nothing to do" grep -q 'removed 0 ' "$T/clean"

rm -f "$T/record.frt"
snapshot >"$T/before"
with_record=0
for ((i = 0; i < ints; i++)); do
	job "$i"
	length_of
	sig=INT
	[ $((i % 7)) -ne 5 ] || sig=TERM
	[ $((i % 7)) -ne 6 ] || sig=HUP
	start -o "$T/record.frt" "${job_args[@]}"
	random_wait
	late=
	hold || late=", too late"
	kill "-$sig" "$pid" 2>/dev/null
	kill -CONT "$pid" 2>/dev/null
	# a second one must not undo the cleaning up
	[ $((i % 3)) -ne 0 ] || { sleep 0.05; kill "-$sig" "$pid" 2>/dev/null; }
	wait "$pid" 2>/dev/null
	rc=$?
	name="SIG$sig number $i after $waited of $took ms (${job_args[*]:6})"
	want=130
	# before anything can be left behind the signal simply ends it
	if [ ! -e "$T/record.frt" ] && [ ! -s "$T/err" ]; then
		case $rc in
		129 | 143) want=$rc ;;
		esac
	fi
	if [ -n "$late" ] && [ "$rc" -eq 0 ]; then
		name+=$late
	elif [ "$rc" -ne "$want" ]; then
		fail "$name" "status $rc, not $want" "$(cat "$T/err")"
		rm -f "$T/record.frt"
		continue
	fi
	if [ -e "$T/record.frt" ]; then
		with_record=$((with_record + 1))
		if ! "$FRTRACE" report "$T/record.frt" >"$T/report" 2>&1; then
			fail "$name: the record" "$(head -n 5 "$T/report")"
		fi
		rm -f "$T/record.frt"
	fi
	if left=$(left_since "$T/before") && foreign_ok; then
		pass "$name"
	else
		fail "$name" "$left" "$(cat "$T/err")"
		"$FRTRACE" clean >/dev/null 2>&1
	fi
done
check "some of the interrupted wrote a record ($with_record of $ints)" [ "$with_record" -ge $((ints / 4)) ]

umount foreign.d
finish
