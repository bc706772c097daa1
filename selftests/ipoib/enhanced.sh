#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Enhanced IPoIB: the adapter's driver drives the interface, with queues, offloads and
# counters of its own.

. "$(dirname "$0")/lib.sh"

net=/sys/class/net

# shows PATTERN COMMAND...: does it print that?
shows() {
	local pattern=$1 output

	output=$("${@:2}" 2>&1)
	[[ $output == *$pattern* ]] || { echo "$output"; return 1; }
}

# sent QUEUE: packets by that transmit queue of the adapter's
sent() {
	counter "tx$1_packets"
}

# The kernel's driver keeps three packets for an address that it resolves, and drops the rest.
talks() {
	until_true 20 ping -q -c 1 -W 5 10.77.0.2 && until_true 20 ping -q -c 1 -W 5 fd77::2 &&
	no_loss -q -c 5 -i 0.05 10.77.0.2 && no_loss -q -c 5 -i 0.05 fd77::2
}

# have_qkey FILE: the captured ping and its answer, one from either end
have_qkey() {
	tshark -r "$1" -Y 'frame contains "enoughenough"' -T fields -e infiniband.lrh.slid \
		-e infiniband.deth.q_key 2> /dev/null | sort -u > /run/qkeys
	awk '$2 !~ /^0x0*b1b$/ { wrong = 1 } END { exit wrong || NR != 2 }' /run/qkeys
}

# What either end sends has the Q_Key of the link, which is the default of opensm.
right_qkey() {
	local file=/run/capture.pcap taker status

	cat /sys/kernel/debug/softib/capture > $file &
	taker=$!
	until_true 10 test -s $file && no_loss -q -c 1 -p 656e6f756768 10.77.0.2 &&
	until_true 10 have_qkey $file
	status=$?
	cat /run/qkeys
	kill $taker
	wait $taker 2> /dev/null
	return $status
}

# The stack chooses the queue by the packet's flow.
by_both() {
	local cpu before

	for cpu in 0 1; do
		before=$(($(sent 0) + $(sent 1)))
		taskset -c $cpu ping -q -c 3 -i 0.05 10.77.0.2 || return
		[ $(($(sent 0) + $(sent 1))) -ge $((before + 3)) ] || return
	done
	[ "$(sent 0)" -gt 0 ] && [ "$(sent 1)" -gt 0 ]
}

fewer_queues() {
	local before

	ethtool -L ib0 tx 1 && before=$(sent 1) && talks && same "$(sent 1)" "$before" &&
	ethtool -L ib0 tx 2
}

# Verbs know checksums of IPv4 only.
ipv6_checksums() {
	shows "tx-checksum-ipv6: on" ethtool -k ib0 &&
	on node2 sh -c 'socat -u TCP6-LISTEN:7002,reuseaddr,accept-timeout=30 \
			OPEN:/run/got,creat,trunc &
		until ss -6ltn | grep -q :7002; do sleep 0.05; done' || return
	head -c 300000 /dev/urandom > /run/sent
	timeout 20 socat -u OPEN:/run/sent "TCP6:[fd77::2]:7002" &&
	until_true 10 cmp /run/sent /run/got
}

no_connected_mode() {
	not sh -c "echo connected > $net/ib0/mode" && same "$(< $net/ib0/mode)" datagram &&
	same "$(cut -c 1-2 $net/ib0/address)" 00
}

smaller_mtu() {
	ip link set ib0 mtu 1500 && same "$(< $net/ib0/mtu)" 1500 && talks &&
	ip link set ib0 mtu $((VM_IB_MTU - 4)) && talks
}

# The interface, not the adapter's driver, looks at the length. dropped: how many packets
dropped() {
	cat $net/ib0/statistics/tx_dropped
}

too_long() {
	local before status

	before=$(dropped)
	ip route add 10.77.0.2/32 dev ib0 mtu lock $((VM_IB_MTU + 500)) || return
	not ping -q -c 2 -i 0.1 -W 1 -s $((VM_IB_MTU + 200)) 10.77.0.2 &&
	[ "$(dropped)" -ge $((before + 1)) ]
	status=$?
	ip route del 10.77.0.2/32 dev ib0
	return $status
}

# A child has a queue pair, queues and counters of its own.
child() {
	local n

	for n in 1 2; do
		ip -n "node$n" link add link ib0 name c0 type ipoib pkey 0xffff &&
		ip -n "node$n" address add 10.90.0.$n/24 dev c0 &&
		ip -n "node$n" link set c0 up || return
	done
	not same "$(< $net/c0/address)" "$(< $net/ib0/address)" &&
	shows "driver: softib" ethtool -i c0 &&
	until_true 20 ping -q -c 1 -W 1 10.90.0.2 && no_loss -q -c 5 -i 0.05 10.90.0.2 &&
	[ "$(ethtool -S c0 | awk '/tx._packets/ { n += $2 } END { print n }')" -ge 5 ] &&
	ip link del c0 && ip -n node2 link del c0 && talks
}

# The adapter's driver would look for the parent where the child is.
foreign_child() {
	local status

	ip netns add box || return
	fails_with "parent's namespace" \
		ip link add link ib0 name c0 netns box type ipoib pkey 0xffff
	status=$?
	ip netns del box
	return $status
}

up_and_down() {
	local i

	for i in 1 2 3; do
		ip link set ib0 down && not carrier && address_up node1 1 &&
		until_true 20 carrier || return
	done
	until_true 20 ping -q -c 1 -W 1 10.77.0.2 && talks
}

# reload PARAMETER...: the driver goes, and comes back with these.
reload() {
	rmmod ib_ipoib && modprobe ib_ipoib "$@" && give_all && until_true 20 carrier &&
	until_true 20 ping -q -c 1 -W 1 10.77.0.2
}

alone() {
	reload enhanced=0 && shows "driver: ib_ipoib" ethtool -i ib0 && talks
}

together() {
	reload && shows "driver: softib" ethtool -i ib0 && talks
}

if ours; then plan 15; else plan 10; fi
check "the adapter's driver drives it" shows "driver: softib" ethtool -i ib0
check "both talk" talks
check "with the Q_Key of the link" right_qkey
! ours || check "the first packets of a burst wait for the path, none lost" first_wait 2
check "packets go by both of its queues" by_both
check "one queue is enough" fewer_queues
check "checksums of IPv6" ipv6_checksums
check "there is no connected mode" no_connected_mode
check "a smaller MTU" smaller_mtu
! ours || check "packets that are too long are dropped" too_long
check "a child" child
! ours || check "a child that is made in another namespace: refused" foreign_child
check "down and up" up_and_down
# The kernel's driver has no choice.
! ours || check "without it, if the parameter says so" alone
! ours || check "and with it again" together
finish
