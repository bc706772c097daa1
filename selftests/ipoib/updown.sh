#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The interface goes down and up, and the driver away and back, while packets
# flow in both directions.

. "$(dirname "$0")/lib.sh"

tracing=/sys/kernel/debug/tracing

# Programs, not functions, lest quiet() kill no more than a shell.
traffic() {
	local often

	often=0.$(printf %02d $((100 / $(fewer 100))))
	ping -q -i "$often" -s 1000 10.77.0.2 &
	ip netns exec node2 ping -q -i "$often" -s 1000 10.77.0.1 &
	ip netns exec node2 ping -q -i "$often" -s 5000 fd77::1 &
	ping -q -i "$often" ff02::1%ib0 &
} > /dev/null 2>&1

quiet() {
	local jobs

	jobs=$(jobs -p)
	# shellcheck disable=SC2086 # one argument a word
	[ -z "$jobs" ] || kill $jobs
	wait
} 2> /dev/null

# stack NODE OPTION...: counts of its protocols, since they were last asked for
stack() {
	NSTAT_HISTORY=/tmp/nstat.$1 on "$1" nstat "${@:2}"
}

# What the driver and the stacks did meanwhile tells why it is not so.
alive() {
	local node

	until_true 20 carrier && until_true 20 ping -c 1 -W 1 10.77.0.2 &&
	until_true 20 ping -c 1 -W 1 fd77::2 || return
	for node in node1 node2; do
		stack $node -n
	done
	! ours || : > $tracing/trace
	steady 10.77.0.2 fd77::2 && return
	! ours || grep ' ipoib_' $tracing/trace
	for node in node1 node2; do
		stack $node
		on $node ip -s neigh
	done
	grep -H . /sys/class/infiniband/softib[01]/ports/1/counters/*
	return 1
}

down_up() {
	local i

	for i in $(seq "$(fewer 15)"); do
		ip link set ib0 down && sleep 0.0$((i % 7)) &&
		address_up node1 1 && sleep 0.0$((i % 5)) || return
	done
}

# The other end of the cable, so to say.
down_up_peer() {
	local i

	for i in $(seq "$(fewer 10)"); do
		ip -n node2 link set ib0 down && address_up node2 2 &&
		sleep 0.1 || return
	done
}

reload() {
	local i

	for i in $(seq "$(fewer 5)"); do
		rmmod ib_ipoib && modprobe ib_ipoib && traced && give_all || return
		# Under way, or joining, or before that.
		sleep 0.$((i % 4))
	done
}

traced() {
	! ours || echo 1 > $tracing/events/ipoib/enable
}

# What flows meanwhile ends before packets are counted: on a slow machine it is more than
# the sockets have room for that the stack answers echo requests by.
plan 6
traced
traffic
check "down and up under traffic" down_up
quiet
check "traffic goes on" alive
traffic
check "down and up of the peer" down_up_peer
quiet
check "traffic goes on" alive
traffic
check "the driver away and back under traffic" reload
quiet
check "traffic goes on" alive
finish
