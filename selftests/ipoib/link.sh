#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The interface as the administrator sees it: type, addresses, MTU, carrier,
# files in sysfs.

. "$(dirname "$0")/lib.sh"

net=/sys/class/net/ib0
port=/sys/class/infiniband/softib0/ports/1

file() {
	same "$(< "$1")" "$2"
}

link_mtu() {
	file "$net"/mtu $((VM_IB_MTU - 4))
}

# 00 or 80 (which says that RC works too), the QPN, the port's GID.
address_is_gid() {
	local address gid

	address=$(< "$net"/address)
	gid=$(< "$port"/gids/0)
	[[ ${address:0:2} =~ ^(00|80)$ ]] || { echo "flags: $address"; return 1; }
	[ "${address:3:8}" != 00:00:00 ] || { echo "no QPN: $address"; return 1; }
	same "$(tr -d : <<< "${address:12}")" "$(tr -d : <<< "$gid")"
}

mtu_refused() {
	! ip link set ib0 mtu "$1"
}

# As ip shows them; the kernel's driver has those of connected mode.
mtu_bounds() {
	local bounds

	bounds=$(ip -d -j link show ib0 | python3 -c '
import json, sys
link = json.load(sys.stdin)[0]
print(link["min_mtu"], link["max_mtu"])')
	ours || { same "$bounds" "0 65520"; return; }
	echo "$bounds"
	[[ $bounds =~ ^72\ (2044|4092)$ ]]
}

mtu_lower() {
	ip link set ib0 mtu 1400 && file "$net"/mtu 1400 &&
	no_loss -c 2 -i 0.2 -s 3000 10.77.0.2 &&
	ip link set ib0 mtu $((VM_IB_MTU - 4)) && link_mtu
}

carrier_follows() {
	ip link set ib0 down && ! carrier &&
	ip link set ib0 up && until_true 10 carrier
}

address_stays() {
	local before

	before=$(< "$net"/address)
	ip link set ib0 down && ip link set ib0 up && until_true 10 carrier &&
	file "$net"/address "$before"
}

sent() {
	[ "$(< "$net"/statistics/tx_packets)" -ge "$1" ]
}

# Each once. An interface that has just come up has packets of its own, too, but not as
# many; what was sent is counted when it is completed.
statistics() {
	local before after

	until_true 20 ping -q -c 1 -W 1 10.77.0.2
	before=$(cat "$net"/statistics/{tx_packets,rx_packets} | tr '\n' ' ')
	no_loss -q -c 50 -i 0.002 10.77.0.2 || return
	until_true 5 sent $((${before%% *} + 50))
	after=$(cat "$net"/statistics/{tx_packets,rx_packets} | tr '\n' ' ')
	echo "before: $before after: $after"
	awk -v b="$before" -v a="$after" 'BEGIN {
		split(b, x); split(a, y)
		exit !(y[1] - x[1] >= 50 && y[1] - x[1] < 100 &&
		       y[2] - x[2] >= 50 && y[2] - x[2] < 100) }'
}

# The scope may be chosen; what is no address of the link's group is put right.
broadcast_returns() {
	local before

	before=$(< "$net"/broadcast)
	ip link set ib0 broadcast \
		00:00:00:77:fe:80:00:00:00:00:00:00:00:00:00:00:00:00:00:99 &&
	ip link set ib0 down && ip link set ib0 up && until_true 10 carrier &&
	file "$net"/broadcast "$before" && ip neigh flush dev ib0 &&
	until_true 20 ping -q -c 1 -W 1 10.77.0.2
}

# A partition whose link has a smaller MTU than the port could have.
narrow() {
	partitions 'Narrow=0x0002, ipoib, mtu=3, defmember=full : ALL=full;' &&
	ip link add link ib0 name narrow type ipoib pkey 0x8002 &&
	ip link set narrow up &&
	until_true 20 file /sys/class/net/narrow/mtu 1020 &&
	file /sys/class/net/narrow/mtu 1020
}

# From an MTU that datagrams could have, too, but not on this link.
narrow_again() {
	ip link set narrow type ipoib mode connected &&
	ip link set narrow mtu $((VM_IB_MTU - 4)) &&
	ip link set narrow type ipoib mode datagram &&
	file /sys/class/net/narrow/mtu 1020
}

# Something in the kernel objects to the MTU.
objection() {
	local status

	ip link set narrow type ipoib mode connected &&
	insmod "$BUILD/$KERNEL/selftests/ipoib/object/object.ko" interface=narrow || return
	fails_with "cannot have the link's MTU" ip link set narrow type ipoib mode datagram &&
	file /sys/class/net/narrow/mode connected
	status=$?
	rmmod object
	[ $status -eq 0 ] && narrow_again
}

# A P_Key that is not in the port's table: that people find in the log.
no_key() {
	echo "test: no key" > /dev/kmsg
	ip link add link ib0 name lost type ipoib pkey 0x8123 && ip link set lost up &&
	until_true 5 eval "dmesg | sed '1,/test: no key/d' |
		grep 'lost: P_Key 0x8123 is not found'"
	dmesg | sed '1,/test: no key/d'
	dmesg | sed '1,/test: no key/d' | grep -q 'lost: P_Key 0x8123 is not found'
}

# Longer than the link takes, by a route that promises more: the sender is told.
too_long() {
	local mtu=$((VM_IB_MTU - 4)) status

	ip route add 10.77.0.2 dev ib0 mtu 60000 || return
	ping -c 2 -i 0.2 -W 2 -M "do" -s $((mtu + 500)) 10.77.0.2 > /tmp/ping 2>&1
	grep -E "mtu ?= ?$mtu" /tmp/ping
	status=$?
	ip route del 10.77.0.2 dev ib0
	[ $status -eq 0 ] || cat /tmp/ping
	return $status
}

# frame: to all, of an Ethertype for experiments
frame() {
	python3 - <<-EOF
	import socket
	s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
	s.bind(("ib0", 0x88b5))
	to = open("/sys/class/net/ib0/broadcast").read().strip().replace(":", "")
	s.send(bytes.fromhex(to + "88b50000") + bytes(60))
	EOF
}

heard() {
	frame && [ -e "/proc/$listener" ] && sleep 0.1
	[ ! -e "/proc/$listener" ]
}

# Frames of any Ethertype go and come; the kernel's driver drops those that it does not know.
any_type() {
	local listener

	on node2 timeout 20 python3 -c '
import socket
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
s.bind(("ib0", 0x88b5))
s.recv(2000)' &
	listener=$!
	until_true 15 heard && wait $listener
}

# An adapter for Ethernet gets no interface, and the log says why.
roce() {
	local status

	modprobe rdma_rxe && ip link add roce type dummy && ip link set roce up &&
	rdma link add roce0 type rxe netdev roce || return
	dmesg | grep 'roce0: no IPoIB interface for port 1: RoCE'
	status=$?
	rdma link del roce0
	ip link del roce
	modprobe -r rdma_rxe
	return $status
}

# Nor does one for Omni-Path: the last node's looks so to a driver that is loaded now.
omni_path() {
	local last=softib$((VM_NODES - 1)) status

	rmmod ib_ipoib && insmod "$BUILD/$KERNEL/selftests/ipoib/opa/opa.ko" device=$last &&
	modprobe ib_ipoib || return
	dmesg | grep "$last: no IPoIB interface for port 1: Omni-Path" &&
	same "$(interface "$VM_NODES")" "" && [ -n "$(interface 1)" ]
	status=$?
	rmmod ib_ipoib opa && modprobe ib_ipoib && give_all &&
	until_true 20 ping -q -c 1 -W 1 10.77.0.2 && return $status
}

planned=22
! ours || planned=$((planned + 3))
# No other kernel does anything else.
! ours || [ "$KERNEL" != 6.1 ] || planned=$((planned + 1))
# The checked kernel has no such adapter.
! ours || [ "$KERNEL" = debug ] || planned=$((planned + 1))
plan $planned
check "carrier" carrier
check "type is InfiniBand" file $net/type 32
check "address length" file $net/addr_len 20
check "address is QPN and GID" address_is_gid
check "broadcast address" file $net/broadcast \
	00:ff:ff:ff:ff:12:40:1b:ff:ff:00:00:00:00:00:00:ff:ff:ff:ff
check "MTU is the group's less 4" link_mtu
check "MTU too large is refused" mtu_refused 70000
check "MTU too small is refused" mtu_refused 60
check "which are the bounds that it tells" mtu_bounds
check "MTU may be lower" mtu_lower
check "pkey" file $net/pkey 0xffff
check "mode" file $net/mode datagram
check "umcast" file $net/umcast 0
check "dev_port" file $net/dev_port 0
check "dev_id" file $net/dev_id 0x0
check "carrier follows down and up" carrier_follows
check "address survives down and up" address_stays
! ours || check "a strange broadcast address does not survive them" broadcast_returns
ip address replace fd77::1/64 dev ib0 nodad
check "statistics count what was sent and received" statistics
check "the sender of packets that are too long is told" too_long
! ours || check "frames of any Ethertype" any_type
check "a link with a smaller MTU" narrow
check "after connected mode it has that again" narrow_again
! ours || check "no mode whose MTU is refused" objection
ip link del narrow
partitions
check "a missing P_Key is logged" no_key
ip link del lost
! ours || [ "$KERNEL" = debug ] || check "no interface for RoCE, which is logged" roce
! ours || [ "$KERNEL" != 6.1 ] ||
	check "no interface for Omni-Path, which is logged" omni_path
finish
