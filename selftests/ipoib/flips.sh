#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The mode changes a thousand times under traffic, on one node and on the other, so
# that they go through all mixes: TCP delivers every byte, and what was in use is
# given back. Half an hour: only if it is asked for.

. "$(dirname "$0")/conn.sh"

parts=10
flips=100
modes=(connected datagram)

flip() {
	local i

	for ((i = 0; i < flips; i++)); do
		mode node$((1 + i % 2)) "${modes[i / 2 % 2]}" && flow 10000 30 ||
			{ echo "after $i changes"; return 1; }
	done
}

# idle: what stays once the interfaces are down
idle() {
	datagram node1 node2 && down node1 node2 &&
	until_true 60 no_queue_pairs softib && verbs
}

# Address handles go a little later.
given_back() {
	idle > /dev/null && until_true 20 no_more "$1" verbs
	no_more "$1" verbs
}

connected node1 node2
no_loss -q -c 3 10.77.0.2
before=$(idle)
up node1 node2
plan $((4 + parts))
check "all is down" [ -n "$before" ]
streams 0.2
check "streams" flow 100000 20
for ((part = 0; part < parts; part++)); do
	check "modes change: $((part * flips + 1)) to $(((part + 1) * flips))" flip
done
check "not a byte was lost" whole
check "what was in use is given back" given_back "$before"
up node1 node2
finish
