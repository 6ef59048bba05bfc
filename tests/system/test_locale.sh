#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
# A machine without any UTF-8 locale: everything that prints a table ends (up to
# 2.38 libsmartcols never returns from text that its locale cannot read), and the
# tables are ASCII.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
isolate "$@"
need_tools python3

python3 "$top/tests/system/make_record.py" "$T/run.frt" || skip_all "no record"
places=$(find /usr/lib/locale /usr/share/i18n/locales -maxdepth 0 2>/dev/null)

# utf8_here: is there a UTF-8 locale? As the C library says.
utf8_here() {
	python3 -c '
import locale, sys
for n in ("C.UTF-8", "C.utf8", "en_US.UTF-8"):
	try:
		locale.setlocale(locale.LC_CTYPE, n)
		sys.exit(0)
	except locale.Error:
		pass
sys.exit(1)'
}

# rows: the tables in what is read; the prose around them stays UTF-8.
rows() {
	awk '/^ *(STEP|SHARE|CLASS|EXISTING|FEATURE) / { table = 1 } /^$/ { table = 0 } table'
}

# tables NAME COMMAND…: ends, and prints tables, which are ASCII where they must be.
tables() {
	local name=$1 rc
	shift
	timeout 20 "$@" >"$T/out" 2>"$T/err" </dev/null
	rc=$?
	rows <"$T/out" >"$T/rows"
	if [ "$rc" -eq 124 ]; then
		fail "$name" "did not end"
	elif [ "$rc" -ne 0 ]; then
		fail "$name" "status $rc" "$(cat "$T/err")"
	elif [ "$(wc -l <"$T/rows")" -lt 5 ]; then
		fail "$name" "no table" "$(cat "$T/out")"
	elif [ "$ascii" -eq 1 ] && LC_ALL=C grep -q '[^ -~]' "$T/rows"; then
		fail "$name" "not ASCII" "$(LC_ALL=C grep '[^ -~]' "$T/rows" | head -n 5)"
	else
		pass "$name"
	fi
}

# look LC_ALL WHERE
look() {
	local name="$2, LC_ALL=$1"
	export LC_ALL=$1
	tables "report ($name)" "$FRTRACE" report "$T/run.frt"
	tables "doctor ($name)" "$FRTRACE" doctor
	tables "compare tables ($name)" "$FRTRACE" compare "$top"/data/*.csv
	tables "compare records ($name)" "$FRTRACE" compare "$T/run.frt" "$T/run.frt"
	unset LC_ALL
}

ascii=0
look C.UTF-8 "locales as they are"
look C "locales as they are"
if utf8_here; then
	check "with a locale the tables have their own signs" grep -q '±' <("$FRTRACE" report "$T/run.frt" | rows)
else
	skip "with a locale" "this machine has none"
fi

for p in $places; do
	mount -t tmpfs none "$p" || skip_all "no tmpfs for $p"
done
if utf8_here; then
	skip "without a locale" "the C library brings one of its own"
else
	ascii=1
	look C.UTF-8 "no locale"
	look C "no locale"
fi
for p in $places; do
	umount "$p"
done
finish
