# SPDX-License-Identifier: BSD-2-Clause
# Holds a report against what the stimuli wrote down. Inputs: $base (a run of
# stimuli that did nothing), $run, $truth, $idle (what they wrote), $routers.
include "checks";

# What each kind of stimulus does, beside its truth by kind:
#   action, field   the call that holds it, where there is one
#   extra           ns of forks, pipes and terminals that the truth leaves out
def table: {
	"sleep":       {action: "clock_nanosleep", field: "blocked_ns", class: "sleep", extra: 0},
	"user":        {extra: 0},
	"call":        {action: "readv", field: "kernel_ns", extra: 0},
	"fault":       {extra: 0, loose: true},
	"child-user":  {extra: 400000},
	"child-sleep": {action: "clock_nanosleep", field: "blocked_ns", class: "sleep", extra: 400000},
	"vfork":       {action: "clock_nanosleep", field: "blocked_ns", class: "sleep", extra: 300000},
	"wait":        {action: "wait4", field: "blocked_ns", class: "child", extra: 700000},
	"irq-sleep":   {action: "clock_nanosleep", field: "blocked_ns", class: "sleep", extra: 400000},
	"runq":        {extra: 400000},
	"thread":      {extra: 300000},
	"overlap":     {action: "clock_nanosleep", field: "blocked_ns", class: "sleep", extra: 400000},
	"exit-free":   {action: "exit", field: "kernel_ns", extra: 0, loose: true},
	"exit-sleep":  {action: "clock_nanosleep", field: "blocked_ns", class: "sleep", extra: 600000},
	"chain-user":  {extra: 1000000},
	"chain-sleep": {action: "clock_nanosleep", field: "blocked_ns", class: "sleep", extra: 1000000}
};

# 2 % and 0.2 ms, as promised.
def allowed: . * 0.02 + 200000;
def ms: . / 10000 | round / 100 | tostring;

def half($s): if $s.wall_ns.ci95 == null then 0
	else ($s.wall_ns.ci95[1] - $s.wall_ns.ci95[0]) / 2 end;

def zero_if_missing($field): if . == null then 0 else .[$field] // 0 end;

def wrong_step($step):
	($truth[0][$step]) as $t
	| table[$t.kind] as $k
	| ($base[0] | step($step)) as $b
	| ($run[0] | step($step)) as $a
	# how well two means of walls of this noise can be told apart at all
	| ([(half($a) * half($a) + half($b) * half($b) | sqrt) * 1.7, 1000000] | min) as $noise
	| ([$b.actions[] | select(.action == $k.action)][0]) as $ba
	| ([$a.actions[] | select(.action == $k.action)][0]) as $aa
	| "\($step)=\($t.kind): " as $where
	| (
		# the step's kinds, against a run without the stimulus
		([["user", "user_ns"], ["kernel", "kernel_ns"], ["blocked", "blocked_ns"],
		  ["runq", "runqueue_ns"]][] as [$name, $field]
		 | select($k.loose | not)
		 | $t[$name] as $want
		 | ($a[$field] - $b[$field]) as $got
		 # a sleeper's wait for a CPU after its sleep is in its own truth
		 | (if $name == "runq" and $want == 0 then $t.wall else $want end) as $scale
		 | select(($got - $want | abs) >
			  ($scale | allowed) + $noise + (if $want > 0 then 0 else $k.extra end))
		 | "\($name) is \($got | ms) ms more than without, truth \($want | ms)"),
		# the wall
		(($a.wall_ns.mean - $b.wall_ns.mean) as $got
		 | ($t.wall - $idle[0][$step].wall) as $want
		 | select(($got - $want | abs) > ($want | allowed) + $noise)
		 | select($t.kind | startswith("exit-sleep") or startswith("chain") | not)
		 | "the wall is \($got | ms) ms more than without, truth \($want | ms)"),
		# the action that holds it
		(select($k.action != null)
		 | ($k.field | rtrimstr("_ns")) as $name
		 | (($aa | zero_if_missing($k.field)) - ($ba | zero_if_missing($k.field))
		    + (if $name == "blocked" then $aa | zero_if_missing("runqueue_ns") else 0 end)) as $got
		 | $t[$name] as $want
		 | select(($got - $want | abs) > ($want | allowed))
		 | "\($k.action) has \($name) \($got | ms) ms, truth \($want | ms)"),
		# its class, summed over the level
		(select($k.class != null)
		 | ([($aa.waits // [])[] | select(.class == $k.class) | .ns] | add // 0) as $got
		 | ($t.blocked * $routers) as $want
		 | select($got < $want * 0.9 or $got > $want * 1.02 + 200000 * $routers)
		 | "\($k.action) waits as \($k.class) \($got | ms) ms in all, truth \($want | ms)"),
		# what ran beside it
		(select($t.parallel > 0)
		 | ($a.parallel_ns - $b.parallel_ns) as $got
		 | select($got < $t.parallel * 0.95 - 200000)
		 | "parallel is \($got | ms) ms more than without, truth at least \($t.parallel | ms)")
	) | $where + .;

def wrong: $truth[0] | keys[] as $s | wrong_step($s);
