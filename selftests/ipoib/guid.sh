#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A port may have several GUIDs: an interface takes one of them as its own (ip link
# set address), and waits for it where the subnet manager has not yet given it to the
# port.

. "$(dirname "$0")/conn.sh"

device=/sys/class/infiniband/softib0/ports/1
another=00:11:22:33:44:55:66:77

# gives GUID: to the port, entry 3 of its table
gives() {
	"$(dirname "$0")/guid.py" softib0 "$(< $device/lid)" 3 "0x${1//:/}"
}

has() {
	tr -d : < $device/gids/3 | grep -q "${another//:/}$"
}

# address [GUID]: the interface's, with another GUID at the end
address() {
	local now

	now=$(lladdr node1)
	echo "${now:0:36}${1-${now:36}}"
}

# takes GUID: the kernel's driver only while the interface is down.
takes() {
	ours || ip link set ib0 down || return
	ip link set ib0 address "$(address "$1")" && same "$(lladdr node1)" \
		"$(address "$1")" || return
	ours || up_again
}

up_again() {
	ip link set ib0 up &&
	ip address replace fd77::1/64 dev ib0 nodad
}

refused() {
	! ip link set ib0 address "$1" && same "$(lladdr node1)" "$before"
}

talks() {
	until_true 20 carrier && until_true 20 ping -q -c 1 -W 1 10.77.0.2 &&
	until_true 20 ping -q -c 1 -W 1 fd77::2 && steady 10.77.0.2 fd77::2
}

# Node 2 knows the new address.
is_known() {
	on node2 ping -q -c 1 -W 5 10.77.0.1 &&
	same "$(on node2 ip neigh show 10.77.0.1 |
		sed 's/.*lladdr \([^ ]*\).*/\1/')" "$(lladdr node1)"
}

child() {
	ip link add link ib0 name c0 type ipoib pkey 0x7fff &&
	same "$(cut -c 37- /sys/class/net/c0/address)" "$another"
}

# In another partition: two GIDs of one port cannot be in one group, as the kernel's
# subnet administration client has it.
child_as_port() {
	partitions 'Blue=0x0001, ipoib, defmember=full : ALL=full;' &&
	ip link add link ib0 name c1 type ipoib pkey 0x8001 &&
	ip link set c1 address "$(cut -c -36 /sys/class/net/c1/address)$own" &&
	ip link set c1 up && until_true 20 grep -q 1 /sys/class/net/c1/carrier &&
	same "$(cut -c 37- /sys/class/net/c1/address)" "$own"
	local status=$?
	ip link del c1
	partitions
	return $status
}

# The node that connects, and the one that it connects to
by_connections() {
	connected node1 node2 &&
	until_true 20 large_pings 5 10.77.0.2 &&
	until_true 10 connects node1 && until_true 10 connects node2 &&
	datagram node1 node2
}

before=$(lladdr node1)
own=${before:36}
if ours; then plan 15; else plan 13; fi
check "a GUID of nobody is refused" refused "$(address 00:00:00:00:00:00:00:00)"
check "so is another QPN" refused "00:00:00:99${before:11}"
check "and another subnet" refused "${before:0:12}fe:81${before:17}"
# The core does not tell of it: the kernel's driver waits for another event, longer
# than anybody would.
if ours; then
	check "the interface takes a GUID that the port does not have" takes $another
	check "and waits for it" not until_true 3 carrier
fi
check "the subnet manager gives a GUID to the port" gives $another
check "which has it" until_true 10 has
if ours; then
	check "that is noticed, and packets flow" talks
else
	check "the interface takes it" takes $another
	check "packets flow" talks
fi
check "with the new address" is_known
check "connected mode" by_connections
check "a child has it, too" child
! ours || check "unless it takes the port's own" child_as_port
ip link del c0
check "the port's own again" takes "$own"
check "packets flow" talks
check "with that address" is_known
up_again
finish
