# SPDX-License-Identifier: BSD-2-Clause
# `frtrace compare --json` of rates, as one table: the rows that all columns have.
def shown: if . == null then "-" else . * 100 | round / 100 | tostring end;
def line: "| " + join(" | ") + " |";
.columns as $c
| ([.rows[] | select(.section == "rate" and (.values | all(. != null)))] | unique_by(.key)
	| sort_by(.key | ltrimstr("rate/") | split("-")[0] | tonumber)) as $rows
| (["existing"] + [$c[].label | sub(" script sampled$"; "")] | line),
  (["---"] + [$c[] | "---:"] | line),
  ($rows[] | [.key | ltrimstr("rate/") | sub("-"; "–")] + [.values[] | shown] | line),
  (["last ÷ first"] + [range($c | length) as $i | $rows[-1].values[$i] / $rows[0].values[$i] | shown] | line)
