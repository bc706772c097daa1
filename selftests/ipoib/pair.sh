#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Two nodes that may be in machines of their own, with a driver each: datagrams both
# ways, groups, a partition of their own.

. "$(dirname "$0")/lib.sh"

net=/sys/class/net
blue='Blue=0x0001, ipoib, defmember=full : ALL=full;'

# driver NODE: the first word of its name
driver() {
	on "$1" ethtool -i ib0 | sed -n 's/^driver: \([a-z_]*\).*/\1/p'
}

# In each node, the adapter's driver drives the interface if softib's parameter says so.
driven() {
	local node want

	for node in node1 node2; do
		want=ib_ipoib
		[ "$(on $node cat /sys/module/softib/parameters/rdma_netdev)" = N ] || want=softib
		same "$(driver $node)" $want || return
	done
}

# full INTERFACE IPV4 IPV6: both nodes get packets as large as the MTU, none is lost.
full() {
	local mtu node end

	for node in node1 node2; do
		mtu=$(on $node cat "$net/$1/mtu") end=$((3 - ${node#node}))
		same "$mtu" $((VM_IB_MTU - 4)) &&
		until_true 20 on $node ping -q -c 1 -W 1 "$2$end" &&
		until_true 20 on $node ping -q -c 1 -W 1 "$3$end" &&
		on $node ping -q -c 10 -i 0.05 -W 10 -M "do" -s $((mtu - 28)) "$2$end" &&
		on $node ping -q -c 10 -i 0.05 -W 10 -M "do" -s $((mtu - 48)) "$3$end" ||
			return
	done
}

# heard FROM TARGET: what that node sends there is received.
heard() {
	echo heard | on "$1" socat -u - "$2"
	grep -q heard /tmp/group
}

# group FROM TO LISTENER TARGET
group() {
	local listener status

	on "$2" timeout 60 socat -u "$3" - > /tmp/group &
	listener=$!
	until_true 20 heard "$1" "$4"
	status=$?
	on "$2" pkill -x socat
	wait $listener
	return $status
}

# groups INTERFACE IPV4: from either node to the other
groups() {
	local n

	for n in 1 2; do
		group node$n node$((3 - n)) \
			"UDP4-RECV:7000,reuseaddr,ip-add-membership=239.77.1.2:$1" \
			"UDP4-DATAGRAM:239.77.1.2:7000,ip-multicast-if=$2$n" &&
		group node$n node$((3 - n)) \
			"UDP6-RECV:7000,reuseaddr,ipv6-join-group=[ff05::77:1]:$1" \
			"UDP6-DATAGRAM:[ff05::77:1]:7000,so-bindtodevice=$1" || return
	done
}

# everybody INTERFACE NODES: so many answer.
everybody() {
	same "$(ping -c 3 -i 0.3 "ff02::1%$1" | grep -o 'from fe80::[0-9a-f:]*' |
		sort -u | wc -l)" "$2"
}

children() {
	local n

	partitions "$blue"
	on node1 ip link add link ib0 name blue type ipoib pkey 0x8001 &&
	on node2 ip link add link ib0 name blue type ipoib pkey 0x8001 || return
	for n in 1 2; do
		on node$n ip -batch - <<-EOF || return
			address add 10.81.0.$n/24 dev blue
			address add fd81::$n/64 dev blue nodad
			link set blue up
		EOF
	done
	for n in 1 2; do
		until_true 30 on node$n grep -q 1 $net/blue/carrier || return
	done
}

gone() {
	on node1 ip link del blue && on node2 ip link del blue && partitions &&
	full ib0 10.77.0. fd77::
}

plan 9
check "each has its driver" driven
check "datagrams" full ib0 10.77.0. fd77::
check "groups" groups ib0 10.77.0.
check "all nodes" until_true 10 everybody ib0 "$VM_NODES"
check "a partition" children
check "datagrams there" full blue 10.81.0. fd81::
check "groups there" groups blue 10.81.0.
check "all nodes there" until_true 10 everybody blue 2
check "and without it" gone
finish
