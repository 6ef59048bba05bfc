#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# kernels: host
#
# scripts/vm itself: what goes in, what comes out, and that no way a guest can end passes for success.
set -euo pipefail

bad=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# try NAME WANTED-STATUS ARGUMENTS…: output in $work/out and $work/err
try() {
	local name=$1 want=$2 rc=0
	shift 2
	scripts/vm "$@" >"$work/out" 2>"$work/err" || rc=$?
	if [ "$rc" != "$want" ]; then
		echo "$name: exit status $rc, not $want"
		sed 's/^/  | /' "$work/err"
		bad=1
	fi
}
same() {
	[ "$2" = "$3" ] && return
	printf '%s: got "%s", not "%s"\n' "$1" "$2" "$3"
	bad=1
}
says() {
	grep -q -- "$2" "$work/err" && return
	printf '%s: nothing like "%s" on standard error:\n' "$1" "$2"
	sed 's/^/  | /' "$work/err"
	bad=1
}

head -c 3000000 /dev/urandom >"$work/blob"
# Fetching is said, too, so it is done before.
scripts/vm --fetch 6.1 2>"$work/err" || { cat "$work/err" && exit 1; }
# A noisy console, every byte value, a status of its own, arguments that need quoting.
# shellcheck disable=SC2016
try streams 9 6.1 --put "$work/blob" --get /etc/passwd --get "/tmp/a b" --out "$work/files" -- bash -c '
	echo "<0>noise on the console" >/dev/kmsg
	cat /put/blob
	echo "to standard error" >&2
	[ -t 1 ] && echo "a terminal" >&2
	printf %s "$1" >"/tmp/a b"
	cp /put/blob "$RESULTS/blob"
	exit 9' name '$x "quoted" 1  2'
cmp "$work/blob" "$work/out" || bad=1
same stderr "$(cat "$work/err")" "to standard error"
cmp "$work/blob" "$work/files/blob" || bad=1
# shellcheck disable=SC2016
same get "$(cat "$work/files/a b")" '$x "quoted" 1  2'
grep -q ^root "$work/files/passwd" || bad=1
grep -q 'noise on the console' build/vm/log/6.1.console || { echo "no console log" && bad=1; }

try release 0 6.1 -- uname -r
same release "$(cat "$work/out")" "$(cat build/vm/kernel/6.1/release)"

try panic 1 6.1 -- sh -c 'echo before; sleep 0.5; echo c >/proc/sysrq-trigger; echo after'
same panic "$(cat "$work/out")" before
says panic 'sysrq triggered crash'
says panic 'the guest died'

try warning 1 6.1 -- sh -c 'echo "<4>WARNING: CPU: 0 PID: 1 at nowhere" >/dev/kmsg'
says warning 'WARNING: CPU: 0 PID: 1 at nowhere'
try allowed 0 6.1 --allow-warnings -- sh -c 'echo "<4>WARNING: CPU: 0 PID: 1 at nowhere" >/dev/kmsg'

try timeout 124 6.1 --timeout 9 -- sleep 600
says timeout 'not done after 9 s'
try missing 1 6.1 --out "$work/none" --get /no/such -- true
says missing '/no/such'

try usage 2 6.1
try usage 2 4.19 -- true
try usage 2 6.1 --memory lots -- true
try usage 2 6.1 --no-such-option -- true
try usage 2 6.1 --get /etc/passwd -- true
try usage 2 6.1 --put "$work/nothing" -- true

if pgrep -f "$PWD/build/vm/run/.*[/]initrd" >"$work/left"; then
	echo "a guest is left: $(cat "$work/left")"
	bad=1
fi
exit "$bad"
