# SPDX-License-Identifier: BSD-2-Clause
# Holds a report against what the stimuli wrote down. Inputs: $base (a run of
# stimuli that did nothing), $run, $truth (what they wrote), $routers.
include "checks";

# What each kind of stimulus does, beside its truth by kind:
#   action, field, class   the call that holds it, where there is one
#   extra                  ns of forks, pipes and terminals that the truth leaves out
#   loose                  makes much user and kernel time beside what it measures
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

# Kernel time without the writes below /proc/sys, which others on the machine can
# make spin for as long as they like (test_storm.sh).
def steady($field): .[$field] - if $field == "kernel_ns"
	then ([action("write /proc/sys") | .kernel_ns] | add // 0) else 0 end;

def zero_if_missing($field): if . == null then 0 else .[$field] // 0 end;

# Blocked and runqueue time that no stimulus asked for depends on what else the
# machine does, so what is held tight is: the kind that was meant, in the step or
# in the call that holds it; and user and kernel time, where it must not appear.
# Time cannot be put anywhere else: the kinds add up to the wall (checks.jq).
def wrong_step($step):
	($truth[0][$step]) as $t
	| table[$t.kind] as $k
	| ($base[0] | step($step)) as $b
	| ($run[0] | step($step)) as $a
	| ([$b.actions[] | select(.action == $k.action)][0]) as $ba
	| ([$a.actions[] | select(.action == $k.action)][0]) as $aa
	| "\($step)=\($t.kind): " as $where
	| (
		# the step's kinds, against a run without the stimulus
		([["user", "user_ns"], ["kernel", "kernel_ns"]][] as [$name, $field]
		 | select($k.loose | not)
		 | $t[$name] as $want
		 | (($a | steady($field)) - ($b | steady($field))) as $got
		 | (if $want > 0 then $want | allowed
		    else ($t.user + $t.kernel + $t.blocked | allowed) + $k.extra end) as $most
		 | select(($got - $want | abs) > $most)
		 | "\($name) is \($got | ms) ms more than without, truth \($want | ms)"),
		([["blocked", "blocked_ns"], ["runq", "runqueue_ns"]][] as [$name, $field]
		 | $t[$name] as $want
		 | ($a[$field] - $b[$field]) as $got
		 | select($want > 0 and $got < $want - ($want | allowed) - $b[$field])
		 | "\($name) is only \($got | ms) ms more than without, truth \($want | ms)"),
		# the action that holds it
		(select($k.action != null)
		 | (($aa | zero_if_missing($k.field)) - ($ba | zero_if_missing($k.field))) as $got
		 | $t[$k.field | rtrimstr("_ns")] as $want
		 | select(($got - $want | abs) > ($want | allowed))
		 | "\($k.action) has \($k.field) \($got | ms) ms, truth \($want | ms)"),
		# its class, summed over the level
		(select($k.class != null)
		 | ([($aa.waits // [])[] | select(.class == $k.class) | .ns] | add // 0) as $got
		 | ($t.blocked * $routers) as $want
		 | select(($got - $want | abs) > ($t.blocked | allowed) * $routers)
		 | "\($k.action) waits as \($k.class) \($got | ms) ms in all, truth \($want | ms)"),
		# what ran beside it
		(select($t.parallel > 0)
		 | ($a.parallel_ns - $b.parallel_ns) as $got
		 | select($got < $t.parallel * 0.95 - 200000)
		 | "parallel is \($got | ms) ms more than without, truth at least \($t.parallel | ms)")
	) | $where + .;

def wrong: $truth[0] | keys[] as $s | wrong_step($s);
