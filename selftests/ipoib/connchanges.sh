#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Connections when all changes: modes, interfaces, children, the subnet manager. The
# other node may be in another machine, with another driver.

. "$(dirname "$0")/conn.sh"

blue='Blue=0x0001, ipoib, defmember=full : ALL=full;'

settings() {
	ip -br address show dev ib0
	ip route show dev ib0
	ip -6 route show dev ib0
	lladdr node1
	lladdr node2
}

# The kernel's driver now and then sends nothing for half a minute then, so with it
# there are fewer changes.
flips() {
	local before i n node patience=30

	n=$(fewer 4)
	ours && [ "$VM_MACHINES" -eq 1 ] || { patience=90; n=3; }
	before=$(settings)
	streams 0.02 && flow 100000 $patience || return
	for ((i = 0; i < n; i++)); do
		node=node$((1 + i % 2))
		datagram $node && flow 10000 $patience &&
		connected $node && flow 100000 $patience || return
	done
	whole && same "$(settings)" "$before"
}

# Both nodes have something to send before there is any connection. The kernel's
# driver drops what does not fit its short queue until then.
at_once() {
	local lost=0 first

	ours || lost=5
	down node1 node2 && up node1 node2 || return
	on node2 ping -q -c 20 -i 0.1 -W 10 10.77.0.1 > /tmp/second &
	ping -q -c 20 -i 0.1 -W 10 10.77.0.2 > /tmp/first
	wait $!
	for first in /tmp/first /tmp/second; do
		cat $first
		[ "$(sed -n 's/.* \([0-9]*\) received.*/\1/p' $first)" -ge $((20 - lost)) ] ||
			return
	done
	large 10.77.0.2
}

# The other end of all connections is gone.
restarts() {
	local begin=$SECONDS took

	down node2 && up node2 && answers || return
	took=$((SECONDS - begin))
	echo "$took s"
	[ $took -le $((20 * ${tap_slow:-1})) ] && large 10.77.0.2 fd77::2
}

# --- a child ---------------------------------------------------------------

children() {
	local n

	partitions "$blue"
	datagram node1 node2
	for n in 1 2; do
		on node$n ip -batch - <<-EOF || return
			link add link ib0 name blue type ipoib pkey 0x8001 mode connected
			link set blue mtu $most
			address add 10.81.0.$n/24 dev blue
			address add fd81::$n/64 dev blue nodad
			link set blue up
		EOF
	done
	ip -d -j link show blue | grep -F '"mode":"connected"' &&
	until_true 30 ping -q -c 1 -W 1 10.81.0.2 &&
	until_true 30 ping -q -c 1 -W 1 fd81::2
}

# The one has connections, the other has not.
child() {
	large 10.81.0.2 fd81::2 && is_mode datagram && mtu_is $ud_mtu &&
	not large 10.77.0.2
}

# unconnected NODE...: the kernel's driver warns if a child goes with connections open.
unconnected() {
	local node

	for node; do
		on "$node" ip link set blue down || return
	done
	for node; do
		until_true 30 on "$node" sh -c '! rdma resource show qp | grep "type RC"' || return
	done
}

childless() {
	ours && [ "$VM_MACHINES" -eq 1 ] || unconnected node1 node2 || return
	on node1 ip link del blue && on node2 ip link del blue && partitions &&
	connected node1 node2 && answers && large 10.77.0.2
}

# --- the subnet manager, and the end ---------------------------------------

without_sm() {
	large 10.77.0.2 && pkill -KILL -x opensm &&
	until_true 10 not pgrep -x opensm &&
	large_pings 50 10.77.0.2 && both_ways
}

with_sm() {
	opensm -B -f /tmp/opensm.log -P /run/partitions.conf > /dev/null &&
	until_true 30 member ff12:401b:ffff::ffff:ffff 1 && answers &&
	large 10.77.0.2
}

# idle: what stays once the interface is down, after it had connections
idle() {
	connected node1 node2 && answers && until_true 10 connects node1 && down node1 &&
	until_true 10 no_queue_pairs softib0 && verbs
}

# The second time costs no more than the first.
given_back() {
	connects node1 && down node1 && until_true 10 no_queue_pairs softib0 &&
	until_true 20 no_more "$1" verbs
	no_more "$1" verbs
}

head -c "$(fewer 4000000)" /dev/urandom > /tmp/file
before=$(idle)
up node1
plan 10
check "connections, and down" [ -n "$before" ]
connected node1 node2
check "modes change under streams: not a byte is lost" flips
check "both ends begin at once" at_once
check "the peer starts anew" restarts
check "children have connections" children
check "their parents have not" child
check "and without children all is as before" childless
check "connections need no subnet manager" without_sm
check "a new one does no harm" with_sm
check "what was in use is given back" given_back "$before"
up node1
datagram node1 node2
finish
