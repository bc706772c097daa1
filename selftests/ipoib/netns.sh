#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The interface between network namespaces, and the connection manager that
# finds it there.

. "$(dirname "$0")/lib.sh"

# A namespace that ends gives the interface back.
give_back() {
	ip netns add other &&
	ip link set ib0 netns other &&
	ip -n other address add 10.77.0.1/24 dev ib0 &&
	ip -n other link set ib0 up &&
	until_true 10 on other ping -q -c 1 -W 1 10.77.0.2 || return
	on other ping -q -i 0.01 10.77.0.2 > /dev/null 2>&1 &
	ip netns del other
	# The namespace lives as long as a process in it.
	pkill -x ping
	wait
	until_true 10 sh -c 'nsenter -t 1 -n ip -o link | grep infiniband'
}

take_back() {
	local name

	name=$(nsenter -t 1 -n ip -o link | awk '/infiniband/ {
		sub(/[:@].*/, "", $2); print $2; exit }')
	[ -n "$name" ] &&
	nsenter -t 1 -n ip link set "$name" netns node1 name ib0 &&
	sysctl -qw net.ipv6.conf.ib0.accept_dad=0 &&
	address_up node1 1 && until_true 10 carrier
}

# A child in another namespace tells of its parent by its index, and where that index
# is one. The latter the kernel's driver does not say, so ip takes it for one there.
parent_seen() {
	local index link id

	index=$(< /sys/class/net/ib0/ifindex)
	link=$(ip -n box -j link show child)
	echo "parent $index: $link"
	same "$(on box cat /sys/class/net/child/iflink)" "$index" || return
	if ours; then
		[[ $link =~ '"link_index":'$index,.*'"link_netnsid":'([0-9]+) ]] || return
		id=${BASH_REMATCH[1]}
		ip -n box netns list-id | grep "nsid $id .*name: node1)"
	else
		[[ $link == *"\"link\":\"if$index\""* && $link != *link_netnsid* ]]
	fi
}

child_elsewhere() {
	local status

	ip netns add box && ip link add link ib0 name child type ipoib pkey 0x7fff &&
	ip link set child netns box && parent_seen
	status=$?
	ip -n box link del child
	ip netns del box
	return $status
}

# elsewhere PROCESS: has it a network namespace of its own?
elsewhere() {
	not same "$(readlink /proc/self/ns/net)" "$(readlink "/proc/$1/ns/net")"
}

# inside COMMAND...: as root of a user namespace, with a network namespace of its own,
# which is that of the process $box.
inside() {
	nsenter -t "$box" -U -n --preserve-credentials "$@"
}

# Its root has an interface there, and what it has is charged to nobody.
no_rings() {
	ip link add link ib0 name inner type ipoib && ip link set inner netns "$box" &&
	inside ip link set inner up &&
	fails_with "not permitted" inside ethtool -G inner rx 8192 &&
	inside ip link del inner
}

# Here, of a port's own interface. What is there goes before it comes back.
few_children() {
	local n status

	ip link set ib0 netns "$box" &&
	for n in {1..16}; do
		echo "link add link ib0 name c$n group 7 type ipoib"
	done | inside ip -batch - &&
	fails_with "only the machine's administrator" \
		inside ip link add link ib0 name c17 type ipoib
	status=$?
	inside ip link del group 7
	return $status
}

# Some lines, but not one each time.
few_lines() {
	local n

	echo "test: silent" > /dev/kmsg
	for n in {1..100}; do
		echo "link del ib0"
	done | inside ip -batch -
	n=$(dmesg | sed '1,/test: silent/d' | grep -c 'lives as long as its port')
	echo "$n lines"
	[ "$n" -ge 1 ] && [ "$n" -le 40 ]
}

# cm ADDRESS: an RDMA connection to the other namespace by IP address.
cm() {
	on node2 timeout 60 udaddy -b "$1" > /tmp/server 2>&1 &
	until_true 20 sh -c 'rdma resource show cm_id | grep -q "state LISTEN"' ||
		return
	timeout 50 udaddy -s "$1" > /tmp/client 2>&1
	local status=$?
	cat /tmp/client
	kill %% 2> /dev/null
	wait
	[ "$status" -eq 0 ] && grep -q 'return status 0' /tmp/client
}

# The checked kernel has no user namespaces.
users=false
! ours || [ "$VM_KERNEL" = debug ] || users=true

if $users; then plan 11; else plan 6; fi
check "RDMA connection by IPv4 address" cm 10.77.0.2
check "RDMA connection by IPv6 address" cm fd77::2
check "a child in another namespace tells of its parent" child_elsewhere
check "a namespace that ends gives the interface back" give_back
check "the interface moves on" take_back
check "traffic goes on" no_loss -q -c 10 -i 0.05 10.77.0.2
if $users; then
	unshare --user --map-root-user --net sleep infinity &
	box=$!
	until_true 10 elsewhere $box
	check "a user namespace's root cannot have large rings" no_rings
	check "nor more than a few children" few_children
	check "nor a line in the log each time" few_lines
	kill $box
	until_true 10 sh -c 'nsenter -t 1 -n ip -o link | grep infiniband'
	check "its interface comes back" take_back
	check "with traffic" until_true 20 no_loss -q -c 10 -i 0.05 10.77.0.2
fi
finish
