#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Virtual functions of an adapter that has some: what is set for them through the
# interface is theirs, and is shown.

. "$(dirname "$0")/lib.sh"

hcas=/sys/kernel/config/softib/hcas

in_first() {
	nsenter -t 1 -n "$@"
}

# The interface of the HCA "many"; interfaces are made by and by.
find_interface() {
	iface=$(in_first ip -d -o link show |
		awk -F '[ :]+' '/parentbus softib parentdev softib.many / { print $2 }')
	[ -n "$iface" ]
}

adapter() {
	mkdir $hcas/many && echo 3 > $hcas/many/vfs && echo 1 > $hcas/many/enable &&
	until_true 20 find_interface
}

# shown VF: link state and GUIDs
shown() {
	in_first ip link show "$iface" | sed -En "s/^ *vf $1 .*\
NODE_GUID ([0-9a-f:]*), PORT_GUID ([0-9a-f:]*), link-state (enable|disable|auto).*/\3 \1 \2/p"
}

# is VF STATE NODE-GUID PORT-GUID
is() {
	same "$(shown "$1")" "$2 $3 $4"
}

# set_vf VF WHAT VALUE
set_vf() {
	in_first ip link set "$iface" vf "$@"
}

# Each with a link-layer address, as long as the interface's.
addresses() {
	local address

	address=$(in_first ip -br link show "$iface" | awk '{ print $3 }')
	same "$(in_first ip link show "$iface" |
		grep -c "^ *vf [0-2] *link/infiniband $address brd")" 3
}

# counted VF NUMBERS: bytes, packets, multicast, broadcast and dropped ones received;
# bytes, packets and dropped ones sent
counted() {
	same "$(in_first ip -s -j link show "$iface" | python3 -c '
import json, sys
stats = json.load(sys.stdin)[0]["vfinfo_list"][int(sys.argv[1])]["stats"]
print(*stats["rx"].values(), *stats["tx"].values())' "$1")" "$2"
}

# As softib has them: packets, then bytes, received and sent; broadcast, multicast;
# dropped, received and sent.
statistics() {
	counted 1 "0 0 0 0 0 0 0 0" &&
	echo 1 11 22 3333 4444444444 55 66 77 88 > $hcas/many/vf_stats &&
	counted 1 "3333 11 66 55 77 4444444444 22 88" &&
	counted 0 "0 0 0 0 0 0 0 0" && counted 2 "0 0 0 0 0 0 0 0"
}

# A child may be where nobody has a part in the adapter.
by_child() {
	local status

	in_first ip link add link "$iface" name vfchild type ipoib pkey 2 || return
	fails_with "not supported" in_first ip link set vfchild vf 1 state enable
	status=$?
	in_first ip link del vfchild
	return $status
}

is_gone() {
	[ ! -e /sys/bus/softib/devices/softib.many ] && ! find_interface
}

none=00:00:00:00:00:00:00:00
one=02:11:22:33:44:55:66:77
two=02:99:88:77:66:55:44:33
mountpoint -q /sys/kernel/config ||
	mount -t configfs none /sys/kernel/config || exit

plan "$(ours && echo 16 || echo 15)"
adapter
result $? "an adapter with three virtual functions"
check "all are shown, with an address" addresses
check "as they are at first" is 1 auto $none $none
check "a node GUID is set" set_vf 1 node_guid $one
check "and a port GUID" set_vf 1 port_guid $two
check "and the link state" set_vf 1 state disable
check "which is what is shown" is 1 disable $one $two
check "of this one only" is 0 auto $none $none
check "not of the last one either" is 2 auto $none $none
check "the link state is set again" set_vf 1 state enable
check "and nothing else with it" is 1 enable $one $two
check "one that the adapter does not have" fails_with "Invalid argument" \
	set_vf 3 state enable
check "statistics, as the adapter has them" statistics
! ours || check "not by a child" by_child
check "it goes with them" rmdir $hcas/many
check "and is gone" until_true 20 is_gone
finish
