#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 240
# frtrace export from records alone, without root: each format read by a reader that is
# not ours, sums against the report's, files replaced only when complete, bad input; the
# pages in a real browser.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"

[ -x "$FRTRACE" ] || skip_all "$FRTRACE is not built"
need_tools python3 jq protoc gzip
python3 -c 'import urllib.request, html.parser, xml.etree.ElementTree' 2>/dev/null ||
	skip_all "python3 lacks its standard library"
T=$(mktemp -d "${TMPDIR:-/tmp}/frtrace-test.XXXXXX") || exit 1
trap 'cd /; rm -rf "$T"' EXIT
cd "$T" || exit 1
make_record=$top/tests/system/make_record.py
readers=$top/tests/system/readers.py

"$make_record" run.frt --functions --hostile || exit 1
"$make_record" bare.frt --no-stacks
"$make_record" cut.frt --cut
"$make_record" untraced.frt --untraced
: >empty.frt
head -c 300 run.frt >half.frt
head -c 4000 /dev/urandom >noise.frt

# same NAME GOT WANT
same() {
	if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "got $2, wanted $3"; fi
}

# Half-written files beside FILE.
left_beside() {
	compgen -G "$1.*" | grep -v '\.\(frt\|html\)$'
}

export_to() {
	local out=$1
	shift
	"$FRTRACE" export "$@" -o "$out"
}

# Every format, read by others' rules; its total is the report's, to the ns.
"$FRTRACE" report --json run.frt >report.json || fail "the report of the record"
total() {
	jq --argjson at "$1" --arg kind "$2" '
		[.levels[] | select(.level == $at and .again == false) | .steps[]
		 | select(.step == "add" or .step == "exec")
		 | (if $kind != "off" then .user_ns + .kernel_ns else 0 end
		    + if $kind != "cpu" then .blocked_ns + .runqueue_ns else 0 end) * .n] | add | round' report.json
}
for kind in cpu off wall; do
	for at in 0 4000; do
		export_to "x.folded" run.frt -f folded --at $at --kind $kind
		got=$("$readers" folded x.folded) || got="unreadable: $got"
		want=$(total $at $kind)
		same "folded, $kind at $at: the report's total" "$got" "$want"
	done
done
all() {
	jq '[.levels[] | select(.again == false) | .steps[] | select(.step != "router")
	     | (.user_ns + .kernel_ns + .blocked_ns + .runqueue_ns) * .n] | add | round' report.json
}
for f in speedscope:speedscope pprof:pprof; do
	export_to "x.${f%%:*}" run.frt -f "${f%%:*}"
	args=("x.${f%%:*}")
	[ "${f##*:}" = pprof ] && args+=("$top/src/report")
	got=$("$readers" "${f##*:}" "${args[@]}") || got="unreadable: $got"
	same "${f%%:*}: the report's total" "$got" "$(all)"
done
read_as() {
	local name=$1 reader=$2 file=$3
	shift 3
	export_to "$file" "$@" || {
		fail "$name" "not exported"
		return
	}
	check "$name" "$readers" "$reader" "$file"
}
read_as "svg of all levels" svg a.svg run.frt -f svg
read_as "svg of a step" svg b.svg run.frt --step exec --at 4000 -f svg
read_as "svg of the difference" svg c.svg run.frt --diff 0,4000 -f svg
read_as "svg of waiting, as icicle" svg d.svg run.frt --kind off --icicle -f svg
read_as "svg of functions" svg e.svg run.frt --kind functions -f svg
read_as "svg of rates" svg f.svg "$top/data/rates-2014.csv" "$top/data/streams-2014.csv" --kind rate -f svg
read_as "html" html a.html run.frt
read_as "html without stacks" html b.html bare.frt
read_as "html of an untraced record" html c.html untraced.frt
read_as "html of a record that was cut short" html d.html cut.frt
read_as "timeline" trace a.trace.json run.frt
read_as "csv" csv a.csv run.frt -f csv
read_as "csv of steps" csv b.csv run.frt -f csv-steps
read_as "csv of rates" csv c.csv "$top/data/rates-2014.csv" -f csv --kind rate
# A pipe cannot be wound back, and - is standard input: not a byte is lost.
rates=$top/data/rates-2014.csv
piped() {
	cat "$1"
}
"$FRTRACE" export "$rates" -f csv --kind rate >from-file.csv 2>err
same "csv of rates from a pipe" "$(piped "$rates" | "$FRTRACE" export - -f csv --kind rate 2>&1)" \
	"$(cat from-file.csv)"
same "csv of rates from /dev/fd" \
	"$("$FRTRACE" export <(cat "$rates") -f csv --kind rate 2>&1)" "$(cat from-file.csv)"
"$FRTRACE" export run.frt -f csv >from-file.csv 2>err
same "csv of a record from a pipe" "$(piped run.frt | "$FRTRACE" export - -f csv 2>&1)" "$(cat from-file.csv)"
compared() {
	"$FRTRACE" compare --json "$@" | jq -c '.rows | if length > 0 then . else error end'
}
same "compare a table from a pipe" "$(piped "$rates" | compared -)" "$(compared "$rates")"
export_to diff.folded run.frt -f folded --diff 0,4000
check "folded difference" "$readers" folded diff.folded 2
"$readers" trace a.trace.json >kinds
for kind in router step task action wait function; do
	check "the timeline has a $kind" grep "$kind=[1-9]" kinds
done

# No name of the record leaves its place.
for f in a.svg b.svg a.html x.speedscope a.trace.json; do
	if grep -q '<script>alert' "$f"; then
		fail "$f: a frame's text is text"
	else
		pass "$f: a frame's text is text"
	fi
done
same "no control byte gets through" "$(LC_ALL=C grep -l $'\x1b' a.svg a.html a.csv x.folded)" ""

# Determined by the record alone.
for f in folded svg html speedscope pprof trace csv csv-steps; do
	export_to one run.frt -f $f
	LC_ALL=C TZ=Asia/Tokyo export_to two run.frt -f $f
	if cmp -s one two && "$FRTRACE" export run.frt -f $f -o - | cmp -s - one; then
		pass "$f: the same bytes each time"
	else
		fail "$f: the same bytes each time"
	fi
done

# refuse STATUS NAME WORD COMMAND…: one line of ours that names WORD, and the file that
# stood there is whole.
echo keep >kept
refuse() {
	local want=$1 name=$2 word=$3 rc
	shift 3
	timeout 60 "$@" >out 2>err </dev/null
	rc=$?
	if [ "$rc" -ne "$want" ]; then
		fail "$name" "status $rc, not $want" "$(head -c 500 err)"
	elif [ "$(grep -c '^frtrace: ' err)" -ne 1 ] || [ "$(wc -l <err)" -ne 1 ]; then
		fail "$name" "not one line:" "$(head -c 500 err)"
	elif ! grep -qi -- "$word" err; then
		fail "$name" "nothing about '$word':" "$(head -c 500 err)"
	elif [ "$(cat kept)" != keep ] || left_beside kept >left; then
		fail "$name" "the file that stood there is not what it was" "$(cat left)"
	else
		pass "$name"
	fi
}
x=("$FRTRACE" export)
refuse 2 "no record" "FILE.frt" "${x[@]}" -f svg
refuse 2 "no format" "format" "${x[@]}" run.frt
refuse 2 "an unknown format" "folded, svg, html" "${x[@]}" run.frt -f flame -o kept
refuse 2 "an unknown step" "add, exec" "${x[@]}" run.frt -f svg --step exce -o kept
refuse 2 "a level that was not measured" "0, 4000" "${x[@]}" run.frt -f svg --at 17 -o kept
refuse 2 "a level that is no number" "--at" "${x[@]}" run.frt -f svg --at 4k -o kept
refuse 2 "--diff with one level" "two different" "${x[@]}" run.frt -f svg --diff 4000 -o kept
refuse 2 "--diff with three" "numbers" "${x[@]}" run.frt -f svg --diff 0,1,2 -o kept
refuse 2 "--diff with the same twice" "two different" "${x[@]}" run.frt -f svg --diff 0,0 -o kept
refuse 2 "--diff of a level not measured" "17" "${x[@]}" run.frt -f folded --diff 0,17 -o kept
refuse 2 "--diff where it has no meaning" "pprof" "${x[@]}" run.frt -f pprof --diff 0,4000 -o kept
refuse 2 "an unknown kind" "gpu" "${x[@]}" run.frt -f svg --kind gpu -o kept
refuse 2 "a kind that a format has not" "rate" "${x[@]}" run.frt -f pprof --kind rate -o kept
refuse 2 "two records" "one record" "${x[@]}" run.frt run.frt -f svg -o kept
refuse 1 "a record without stacks" "untraced" "${x[@]}" untraced.frt -f svg -o kept
refuse 1 "a record without functions" "probed" "${x[@]}" bare.frt -f svg --kind functions -o kept
refuse 1 "a record without rates" "rate" "${x[@]}" untraced.frt -f csv --kind rate -o kept
refuse 1 "an empty file" "empty.frt" "${x[@]}" empty.frt -f svg -o kept
refuse 1 "noise" "noise.frt" "${x[@]}" noise.frt -f html -o kept
refuse 1 "no such file" "No such file" "${x[@]}" none.frt -f html -o kept
refuse 1 "a folder as target" "directory" "${x[@]}" run.frt -f html -o .
refuse 1 "a target in no folder" "No such file" "${x[@]}" run.frt -f html -o none/x.html
refuse 1 "a full device" "space" "${x[@]}" run.frt -f html -o /dev/full
if [ "$(id -u)" -ne 0 ]; then
	mkdir -m 555 shut
	refuse 1 "a folder that cannot be written" "denied" "${x[@]}" run.frt -f html -o shut/x.html
fi
if [ "$(id -u)" -eq 0 ]; then
	mkdir small
	# shellcheck disable=SC2016
	unshare -m --propagation private sh -c '
		mount -t tmpfs -o size=16k small small && echo keep >small/kept || exit
		"$1" export run.frt -f html -o small/kept 2>err
		echo "$? $(ls -A small) $(head -c 20 small/kept) $(grep -c "No space left" err)"' sh "$FRTRACE" >out
	same "a full disk: what stood there stays" "$(cat out)" "1 kept keep 1"
fi
timeout 60 "$FRTRACE" export half.frt -f html -o half.html 2>err
rc=$?
same "half a record: one line" "$((rc > 1)) $(grep -c '^frtrace: ' err)" "0 1"

# A closed pipe is quiet.
("$FRTRACE" export run.frt -f html -o - 2>err || echo "$?" >rc) | head -c 100 >/dev/null
same "a closed pipe is quiet" "$(cat err rc 2>/dev/null)" ""

# Killed in the middle, and on a file system that fills up, nothing half written stays.
cp a.html whole.html
cp a.html target.html
"$make_record" large.frt --levels 0 --stacks 20000 --routers 1
for delay in 0.02 0.1 0.3; do
	{ timeout -s KILL "$delay" "$FRTRACE" export large.frt -f folded -o target.html; } 2>/dev/null
	same "killed after $delay s: nothing is left" "$(left_beside target.html)" ""
	if ! cmp -s target.html whole.html; then
		# it was fast enough: then it is complete
		check "killed after $delay s: whole or not there" "$readers" folded target.html
		cp whole.html target.html
	else
		pass "killed after $delay s: whole or not there"
	fi
done
ln -s whole.html link.html
export_to link.html run.frt -f csv
same "a link stays a link" "$(readlink link.html)" whole.html
check "and what it names is replaced" "$readers" csv whole.html
(umask 027 && export_to mode.csv run.frt -f csv)
same "the file's mode follows the umask" "$(stat -c %a mode.csv)" 640

# The size of the page with many stacks in it.
export_to large.html large.frt -f html
size=$(stat -c %s large.html)
check "html stays below 2 MiB ($size bytes)" [ "$size" -lt $((2 << 20)) ]

# pprof's own program, where it is.
if command -v go >/dev/null; then
	export HOME=$T PPROF_TMPDIR=$T
	export_to at0.pb.gz run.frt --at 0
	export_to at4000.pb.gz run.frt --at 4000
	go tool pprof -top -sample_index=cpu -diff_base at0.pb.gz at4000.pb.gz >top 2>&1
	check "pprof shows what grew between two levels" grep copy_tree top
	go tool pprof -top -sample_index=off -tagfocus existing=4003 -tagfocus step=exec x.pprof >top 2>&1
	check "pprof selects by label" grep -E 'rcu|other' top
else
	skip "pprof's own program" "no go"
fi

# In a browser.
why=$(python3 -c 'import sys; sys.path.insert(0, sys.argv[1]); import webdriver
print(webdriver.missing() or "")' "$top/tests/system/browser")
samples=$BUILD/tests/test_export
if [ -n "$why" ]; then
	skip "the pages in a browser" "$why"
elif [ ! -x "$samples" ]; then
	skip "the pages in a browser" "$samples is not built (make unit)"
else
	mkdir pages shots
	args=(pages shots)
	version=1.25.0
	if ! command -v npm >/dev/null; then
		skip "speedscope loads the file" "no npm"
	elif timeout 60 npm install --prefix "$T/npm" --no-save --ignore-scripts --no-audit --no-fund \
		--fetch-retries=0 --fetch-timeout=20000 "speedscope@$version" >npm.log 2>&1; then
		args+=("$T/npm/node_modules/speedscope")
	else
		skip "speedscope loads the file" "speedscope $version could not be fetched: $(tail -n 1 npm.log)"
	fi
	if (cd "$top" && "$samples" --write "$T/pages"); then
		python3 "$top/tests/system/browser/check.py" "${args[@]}" >browser.out 2>&1
		rc=$?
		cat browser.out
		n_pass=$((n_pass + $(grep -c '^ok ' browser.out)))
		n_fail=$((n_fail + $(grep -c '^not ok ' browser.out)))
		if [ $rc -gt 0 ] && ! grep -q '^not ok ' browser.out; then
			fail "the browser's checks end" "status $rc" "$(tail -n 5 browser.out)"
		fi
		[ -z "${FRT_SHOTS:-}" ] || { mkdir -p "$FRT_SHOTS" && cp shots/* "$FRT_SHOTS"; }
	else
		fail "the sample pages are written"
	fi
fi
finish
