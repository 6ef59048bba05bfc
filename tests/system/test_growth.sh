#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 250
# Ground truth of growth: stimuli that take so much longer for each name that
# exists. The rows put that growth into its step, kind and action, and all rows
# add up to the router's growth.
# shellcheck disable=SC2016 # the dollars are jq's
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
isolate "$@"
ahead

mkdir stim
cp "$BUILD/stimuli/ip" stim/ip || skip_all "the stimuli are not built"
routers=15
{
	echo "ip $(command -v ip)"
	echo "rate $(stim/ip --calibrate)"
	echo "add sleep 1000 400"
	echo "exec user 1000 400"
	echo "sysctl call 1000 400"
} >stim/stim.conf

# truth: means by step and level of what the stimuli wrote, whose runs come level
# by level, the warm-up first.
truth() {
	awk -v k="$routers" -v levels=3 '
		{ at = int(seen[$1] / (k + 1)); if (seen[$1]++ % (k + 1)) sum[$1, at] += $5 + $6 + $7 }
		END {
			for (s in seen) {
				printf "%s{\"step\":\"%s\",\"ns\":[", c++ ? "," : "[", s
				for (i = 0; i < levels; i++)
					printf "%s%d", i ? "," : "", sum[s, i] / k
				printf "]}"
			}
			print "]"
		}' stim/stim.log
}

# adds_up FILE: rows are the growth of the router, shares are 100 %.
# shellcheck disable=SC2317 # called through check
adds_up() {
	query -e 'include "checks";
		([.growth[].delta_ns] | add) as $sum | ([.growth[].share] | add) as $share
		| if ($sum - .growth_total.delta_ns | abs) > 100 then error("rows \($sum) of \(.growth_total)")
		  elif $share != null and ($share - 1 | abs) > 0.000001 then error("shares \($share)")
		  else true end' "$1"
}

# found: each stimulus has its row, with its growth.
found() {
	query -rn --slurpfile run run.json --slurpfile truth truth.json 'include "checks";
		[["add", "clock_nanosleep", "blocked"], ["exec", "user code", "user"],
		 ["sysctl", "readv", "kernel"]][] as [$step, $action, $kind]
		| ([$truth[0][] | select(.step == $step) | .ns[2] - .ns[0]][0]) as $want
		| ([$run[0].growth[] | select(.step == $step and .action == $action and .kind == $kind)
		    | .delta_ns] | add) as $got
		| select($got == null or ($got - $want | abs) > $want * 0.02 + 200000)
		| "\($step) \($action) \($kind): grew by \($got) ns, truth \($want)"'
}

# slower: a machine that the control step found slower, as others make it: no run to judge by.
slower() {
	jq -r '.step_growth[] | select(.step == "true" and .ci99[0] > 0) |
		"the machine got slower: true grew by \(.delta_ns) ns"' run.json
}

for try in 1 2 3; do
	rm -f stim/stim.log
	bad=$(run_json run.json --at 0,50,100 --predict 150 --routers "$routers" --warmup 1 --freq 0 \
		--ip "$T/stim/ip" || cat run.json.err) && truth >truth.json && bad+=$(found)$(slower) && [ -z "$bad" ] && break
	[ "$try" -eq 3 ] || echo "retry growth: ${bad//$'\n'/; }"
done
if [ -z "$bad" ]; then
	pass "each stimulus grows in its step, action and kind"
else
	fail "each stimulus grows in its step, action and kind" "$bad" \
		"$(jq -c '.growth[] | [.step, .action, .kind, .where, .delta_ns, .ci99]' run.json)"
fi
check "rows add up to the growth" adds_up run.json
check "counts" counts_are run.json "$routers"
check "sums, no loss" sums_hold run.json
if [ "$(jq -r .growth_total.note run.json)" = null ]; then
	check "the finding names what grew" query -e '.finding
		| if test("add|exec|sysctl") and test("clock_nanosleep|sleep|readv|user") then true
		  else error(.) end' run.json
else
	skip "the finding names what grew" "the machine is too noisy for any growth to be certain"
fi

# What is said per existing namespace is the kernel's count, others' included.
steady=$(jq -r '[.levels[] | .existing] | .[1] - .[0] == 50 and .[2] - .[0] == 100' run.json)
if [ "$steady" = true ]; then
	check "growth per existing namespace, its shape and what it predicts" query -e 'include "checks";
		.growth[] | select(.step == "add" and .action == "clock_nanosleep")
		| if .shape == "linear" and (.ns_per_existing - 400000 | abs) < 20000 and
		     (.predicted["150"].ns - 61400000 | abs) < 4000000 then true
		  else error(tostring) end' run.json
else
	skip "growth per existing namespace" "others made namespaces meanwhile"
fi

# With samples the kernel's growth is split by frame, and still adds up.
rm -f stim/stim.log
run_json frames.json --at 0,60 --routers 20 --warmup 1 --ip "$T/stim/ip"
rc=$?
check "with samples: status 0" [ "$rc" -eq 0 ]
check "with samples: rows add up to the growth" adds_up frames.json
check "with samples: sums, no loss" sums_hold frames.json
check "with samples: the growth of the call is in its functions" query -e '
	[.growth[] | select(.step == "sysctl" and .action == "readv" and .source == "sampled")] as $rows
	| if ($rows | length) >= 1 and ([$rows[].delta_ns] | add) > 15000000 and
	     all($rows[]; .n >= 5 and (.where | length) > 0) then true
	  else error([.growth[] | [.step, .action, .kind, .where, .source, .n, .delta_ns]] | tostring) end' frames.json
finish
