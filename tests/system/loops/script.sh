#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The fake routers of 2014, N of them: script.sh N [PREFIX…]. Prints the
# nanoseconds its loop took.
n=$1
shift
i=0
begin=$(date +%s%N)
while [ "$i" -lt "$n" ]; do
	id=$(cat /proc/sys/kernel/random/uuid)
	key=$(echo "$id" | cut -c 1-11)
	"$@" ip netns add "bar-$id" || exit
	"$@" ip netns exec "bar-$id" ip link set lo up || exit
	"$@" ip netns exec "bar-$id" sysctl -q -w net.ipv4.ip_forward=1 || exit
	"$@" ip link add "ro-$key" type veth peer name "ri-$key" netns "bar-$id" || exit
	"$@" ip link add "go-$key" type veth peer name "gi-$key" netns "bar-$id" || exit
	i=$((i + 1))
done
echo $(($(date +%s%N) - begin))
