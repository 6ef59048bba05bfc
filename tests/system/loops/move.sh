#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A veth is made here and one end of it moved afterwards, N times: move.sh N. Prints
# the nanoseconds its loop took.
i=0
begin=$(date +%s%N)
while [ "$i" -lt "$1" ]; do
	ip netns add "m$i"
	ip link add "mo$i" type veth peer name "mi$i"
	ip link set "mi$i" netns "m$i"
	i=$((i + 1))
done
echo $(($(date +%s%N) - begin))
