# SPDX-License-Identifier: BSD-2-Clause
# Holds what a report says of waiting against what the stimuli wrote down. Input: the
# lines of the record; $report, $log (the stimulus's, raw), $class, $task. Gives what
# is wrong, one line each, and nothing when all is right.

# What a wait's stack begins with, and what tells other locks from it.
def locks: {
	"lock:rtnl_mutex": ["^(__)?mutex_lock", "rcu|exp_funnel|kernfs"],
	"lock:namespace_sem": ["^(rwsem_down|down_read|down_write)",
		"kernfs|pernet|mmap|vma|super|sget|cgroup|_mm$"],
	"lock:file": ["^(flock_lock|locks_lock|__do_sys_flock)", "^$"]
};

def at($fields; $name): .[$fields | index($name)] // 0;
def of($lines; $kind): $lines[] | .[$kind]? // empty | arrays;
def ms: . / 1e4 | round / 100;
def overlap($a; $b): [.[] | ([$b, .[1]] | min) - ([$a, .[0]] | max) | select(. > 0)] | add // 0;

# [begin, end, more…] on the record's clock
def spans($log; $offset): $log | split("\n") | map(select(length > 0) | split(" ") |
	map(tonumber) | .[0] -= $offset | .[1] -= $offset);

# A holder writes down how long its operation took. It may itself have waited in there for
# somebody else on the machine who had the lock: then it is not the holder that wakes the
# waiter in the end. How long such waits lasted is as far as the two may be apart; when it
# is much, the run tells nothing.
def held($lines; $report; $log; $class; $task):
	$lines[0] as $head | $head.fields as $f | spans($log; $head.clock.mono) as $spans |
	([of($lines; "router") | select((at($f.router; "flags") % 2) == 0 and
		((at($f.router; "flags") / 32 | floor) % 2) == 0) |
		{ key: (at($f.router; "id") | tostring), value: true }] | from_entries) as $measured |
	# creation steps of the measured routers; the walls are theirs
	([of($lines; "step") | select($measured[at($f.step; "router") | tostring] and
		at($f.step; "step") < 4) |
		{ key: (at($f.step; "instance") | tostring), value: true }] | from_entries) as $ours |
	([of($lines; "node") | { key: (at($f.node; "id") | tostring),
		value: [at($f.node; "parent"), at($f.node; "frame")] }] | from_entries) as $node |
	locks[$class] as [$begins, $others] |
	def frames: [recurse($node[tostring][0]; . != null and . != 0) | $node[tostring][1]];
	def is_ours: frames | (map(test("^(__|io_|preempt_)?schedule")) | index(false)) as $leaf |
		$leaf != null and (.[$leaf] | test($begins)) and (any(test($others)) | not);
	[of($lines; "off") |
		select(at($f.off; "why") == 0 and
			$ours[at($f.off; "instance") | tostring] and at($f.off; "stack") > 0) |
		select(at($f.off; "stack") | is_ours) |
		[at($f.off; "out"), (at($f.off; "waking") | select(. > 0)) // at($f.off; "in"),
			at($f.off; "waking") > 0 and at($f.off; "waker_comm") == $task]] as $offs |
	([$offs[] | .[1] - .[0]] | add // 0) as $blocked |
	([$offs[] | . as [$a, $b] | $spans | overlap($a; $b)] | add // 0) as $truth |
	([$offs[] | select(.[2] | not) | .[1] - .[0]] | add // 0) as $others_had |
	[$report.levels[0].steps[] |
		select(.step != "router" and .step != "true" and .step != "delete") |
		.actions[].waits[] | select(.class == $class)] as $waits |
	([$waits[].ns] | add // 0) as $total |
	([$waits[].holders[] | select(.task == $task) | .ns] | add // 0) as $held |
	([$waits[].holders[] | select(.task == $task) | .kind] | unique) as $kinds |
	"(\($class): \($total | ms) ms, held by \($task) \($held | ms); blocked on it \($blocked | ms), of that while it held \($truth | ms), ended by others \($others_had | ms))" as $say |
	(if $truth < 5e6 then "the holder was hardly waited for \($say)"
	elif ($total - $blocked | fabs) > 0.1 * $blocked + 1e6 then "time waited differs \($say)"
	elif $others_had > 0.5 * $blocked then "others had the lock most of the time \($say)"
	elif ($held - $truth | fabs) > 0.1 * $truth + 1e6 + $others_had then "time held differs \($say)"
	else empty end),
	(if ($kinds - ["outside"]) != [] then "the holder is \($kinds) \($say)" else empty end);

def cpu($lines; $report; $log; $task):
	$lines[0] as $head | $head.fields as $f | spans($log; $head.clock.mono) as $spans |
	[of($lines; "router")] as $routers |
	([$routers[] | at($f.router; "t0")] | min) as $a |
	([$routers[] | at($f.router; "t1")] | max) as $b |
	([$spans[] | .[3] * ([.] | overlap($a; $b)) / (.[1] - .[0])] | add // 0) as $truth |
	# what it burns just before and behind the routers is in the window, too; and its waits
	([$spans[] | select(.[0] < $b + 50e6 and .[1] > $a - 50e6) | .[2]] | add // 0) as $more |
	[$report.outside[] | select(.task == $task)] as $rows | $rows[0] as $row |
	"(CPU \($row.cpu_ns // 0 | ms) ms, truly \($truth | ms) to \($more | ms); per router \($row.per_router_ns // 0 | ms), truly \($truth / ($routers | length) | ms); woken by \($row.woken_by))" as $say |
	(if ($rows | length) != 1 then "\($rows | length) rows for \($task)"
	elif $truth < 20e6 then "the daemon hardly ran \($say)"
	elif $row.cpu_ns < 0.9 * $truth - 2e6 or $row.cpu_ns > 1.1 * $more + 2e6
	then "CPU time differs \($say)" else empty end),
	(if $row.woken_by // "" | contains("netlink message") | not
	then "what woke it is not told \($say)" else empty end);
