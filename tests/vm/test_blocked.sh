#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# kernels: 6.12
# vm: --exact-time --append preempt=full
#
# A lock that another task holds for long: the wait lands in the function that waits. Two locks, two
# operations; whoever holds the lock and whoever waits say themselves how long they took. One CPU and a
# preemptible kernel: the holder is off the CPU when the lock is wanted, so it is slept for, not spun for.
# The same operation without anybody in its way shows what it takes by itself.
set -euo pipefail

bad=0
fail() {
	echo "FAIL: $*"
	bad=1
}
work=$(mktemp -d)
mkfifo "$work/go"

# Microseconds. A builtin: no process to wait for.
now() {
	local t=$EPOCHREALTIME
	echo $((${t%.*} * 1000000 + 10#${t#*.}))
}
# holder COMMAND…: when it is told to; how long it took into holder.us.
holder() {
	local t0
	read -r _ <"$work/go"
	t0=$(now)
	"$@"
	echo $(($(now) - t0)) >"$work/holder.us"
}
# The operation, timed by itself; alone, or a moment after the holder has begun. This is what is followed.
cat >"$work/op" <<'OP'
t=$EPOCHREALTIME
if [ "$1" != alone ]; then
	echo go >"${0%/*}/go"
	sleep "$1"
fi
shift
t0=$EPOCHREALTIME
"$@"
t1=$EPOCHREALTIME
echo $(((${t1%.*} - ${t0%.*}) * 1000000 + 10#${t1#*.} - 10#${t0#*.})) >"${0%/*}/op.us"
OP

# PATH|blocked ns, itself, not in its children|total ns; of every probed function below a call
cat >"$work/own.jq" <<'END'
def rows($p): ($p + [.function]) as $q |
	[($q | join(" > ")), .blocked_ns - ([.children[]?.blocked_ns] | add // 0), .total_ns], (.children[]? | rows($q));
[.levels[].steps[] | .step as $s | .actions[]? | .action as $a | .functions[]? | rows([$a])] |
	sort_by(-.[1])[] | join("|")
END

# follow RUNG NAME DELAY|alone COMMAND…: rows into $work/NAME, how long COMMAND took into op.us.
follow() {
	local rung=$1 name=$2
	shift 2
	build/frtrace run --probes "$rung" --freq 0 --json --report "$work/$name.json" -o none -- \
		bash "$work/op" "$@" || fail "$rung: frtrace run $*: exit status $?"
	jq -r -f "$work/own.jq" "$work/$name.json" >"$work/$name"
	cp "$work/$name" "$RESULTS/$rung.$name"
}

# held RUNG WHAT DELAY WANTED -- HOLDER… -- COMMAND…: WANTED is a pattern of the path to the waiting function.
held() {
	local rung=$1 what=$2 delay=$3 wanted=$4 pid alone took hold top own other blocked free more
	local -a by=()
	shift 5
	while [ "$1" != -- ]; do
		by+=("$1")
		shift
	done
	shift
	rm -f "$work"/*.us
	holder "${by[@]}" &
	pid=$!
	follow "$rung" "$what.held" "$delay" "$@"
	took=$(cat "$work/op.us")
	wait "$pid" || fail "$rung, $what: ${by[*]}: exit status $?"
	hold=$(cat "$work/holder.us")
	again "$what"
	follow "$rung" "$what.alone" alone "$@"
	alone=$(cat "$work/op.us")

	IFS='|' read -r top own _ <"$work/$what.held" || {
		fail "$rung, $what: no function was seen"
		return
	}
	blocked=$((own / 1000))
	other=$(awk -F'|' 'NR > 1 { s += $2 } END { printf "%d", s / 1000 }' "$work/$what.held")
	free=$(awk -F'|' -v p="$top" '$1 == p { s += $2 } END { printf "%d", s / 1000 }' "$work/$what.alone")
	echo "$rung, $what: held $hold us; waited $blocked us in $top, $other us in all others;" \
		"the operation took $took us, alone $alone us, $free us of it waiting there"
	# shellcheck disable=SC2053 # a pattern
	[[ $top == $wanted ]] || fail "$rung, $what: the wait is in \"$top\", not in \"$wanted\""
	[ "$blocked" -ge 100000 ] || fail "$rung, $what: waited $blocked us only: nothing was tried"
	[ "$blocked" -le "$hold" ] || fail "$rung, $what: waited $blocked us for what was held $hold us"
	[ "$other" -le $((blocked / 5)) ] || fail "$rung, $what: $other us of waiting in other functions"
	[ "$free" -le $((blocked / 20)) ] || fail "$rung, $what: $free us of waiting with nobody in the way"
	# What the operation took longer than alone is the wait: and a share of the CPU until it came to the lock.
	# What it takes by itself is not the same every time, by a twentieth (what the kernel does beside it:
	# it frees the mounts of the time before).
	more=$((took - alone))
	if [ "$more" -lt $((blocked * 95 / 100 - alone / 20)) ] || [ "$more" -gt $((blocked * 115 / 100 + 30000)) ]; then
		fail "$rung, $what: took $more us longer, but waited $blocked us"
	fi
}
# again WHAT: the machine as it was, for the operation alone.
again() {
	[ "$1" != rtnl ] || ip netns del held
}

dummies() {
	for i in $(seq 600); do
		echo "link add name dummy$i group 7 type dummy"
	done >"$work/batch"
	ip -batch "$work/batch"
}
# Mounts that nobody shares: 256 made one by one, the others by binding those.
modprobe dummy numdummies=0 2>/dev/null || true
mkdir "$work/m" "$work/n"
mount -t tmpfs -o size=16m none "$work/m"
mount --make-private "$work/m"
mkdir -p "$work/m/a"/{1..256} "$work/m"/b{1..40}
for i in {1..256}; do
	mount --bind "$work/m/a/$i" "$work/m/a/$i"
done
for i in {1..40}; do
	mount --rbind "$work/m/a" "$work/m/b$i"
done
echo "$(wc -l </proc/self/mountinfo) mounts"
ip netns add first
ip netns del first

for rung in kprobe multi fentry; do
	dummies
	held "$rung" rtnl 0.05 'unshare(NEWNET) > * > setup_net > ops_init*_net_init' -- ip link del group 7 -- ip netns add held
	ip netns del held
	held "$rung" mounts 0.03 'unshare(NEWNS) > * > copy_mnt_ns' -- mount --rbind "$work/m" "$work/n" -- \
		unshare --mount --propagation unchanged true
	umount --lazy "$work/n"
done
exit "$bad"
