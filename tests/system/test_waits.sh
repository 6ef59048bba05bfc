#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 480
# Ground truth of waiting: programs that hold a lock of the kernel by one long
# operation write down when; the report must find the waiting in its class and
# name the holder. Others burn CPU in answer to links, or let namespaces die.
# With arguments only the cases of these names are run: rtnl mounts flock moved background
# bulk daemon streams deleted ftrace storm outlives stackless.
# shellcheck disable=SC2016,SC2317 # the dollars are jq's; cases are called through check
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
isolate "$@"
ahead
need_tools zcat
[ -x "$BUILD/stimuli/holder" ] || skip_all "the stimuli are not built"
"$FRTRACE" doctor --json 2>/dev/null | jq -e '.features | length > 0' >/dev/null ||
	skip_all "no tracing here"
helper=
cases=" $* "
# An emulated machine takes a second for a router where another takes 30 ms.
slow=$([ -n "${FRT_VM:-}" ] && echo 2 || echo 1)

# wanted CASE
wanted() {
	[ "$cases" = '  ' ] || [[ $cases == *" $1 "* ]]
}

# start COMMAND…: a stimulus beside the run; its output in helper.err.
start() {
	"$@" >helper.err 2>&1 &
	helper=$!
	sleep 0.5
	kill -0 "$helper" 2>/dev/null
}

stop_helper() {
	[ -z "$helper" ] || kill -TERM "$helper" 2>/dev/null
	[ -z "$helper" ] || wait "$helper" 2>/dev/null
	helper=
}
trap 'stop_helper; rmdir /sys/kernel/tracing/instances/frtrace-test 2>/dev/null; clear_away' EXIT

# run NAME ARGS…: one level; NAME.frt and NAME.json. Without probes: waiting is told without
# them, and attaching takes longer than the rest.
run() {
	local name=$1
	shift
	rm -f "$name.frt"
	# an emulated machine is one that may hold a lock for half a minute
	"$FRTRACE" --at 0 --freq 0 --probes none --warmup 1 --settle 0 --quiet --json \
		--step-timeout $((60 * slow)) \
		-o "$name.frt" "$@" \
		>"$name.json" 2>"$name.err" </dev/null || {
		echo "frtrace ended with status $?: $(cat "$name.err")"
		return 1
	}
}

# nothing_lost FILE: from 7.0 on a program that was preempted is skipped where another task
# comes to it; that is told, and no more may be lost than it explains.
nothing_lost() {
	jq -e --argjson skips "$([ "$(uname -r | cut -d. -f1)" -ge 7 ] && echo true || echo false)" '
		.loss | if $skips then .unpaired <= .missed and ([.[]] | add) == .unpaired + .missed
			else ([.[]] | add) == 0 end' "$1" >/dev/null && return
	jq -c .loss "$1"
	return 1
}

# sums_hold but for that.
adds_up() {
	local bad
	nothing_lost "$1" || return 1
	bad=$(sums_hold "$1" | grep -v '^lost: ')
	[ -z "$bad" ] || {
		echo "$bad"
		return 1
	}
}

# truth NAME LOG FILTER ARGS…: what is wrong with the run, see waits.jq.
truth() {
	local name=$1 log=$2 filter=$3
	shift 3
	zcat "$name.frt" 2>/dev/null | query -rn --slurpfile report "$name.json" --rawfile log "$log" \
		"$@" "include \"waits\"; [inputs] as \$lines | $filter"
}

# held CLASS ROUTERS HOLDER-ARGS…: the time that the holder held the lock is in the
# class, and the holder's. Four attempts: the lock is the whole machine's, and others on
# it may have it most of the time. When they have it every time nothing can be told: 77.
held() {
	local class=$1 routers=$2 bad try rc=77
	shift 2
	for try in 1 2 3 4; do
		: >holder.log
		start "$BUILD/stimuli/holder" "$@" holder.log || {
			echo "the holder failed: $(cat helper.err)"
			return 1
		}
		# until it holds for the first time
		for ((i = 0; i < 100; i++)); do
			[ ! -s holder.log ] || break
			sleep 0.1
		done
		bad=$(run held --routers "$routers")
		stop_helper
		[ -n "$bad" ] || bad=$(truth held holder.log \
			'held($lines; $report[0]; $log; $class; "holder")' --arg class "$class" 2>&1)
		[ -n "$bad" ] || return 0
		echo "try $try, $class: $bad"
		[[ $bad == "others had the lock"* ]] || rc=1
	done
	return "$rc"
}

# check_held NAME ARGS-OF-HELD…
check_held() {
	local name=$1 out rc=0
	shift
	out=$(held "$@" 2>&1) || rc=$?
	case $rc in
	0) pass "$name" ;;
	77) skip "$name" "$(tail -n 1 <<<"$out")" ;;
	*) fail "$name" "$out" ;;
	esac
}

contention=$("$FRTRACE" --at 0 --routers 2 --warmup 0 --settle 0 --quiet -o probe.frt >/dev/null 2>&1
	zcat probe.frt 2>/dev/null | head -n 1 | jq -r '.probes.contention')

! wanted rtnl ||
	check_held "rtnl_mutex held by a group delete of 400 links" lock:rtnl_mutex $((40 / slow)) rtnl 400
! wanted mounts ||
	check_held "namespace_sem held by a recursive bind of 4000 mounts" lock:namespace_sem $((40 / slow)) mounts 4000
# the directory is locked by `ip netns add`; until it is there nobody can hold it
mkdir -p /run/netns
! wanted flock || check_held "a lock on a file" lock:file $((40 / slow)) flock /run/netns

# A veth moved after it was made: an action of its own, with the grace period in it.
moved() {
	local bad
	cat >move.sh <<'EOF'
set -e
ip netns add "w7-$1"
ip link add "wa-$1" type veth peer name "wb-$1"
ip link set "wb-$1" netns "w7-$1"
EOF
	cat >gone.sh <<'EOF'
ip netns del "w7-$1"
ip link del "wa-$1" 2>/dev/null || true
EOF
	bad=$(run moved --routers 10 --create "sh $T/move.sh {i}" --destroy "sh $T/gone.sh {i}")
	[ -z "$bad" ] || {
		echo "$bad"
		return 1
	}
	# older kernels wait for rcu_barrier too; their synchronize_net may find nothing to wait for
	jq -e '[.levels[0].steps[].actions[]? | select(.action == "rtnl move")] as $a |
		($a | map(.n) | add) >= 10 and
		([$a[].waits[] | select(.class | startswith("rcu:")) | .ns] | add) > 0 and
		([$a[].waits[] | select(.class | startswith("rcu:")) | .where] |
			any(test("synchronize_net") or . == "dev_change_net_namespace"))' moved.json >/dev/null || {
		jq -c '[.levels[0].steps[].actions[]? | select(.action == "rtnl move")]' moved.json
		return 1
	}
}
! wanted moved || check "a veth moved after it was made waits for RCU in rtnl move" moved

# Namespaces of others die beside the run: that is nobody's step.
background() {
	local bad
	start bash -c 'while :; do unshare -n true; done' || return 1
	bad=$(run background --routers 20)
	stop_helper
	[ -z "$bad" ] || {
		echo "$bad"
		return 1
	}
	jq -e '([.outside[] | select(.task == "cleanup_net" and .cpu_ns > 0)] | length) == 1 and
		([.deferred[] | select(.function == "cleanup_net" and .step != "delete")] |
			length) == 0' background.json >/dev/null || {
		jq -c '[.outside[] | select(.task == "cleanup_net")], .deferred' background.json
		return 1
	}
	# what it holds, the steps wait for: named where the kernel tells of contention
	[ "$contention" != true ] ||
		jq -e '[.levels[0].steps[].actions[]?.waits[].holders[]? |
			select(.task == "cleanup_net") | .kind] | length > 0 and
			all(. == "workqueue")' background.json >/dev/null || {
		jq -c '[.levels[0].steps[].actions[]?.waits[].holders[]?] | unique' background.json
		return 1
	}
}
! wanted background || check "cleanup_net of others: holder and outside, in no step" background

# Others delete hundreds of namespaces while routers are made: from the first router on, in
# ten bursts, since where all is slow they would be gone before it, or all at its end.
bulk() {
	local bad i routers=$1
	for ((i = 0; i < 300; i++)); do
		echo "netns add bulk$i"
	done | ip -batch - || return 1
	start bash -c 'until find /run/netns -name "bar-*" | grep -q .; do sleep 0.02; done
		for ((i = 0; i < 300; i++)); do
			[ $((i % 30)) != 29 ] || sleep 0.1
			echo "netns del bulk$i"
		done | ip -batch -
		while :; do sleep 1; done' || return 1
	bad=$(run bulk --routers "$routers")
	stop_helper
	[ -z "$bad" ] || {
		echo "$bad"
		return 1
	}
	[ -z "$(find /run/netns -name 'bulk*')" ] || {
		echo "they were not all deleted meanwhile"
		find /run/netns -name 'bulk*' -printf 'netns del %f\n' | ip -batch -
		return 2
	}
	# all of them were freed meanwhile, by runs that are nobody's here; ours are ours and no
	# more (fewer where they wait behind those of others until the run is over); nothing is lost
	jq -e --argjson n "$routers" '([.outside[] | select(.task == "cleanup_net" and .cpu_ns > 0)] | length) == 1 and
		[.deferred[] | select(.function == "cleanup_net")] == [.deferred[] |
			select(.function == "cleanup_net" and .step == "delete")] and
		([.deferred[] | select(.function == "cleanup_net") | .n] | add // 0) == $n and
		([.levels[0].steps[].actions[]?.waits[].holders[]? | select(.task == "cleanup_net") | .kind] |
			all(. == "workqueue"))' bulk.json >/dev/null || {
		jq -c '[.outside[] | select(.task == "cleanup_net")], .deferred,
			.levels[0].deferred_unfinished' bulk.json
		return 1
	}
	nothing_lost bulk.json
}
# bulk_in_time: with more routers when all were made before the last deletion
bulk_in_time() {
	local rc=0
	bulk 30 || rc=$?
	[ "$rc" -eq 2 ] || return "$rc"
	bulk 90
}
! wanted bulk || check "300 namespaces of others deleted in bulk meanwhile: in no step" bulk_in_time

# A daemon that burns 5 ms for every new link.
daemon() {
	local bad try
	for try in 1 2; do
		start "$BUILD/stimuli/linkd" linkd.log || return 1
		bad=$(run daemon --routers 20)
		stop_helper
		[ -n "$bad" ] ||
			bad=$(truth daemon linkd.log 'cpu($lines; $report[0]; $log; "linkd")' 2>&1)
		[ -n "$bad" ] || return 0
		echo "try $try: $bad"
	done
	return 1
}
! wanted daemon || check "a daemon that answers links is outside, with its CPU time" daemon

# What many streams add to the time of one is told apart: hardly any is left without a name.
streams() {
	local bad try n
	for try in 1 2; do
		for n in 1 16; do
			bad=$(run "streams$n" --routers $((slow > 1 ? 32 : 48)) --streams "$n")
			[ -z "$bad" ] || {
				echo "$bad"
				return 1
			}
		done
		bad=$(jq -rn --slurpfile one streams1.json --slurpfile many streams16.json '
			def waits: .[0].levels[0].steps[] |
				select(.step != "true" and .step != "router" and .step != "delete") |
				.actions[]?.waits[];
			def nameless: ([waits | select(.class == "other") | .ns] | add // 0) +
				([waits | .holders[]? | select(.kind == "unknown") | .ns] | add // 0);
			def all: [waits.ns] | add // 0;
			($many | all) - ($one | all) | . as $added |
			(($many | nameless) - ($one | nameless)) as $nameless |
			"added \($added / 1e6 | round) ms, \($nameless / 1e6 | round) of it other or unknown: " as $say |
			if $added <= 0 then $say + "16 streams wait no longer than one?"
			elif $nameless >= 0.05 * $added then $say + "more than 5 %: \([$many | waits |
				select(.class == "other" or any(.holders[]?; .kind == "unknown"))])"
			else empty end' 2>&1)
		[ -n "$bad" ] || return 0
		echo "try $try: $bad"
	done
	return 1
}
! wanted streams ||
	check "16 streams: other and unknown are below 5 % of what they add to one" streams

# Deleting: every namespace is in some run of cleanup_net, and in none twice.
deleted() {
	local bad
	bad=$(run deleted --routers 40)
	[ -z "$bad" ] || {
		echo "$bad"
		return 1
	}
	jq -e '[.deferred[] | select(.function == "cleanup_net")] |
		length == 1 and .[0].step == "delete" and .[0].n == 40 and
		.[0].ns > 0 and .[0].wait_ns <= .[0].ns' deleted.json >/dev/null || {
		jq -c .deferred deleted.json
		return 1
	}
	# Counted meanwhile: 41 more, then none of them. Where nobody else is about, none is
	# dead while they are made, and some are until the kernel has freed them.
	jq -e --argjson alone "$([ -z "${FRT_VM:-}" ] && echo false || echo true)" '
		.levels[0] as $l | $l.backlog_over_time as $b |
		[$b[] | select(.deleting | not)] as $making | [$b[] | select(.deleting)] as $after |
		($making | last.expected) == $l.existing + 41 and
		($after | last.expected) == $l.existing and
		(($alone | not) or ($making | all(.existing == .expected)) and
			($after | any(.existing > .expected)) and
			($after | last | .existing - .expected) <= 1)' deleted.json >/dev/null || {
		jq -c '.levels[0] | .existing, .backlog_over_time' deleted.json
		return 1
	}
}
# Whether the kernel frees a namespace before the next look at how many there are is chance, and
# where one CPU does both it mostly does: a few times more.
deleted_or_again() {
	local bad try
	for try in 1 2 3 4; do
		bad=$(deleted) && return
		echo "retry $try: ${bad:0:200}"
	done
	echo "$bad"
	return 1
}
! wanted deleted || check "40 deletions are 40 parts of cleanup_net" deleted_or_again

# The same runs of cleanup_net as ftrace tells of, each as long.
as_ftrace_says() {
	local t=/sys/kernel/tracing/instances/frtrace-test bad event
	mkdir "$t" && echo mono >"$t/trace_clock" && echo 8192 >"$t/buffer_size_kb" || return 1
	for event in execute_start execute_end; do
		echo 1 >"$t/events/workqueue/workqueue_$event/enable" || return 1
	done
	# where all is slow they are made the short way; they are deleted as by any other
	bad=$(run ftrace --routers 200 ${FRT_VM:+--mode lean})
	for event in execute_start execute_end; do
		echo 0 >"$t/events/workqueue/workqueue_$event/enable"
	done
	# "kworker/u4:1-77 [001] ..... 12.345678: workqueue_execute_start: …: function cleanup_net"
	awk '/function cleanup_net/ {
		match($0, /-[0-9]+ +\[/); pid = substr($0, RSTART, RLENGTH)
		match($0, /[0-9]+\.[0-9]+:/); ts = substr($0, RSTART, RLENGTH - 1)
		if (/execute_start/) began[pid] = ts
		else if (pid in began) { print began[pid], ts; delete began[pid] }
	}' "$t/trace" >ftrace.runs
	rmdir "$t"
	[ -z "$bad" ] || {
		echo "$bad"
		return 1
	}
	zcat ftrace.frt 2>/dev/null | query -rn '[inputs] as $l | $l[0] as $h | $h.fields.defer as $f |
		[$l[] | .defer? // empty | arrays | select(.[$f | index("function")] == "cleanup_net") |
			[.[$f | index("t_start")], .[$f | index("t_end")]]] | unique[] |
		"\((.[0] + $h.clock.mono) / 1e9) \((.[1] + $h.clock.mono) / 1e9)"' >frtrace.runs
	awk 'NR == FNR { began[n++] = $1; took[n - 1] = $2 - $1; next }
		{
			found = -1
			for (i = 0; i < n; i++)
				if ($1 - began[i] < 0.001 && began[i] - $1 < 0.001) found = i
			if (found < 0) { print "no such run: " $0; bad = 1; next }
			runs++; ours += $2 - $1; theirs += took[found]
		}
		END {
			printf "%d runs, %.6f s, by ftrace %.6f s\n", runs, ours, theirs
			exit bad || !runs || ours - theirs > 0.01 * theirs || theirs - ours > 0.01 * theirs
		}' ftrace.runs frtrace.runs
}
# Threads that do nothing but fight for a spinlock and a mutex: counted, with a stack a
# thousand times a second at most, nothing lost, and the walls still add up.
storm() {
	local bad began=$SECONDS
	bad=$(run storm --routers 5 --create "$BUILD/stimuli/lockstorm 700" --destroy true)
	[ -z "$bad" ] || {
		echo "$bad"
		return 1
	}
	adds_up storm.json || return 1
	[ "$(nproc)" -lt 2 ] || [ "$contention" != true ] ||
		jq -e --argjson s $((SECONDS - began)) '
			.levels[0] as $l | ([$l.spinlocks[].n] | add // 0) as $told |
			$told > 0 and $told <= $l.spinlocks_contended and $told <= 1000 * ($s + 2)
			' storm.json >/dev/null || {
		jq -c '.loss, (.levels[0] | .spinlocks_contended, .spinlocks)' storm.json
		return 1
	}
}
# The last command of a level leaves the kernel more to free than the level lasts, all at once
# as it ends: cleanup_net outlives it, which is counted and said, and the run ends as it should.
outlives() {
	local bad i try
	cat >leave.sh <<'EOF'
[ "$1" -eq 2 ] || exit 0
for n in /run/netns/late*; do
	exec {fd}<"$n"
done
ls /run/netns | sed -n 's/^late/netns del late/p' | ip -batch -
EOF
	for try in 1 2; do
		for ((i = 0; i < 200 / slow; i++)); do
			echo "netns add late$i"
		done | ip -batch - || return 1
		bad=$(run outlives --routers 2 --warmup 0 --keep --create "bash $T/leave.sh {i}")
		[ -n "$bad" ] || "$FRTRACE" report --view deferred outlives.frt >outlives.txt 2>&1 ||
			bad=$(cat outlives.txt)
		[ -n "$bad" ] || jq -e '.levels[0].deferred_unfinished > 0' outlives.json >/dev/null ||
			bad="nothing outlived it"
		[ -n "$bad" ] || grep -q 'not run to the end' outlives.txt ||
			bad="it is not said: $(cat outlives.txt)"
		[ -n "$bad" ] || bad=$(adds_up outlives.json)
		[ -n "$bad" ] || return 0
		echo "try $try: $bad"
		bash leave.sh 2
	done
	return 1
}
! wanted outlives || check "work that outlives its level is counted and said" outlives

# Where no stack can be walked (kernel.perf_event_max_stack is 0: the whole machine's, so in
# a guest only): classes come from the calls alone, no function is named, nothing is lost.
stackless() {
	local bad was
	was=$(cat /proc/sys/kernel/perf_event_max_stack)
	echo 0 >/proc/sys/kernel/perf_event_max_stack || return 1
	bad=$(run stackless --freq 499 --routers 10)
	echo "$was" >/proc/sys/kernel/perf_event_max_stack
	[ -n "$bad" ] || bad=$(adds_up stackless.json)
	[ -n "$bad" ] || bad=$("$FRTRACE" report stackless.frt 2>&1 >/dev/null)
	[ -n "$bad" ] || bad=$(zcat stackless.frt | grep -m 3 '^{"node"')
	[ -z "$bad" ] || {
		echo "$bad"
		return 1
	}
	jq -e '[.levels[0].steps[].actions[]?] as $a | ([$a[].waits[].ns] | add) > 0 and
		([$a[].waits[].class | select(test("^(rcu:|lock:[^f])"))] == []) and
		([$a[].frames[]?.frame] - ["[no stack]", "[not sampled]"] == []) and
		([.outside[].frames // empty | select(test("^\\[(user|no stack)\\]") | not)] == [])
		' stackless.json >/dev/null || {
		jq -c '[.levels[0].steps[].actions[]? | [.action, .frames, [.waits[].class]]],
			[.outside[].frames]' stackless.json
		return 1
	}
}
if ! wanted stackless; then
	:
elif [ -n "${FRT_VM:-}" ]; then
	check "without stacks: classes by calls, no function named" stackless
else
	skip "without stacks: classes by calls, no function named" "a setting of the whole machine"
fi

! wanted storm || check "a storm of contended locks: counted, and told within limits" storm

! wanted ftrace || [ -d /sys/kernel/tracing/instances ] || mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
if ! wanted ftrace; then
	:
elif [ -d /sys/kernel/tracing/events/workqueue ] && [ -d /sys/kernel/tracing/instances ]; then
	check "200 deletions: cleanup_net runs as ftrace says" as_ftrace_says
else
	skip "200 deletions: cleanup_net runs as ftrace says" "this kernel has no ftrace"
fi
finish
