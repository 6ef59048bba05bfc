# SPDX-License-Identifier: BSD-2-Clause
# `frtrace compare --json` of two profiles, in a few lines: which steps differ at the lowest
# and the highest level, and the actions and functions that make most of it.
def ms: . / 1e6 * 1000 | round / 1000 | tostring;
def signed: (if . >= 0 then "+" else "" end) + ms;
def percent: . * 100 | round | tostring + " %";
# step/NAME@LEVEL, and behind it what else the key says
def name: .key | split("/")[1] | split("@")[0];
def level: .key | split("@")[1] | split("/")[0] | tonumber;
def rest: .key | sub("^[^@]*@[0-9]+/"; "") | sub("#[A-Z]+$"; "") | sub("/(?<kind>user|kernel|blocked|runqueue)$"; " \(.kind)");
def parts($rows; $section; $step; $at; $n):
	[$rows[] | select(.section == $section and name == $step and level == $at)]
	| sort_by(-(.difference | fabs))[:$n]
	| select(length > 0)
	| map("\(rest) \(.difference | signed) (\(.share | percent))") | join(", ");
.rows as $rows
| [$rows[] | select(.section == "step")] as $steps
| [$steps[] | level] as $levels
| ([$levels | min, max] | unique[]) as $l
| ($steps[] | select(level == $l and .values[0] != null and .values[1] != null)) as $s
| ($s | name) as $step
| "\($step) at \($l): \($s.values[0] | ms) → \($s.values[1] | ms) ms, × \($s.ratio * 1000 | round / 1000) \($s.verdict)",
  (select($s.verdict == "slower" or $s.verdict == "faster")
   | (parts($rows; "action"; $step; $l; 4) | "    by actions: " + .),
     (parts($rows; "function"; $step; $l; 6) | "    by functions: " + .))
