#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 150
# The real sudo in front of every command, with use_pty on a terminal: three
# tasks joined by poll. Time spent in the command lands in the step.
# shellcheck disable=SC2016 # the dollars are jq's
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
isolate "$@"
ahead
need_tools sudo script
routers=12

# The machine's own configuration is covered, in this mount namespace only.
printf 'Defaults use_pty\nroot ALL=(ALL:ALL) NOPASSWD: ALL\n' >"$T/sudoers"
chmod 440 "$T/sudoers"
mount --bind "$T/sudoers" /etc/sudoers || skip_all "/etc/sudoers cannot be covered"
sudo -n true 2>"$T/err" || skip_all "sudo does not work here: $(head -n 1 "$T/err")"

mkdir stim
cp "$BUILD/stimuli/ip" stim/ip || skip_all "the stimuli are not built"
real_ip=$(command -v ip)
snapshot >"$T/before"

# on_terminal NAME CONF…: one run below a terminal of its own.
on_terminal() {
	local name=$1 args
	shift
	{ echo "ip $real_ip"; printf '%s %s %s\n' "$@"; } >stim/stim.conf
	rm -f stim/stim.log
	args="--json --quiet -o none --settle 0 --at 0 --routers $routers --warmup 1 --freq 0"
	script -qec "$FRTRACE $args --sudo --ip $T/stim/ip >$name.json 2>$name.err" /dev/null \
		>/dev/null </dev/null || {
		echo "status $?: $(cat "$name.err")"
		return 1
	}
	counts_are "$name.json" "$routers" && sums_hold "$name.json"
}

# mean STEP COLUMN: of what the stimuli wrote, without the warm-up's.
mean() {
	awk -v s="$1" -v c="$2" -v n="$routers" '$1 == s && seen++ { sum += $c } END { printf "%d", sum / n }' \
		stim/stim.log
}

# burnt TRUTH: so much more user time in add than without.
burnt() {
	query -en --slurpfile a base.json --slurpfile b run.json --argjson want "$1" 'include "checks";
		($a[0] | step("add")) as $x | ($b[0] | step("add")) as $y
		| ($y.user_ns - $x.user_ns) as $got
		| if ($got - $want | abs) <= $want * 0.02 + 200000 then true
		  else error("add has \($got) ns more user time, truth \($want)") end'
}

# slept TRUTH: exec was blocked for so long in the call that sleeps. (What else it
# waits for depends on the rest of the machine.)
slept() {
	query -e --argjson want "$1" --argjson n "$routers" 'include "checks";
		step("exec") | action("clock_nanosleep")
		| if .n == $n and (.blocked_ns - $want | abs) <= $want * 0.02 + 200000 then true
		  else error("exec slept \(.n) times, \(.blocked_ns) ns, truth \($want)") end' run.json
}

for try in 1 2 3; do
	bad=$(on_terminal base add none 0 exec none 0 veth none 0 delete none 0) &&
		bad=$(on_terminal run add user 50000 exec sleep 20000 veth child-user 10000 delete none 0) &&
		bad=$({ burnt "$(mean add 5)" && slept "$(mean exec 7)"; } 2>&1) &&
		break
	[ "$try" -eq 3 ] || echo "retry sudo: ${bad//$'\n'/; }"
done
if [ "$try" -eq 1 ] || [ -s run.json ]; then
	check "counts, sums and losses hold below sudo" sums_hold run.json
	check "add: burnt user time is the step's" burnt "$(mean add 5)"
	check "exec: the sleep is the step's" slept "$(mean exec 7)"
	# sudo, the monitor with the terminal, and the command (and one for PAM at most)
	check "sudo really made three tasks" query -e --argjson n "$routers" 'include "checks";
		[step("add") | action("start") | .n / $n] | if .[0] >= 3 then . else error(tostring) end' base.json
else
	fail "sudo with use_pty" "$bad"
fi
check "nothing left" left_since "$T/before"
umount /etc/sudoers
finish
