#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Processes that live a millisecond, N of them: true.sh N. Prints the nanoseconds
# its loop took.
i=0
begin=$(date +%s%N)
while [ "$i" -lt "$1" ]; do
	/bin/true
	i=$((i + 1))
done
echo $(($(date +%s%N) - begin))
