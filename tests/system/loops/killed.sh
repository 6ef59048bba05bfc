#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The loop of 2014, killed from outside in the middle of the exec of its Nth router:
# killed.sh N. Prints the nanoseconds from its beginning to the end of that command.
n=$1
begin=${EPOCHREALTIME/[.,]/}
for ((i = 1; ; i++)); do
	ip netns add "k$i" || exit
	if [ "$i" -eq "$n" ]; then
		# shellcheck disable=SC2016 # its own parent and clock
		ip netns exec "k$i" bash -c 'kill -9 "$PPID"
			echo $(((${EPOCHREALTIME/[.,]/} - $1) * 1000))' bash "$begin"
	fi
	ip netns exec "k$i" ip link set lo up || exit
	ip netns exec "k$i" sysctl -q -w net.ipv4.ip_forward=1 || exit
	ip link add "ro-$i" type veth peer name "ri-$i" netns "k$i" || exit
done
