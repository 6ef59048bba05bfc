#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# One router of 2014, for --create: mk.sh NAME
ip netns add "mk-$1" || exit
ip netns exec "mk-$1" ip link set lo up || exit
ip netns exec "mk-$1" sysctl -q -w net.ipv4.ip_forward=1 || exit
ip link add "ro-$1" type veth peer name "ri-$1" netns "mk-$1" || exit
ip link add "go-$1" type veth peer name "gi-$1" netns "mk-$1" || exit
