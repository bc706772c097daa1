#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Nothing passes for long: programs do not read, the cable is out, a bond changes its port.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/links.sh"

case $VARIANT in
large*)	long='ten minutes' seconds=600 ;;
*)	long='a minute' seconds=60 ;;
esac

# How long TCP may wait before it sends again, and a path that has failed is left alone.
patience=$((2 * seconds + 100))

# after WHAT: they go on, and by InfiniBand in the end.
after() {
	local start=$SECONDS

	check "$1: they go on" ask more
	diag "after $((SECONDS - start)) s"
	check "$1: by InfiniBand again" by_ib
	diag "after $((SECONDS - start)) s"
	nap "$GOOD"
}

# --- a bond ------------------------------------------------------------------------

ports=(p1 p2)

# node1 gets two more ports, which are one by the bonding driver.
bond() {
	local p

	modprobe bonding max_bonds=0 &&
	ip -n node1 link add bond0 mtu $((VM_IB_MTU - 4)) type bond mode active-backup \
		miimon 100 || return
	for p in "${ports[@]}"; do
		ip -n node1 link add link ib0 name "$p" type ipoib pkey 0xffff &&
		ip -n node1 link set "$p" down && ip -n node1 link set "$p" master bond0 ||
			return
	done
	ip -n node1 link set bond0 up && ip -n node1 addr add 10.92.0.1/24 dev bond0 &&
	ip -n node2 addr add 10.92.0.2/24 dev ib0 &&
	until_true 20 in_node 1 ping -q -c 1 -W 1 10.92.0.2
}

no_bond() {
	local p

	ip -n node1 link del bond0
	for p in "${ports[@]}"; do
		ip -n node1 link del "$p"
	done
	ip -n node2 addr del 10.92.0.2/24 dev ib0
	rmmod bonding
}

active() {
	[ "$(in_node 1 cat /sys/class/net/bond0/bonding/active_slave)" = "$1" ]
}

# over_to PORT FROM
over_to() {
	ip -n node1 link set "$2" down && until_true 10 active "$1" &&
	ip -n node1 link set "$2" up && ask more && by_ib && nap "$GOOD"
}

bonded() {
	check "a bond" bond
	to=10.92.0.2 v6='' begin -n 2 -b 4096
	result $? "connections by it"
	check "by InfiniBand" by_ib
	check "by one port" over_to p2 p1
	check "by the other one" over_to p1 p2
	check "all bytes are right" ask end
	leave
	check "no bond" no_bond
}

plan 21
check "only InfiniBand" only_ib
begin -n 2 -b 4096 -p "$patience"
result $? "connections"
check "by InfiniBand" by_ib
check "node2 does not read" ask hold b
check "node1 is full" ask full a
check "the cable is out meanwhile" out 10
check "node1 is full" ask full a
check "node2 reads" ask read b
after "node2 reads"
check "the cable is out for $long" out "$seconds"
after "$long"
check "all bytes are right" ask end
leave
bonded
finish
