#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# kernels: 6.12
# vm: --exact-time --memory 1536
#
# Limits that are the whole machine's, reached midway: mounts, and memory. The rows so
# far are printed and kept, the limit is named with its value, the guest is clean.
set -uo pipefail

bad=0
# that WHAT COMMAND…
that() {
	local what=$1
	shift
	if ! "$@" >/tmp/that 2>&1; then
		echo "FAIL: $what"
		tail -n 5 /tmp/that
		bad=1
	fi
}
made() {
	find /run/netns -name 'bar-*' 2>/dev/null | wc -l
}
# begin NAME MODE TO: the rate, in the background, until 15 have been made.
begin() {
	name=$1
	build/frtrace rate --quiet -o "$RESULTS/$name.frt" --settle 0 --to "$3" --every 10 --mode "$2" \
		>"$RESULTS/$name.out" 2>"$RESULTS/$name.err" </dev/null &
	pid=$!
	for ((i = 0; i < 1000 && $(made) < 15; i++)); do sleep 0.02; done
}
# ended LIMIT: as it should, because of that.
ended() {
	local rc=0
	wait $pid || rc=$?
	that "$name: status 1, not $rc" test "$rc" = 1
	that "$name: the limit's name and value" grep -E "$1" "$RESULTS/$name.err"
	that "$name: the rows so far are printed" grep '^0–10 ' "$RESULTS/$name.out"
	build/frtrace report --json "$RESULTS/$name.frt" >/tmp/report.json || bad=1
	that "$name: they are kept" jq -e '(.rows | length >= 1) and .rows[0].n == 10' /tmp/report.json
	that "$name: the cause too" jq -e --arg w "$1" '.cause | test($w)' /tmp/report.json
	that "$name: nothing is left" test "$(made)$(ip -o link show type veth | wc -l)" = 00
	cat "$RESULTS/$name.err"
}

# The first add on a machine mounts /run/netns and leaves it.
ip netns add first
ip netns del first
max=$(cat /proc/sys/fs/mount-max)
for mode in script lean; do
	begin "mounts-$mode" "$mode" 2000
	now=$(($(wc -l </proc/self/mountinfo) + 40))
	echo "$now" >/proc/sys/fs/mount-max
	ended "fs\\.mount-max.* $now|$now mounts; the limit is fs\\.mount-max"
	echo "$max" >/proc/sys/fs/mount-max
done

# What is there without anybody's account goes: the rest of memory, but for a little.
begin memory lean 1000
free=$(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
mount -o remount,size=100% /dev/shm
head -c $(((free - 110) * 1048576)) /dev/zero >/dev/shm/filled
ended 'MemAvailable = [0-9]+ MiB'
rm -f /dev/shm/filled
exit "$bad"
