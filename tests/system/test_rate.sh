#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 400
# Rates: counts are exact, a known cost is found again, streams and stalls, what
# happens when a limit is reached midway, and the tables that come out.
# shellcheck disable=SC2016 # the dollars are jq's
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
isolate "$@"

stim=$T/stim
mkdir "$stim"
cp "$BUILD/stimuli/ipcost" "$stim/ipcost" || skip_all "the stimuli are not built"
snapshot >"$T/before"
ahead

first=()
# rate FILE ARGS…: JSON in FILE, remarks in FILE.err; its status.
rate() {
	local file=$1
	shift
	"${first[@]}" "$FRTRACE" rate --json --quiet -o none --settle 0 "$@" >"$file" 2>"$file.err" </dev/null
}

# that NAME JQ FILE: a case that passes when the expression is true of the file.
that() {
	local out
	if out=$(jq -e "$2" "$3" 2>&1) && [ "$out" != null ]; then
		pass "$1"
	else
		fail "$1" "$2" "gives: $out" "$(head -c 1500 "$3")"
	fi
}

nothing_left() {
	check "$1: nothing is left" left_since "$T/before"
}

# Exact counts, every mode, never mixed in a row.
if rate modes.json --to 40 --every 20 --mode script,exact,lean,batch; then
	that "every mode has its rows" '[.rows[] | [.mode, .from, .to, .n]] ==
		[["script",0,20,20],["script",20,40,20],["exact",0,20,20],["exact",20,40,20],
		 ["lean",0,20,20],["lean",20,40,20],["batch",0,20,20],["batch",20,40,20]]' modes.json
	that "steps and gap add up to the row" '[.rows[] | ((.steps | add) + .gap_ns - .cost_ns) | fabs < 10] | all' modes.json
	that "a rate is n over its time" '[.rows[] | .rate_per_s * .elapsed_ns / 1e9 - .n | fabs < 1e-3] | all' modes.json
	that "less work is faster" '[.cases[].mode] as $m | [.rows[] | select(.from == 20) | .rate_per_s] | .[2] > .[0]' modes.json
else
	fail "every mode has its rows" "$(cat modes.json.err)"
fi
nothing_left "modes"

# Sampled: K routers in the middle of each row, the rest filled.
if rate sampled.json --to 90 --every 30 --sample 4; then
	that "a sampled row is of K routers" '[.rows[] | [.n, .sampled, .from, .to]] ==
		[[4,true,0,30],[4,true,30,60],[4,true,60,90]]' sampled.json
	that "sampled is part of the label" '.rows[0].label | endswith("script sampled")' sampled.json
else
	fail "a sampled row is of K routers" "$(cat sampled.json.err)"
fi
if rate at.json --to 90 --every 30 --sample 4 --at 0,60; then
	that "only the rows asked for, at their counts" '[.rows[] | [.n, .from, .to]] == [[4,0,30],[4,60,90]]' at.json
else
	fail "only the rows asked for, at their counts" "$(cat at.json.err)"
fi
nothing_left "sampled"

# Kept until somebody says clean.
check "--keep: status 0" rate kept.json --to 4 --every 2 --keep --mode lean
check "--keep: the routers stay" test "$(find /run/netns -name 'bar-*' | wc -l)" -eq 4
check "--keep: clean removes them" "$FRTRACE" clean
nothing_left "kept"

# What else runs on the machine is in no log: two measurements leave it behind.
! chrt -f 1 true 2>/dev/null || first=(chrt -f 1)

# A stand-in for ip that logs its own cost: a router costs what it logs, and for
# each of the five commands what starting and ending `true` costs.
known_cost() {
	local logged true_ns
	printf 'base 20000\n' >"$stim/cost.conf"
	rm -f "$stim/cost.log"
	rate cost.json --to 50 --every 25 --ip "$stim/ipcost" || { cat cost.json.err; return 1; }
	logged=$(awk '{ s += $1 } END { printf "%.0f", s / 50 }' "$stim/cost.log")
	[ "$(wc -l <"$stim/cost.log")" -ge 250 ] || { echo "fewer than 250 commands logged"; return 1; }
	"${first[@]}" "$FRTRACE" --json --quiet -o none --settle 0 --untraced --at 0 --routers 50 --ip "$stim/ipcost" >true.json 2>true.json.err </dev/null || { cat true.json.err; return 1; }
	true_ns=$(jq '.levels[0].steps[] | select(.step == "true") | .wall_ns.mean' true.json)
	jq -e --argjson logged "$logged" --argjson true "$true_ns" '
		(([.rows[].elapsed_ns] | add) / ([.rows[].n] | add)) as $cost
		| ($logged + 5 * $true) as $want
		| if ($cost / $want - 1 | fabs) < 0.03 then true
		  else "a router costs \($cost) ns, should be \($want): \($logged) logged, true \($true)" | halt_error(1) end' cost.json
}
known_cost >known.out 2>&1 || { echo "# once more: $(tail -n 1 known.out)"; known_cost >known.out 2>&1; }
check "the rate is 1 over what the commands cost, within 3 %" test "$(tail -n 1 known.out)" = true ||
	cat known.out
nothing_left "known cost"

# A cost that rises by 10 µs for each existing router is found by the fit. The
# stand-in keeps to the clock, whatever its own work takes meanwhile.
known_slope() {
	printf 'base 500\nadd 8000\nlink 6000\nslope 10000\n' >"$stim/cost.conf"
	rate slope.json --to 1200 --every 120 --ip "$stim/ipcost" --predict 2400,9000 || { cat slope.json.err; return 1; }
	jq -e '.fit.b_ns_per_existing.mean as $b
		| if ($b / 10000 - 1 | fabs) < 0.1 then true
		  else "b is \($b) ns per existing; rows \([.rows[].cost_ns])\n" | halt_error(1) end' slope.json
}
for try in 1 2 3; do
	known_slope >slope.out 2>&1 && break
	[ "$try" -eq 3 ] || echo "retry slope: $(tail -n 1 slope.out)"
done
check "the fit finds a slope of 10 µs per existing router within 10 %" test "$(tail -n 1 slope.out)" = true || { cat slope.out && echo; }
first=()
that "a prediction within five times the rows" '.fit.predicted["2400"] | .cost_ns > 0 and (.ci95 | length) == 2' slope.json
that "none beyond" '.fit.predicted | has("9000") and .["9000"] == null' slope.json

# Sixteen creators on the real kernel.
if rate streams.json --to 160 --every 40 --streams 1,16 --interval 1 --csv streams.csv; then
	that "16 streams: exact counts" '[.rows[] | .n] == [40,40,40,40,40,40,40,40]
		and [.streams[] | .points[-1][1]] == [160, 160]' streams.json
	that "16 streams: readings only rise, at whole intervals" '[.streams[] | .points
		| . as $p | ([range(1; length)] | all($p[.][0] > $p[. - 1][0] and $p[.][1] >= $p[. - 1][1]))
		and ([$p[:-1][][0] % 1000000000] | all(. == 0))] | all' streams.json
	that "16 streams: efficiency against one" '.streams[1] | .speedup > 0
		and (.efficiency_per_stream * 16 - .speedup | fabs) < 1e-6' streams.json
else
	fail "16 streams: exact counts" "$(cat streams.json.err)"
fi
nothing_left "16 streams"

# The table in the 2014 layout, for any reader of CSV and for our own.
header=$(head -n 1 streams.csv)
case $header in
Time,*' 1 stream',*' 16 streams') pass "the layout of 2014: $header" ;;
*) fail "the layout of 2014" "$header" ;;
esac
if command -v python3 >/dev/null; then
	check "a standard CSV reader takes it" python3 - streams.csv <<-'EOF'
		import csv, sys
		rows = list(csv.reader(open(sys.argv[1], newline="")))
		assert len({len(r) for r in rows}) == 1 and len(rows) > 2, rows
		assert [float(r[0]) for r in rows[1:]] == sorted(float(r[0]) for r in rows[1:])
		assert max(int(r[1] or 0) for r in rows[1:]) == 160, rows
	EOF
else
	skip "a standard CSV reader takes it" "no python3"
fi
if "$FRTRACE" compare --json streams.csv "$top/data/streams-2014.csv" "$top/data/rates-2014.csv" >compare.json 2>err; then
	that "ours beside the tables of 2014" '.columns | length == 10' compare.json
	that "another number of streams is another workload" '[.columns[] | select(.differs != null)] | length > 0
		and all(.differs | test("streams"))' compare.json
else
	fail "ours beside the tables of 2014" "$(cat err)"
fi

# A creator that gets stuck: its stack, the rows so far, the next case, a clean end.
printf 'base 500\nhang 20\n' >"$stim/cost.conf"
"$FRTRACE" rate --quiet -o stall.frt --settle 0 --to 40 --every 10 --streams 2,3 --stall 5 --interval 1 \
	--ip "$stim/ipcost" >out 2>err </dev/null
rc=$?
check "a stall ends with 1" test "$rc" -eq 1
check "a stall is reported for each case" test "$(grep -c '^frtrace: stalled: no router finished for 5 s' err)" -eq 2
check "with the stack of each stuck creator" test "$(grep -c 'netns add bar-.*waiting in .*pause' err)" -eq 5
"$FRTRACE" report --json stall.frt >stall.json 2>>err
that "the rows before the stall are kept" '[.rows[] | .n] | add == 40' stall.json
that "a stall stands in the record" '(.streams | all(.stalled and .reached_ns == null and .points[-1][1] == 20))
	and (.cause | test("stalled"))' stall.json
nothing_left "stall"

# A limit reached midway. Namespaces are counted per user namespace, so that
# there the limit can be lowered without anybody else noticing.
cat >midway <<-'EOF'
	mount -t tmpfs run /run
	ip link set lo up
	echo 1000 >/proc/sys/user/max_net_namespaces || exit 77
	"$FRTRACE" rate --quiet -o "$1" --settle 0 --to 400 --every 10 --mode "$2" >"$1.out" 2>"$1.err" </dev/null &
	for ((i = 0; i < 500 && $(ls /run/netns 2>/dev/null | wc -l) < 15; i++)); do sleep 0.01; done
	echo 30 >/proc/sys/user/max_net_namespaces
	wait $!
	echo "status $?"
	ls -A /run/netns
	ip -o link show type veth
EOF
for mode in script lean; do
	left=$(unshare -U -r -m -n bash midway "$T/$mode.frt" "$mode" 2>midway.err)
	rc=$?
	if [ $rc -eq 77 ] || grep -q 'unshare: ' midway.err; then
		skip "a limit midway, $mode" "no user namespaces: $(head -n 1 midway.err)"
		continue
	fi
	check "a limit midway, $mode: status 1 and a clean system" test "$left" = "status 1" || cat "$mode.frt.err"
	check "a limit midway, $mode: its name and value" grep -Eq '30.*user\.max_net_namespaces|user\.max_net_namespaces = 30' "$mode.frt.err"
	check "a limit midway, $mode: the rows so far are printed" grep -q '^0–10 ' "$mode.frt.out"
	"$FRTRACE" report --json "$mode.frt" >midway.json 2>err
	that "a limit midway, $mode: and kept" '.rows | length >= 2 and .[-1].cut_short and .[0].n == 10' midway.json
done

rm -rf /run/mount # of mount(8), from before it mounted another /run

# The same with tasks, in a control group of our own.
group=
for root in /sys/fs/cgroup/pids /sys/fs/cgroup; do
	group=$root/frtest-$$
	mkdir "$group" 2>/dev/null || { group=; continue; }
	[ ! -e "$group/pids.max" ] || break
	rmdir "$group"
	group=
done
if [ -n "$group" ]; then
	# shellcheck disable=SC2094 # two files
	bash -c 'echo $$ >"$1/cgroup.procs" && exec "$2" rate --quiet -o pids.frt --settle 0 --to 400 --every 10' \
		- "$group" "$FRTRACE" >out 2>err </dev/null &
	pid=$!
	for ((i = 0; i < 500; i++)); do
		[ "$(find /run/netns -name 'bar-*' 2>/dev/null | wc -l)" -lt 15 ] || break
		sleep 0.02
	done
	echo 1 >"$group/pids.max"
	wait $pid
	check "no more tasks midway: status 1" test $? -eq 1
	check "no more tasks midway: the limit's name and value" grep -Eq 'there are 0 tasks; the limit is pids.max of the cgroup = 1:' err
	"$FRTRACE" report --json pids.frt >pids.json 2>>err
	that "no more tasks midway: the rows so far are kept" '.rows | length >= 2 and .[0].n == 10' pids.json
	for ((i = 0; i < 50; i++)); do
		rmdir "$group" 2>/dev/null && break
		sleep 0.1
	done
	nothing_left "no more tasks midway"
else
	skip "no more tasks midway" "no control group with pids can be made here"
fi

# Interrupted: 130, a record, a clean system.
env --default-signal=INT "$FRTRACE" rate --quiet -o int.frt --settle 0 --to 1000 --every 10 >out 2>err </dev/null &
pid=$!
for ((i = 0; i < 500; i++)); do
	[ "$(find /run/netns -name 'bar-*' 2>/dev/null | wc -l)" -lt 15 ] || break
	sleep 0.02
done
kill -INT $pid
wait $pid
rc=$?
check "interrupted: status 130 ($rc)" test $rc -eq 130 || cat out err
"$FRTRACE" report --json int.frt >int.json 2>err
that "interrupted: the rows so far" '.status == 130 and .cause == "interrupted" and (.rows | length) >= 1' int.json
nothing_left "interrupted"

# Traced: an accounting per row that adds up, on a kernel that can.
if rate traced.json --trace --to 24 --every 8; then
	that "traced: the kinds add up to the steps" '[.rows[] | (.kinds_ns | add) / (.steps | add) | . > 0.98 and . < 1.02] | all' traced.json
	that "traced: nothing is lost" '.loss | to_entries | all(.value == 0)' traced.json
elif [ $? -eq 3 ]; then
	skip "traced" "$(cat traced.json.err)"
else
	fail "traced" "$(cat traced.json.err)"
fi
nothing_left "traced"

# Memory does not grow with the routers (lean, untraced).
"$FRTRACE" rate --quiet -o small.frt --settle 0 --to 200 --every 100 --mode lean >out 2>err </dev/null &&
	"$FRTRACE" rate --quiet -o large.frt --settle 0 --to 2000 --every 1000 --mode lean >out 2>>err </dev/null
small=$(zcat small.frt | tail -n 1 | jq .end.vmhwm_kb) large=$(zcat large.frt | tail -n 1 | jq .end.vmhwm_kb)
check "2,000 routers take at most 2 MiB more than 200 ($small and $large KiB)" test "$large" -le $((small + 2048))
nothing_left "memory"

# Records of one run each, and of different modes.
"$FRTRACE" rate --quiet -o a.frt --settle 0 --to 40 --every 10 --mode exact >out 2>err </dev/null
"$FRTRACE" compare --json small.frt a.frt >modes-differ.json 2>err
that "different modes are said loudly, without a verdict" '(.warnings | map(test("mode exact, not lean")) | any)
	and (.notes | map(test("n = 1")) | any) and ([.rows[].verdict] | unique == ["unknown"])' modes-differ.json

# Bad input: the status of its kind and one line that names it.
bad() {
	local want=$1 words=$2 rc
	shift 2
	timeout 60 "$FRTRACE" "$@" >out 2>err </dev/null
	rc=$?
	if [ $rc -ne "$want" ]; then
		fail "bad input: $*" "status $rc, not $want" "$(cat err)"
	elif [ "$(grep -c '^frtrace: ' err)" -ne 1 ]; then
		fail "bad input: $*" "not one line:" "$(cat err)"
	elif ! grep -Eq -- "$words" err; then
		fail "bad input: $*" "nothing about '$words' in:" "$(cat err)"
	else
		pass "bad input: $*"
	fi
}
bad 2 'every 300.*larger' rate --to 200 --every 300
bad 2 'does not divide' rate --to 1000 --every 300
bad 2 'every .0.' rate --every 0
bad 2 'every .x.' rate --every x
bad 2 'to .0.' rate --to 0
bad 2 'to .1000001.' rate --to 1000001
bad 2 'streams .0.' rate --streams 0
bad 2 'streams .10000.' rate --streams 10000
bad 2 'streams' rate --streams 4,1
bad 2 'streams' rate --streams ''
bad 2 'more streams' rate --to 4 --every 4 --streams 8
bad 2 'sample 20.*larger' rate --to 100 --every 10 --sample 20
bad 2 'sample' rate --to 100 --every 10 --sample 5 --streams 2
bad 2 'keep' rate --to 4 --every 2 --keep --mode lean,exact
bad 2 'at: without --sample' rate --to 100 --every 10 --at 0
bad 2 'at 15: no row' rate --to 100 --every 10 --sample 5 --at 15
bad 2 'at 100: no row' rate --to 100 --every 10 --sample 5 --at 0,100
bad 2 'mode .fast.' rate --mode script,fast
bad 2 'twice' rate --mode lean,lean
bad 2 'stall .0.' rate --stall 0
bad 2 'not an option' rate 4000
bad 3 'nonexistent' rate --to 4 --every 2 --ip /nonexistent/ip
bad 1 'nonexistent' rate --to 4 --every 2 -o /nonexistent/dir/x.frt
bad 1 'nonexistent' rate --quiet --settle 0 --to 2 --every 2 -o none --csv /nonexistent/x.csv
bad 2 'no files' compare
bad 2 'nothing to compare' compare small.frt
bad 1 'No such file' compare nothing.frt small.frt
printf 'from,to,a\n0,250,x\n' >bad.csv
bad 1 'bad.csv:2: .x. in column .a. is not a number' compare bad.csv
printf 'from,to,a,b\n0,250,1\n' >bad.csv
bad 1 'bad.csv:2: 3 fields, the header has 4' compare bad.csv
printf 'from;to;a\n0;250;1\n' >bad.csv
bad 1 'bad.csv:1: .*semicolons' compare bad.csv
printf 'from,to,a\n' >bad.csv
bad 1 'bad.csv: .*no rows' compare bad.csv
head -c 200 small.frt >cut.frt
printf 'x' >>cut.frt
bad 1 'cut.frt' compare cut.frt small.frt
bad 1 'directory' compare "$T" small.frt
nothing_left "bad input"

finish
