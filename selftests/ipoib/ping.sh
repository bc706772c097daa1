#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# IPv4 and IPv6, both ways, up to the MTU and beyond, without a packet lost. The other
# node may be in another machine, with another driver.

. "$(dirname "$0")/lib.sh"

mtu=$((VM_IB_MTU - 4))

too_big() {
	! ping -c 1 -W 2 -M "do" -s $((mtu - 28 + 1)) 10.77.0.2
}

# One after the other: the socket that answers has no room for two.
fragmented() {
	local n

	for n in {1..10}; do
		no_loss -c 1 -s 20000 "$1" || { echo "packet $n"; return 1; }
	done
}

# What leaves is not fragmented: as many packets as echo requests.
unfragmented() {
	local stat=/sys/class/net/ib0/statistics/tx_packets before

	before=$(< "$stat")
	no_loss -c 20 -i 0.01 -M "do" -s $((mtu - 28)) 10.77.0.2 || return
	[ $(($(< "$stat") - before)) -lt 30 ]
}

plan 12
check "IPv4 to node2" no_loss -c 5 -i 0.1 10.77.0.2
check "IPv4 from node2" on node2 ping -q -c 5 -i 0.1 -W 10 10.77.0.1
check "IPv6 to node2" no_loss -c 5 -i 0.1 fd77::2
check "IPv6 from node2" on node2 ping -q -c 5 -i 0.1 -W 10 fd77::1
check "IPv4 as large as the MTU, not fragmented" unfragmented
check "IPv6 as large as the MTU" no_loss -c 5 -i 0.1 -M "do" -s $((mtu - 48)) fd77::2
check "IPv4 larger than the MTU is refused if it must not be fragmented" too_big
check "IPv4 fragmented" fragmented 10.77.0.2
check "IPv6 fragmented" fragmented fd77::2
# shellcheck disable=SC2016 # for the new shell to expand
check "every size" bash -c 'for s in $(seq 0 97 4200); do
	ping -q -c 1 -W 10 -s $s 10.77.0.2 || exit; done'
check "many in a row, IPv4" no_loss -q -f -c "$(fewer 2000)" 10.77.0.2
check "many in a row, IPv6" no_loss -q -f -c "$(fewer 2000)" fd77::2
finish
