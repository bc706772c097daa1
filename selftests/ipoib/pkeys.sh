#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The subnet manager changes what is in a port's table of P_Keys, and where: the
# port's own interface is that of index 0, a child that of its key.

. "$(dirname "$0")/lib.sh"

here=$(dirname "$0")
net=/sys/class/net
rdma=/sys/class/infiniband
blue='Blue=0x0001, ipoib, defmember=full : ALL=full;'
rest=00:00:00:00:00:00:ff:ff:ff:ff

# key NODE-NUMBER INDEX
key() {
	cat "$rdma/softib$(($1 - 1))/ports/1/pkeys/$2"
}

# keys NODE-NUMBER KEY...: the first ones of its port's table
keys() {
	"$here/pkeys.py" "softib$(($1 - 1))" "${@:2}" && until_true 10 same_keys "$@"
}

same_keys() {
	same "$(key "$1" 0) $(key "$1" 1)" "$2 $3"
}

# of NODE 0xXXYY: its own interface is in that partition, by the full member's key
of() {
	local key=${2#0x}

	same "$(on "$1" cat $net/ib0/pkey)" "$2" &&
	same "$(on "$1" cat $net/ib0/broadcast)" \
		"00:ff:ff:ff:ff:12:40:1b:${key:0:2}:${key:2}:$rest"
}

has_blue() {
	grep -qx 0x8001 "$rdma/softib$(($1 - 1))/ports/1/pkeys/"*
}

# A subnet manager that has seen other keys gives this one a later index.
child() {
	partitions "$blue" && until_true 20 has_blue 1 && until_true 20 has_blue 2 &&
	keys 1 0xffff 0x8001 && keys 2 0xffff 0x8001 &&
	ip link add link ib0 name blue type ipoib pkey 0x8001 &&
	ip -n node2 link add link ib0 name blue type ipoib pkey 0x8001 &&
	ip address add 10.81.0.1/24 dev blue &&
	ip -n node2 address add 10.81.0.2/24 dev blue &&
	ip link set blue up && ip -n node2 link set blue up &&
	until_true 20 ping -q -c 1 -W 1 10.81.0.2 &&
	on node2 ping -q -c 1 -W 10 10.77.0.3
}

carriers() {
	on node2 cat $net/ib0/carrier_changes
}

# --- full and limited ----------------------------------------------------------------

# Groups have the full member's key, whoever is in them, so nothing begins anew.
limited() {
	keys 2 0x7fff 0x8001 && no_loss -q -c 5 -i 0.05 10.77.0.2 &&
	on node2 ping -q -c 5 -i 0.05 -W 10 10.77.0.3 && of node2 0xffff
}

# What follows is the adapter's doing: it looks at the table, not at the interface.
both_limited() {
	keys 3 0x7fff 0x8001 && not on node2 ping -q -c 2 -i 0.2 -W 1 10.77.0.3 &&
	of node2 0xffff
}

full() {
	keys 2 0xffff 0x8001 && keys 3 0xffff 0x8001 &&
	until_true 10 on node2 ping -q -c 1 -W 1 10.77.0.3 &&
	no_loss -q -c 5 -i 0.05 10.77.0.2 && of node2 0xffff &&
	same "$(carriers)" "$before"
}

# --- places ----------------------------------------------------------------------------

# Two nodes that are not in the same partition by ib0, but by others
swapped() {
	keys 1 0x8001 0xffff && until_true 20 of node1 0x8001 && of node1 0x8001
}

child_works() {
	until_true 30 ping -q -c 1 -W 1 -I blue 10.81.0.2 &&
	no_loss -q -c 5 -i 0.05 -I blue 10.81.0.2
}

# The peer's is its child.
parent_works() {
	ip address add 10.82.0.1/24 dev ib0 &&
	ip -n node2 address add 10.82.0.2/24 dev blue &&
	until_true 30 ping -q -c 1 -W 1 10.82.0.2 &&
	no_loss -q -c 5 -i 0.05 10.82.0.2 && not ping -q -c 2 -i 0.2 -W 1 10.77.0.2
}

back() {
	keys 1 0xffff 0x8001 && until_true 20 of node1 0xffff &&
	until_true 30 ping -q -c 1 -W 1 10.77.0.2 && child_works &&
	no_loss -q -c 5 -i 0.05 10.77.0.2 && of node1 0xffff
}

plan 8
# Otherwise a node answers on one interface for the address of another.
for node in node1 node2; do
	on $node sysctl -qw net.ipv4.conf.all.arp_ignore=1
done
check "a child, of the key at index 1" child
before=$(carriers)
check "the own interface's key becomes a limited member's" limited
check "two limited members do not hear each other" both_limited
check "full members again, without a change of the carrier" full
check "the keys change places: the own interface follows index 0" swapped
check "the child its key" child_works
check "the own interface works there" parent_works
check "and back" back
ip link del blue
ip -n node2 link del blue
ip address del 10.82.0.1/24 dev ib0
for node in node1 node2; do
	on $node sysctl -qw net.ipv4.conf.all.arp_ignore=0
done
partitions
finish
