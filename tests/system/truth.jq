# SPDX-License-Identifier: BSD-2-Clause
# Holds a report against what the stimuli wrote down. Inputs: $base (runs of
# stimuli that did nothing), $run, $truth (what they wrote), $routers.
include "checks";

# What each kind of stimulus does, beside its truth by kind:
#   action, field, class   the call that holds it, where there is one
def table: {
	"sleep":       {action: "clock_nanosleep", field: "blocked_ns", class: "sleep"},
	"user":        {},
	"call":        {action: "readv", field: "kernel_ns"},
	"fault":       {},
	"child-user":  {},
	"child-sleep": {action: "clock_nanosleep", field: "blocked_ns", class: "sleep"},
	"vfork":       {action: "clock_nanosleep", field: "blocked_ns", class: "sleep"},
	"wait":        {action: "wait4", field: "blocked_ns", class: "child"},
	"irq-sleep":   {action: "clock_nanosleep", field: "blocked_ns", class: "sleep"},
	"runq":        {},
	"thread":      {},
	"overlap":     {action: "clock_nanosleep", field: "blocked_ns", class: "sleep"},
	"exit-free":   {action: "exit", field: "kernel_ns"},
	"exit-sleep":  {action: "clock_nanosleep", field: "blocked_ns", class: "sleep"},
	"chain-user":  {},
	"chain-sleep": {action: "clock_nanosleep", field: "blocked_ns", class: "sleep"}
};

# 2 % and 0.2 ms, as promised.
def allowed: . * 0.02 + 200000;
def ms: . / 10000 | round / 100 | tostring;

# A sleeper was blocked for what it asked at least; how much longer it can only
# tell as it sees it, from outside.
def least_truth($field): if $field == "blocked_ns" then [.asked, .blocked] | min
	else .[$field | rtrimstr("_ns")] end;

# Of several runs without stimuli the one in which the machine added least.
def least(f): [$base[] | f] | min;

def zero_if_missing($field): if . == null then 0 else .[$field] // 0 end;

# Held is what was meant: in the step, or in the call that holds it. What else the
# step did depends on what else the machine does (a contended lock is blocked time,
# or kernel time while it spins); but no time can be put in two places or got from
# nowhere, as the kinds add up to the wall (checks.jq).
def wrong_step($step):
	($truth[0][$step]) as $t
	| table[$t.kind] as $k
	| ($run[0] | step($step)) as $a
	| ([$a.actions[] | select(.action == $k.action)][0]) as $aa
	| "\($step)=\($t.kind): " as $where
	| (
		# user time has no action of its own: the step, against a run without
		(select($t.user > 0)
		 | ($a.user_ns - least(step($step) | .user_ns)) as $got
		 | select(($got - $t.user | abs) > ($t.user | allowed))
		 | "user is \($got | ms) ms more than without, truth \($t.user | ms)"),
		# the others: the step has at least that
		([["kernel", "kernel_ns"], ["blocked", "blocked_ns"], ["runq", "runqueue_ns"]][]
		 as [$name, $field]
		 | $t[$name] as $want
		 | select($want > 0 and $a[$field] < $want - ($want | allowed))
		 | "\($name) is only \($a[$field] | ms) ms, truth \($want | ms)"),
		# the action that holds it
		(select($k.action != null)
		 | (($aa | zero_if_missing($k.field))
		    - least(step($step) | [action($k.action) | .[$k.field]] | add // 0)) as $got
		 | $t[$k.field | rtrimstr("_ns")] as $want
		 | ($t | least_truth($k.field)) as $low
		 | select($got > $want + ($want | allowed) or $got < $low - ($low | allowed))
		 | "\($k.action) has \($k.field) \($got | ms) ms, truth \($want | ms)"),
		# its class, summed over the level
		(select($k.class != null)
		 | ([($aa.waits // [])[] | select(.class == $k.class) | .ns] | add // 0) as $got
		 | ($t.blocked * $routers) as $want
		 | ($t | least_truth("blocked_ns")) as $low
		 | select($got > $want + ($t.blocked | allowed) * $routers
			  or $got < ($low - ($low | allowed)) * $routers)
		 | "\($k.action) waits as \($k.class) \($got | ms) ms in all, truth \($want | ms)"),
		# what ran beside it
		(select($t.parallel > 0)
		 | ($a.parallel_ns - least(step($step) | .parallel_ns)) as $got
		 | select($got < $t.parallel * 0.95 - 200000)
		 | "parallel is \($got | ms) ms more than without, truth at least \($t.parallel | ms)")
	) | $where + .;

def wrong: $truth[0] | keys[] as $s | wrong_step($s);
