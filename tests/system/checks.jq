# SPDX-License-Identifier: BSD-2-Clause
# What the system tests ask of a report's JSON.

def step($name): .levels[0].steps[] | select(.step == $name);
def action($name): .actions[] | select(.action == $name);
def kinds: [.user_ns, .kernel_ns, .blocked_ns, .runqueue_ns];
def abs: if . < 0 then -. else . end;

# The four kinds and what is unaccounted are the wall, to a rounded ns each.
def sum_rule:
	.wall_ns.mean as $wall
	| if (kinds | any(. == null)) or .unaccounted_ns == null then "a kind is unknown"
	  elif ((kinds | add) + .unaccounted_ns - $wall | abs) > 5
	  then "kinds \(kinds) + unaccounted \(.unaccounted_ns) are not the wall \($wall)"
	  elif .unaccounted_ns > $wall / 100 or .unaccounted_ns < 0
	  then "unaccounted \(.unaccounted_ns) of \($wall)"
	  else empty end;

# Actions are parts of the step's calls; frames partition an action's kernel time.
def part_rules:
	. as $s
	| (["kernel_ns", "blocked_ns", "runqueue_ns"][] as $k
	   | ([.actions[] | .[$k]] | add // 0) as $sum
	   | select($sum > $s[$k] * 1.001 + 50)
	   | "actions have \($k) \($sum) of the step's \($s[$k])"),
	  (.actions[] | select((.frames // []) | length > 0)
	   | ([.frames[].self_ns] | add) as $sum
	   # each a mean, rounded to a ns
	   | select(($sum - .kernel_ns | abs) > (.frames | length) + 1)
	   | "\(.action): frames \($sum) of kernel \(.kernel_ns)"),
	  # code outside calls is no call: it has time, but nothing to count; and a
	  # sample may fall into a call that was too short to be told apart
	  (.actions[] | select(.n < 1 and .action != "user code" and (kinds | add) > 0)
	   | "\(.action): n \(.n)"),
	  (.user_ns as $user | ([.actions[].user_ns] | add // 0) as $sum
	   | select(($sum - $user | abs) > 50 + $user / 1000)
	   | "actions have user \($sum) of the step's \($user)");

# The row of the router is its steps and the creator's time between them.
def router_rule:
	([.steps[] | select(.creation) | .wall_ns.mean] | add) as $steps
	| (.steps[] | select(.step == "router") | .wall_ns.mean) as $router
	| select(($steps + .gap_ns.mean - $router | abs) > 5)
	| "router \($router) is not steps \($steps) + gap \(.gap_ns.mean)";

# One line for each rule that does not hold.
def broken_rules:
	(if .schema != "frtrace-report/1" then "schema \(.schema)" else empty end),
	(.loss | to_entries[] | select(.value != 0) | "lost: \(.key) \(.value)"),
	(if .probes.backend == "untraced" then "nothing was traced" else empty end),
	(.levels[]
	 | "level \(.level): " as $at
	 | (router_rule | $at + .),
	   (.steps[] | select(.step != "router")
	    | "\($at)\(.step): " as $where | (sum_rule, part_rules) | $where + .));

# Student's t, two-sided, at the confidences the tests use.
def t95($df): 1.95996 + 2.3723 / $df + 2.82 / ($df * $df);
def t999($df): 3.29053 + 9.73 / $df + 27 / ($df * $df);
