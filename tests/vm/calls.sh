# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Call by call against another tracer, both at once. Sourced by the tests that do it.
# Both lists have one call a line, in order of their ends.
# shellcheck disable=SC2034 # used by who sources it

functions='setup_net copy_net_ns copy_mnt_ns copy_tree register_netdevice veth_newlink path_umount attach_recursive_mnt'
leaf='copy_net_ns (no NEWNET)'

# From the record, call by call: FUNCTION|calls|ns|probed calls inside|with variant
cat >/tmp/record.awk <<'AWK'
BEGIN { FS = "|" }
function flush(    i, f, seen) {
	for (i = nodes; i > 0; i--)
		inside[parent[i]] += n[i] + inside[i]
	for (i = 1; i <= nodes; i++) {
		f = name[i]
		sub(/ \(.*/, "", f)
		calls[f] += n[i]; ns[f] += total[i]; below[f] += inside[i]; full[f] = name[i]
	}
	for (i = 1; i <= nodes; i++) {
		f = name[i]
		sub(/ \(.*/, "", f)
		if (f in calls)
			printf "%s|%d|%d|%d|%s\n", f, calls[f], ns[f], below[f], full[f]
		delete calls[f]; delete ns[f]; delete below[f]
	}
	for (i in inside)
		delete inside[i]
	nodes = 0
}
$1 "|" $2 "|" $3 != call { flush(); call = $1 "|" $2 "|" $3 }
{ nodes = $4; parent[$4] = $5; n[$4] = $6; total[$4] = $7; name[$4] = $8 }
END { flush() }
AWK

# Both, side by side.
cat >/tmp/compare.awk <<'AWK'
BEGIN { FS = "|" }
NR == FNR { g[$1, ++graphs[$1]] = $2; next }
{
	b = 0
	for (i = 0; i < $2; i++)
		b += g[$1, ++at[$1]]
	d = $3 > b ? $3 - b : b - $3
	calls++
	# What is inside costs both the same; only each one's own entry and exit lie within the other's.
	if (d > 0.001 * b + $2 * pair) {
		printf "%s: %d ns here, %d ns by %s, %d calls, %d probed inside\n", $5, $3, b, other, $2, $4
		wrong++
	}
}
END {
	for (f in graphs)
		if (at[f] != graphs[f]) {
			printf "%s: %d calls here, %d by %s\n", f, at[f], graphs[f], other
			uneven = 1
		}
	# A timer's interrupt may fall between the two readings of the clock.
	exit uneven || !calls || wrong > calls / 50
}
AWK

# compare RUNG FUNCTIONS OTHER: of $RESULTS/RUNG.frt and .json with /tmp/other (FUNCTION|ns), which is
# by the tracer OTHER. Wants fail.
compare() {
	local rung=$1 functions=$2 pair
	# where a function is not attached there is nothing to compare
	jq -r '.probes.missing[].function' "$RESULTS/$rung.json" >/tmp/missing
	grep -vE "^($(paste -sd'|' /tmp/missing))\|" /tmp/other >"$RESULTS/$rung.other" || true
	zcat "$RESULTS/$rung.frt" | jq -r 'select(.func) | .func | [.[0], .[1], .[3], .[5], .[6], .[8], .[9], .[13]] | join("|")' |
		awk -f /tmp/record.awk | grep -E "^(${functions// /|})\|" >"$RESULTS/$rung.record" || true
	# The leaf does nothing, so what the slower of the two sees of it is what a pair costs.
	pair=$(for f in record other; do
		awk -F'|' -v f="$leaf" '$5 == f { print $3 } NF == 2 && index(f, $1 " ") == 1 { print $2 }' "$RESULTS/$rung.$f" |
			sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] + 0 }'
	done | sort -n | tail -n 1)
	grep -qF "$leaf" "$RESULTS/$rung.record" || fail "$rung: $leaf was not seen"
	awk -v pair="$pair" -v other="$3" -f /tmp/compare.awk "$RESULTS/$rung.other" "$RESULTS/$rung.record" >/tmp/wrong || {
		head -n 12 /tmp/wrong
		fail "$rung: $(wc -l </tmp/wrong) differ by more than 0.1 % and a pair of $pair ns"
	}
	echo "$rung: $(wc -l <"$RESULTS/$rung.record") calls compared, a pair costs at most $pair ns"
}
