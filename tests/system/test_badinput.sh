#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
# Bad input and bad surroundings: the exit status of its kind, one line that
# names the object, the reason and what to do, nothing left behind and nothing
# of anyone else's touched.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
isolate "$@"

# Somebody else's things, which must survive everything below.
ip netns add foreign-keep
ip link add foreign0 type veth peer name foreign1
mkdir foreign.d && mount -t tmpfs foreign foreign.d && touch foreign.d/file /run/foreign
snapshot >"$T/before"

# expect STATUS NAME WORDS COMMAND…: COMMAND ends with STATUS, and its standard
# error is one line of ours that holds each of WORDS (extended regular
# expressions, separated by blanks; "." for a blank inside one).
expect() {
	local want=$1 name=$2 words=$3 rc lines w
	shift 3
	timeout 60 "$@" >"$T/out" 2>"$T/err" </dev/null
	rc=$?
	if [ "$rc" -ne "$want" ]; then
		fail "$name" "status $rc, not $want" "$(head -c 2000 "$T/err")"
		return
	fi
	lines=$(grep -c '^frtrace: ' "$T/err")
	if [ "$want" -ne 0 ] && [ "$lines" -ne 1 ]; then
		fail "$name" "$lines lines of error, not one" "$(head -c 2000 "$T/err")"
		return
	fi
	for w in $words; do
		grep -Eiq -- "$w" "$T/err" || {
			fail "$name" "nothing about '$w' in:" "$(head -c 2000 "$T/err")"
			return
		}
	done
	# what a command or a name holds must not reach the terminal as it is
	if LC_ALL=C grep -q '[^[:print:][:space:]]' "$T/err" && ! iconv -f UTF-8 -t UTF-8 "$T/err" >/dev/null 2>&1; then
		fail "$name" "unprintable bytes in the message"
		return
	fi
	if LC_ALL=C grep -q $'[\x01-\x08\x0e-\x1f\x7f]' "$T/err"; then
		fail "$name" "control bytes in the message"
		return
	fi
	if [ "$look" -eq 0 ] || w=$(left_since "$T/before"); then
		pass "$name"
	else
		fail "$name" "$w"
	fi
}
look=0 # 1: look after each case whether anything is left

# The main job, small.
small=("$FRTRACE" --quiet -o none --settle 0 --at 0 --routers 2 --warmup 1)

# Lists and numbers.
bad_list() {
	expect 2 "--at '$1'" "--at number|order|empty|range" "$FRTRACE" --quiet -o none "--at=$1"
}
for list in '' ' ' 4000,0 -1 abc 0,x 1000001 0,1000001 0,0 5,5 '0,' ',0' '0,,1' 1e3 0x10 '0 1' 0.5 +1 \
	99999999999999999999 $'0\e[31m'; do
	bad_list "$list"
done
for o in '--routers 0' '--routers -1' '--routers x' '--routers 1000001' '--warmup -1' '--streams 0' \
	'--streams 257' '--freq x' '--freq 1000000' '--repeat 0' '--step-timeout 0' '--settle -1' \
	'--mode fast' '--fill batch' '--probes some' '--predict 0' '--predict 5,4'; do
	# shellcheck disable=SC2086
	set -- $o
	expect 2 "$o" "$1" "$FRTRACE" --quiet -o none "$1=$2"
done
expect 2 "more streams than routers" "streams routers" \
	"$FRTRACE" --quiet -o none --routers 2 --streams 3
expect 2 "--destroy without --create" "destroy create" "$FRTRACE" --quiet -o none --destroy true
expect 2 "an argument" "nonsense help" "$FRTRACE" profile nonsense
expect 2 "an unknown subcommand" "nonsense help" "$FRTRACE" nonsense
for c in profile report clean doctor; do
	expect_usage=$("$FRTRACE" "$c" --no-such-option 2>&1 >/dev/null </dev/null)
	rc=$?
	if [ "$rc" -eq 2 ] && [[ $expect_usage == *no-such-option*--help* ]]; then
		pass "$c: an unknown option"
	else
		fail "$c: an unknown option" "status $rc" "$expect_usage"
	fi
done
out=$("$FRTRACE" --json --at x 2>&1 >/dev/null)
rc=$?
if [ "$rc" -eq 2 ] && [ "$(jq -r '.status, (.error | length > 10)' <<<"$out" 2>&1)" = $'2\ntrue' ]; then
	pass "errors are JSON with --json"
else
	fail "errors are JSON with --json" "status $rc: $out"
fi

check "usage: nothing left" left_since "$T/before"
look=1

# Not root; the program where anybody may run it.
cp "$FRTRACE" "$T/frtrace" && chmod 755 "$T/frtrace"
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups --)
expect 3 "not root" "root sudo" "${nobody[@]}" "$T/frtrace" --quiet -o none --at 0
expect 3 "not root, untraced" "root sudo" "${nobody[@]}" "$T/frtrace" --quiet -o none --untraced
expect 3 "not root: clean" "root sudo" "${nobody[@]}" "$T/frtrace" clean

# Privileges and kernel features that are missing.
deny=$BUILD/stimuli/deny
if [ -x "$deny" ]; then
	expect 3 "bpf(2) denied" "bpf permi|denied untraced" "$deny" bpf "${small[@]}"
	if grep -qi memlock "$T/err"; then
		fail "bpf(2) denied: no advice about memlock" "$(cat "$T/err")"
	else
		pass "bpf(2) denied: no advice about memlock"
	fi
	expect 0 "bpf(2) denied, untraced" "" "$deny" bpf "${small[@]}" --untraced
	expect 0 "perf_event_open(2) denied" "" "$deny" perf_event_open "${small[@]}" --json
	# one rung lower is never silent
	if grep -Eqi 'sampl|perf' <(cat "$T/err"; jq -r '.notes[]?, (.probes.missing[]? | tojson)' "$T/out"); then
		pass "perf_event_open(2) denied: said so"
	else
		fail "perf_event_open(2) denied: said so" "$(cat "$T/err")"
	fi
	expect 0 "doctor with bpf(2) denied" "" "$deny" bpf "$FRTRACE" doctor --json
	check "doctor with bpf(2) denied: says no" jq -e \
		'[.features[] | select(.state == "no" and (.reason | length > 0) and (.remedy | length > 0))] | length > 3' \
		"$T/out"
	"$deny" unshare "${small[@]}" --mode lean >"$T/out" 2>"$T/err" </dev/null
	rc=$?
	if { [ "$rc" -eq 1 ] || [ "$rc" -eq 3 ]; } && head -n 1 "$T/err" | grep -Eq 'unshare.*not permitted'; then
		pass "unshare(2) denied"
	else
		fail "unshare(2) denied" "status $rc" "$(cat "$T/err")"
	fi
else
	skip "denied system calls" "$deny is not built"
fi
expect 3 "no CAP_BPF and no CAP_SYS_ADMIN" "bpf|cap_" setpriv \
	--bounding-set=-sys_admin,-bpf,-perfmon --inh-caps=-sys_admin,-bpf,-perfmon -- "${small[@]}"
expect 3 "no CAP_SYS_ADMIN, untraced" "cap_sys_admin|root" setpriv \
	--bounding-set=-sys_admin --inh-caps=-sys_admin -- "${small[@]}" --untraced
if mount --bind /dev/null /sys/kernel/btf/vmlinux 2>/dev/null; then
	expect_nobtf=$(timeout 60 "${small[@]}" 2>&1 >/dev/null </dev/null)
	rc=$?
	umount /sys/kernel/btf/vmlinux
	if [ "$rc" -eq 3 ] && [[ $expect_nobtf == *BTF* && $expect_nobtf == *untraced* ]]; then
		pass "no BTF"
	else
		fail "no BTF" "status $rc" "$expect_nobtf"
	fi
else
	skip "no BTF" "/sys/kernel/btf/vmlinux cannot be covered"
fi

# ip and sysctl that are missing or misbehave.
expect 3 "ip missing" "no-such-ip not.found|no.such" "${small[@]}" --ip /nonexistent/no-such-ip
expect 3 "ip that is a directory" "$T" "${small[@]}" --ip "$T"
echo data >"$T/notexec" && chmod 644 "$T/notexec"
expect 3 "ip that is not executable" "notexec permission" "${small[@]}" --ip "$T/notexec"
expect 3 "sudo missing" "no-such-sudo" "${small[@]}" --sudo=no-such-sudo

# without NAME COMMAND…: in a mount namespace where there is no program NAME.
# shellcheck disable=SC2016
without() {
	unshare -m --propagation private -- "$BASH" -c '
		T=$1 name=$2; shift 2
		dirs="/usr/bin /usr/sbin /usr/local/bin /usr/local/sbin"
		mount -t tmpfs hide "$T/hide" && cd "$T/hide" || exit 99
		for d in $dirs; do
			mkdir -p "real$d" "bin$d" && mount --bind "$d" "real$d" || exit 99
			ln -s -t "bin$d" "$T/hide/real$d"/* || exit 99
			rm -f "bin$d/$name"
		done
		for d in $dirs; do
			"$T/hide/real/usr/bin/mount" --bind "bin$d" "$d" || exit 99
		done
		cd / && exec "$@"' - "$T" "$@"
}
mkdir "$T/hide"
in_path() {
	command -v "$1" | grep -q '^/usr/'
}
for tool in ip sysctl; do
	if in_path "$tool"; then
		without "$tool" "${small[@]}" >"$T/out" 2>"$T/err" </dev/null
		rc=$?
		if [ "$rc" -eq 3 ] && grep -q "$tool.*not found" "$T/err"; then
			pass "$tool not in PATH"
		else
			fail "$tool not in PATH" "status $rc" "$(cat "$T/err")"
		fi
	else
		skip "$tool not in PATH" "it is outside /usr and cannot be hidden"
	fi
done

real_ip=$(command -v ip)
# bad_ip NAME STEP SCRIPT: an ip that runs SCRIPT in the step whose arguments
# match STEP, and is the real one otherwise.
bad_ip() {
	cat >"$T/$1" <<-END
		#!/bin/sh
		case "\$*" in
		$2) $3 ;;
		esac
		exec $real_ip "\$@"
	END
	chmod 755 "$T/$1"
}
bad_ip ip-fails 'netns*exec*link*' 'echo "Cannot do this here" >&2; exit 7'
expect 1 "ip that fails" "ip-fails link.set.lo.up status.7 Cannot.do.this.here" \
	"${small[@]}" --ip "$T/ip-fails"
bad_ip ip-killed 'link*add*' 'kill -KILL $$'
expect 1 "ip that is killed" "ip-killed killed signal.9" "${small[@]}" --ip "$T/ip-killed"
bad_ip ip-hangs 'netns*add*' 'exec sleep 1000'
began=$SECONDS
expect 1 "ip that hangs" "ip-hangs 2.s step-timeout" "${small[@]}" --ip "$T/ip-hangs" --step-timeout 2
if [ $((SECONDS - began)) -lt 20 ]; then
	pass "ip that hangs: ended in time"
else
	fail "ip that hangs: ended in time" "$((SECONDS - began)) s"
fi
bad_ip ip-hangs-child 'netns*exec*' 'sleep 1000; exit 0'
expect 1 "ip that hangs in a child" "ip-hangs-child step-timeout" \
	"${small[@]}" --ip "$T/ip-hangs-child" --step-timeout 2
if pgrep -s 0 -f '^sleep 1000$' >/dev/null; then
	fail "ip that hangs in a child: the child is killed too" "$(pgrep -s 0 -af '^sleep 1000$')"
	pgrep -s 0 -f '^sleep 1000$' | xargs -r kill
else
	pass "ip that hangs in a child: the child is killed too"
fi
# shellcheck disable=SC2016
bad_ip ip-noise 'netns*add*' 'head -c 300000 /dev/urandom; head -c 300000 /dev/urandom >&2'
expect 0 "ip that prints nonsense and works" "" "${small[@]}" --ip "$T/ip-noise"
bad_ip ip-noise-fails 'netns*exec*' 'head -c 100000 /dev/urandom; printf "\033[31mred\007\n"; exit 3'
expect 1 "ip that prints nonsense and fails" "ip-noise-fails status.3" \
	"${small[@]}" --ip "$T/ip-noise-fails"
bad_ip ip-liar 'netns*add*' 'exit 0'
expect 1 "ip that says it worked and did nothing" "ip-liar|bar-" "${small[@]}" --ip "$T/ip-liar"
bad_ip ip-no-delete 'netns*del*' 'echo "will not" >&2; exit 1'
expect 1 "ip that does not delete" "ip-no-delete will.not" "${small[@]}" --ip "$T/ip-no-delete"

# A name that is taken, by somebody who came just before.
# shellcheck disable=SC2016
bad_ip ip-taken 'netns*add*' 'echo somebody >/run/netns/$3; mkdir -p '"$T"'/taken; touch '"$T"'/taken/$3'
timeout 60 "${small[@]}" --ip "$T/ip-taken" >"$T/out" 2>"$T/err" </dev/null
rc=$?
taken=$(ls "$T/taken")
if [ "$rc" -eq 1 ] && grep -q "exists" "$T/err" && [ "$(cat "/run/netns/$taken")" = somebody ]; then
	pass "a namespace's name is taken: said so, not touched"
else
	fail "a namespace's name is taken: said so, not touched" "status $rc" "$(cat "$T/err")" \
		"$(ls -l /run/netns)"
fi
rm -f "/run/netns/$taken"
# shellcheck disable=SC2016
bad_ip ip-taken-link 'link*add*' "$real_ip"' link add $3 type bridge || exit 9; echo $3 >>'"$T"'/links'
timeout 60 "${small[@]}" --ip "$T/ip-taken-link" >"$T/out" 2>"$T/err" </dev/null
rc=$?
link=$(head -n 1 "$T/links")
if [ "$rc" -eq 9 ] || ! ip link show "$link" >/dev/null 2>&1 && ! grep -q exists "$T/err"; then
	skip "a link's name is taken" "no bridge to take it with"
elif [ "$rc" -eq 1 ] && grep -q "exists" "$T/err" && ip -d link show "$link" | grep -q bridge; then
	pass "a link's name is taken: said so, not touched"
else
	fail "a link's name is taken: said so, not touched" "status $rc" "$(cat "$T/err")" \
		"$(ip link show)"
fi
ip link del "$link" 2>/dev/null
check "after the taken names: nothing left" left_since "$T/before"

# /run/netns that cannot be written.
# shellcheck disable=SC2016
unshare -m --propagation private -- "$BASH" -c '
	mount -t tmpfs -o ro none /run/netns && exec "$@"' - "${small[@]}" >"$T/out" 2>"$T/err" </dev/null
rc=$?
if [ "$rc" -eq 3 ] && [ "$(grep -c '^frtrace: ' "$T/err")" -eq 1 ] &&
	grep -Eq '/run/netns.*[Rr]ead-only' "$T/err"; then
	pass "/run/netns read-only"
else
	fail "/run/netns read-only" "status $rc" "$(cat "$T/err")"
fi

# More than the machine holds.
expect 3 "a million routers" "routers need limit" \
	"$FRTRACE" --quiet -o none --at 0,1000000
expect 3 "a million measured" "routers need limit" \
	"$FRTRACE" --quiet -o none --at 0 --routers 1000000

# Where the record goes.
cut_short='no end: .*cut short'
expect 1 "the record on /dev/full" "/dev/full -o" "$FRTRACE" --quiet -o /dev/full --at 0 --routers 1
expect 1 "the record in a missing directory" "no-such-dir/x.frt no.such -o" \
	"$FRTRACE" --quiet -o no-such-dir/x.frt --at 0 --routers 1
expect 1 "the record on a directory" "$T -o" "$FRTRACE" --quiet -o "$T" --at 0 --routers 1
echo precious >precious.frt
expect 1 "the record on a file that exists" "precious.frt exists" \
	"$FRTRACE" --quiet -o precious.frt --at 0 --routers 1
check "the record on a file that exists: not touched" [ "$(cat precious.frt)" = precious ]
mkdir full && mount -t tmpfs -o size=64k full full
snapshot >"$T/before"
expect 1 "disk full while recording" "full/x.frt space -o" \
	"$FRTRACE" --quiet -o full/x.frt --settle 0 --at 0 --routers 30
if [ -e full/x.frt ]; then
	"$FRTRACE" report full/x.frt >"$T/out" 2>&1
	check "disk full while recording: what there is can be read" grep -q "$cut_short" "$T/out"
else
	pass "disk full while recording: no record is left"
fi
umount full
snapshot >"$T/before"
# shellcheck disable=SC2317 # called through check
run_full() {
	"${small[@]}" --untraced "$@" >/dev/full 2>"$T/err" </dev/null
	[ $? -eq 1 ] && grep -qi 'space' "$T/err"
}
check "the report on /dev/full" run_full
check "the JSON report on /dev/full" run_full --json

# Records.
"$FRTRACE" --quiet --settle 0 -o good.frt --at 0 --routers 5 --warmup 1 >good.txt 2>"$T/err" </dev/null
rc=$?
check "a good record" [ "$rc" -eq 0 ]
check "a good record: mode 0600" [ "$(stat -c %a good.frt)" = 600 ]
"$FRTRACE" report good.frt >again.txt 2>"$T/err"
check "a good record: the report is the same again" diff good.txt again.txt
cp good.frt "$T/readable.frt" && chmod 644 "$T/readable.frt"
"${nobody[@]}" "$T/frtrace" report "$T/readable.frt" >nobody.txt 2>"$T/err"
check "a good record: the same without root" diff good.txt nobody.txt
look=0
bad_record() {
	expect 1 "record: $1" "$2" "$FRTRACE" report "$2"
}
: >empty.frt
bad_record "empty" empty.frt
bad_record "missing" missing.frt
mkdir dir.frt
bad_record "a directory" dir.frt
head -c 4096 /dev/urandom >random.frt
bad_record "random bytes" random.frt
head -c 4096 /dev/urandom | gzip >gzrandom.frt
bad_record "compressed random bytes" gzrandom.frt
echo "not a record" | gzip >text.frt
bad_record "a text" text.frt
echo '{"a":1}' | gzip >json.frt
bad_record "other JSON" json.frt
zcat good.frt | sed '1s/"frtrace": *[0-9]*/"frtrace":99/' | gzip >version.frt
bad_record "another version" version.frt
check "record: another version: says which" grep -q 99 "$T/err"
zcat good.frt | sed '3s/^{/{{/' | gzip >line3.frt
bad_record "a malformed line" line3.frt
check "record: a malformed line: says which" grep -q 'line 3\|:3:' "$T/err"
size=$(stat -c %s good.frt)
for cut in $((size - 1)) $((size / 2)) $((size / 10)); do
	head -c "$cut" good.frt >cut.frt
	expect 0 "record: truncated at $cut of $size bytes" "" "$FRTRACE" report cut.frt
	check "record: truncated at $cut of $size bytes: says so" grep -q "$cut_short" "$T/out"
done
for cut in 1 10 20; do
	head -c "$cut" good.frt >cut.frt
	expect 1 "record: the first $cut bytes" "cut.frt" "$FRTRACE" report cut.frt
done
expect 2 "report without a file" "FILE" "$FRTRACE" report
expect 2 "report of two files" "good.frt" "$FRTRACE" report good.frt good.frt
expect 2 "report: an unknown view" "view nonsense" "$FRTRACE" report good.frt --view nonsense

check "records: nothing left" left_since "$T/before"

# Nothing of the others' was touched.
check "foreign namespace" ip netns exec foreign-keep true
check "foreign link" ip link show foreign0
check "foreign mount" [ -e foreign.d/file ]
check "foreign file" [ -e /run/foreign ]
umount foreign.d
finish
