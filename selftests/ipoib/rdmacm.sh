#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# RDMA connections by the addresses of interfaces. Of the client's, the connection
# manager takes GID and P_Key from the interface's link-layer addresses; at the
# server, the driver says which interface a request came for. Adapters are
# everybody's, whatever namespace asks; interfaces, and with them addresses, are
# their namespace's.

. "$(dirname "$0")/rping.sh"

net=/sys/class/net
capture=/dev/shm/rdmacm.pcap
blue='Blue=0x0001, ipoib, defmember=full : ALL=full;'
# Node 1 may talk to all others, which may not talk to each other.
red="Red=0x0002, ipoib : ALL=limited, $(ibstat softib0 -p)=full;"

# has_key NODE-NUMBER PKEY
has_key() {
	grep -qix "$2" "/sys/class/infiniband/softib$(($1 - 1))/ports/1/pkeys"/*
}

has_carrier() {
	[ "$(on "$1" cat "$net/$2/carrier")" = 1 ]
}

# child NODE-NUMBER NAME PKEY NET
child() {
	ip -n "node$1" -batch - <<-EOF && until_true 20 has_carrier "node$1" "$2"
		link add link ib0 name $2 type ipoib pkey $3
		address add 10.$4.0.$1/24 dev $2
		address add fd$4::$1/64 dev $2 nodad
		link set $2 up
	EOF
}

children() {
	partitions "$blue" "$red" &&
	until_true 20 has_key 1 0x8002 && until_true 20 has_key 2 0x0002 &&
	until_true 20 has_key 3 0x0002 &&
	child 1 blue 0x8001 81 && child 2 blue 0x8001 81 &&
	child 1 red 0x8002 82 && child 2 red 0x8002 82 && child 3 red 0x8002 82 &&
	until_true 10 ping -q -c 1 -W 1 10.81.0.2 &&
	until_true 10 ping -q -c 1 -W 1 10.82.0.2
}

# As many, by datagrams: the manager only tells where to send them.
datagrams() {
	serve "$2" udaddy -b "$3" -C "$count" &&
	client "$1" udaddy -s "$3" -C "$count" && served
}

# fails EVENT FROM TO ADDRESS [OPTION...]: the client is told so; the server, by
# that address, hears nothing.
fails() {
	local status

	serve "$3" rping -s -a "$4" -C 1 || return
	on "$2" timeout 30 rping -c -a "$4" -C 1 "${@:5}" > /tmp/client 2>&1
	status=$?
	kill "$server"
	wait "$server" 2> /dev/null
	cat /tmp/client
	[ $status -ne 0 ] && [ $status -ne 124 ] && grep "$1" /tmp/client &&
	until_true 10 silent
}

# Everything that crosses the fabric from now on
take() {
	cat /sys/kernel/debug/softib/capture > $capture &
	taker=$!
	until_true 10 test -s $capture
}

# How many requests for connections there are, packets that these carry (opcodes
# below 32), and datagrams with the Q_Key that the manager gives them: a line for
# each port that the last request was for (0: the datagrams) and P_Key, in decimal.
# One connection is over before the next one begins.
decode() {
	# The last packet that it has to hold
	ping -q -c 1 -p 656e6f756768 10.77.0.2 &&
	until_true 10 grep -qa enoughenough $capture || return
	kill $taker
	wait $taker 2> /dev/null
	tshark -r $capture -Y 'infiniband.cm.req || infiniband.bth.opcode < 32 ||
			infiniband.deth.q_key == 0x01234567' \
		-T fields -E separator=/t -e infiniband.bth.opcode \
		-e infiniband.bth.p_key -e infiniband.cm.req.pkey \
		-e infiniband.cm.req.serviceid.dport \
		> /tmp/fields 2> /tmp/tshark.log || { cat /tmp/tshark.log; return 1; }
	awk -F '\t' '$4 { port = $4; print port, "request", $3 }
		{ print $1 < 32 || $4 ? port : 0, "packet", $2 }' /tmp/fields |
		sort | uniq -c | while read -r n port what pkey; do
			echo "$n $((port)) $what $((pkey))"
		done > /tmp/decoded
}

# in_partition PORT PKEY: the request asks for that P_Key, and there are packets,
# all of which have it.
in_partition() {
	local wanted="$1 packet $(($2))"

	[ "$1" -eq 0 ] || wanted+=$'\n'"$1 request $(($2))"
	cat /tmp/decoded
	same "$(sed -n "s/^[0-9]* $1 /$1 /p" /tmp/decoded)" "$wanted" &&
	[ "$(sed -n "s/ $1 packet .*//p" /tmp/decoded)" -ge "$count" ]
}

# Of one port and one P_Key, in two namespaces: the address tells which.
two_of_a_kind() {
	ip netns add box && ip -n node2 link add link ib0 name again netns box \
		type ipoib pkey 0x8001 &&
	ip -n box address add 10.81.0.9/24 dev again &&
	ip -n box link set again up && until_true 20 has_carrier box again &&
	until_true 10 ping -q -c 1 -W 1 10.81.0.9 &&
	connects node1 box 10.81.0.9 && connects node1 node2 10.81.0.2
}

# To an address of node 2's port by its child: the server listens on another
# interface than that which the request came for.
other_interface() {
	local status

	ip route add 10.77.0.2 dev blue src 10.81.0.1 &&
	until_true 10 ping -q -c 1 -W 1 10.77.0.2 &&
	fails RDMA_CM_EVENT_REJECTED node1 node2 10.77.0.2 -I 10.81.0.1
	status=$?
	ip route del 10.77.0.2 dev blue
	return $status
}

both_memberships() {
	connects node1 node2 10.82.0.2 && connects node2 node1 10.82.0.1
}

# They cannot ask for each other's link-layer address.
limited_members() {
	ip -n node2 neigh replace 10.82.0.3 dev red nud permanent \
		lladdr "$(on node3 cat $net/red/address)" &&
	fails RDMA_CM_EVENT_ROUTE_ERROR node2 node3 10.82.0.3
}

# No connection keeps a child.
gone() {
	serve node2 rping -s -a 10.81.0.2 -C 1 || return
	ip -n node2 link del blue && ip link del blue && ip link del red &&
	ip -n node2 link del red && ip -n node3 link del red &&
	ip -n box link del again && ip netns del box
	local status=$?

	kill "$server"
	wait "$server" 2> /dev/null
	until_true 10 silent && return $status
}

plan 16
check "children in two partitions" children
take
result $? "a capture"
check "a connection by a port's address" connects node1 node2 10.77.0.2 7001
check "by a child's" connects node1 node2 10.81.0.2 7002
check "by its IPv6 address" connects node1 node2 fd81::2 7003
check "datagrams" datagrams node1 node2 10.81.0.2
check "what was captured" decode
check "the port's was in its partition" in_partition 7001 0xffff
check "the child's in the child's" in_partition 7002 0x8001
check "with IPv6, too" in_partition 7003 0x8001
check "the datagrams, too" in_partition 0 0x8001
check "two children of one P_Key, in two namespaces" two_of_a_kind
check "an address of another interface is refused" other_interface
check "full and limited members, both ways" both_memberships
check "limited members cannot" limited_members
check "a child that somebody listens on can be deleted" gone
partitions
finish
