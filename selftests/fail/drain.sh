#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# An adapter that never tells that a connection is drained, as it does not take the
# work request whose completion would: IPoIB's incoming connections end nevertheless
# when the interface goes down.

. "$(dirname "$0")/../tap.sh"

fault=/sys/kernel/debug/softib/fail_verbs

# Both send: each has a connection to the other.
connected() {
	local node

	for node in node1 node2; do
		ip netns exec "$node" sh -c 'echo connected > /sys/class/net/ib0/mode' || return
	done
	goes && until_true 20 connections 2
}

goes() {
	until_true 60 ping -q -c 1 -W 2 -s 20000 10.77.0.2 &&
	until_true 60 ip netns exec node2 ping -q -c 1 -W 2 -s 20000 10.77.0.1
}

# connections N: so many has node 1's adapter, in both directions together.
connections() {
	local n

	n=$(rdma resource show qp link softib0/1 | grep -c 'type RC')
	echo "$n"
	[ "$n" -eq "$1" ]
}

# All that is posted fails meanwhile.
down() {
	local status

	echo 100 > "$fault/probability"
	ip link set ib0 down
	status=$?
	echo 0 > "$fault/probability"
	[ "$status" -eq 0 ] && dmesg | grep 'incoming connections never drained'
}

up() {
	ip link set ib0 up && goes
}

for setting in verbose=0 interval=1 times=-1; do
	echo "${setting#*=}" > "$fault/${setting%=*}" || exit
done
plan 4
check "a connection each way" connected
check "the interface goes down, and they do not drain" down
check "none is left" until_true 20 connections 0
check "then there are some again" up
finish
