#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Two ports as one by the bonding driver, which on InfiniBand knows one mode
# and gives the bond the active port's address; and what cannot be put on top
# of an interface. Node 1 gets node 2's port, node 3 is the peer, node 4 the one
# to be refused things.

. "$(dirname "$0")/rping.sh"

net=/sys/class/net
links=/sys/kernel/config/softib/links

file() {
	same "$(< "$1")" "$2"
}

# refused ERROR NODE IP-ARGUMENT...
refused() {
	local text=$1 node=$2 output

	shift 2
	output=$(ip -n "$node" "$@" 2>&1) && { echo "$*: done"; return 1; }
	[[ $output == *"$text"* ]] || { echo "$*: $output"; return 1; }
}

# The one that is going to lose its link is node 2's, here named ib0: the other
# is the subnet manager's. Both are without addresses, lest packets go by them
# and not by the bond.
ports() {
	[ -d $links ] || mount -t configfs configfs /sys/kernel/config || return
	modprobe bonding max_bonds=0 && ip link set ib0 down &&
	ip -n node2 link set ib0 down && ip link set ib0 name ib1 &&
	ip -n node2 link set ib0 netns node1 name ib0 &&
	ip address flush dev ib0 && ip address flush dev ib1
}

other_modes() {
	local mode text

	for mode in balance-rr balance-xor broadcast 802.3ad balance-tlb balance-alb; do
		text="Only active-backup mode is supported for infiniband slaves"
		[ $mode != 802.3ad ] || text="requires Ethernet devices"
		ip link add bond1 type bond mode $mode &&
		refused "$text" node1 link set ib0 master bond1 &&
		not [ -e $net/ib0/master ] && ip link del bond1 || return
	done
}

# bond NAME SLAVE... : the first is the active one
bond() {
	local name=$1 slave

	shift
	ip link add "$name" mtu $((VM_IB_MTU - 4)) type bond mode active-backup \
		miimon 100 || return
	for slave in "$@"; do
		ip link set "$slave" down && ip link set "$slave" master "$name" ||
			return
	done
	ip link set "$name" up && until_true 20 file "$net/$name/carrier" 1 &&
	for slave in "$@"; do
		until_true 20 file "$net/$slave/carrier" 1 || return
	done
	until_true 10 ip link set "$name" type bond active_slave "$1"
}

enslaved() {
	bond bond0 ib0 ib1 && ip address add 10.77.0.1/24 dev bond0 &&
	ip address add fd77::1/64 dev bond0 nodad
}

# active SLAVE: of bond0, which has its address
active() {
	file $net/bond0/bonding/active_slave "$1" &&
	file $net/bond0/address "$(< "$net/$1/address")"
}

like_its_slave() {
	active ib0 && file $net/bond0/type 32 &&
	file $net/bond0/addr_len 20 &&
	file $net/bond0/broadcast "$(< $net/ib0/broadcast)" &&
	file $net/bond0/bonding/fail_over_mac "active 1"
}

reached() {
	until_true 10 on node3 ping -q -c 1 -W 1 10.77.0.1 &&
	until_true 10 on node3 ping -q -c 1 -W 1 fd77::1
}

traffic() {
	reached && no_loss -q -c 5 -i 0.05 -s 5000 10.77.0.3 &&
	no_loss -q -c 5 -i 0.05 -s 5000 fd77::3 &&
	same "$(ip route get 10.77.0.3 | grep -o 'dev [^ ]*')" "dev bond0"
}

# To the bond's address and from it, over the active one
rdma_too() {
	connects node3 node1 10.77.0.1 && connects node3 node1 fd77::1 &&
	connects node1 node3 10.77.0.3
}

# known SLAVE: the peer sends to this one's address.
known() {
	local entry to

	for to in 10.77.0.1 fd77::1; do
		entry=$(ip -n node3 neigh show "$to" dev ib0)
		[[ $entry == *"lladdr $(< "$net/$1/address") "* ]] ||
			{ echo "$entry"; return 1; }
	done
}

replies() {
	[ "$(grep -c ' bytes from' /tmp/flow)" -ge "$1" ]
}

# The longest time in which no reply came is 3 seconds at most.
short_pause() {
	# shellcheck disable=SC2154 # tap_slow is tap.sh's
	tr -d '[' < /tmp/flow | awk -v limit=$((3 * tap_slow)) '
		/ bytes from/ { if (last && $1 - last > longest) longest = $1 - last
			last = $1 }
		END { print "a pause of", longest, "s"; exit !last || longest > limit }'
}

# moves SLAVE COMMAND...: makes that one active, which the peer learns without
# having to ask, and packets flow on.
moves() {
	local slave=$1 status=0

	shift
	# In use right now, so that there is nothing to be asked for soon
	reached
	ip netns exec node3 ping -D -i 0.1 10.77.0.1 > /tmp/flow 2>&1 &
	until_true 10 replies 5 && "$@" && until_true 10 active "$slave" &&
	{ until_true 3 known "$slave" || known "$slave"; } &&
	until_true 10 replies $(($(grep -c ' bytes from' /tmp/flow) + 10)) ||
		status=1
	kill %%
	wait
	[ $status -eq 0 ] && short_pause && active "$slave" && reached && return
	tail -n 20 /tmp/flow
	grep -E '^(Curr|Slave|MII Status)' /proc/net/bonding/bond0
	ip neigh
	ip -n node3 neigh
	return 1
}

# cable 0|1: of ib0's port
cable() {
	echo "$1" > $links/softib1/up
}

# The one that works stays in use until somebody says otherwise.
plugged_in() {
	cable 1 && until_true 30 file $net/ib0/carrier 1 &&
	until_true 10 grep -q '^up' $net/ib0/bonding_slave/mii_status &&
	active ib1
}

released() {
	ip link set ib1 nomaster && not [ -e $net/ib1/master ] && active ib0 &&
	reached && no_loss -q -c 5 -i 0.05 10.77.0.3 &&
	file $net/ib1/mtu $((VM_IB_MTU - 4)) &&
	# Of use by itself, in another network: nobody there but node 3.
	ip address add 10.92.0.1/24 dev ib1 && ip link set ib1 up &&
	ip -n node3 address add 10.92.0.3/24 dev ib0 &&
	until_true 20 ping -q -c 1 -W 1 -I ib1 10.92.0.3 &&
	ip -n node3 address del 10.92.0.3/24 dev ib0 && ip address flush dev ib1
}

children() {
	ip link set ib1 up &&
	ip link add link ib0 name left type ipoib pkey 0xffff &&
	ip link add link ib1 name right type ipoib pkey 0xffff &&
	bond bond1 left right &&
	file $net/bond1/address "$(< $net/left/address)" &&
	ip address add 10.92.0.1/24 dev bond1 &&
	ip -n node3 address add 10.92.0.3/24 dev ib0 &&
	until_true 20 ping -q -c 1 -W 1 10.92.0.3 &&
	ip link set left down &&
	until_true 10 file $net/bond1/address "$(< $net/right/address)" &&
	until_true 20 ping -q -c 1 -W 1 10.92.0.3 &&
	no_loss -q -c 5 -i 0.05 10.92.0.3 &&
	ip -n node3 address del 10.92.0.3/24 dev ib0 &&
	ip link del bond1 && ip link del left && ip link del right
}

# All of these are for Ethernet.
stacked() {
	local vlan="VLANs not supported on device" invalid="Invalid argument"

	modprobe -a 8021q bridge macvlan ipvlan &&
	ip -n node4 link add bridge0 type bridge &&
	refused "$vlan" node4 link add link ib0 name top type vlan id 5 &&
	refused "$vlan" node1 link add link bond0 name top type vlan id 5 &&
	refused "$invalid" node4 link set ib0 master bridge0 &&
	refused "$invalid" node4 link add link ib0 name top type macvlan &&
	refused "$invalid" node4 link add link ib0 name top type macvtap &&
	refused "$invalid" node4 link add link ib0 name top type ipvlan mode l2 &&
	ip -n node4 link del bridge0 &&
	ip -n node4 link add link ib0 name top type ipoib &&
	ip -n node4 link del top &&
	no_loss -q -c 5 -i 0.05 10.77.0.4
}

# A bond whose last slave is no Ethernet device goes with it.
unloaded() {
	local status

	ip link set ib1 down
	ip link set ib1 master bond0 && reached || return
	ip netns exec node3 ping -q -i 0.01 10.77.0.1 > /dev/null 2>&1 &
	ping -q -i 0.01 10.77.0.3 > /dev/null 2>&1 &
	rmmod ib_ipoib && not [ -e $net/bond0 ]
	status=$?
	kill %1 %2
	wait
	[ $status -eq 0 ] && rmmod bonding
}

again() {
	modprobe ib_ipoib && give_all &&
	until_true 20 ping -q -c 1 -W 1 10.77.0.2 && no_loss -q -c 5 -i 0.05 10.77.0.2
}

# The checked kernel has none of the modules that one of them needs.
with=$([ "$VM_KERNEL" = debug ] || echo modules)
plan $((14 + ${#with} / 7))
check "two ports in a node" ports
check "modes that are refused" other_modes
check "enslaved" enslaved
check "the bond is like its active slave" like_its_slave
check "traffic by the bond" traffic
check "RDMA connections by the bond" rdma_too
check "the cable is pulled: the other takes over" moves ib1 cable 0
check "RDMA connections, too" until_true 10 rdma_too
check "the cable is plugged in: a backup" plugged_in
check "and back" moves ib0 ip link set bond0 type bond active_slave ib0
check "released" released
check "children as slaves" children
[ -z "$with" ] || check "no VLAN, bridge, macvlan, ipvlan" stacked
check "the driver goes, and the bond with it" unloaded
check "all is as before" again
finish
