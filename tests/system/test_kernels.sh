#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What scripts/kernels makes of comparisons, and what it refuses; its guests are too long for a test.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
need_tools jq
[ -x "$FRTRACE" ] || skip_all "$FRTRACE is not built"
T=$(mktemp -d) || exit 1
trap 'rm -rf "$T"' EXIT
cd "$top" || exit 1

# Rates: the rows that all have, in order, and what is left of the first at the last.
printf 'from,to,new\n0,250,100\n2000,2250,50\n3750,4000,25\n' >"$T/new.csv"
"$FRTRACE" compare --json data/rates-2014.csv "$T/new.csv" 2>"$T/err" |
	jq -rf scripts/lib/kernels-rates.jq >"$T/rates"
cat >"$T/want" <<'EOT'
| existing | 3.5.0-44+ | 3.12.9 | 3.13.0 | new |
| --- | ---: | ---: | ---: | ---: |
| 0–250 | 7.58 | 5.56 | 2.55 | 100 |
| 2000–2250 | 4.55 | 3.47 | 2.21 | 50 |
| 3750–4000 | 3.01 | 2.48 | 1.87 | 25 |
| last ÷ first | 0.4 | 0.45 | 0.73 | 0.25 |
EOT
check "the table of rates" diff "$T/want" "$T/rates"

# Profiles: parts of the step and level they belong to, the largest first; none where
# no difference is certain.
cat >"$T/profiles" <<'EOT'
{"rows": [
{"key": "step/exec@0", "section": "step", "values": [2e6, 2e6], "ratio": 1, "verdict": "same"},
{"key": "step/exec@4000", "section": "step", "values": [2e7, 3e7], "ratio": 1.5, "verdict": "slower"},
{"key": "step/exec@500", "section": "step", "values": [1e7, 2e7], "ratio": 2, "verdict": "slower"},
{"key": "action/exec@500/umount2(/sys)/kernel#B", "section": "action", "difference": 9e6, "share": 0.9},
{"key": "action/exec@4000/exit/kernel#B", "section": "action", "difference": -1e6, "share": -0.1},
{"key": "action/exec@4000/umount2(/sys)/blocked#B", "section": "action", "difference": 8e6, "share": 0.8},
{"key": "function/exec@4000/copy_tree#B", "section": "function", "difference": 3e6, "share": 0.3}]}
EOT
jq -rf scripts/lib/kernels-why.jq "$T/profiles" >"$T/why"
cat >"$T/want" <<'EOT'
exec at 0: 2 → 2 ms, × 1 same
exec at 4000: 20 → 30 ms, × 1.5 slower
    by actions: umount2(/sys) blocked +8 (80 %), exit kernel -1 (-10 %)
    by functions: copy_tree +3 (30 %)
EOT
check "what makes the difference" diff "$T/want" "$T/why"

# refuses STATUS ARGS…
refuses() {
	local want=$1 rc=0
	shift
	scripts/kernels "$@" >"$T/out" 2>"$T/err" || rc=$?
	check "kernels $*: status $want" test "$rc" -eq "$want" || cat "$T/err"
}
refuses 2 --nonsense
refuses 2 2.4
refuses 2 --limit
refuses 2 --limit 0
refuses 0 --help
refuses 0 --list
finish
