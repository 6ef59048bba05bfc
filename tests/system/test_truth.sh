#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 480
# Ground truth: programs that stand in for ip spend a known time in a known way
# and write down how much it was; the report must put it into that step, that
# kind and that action.
# shellcheck disable=SC2016 # the dollars are jq's
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
isolate "$@"
ahead

stim_dir=$T/stim
mkdir "$stim_dir"
cp "$BUILD/stimuli/ip" "$stim_dir/ip" || skip_all "the stimuli are not built"
real_ip=$(command -v ip)
rate=$("$stim_dir/ip" --calibrate)
steps=(add exec sysctl veth delete)
routers=20
[ "$LONG" = 0 ] || routers=60
counted=$routers

# configure STEP KIND US …
configure() {
	{
		echo "ip $real_ip"
		echo "rate $rate"
		while [ $# -gt 0 ]; do
			echo "$1 $2 $3"
			shift 3
		done
	} >"$stim_dir/stim.conf"
	rm -f "$stim_dir/stim.log"
}

# truth FILE: what the stimuli wrote down, by step, as means over the measured
# routers (the first name is the warm-up's).
truth() {
	awk -v n="$routers" '
		$1 == "add" && !seen[$2]++ && ++names > 1 { measured[$2] = 1 }
		{ line[++lines] = $0 }
		END {
			for (i = 1; i <= lines; i++) {
				split(line[i], f, " ")
				if (!measured[f[2]])
					continue
				kind[f[1]] = f[3]
				runs[f[1]]++
				for (k = 4; k <= 9; k++)
					sum[f[1], k] += f[k]
			}
			printf "{"
			split("asked user kernel blocked runq parallel", name, " ")
			for (s in runs) {
				printf "%s\"%s\":{\"kind\":\"%s\"", c++ ? "," : "", s, kind[s]
				for (k = 4; k <= 9; k++)
					printf ",\"%s\":%d", name[k - 3], sum[s, k] / n
				printf "}"
			}
			print "}"
		}' "$stim_dir/stim.log" >"$1"
}

# measure NAME ARGS…: one run with the stimuli; NAME.json and NAME.truth.
measure() {
	local name=$1
	shift
	run_json "$name.json" --at 0 --routers "$routers" --warmup 1 --freq 0 \
		--ip "$stim_dir/ip" "$@" || {
		echo "frtrace ended with status $?: $(cat "$name.json.err")"
		return 1
	}
	truth "$name.truth"
	counts_are "$name.json" "$routers" "$counted" && sums_hold "$name.json"
}

# faults RUN: what the report got wrong about the run's stimuli, one line each;
# nothing when all is right.
faults() {
	query -rn --slurpfile base idle.json --slurpfile run "$1.json" \
		--slurpfile truth "$1.truth" --argjson routers "$routers" 'include "truth"; wrong' 2>&1
}

# idle: one more run of stimuli that do nothing, for comparison.
idle() {
	configure add none 0 exec none 0 sysctl none 0 veth none 0 delete none 0
	measure base && cat base.json >>idle.json
}
check "stimuli that do nothing: counts, sums, no loss" idle
check "once more" idle

# Every kind of time in at least two different steps, five steps a run; with
# FRT_LONG=1 every kind in every step.
kinds=(sleep user call fault child-user child-sleep vfork wait irq-sleep runq thread overlap
	exit-free exit-sleep chain-user chain-sleep)
runs=7
[ "$LONG" = 0 ] || runs=${#kinds[@]}

amount() {
	case $1 in
	exit-free) echo 40000 ;; # of which the exit is a quarter
	# faults of its processes, and of all that comes after a busy time with cold caches,
	# are user time that a stimulus cannot tell: half a millisecond on a slow machine
	user | child-user | chain-user | thread | overlap) echo 40000 ;;
	*) echo 20000 ;;
	esac
}

for ((r = 0; r < runs; r++)); do
	conf=() what=()
	for i in 0 1 2 3 4; do
		if [ "$LONG" = 0 ]; then
			kind=${kinds[$(((r * 5 + i) % ${#kinds[@]}))]}
		else
			kind=${kinds[$(((r + i * 3) % ${#kinds[@]}))]}
		fi
		# below a copied mount table an exit costs what the machine's mounts do
		[[ $kind-${steps[$i]} != exit-free-@(exec|sysctl) ]] || kind=exit-sleep
		conf+=("${steps[$i]}" "$kind" "$(amount "$kind")")
		what+=("${steps[$i]}=$kind")
	done
	for try in 1 2 3 4; do
		configure "${conf[@]}"
		bad=$(measure "run$r") && bad=$(faults "run$r") && [ -z "$bad" ] && break
		# held against the machine as it is by now: its speed is not always the same
		[ "$try" -eq 4 ] || { echo "retry ${what[*]}: ${bad//$'\n'/; }" && rm -f idle.json && idle; }
	done
	if [ -z "$bad" ]; then
		for w in "${what[@]}"; do
			pass "$w"
		done
	else
		fail "${what[*]}" "$bad"
	fi
done

# The comparison itself must be able to fail: a report that is 2 ms wrong.
cp run0.truth wrong.truth
jq '.levels[0].steps[] |= (.user_ns -= 2000000 |
	.actions[] |= if .action == "clock_nanosleep" then .blocked_ns += 2000000
		      elif .action | IN("readv", "exit") then .kernel_ns -= 2000000 else . end)' run0.json >wrong.json
check "a report that is 2 ms wrong is found out" [ "$(faults wrong | cut -d: -f1 | sort -u | wc -l)" -eq 5 ]

# A grandchild that outlives its step is in no wall.
configure add daemon 20000 exec none 0 sysctl none 0 veth none 0 delete none 0
if bad=$(measure daemon); then
	check "add=daemon: the rest of it is parallel" query -e -n --slurpfile base base.json --slurpfile run daemon.json 'include "checks";
		($base[0] | step("add")) as $b | ($run[0] | step("add")) as $a
		| [$a.parallel_ns, $a.user_ns + $a.kernel_ns - $b.user_ns - $b.kernel_ns]
		| if .[0] > 18000000 and .[1] < 4000000 then . else error("parallel, user + kernel + \(.)") end'
else
	fail "add=daemon" "$bad"
fi

# Samples: where the kernel time of one call went, and how much of the faults'
# time is the kernel's.
configure add fault 20000 exec call 20000 sysctl none 0 veth none 0 delete none 0
counted=$((routers / 2))
if bad=$(measure samples --freq 999); then
	check "samples fall into the call that burns" query -e 'include "checks";
		step("exec") | action("readv") | ([.frames[].samples] | add) as $n
		| if $n > 100 and (.frames | length) > 1 then $n else error("samples \($n)") end' \
		samples.json
	check "samples tell the kernel part of page faults" query -e '
		include "checks"; step("add") | .kernel_in_user_sampled
		| if .samples > 50 and .ns > 8000000 then . else error(tostring) end' samples.json
else
	fail "sampling" "$bad"
fi
counted=$routers

# Several creators at once.
configure add sleep 10000 exec user 5000 sysctl none 0 veth none 0 delete none 0
if bad=$(measure streams --streams 4); then
	check "four streams: the sleep is in its step" query -e -n --slurpfile run streams.json --slurpfile truth streams.truth 'include "checks";
		($run[0] | step("add") | action("clock_nanosleep")) as $a
		| [$a.n, $a.blocked_ns, $truth[0].add.blocked]
		| if .[0] == '"$routers"' and (.[1] - .[2] | abs) < .[2] * 0.02 + 200000 then .
		  else error("n, ns, truth: \(.)") end'
else
	fail "four streams" "$bad"
fi

# The real ip: what each step asks the kernel for, counted.
run_json real.json --at 0 --routers "$routers" --warmup 1 --freq 0
rc=$?
check "the real ip: status 0" [ "$rc" -eq 0 ]
check "the real ip: rows" counts_are real.json "$routers"
check "the real ip: sums, no loss" sums_hold real.json
expect_action() {
	local n=$((routers * $3))
	check "$1: $2 $n times" query -e --arg s "$1" --arg a "$2" \
		--argjson n "$n" 'include "checks";
		[step($s) | action($a) | .n] | if . == [$n] then true
		else error("counted \(.)") end' real.json
}
for s in add exec sysctl delete true; do
	expect_action "$s" start 1
	expect_action "$s" exit 1
done
expect_action add execve 1
expect_action add 'unshare(NEWNET)' 1
expect_action add 'mount(shared,rec)' 1
expect_action add 'mount(bind nsfs)' 1
expect_action add 'setns(NEWNET)' 1
for s in exec sysctl; do
	expect_action "$s" execve 2
	expect_action "$s" 'setns(NEWNET)' 1
	expect_action "$s" 'unshare(NEWNS)' 1
	expect_action "$s" 'mount(slave,rec /)' 1
	expect_action "$s" 'umount2(/sys)' 1
	expect_action "$s" 'mount(sysfs)' 1
done
# one for each message that iproute2 thinks it needs: the same in every router
check "exec: rtnl setlink is the same in every router" query -e --argjson n "$routers" 'include "checks";
	step("exec") | action("rtnl setlink") | .n | if . >= $n and . % $n == 0 then true
	else error(tostring) end' real.json
expect_action sysctl 'write /proc/sys' 1
expect_action veth execve 2
expect_action veth start 2
expect_action veth 'rtnl newlink veth' 2

# Untraced, the same rows with the same counts.
run_json untraced.json --at 0 --routers "$routers" --warmup 1 --untraced
rc=$?
check "untraced: status 0" [ "$rc" -eq 0 ]
check "untraced: rows" counts_are untraced.json "$routers"
check "untraced and traced count the same" diff \
	<(jq -c '[.levels[] | .level, .routers, [.steps[] | [.step, .n]]]' real.json) \
	<(jq -c '[.levels[] | .level, .routers, [.steps[] | [.step, .n]]]' untraced.json)

finish
