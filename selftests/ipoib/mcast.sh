#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Multicast groups: joined when somebody listens, left when nobody does, sent
# to without listening.

. "$(dirname "$0")/lib.sh"

# The subnet administrator's view: groups by the end of their GID.
sa_group() {
	saquery -g 2> /dev/null | grep -qi "$1"
}

not() {
	! "$@"
}

# receive GROUP INTERFACE-OPTION: 20 datagrams arrive at node2.
receive() {
	local listen=$1 target=$2 got

	on node2 timeout 20 socat -u "$listen" - > /tmp/got &
	until_true 10 on node2 sh -c "ip maddr show dev ib0 | grep -q '$3'" &&
	until_true 10 sa_group "$4" || return
	for i in $(seq 20); do
		echo "datagram $i" | socat -u - "$target" || return
		sleep 0.01
	done
	until_true 5 grep -q 'datagram 20' /tmp/got
	got=$(grep -c datagram /tmp/got)
	kill %% 2> /dev/null
	wait 2> /dev/null
	same "$got" 20
}

receive_v4() {
	receive UDP4-RECV:7000,reuseaddr,ip-add-membership=239.77.1.2:ib0 \
		UDP4-DATAGRAM:239.77.1.2:7000,ip-multicast-if=10.77.0.1 \
		239.77.1.2 '401b:ffff::f4d:102'
}

receive_v6() {
	receive "UDP6-RECV:7000,reuseaddr,ipv6-join-group=[ff05::77:1]:ib0" \
		"UDP6-DATAGRAM:[ff05::77:1%ib0]:7000" \
		ff05::77:1 '601b:ffff::77:1'
}

# Nobody listens: the group is made for the sender, and nothing is lost.
send_only() {
	local stat=/sys/class/net/ib0/statistics before

	before=$(cat $stat/tx_packets) dropped=$(cat $stat/tx_dropped)
	for i in 1 2 3 4 5; do
		echo "$i" | socat -u - \
			UDP4-DATAGRAM:239.77.9.9:7000,ip-multicast-if=10.77.0.1
		sleep 0.2
	done
	until_true 5 sa_group '401b:ffff::f4d:909' || return
	not ip maddr show dev ib0 | grep -q 239.77.9.9
	echo "sent $(($(cat $stat/tx_packets) - before))," \
	     "dropped $(($(cat $stat/tx_dropped) - dropped))"
	[ $(($(cat $stat/tx_packets) - before)) -ge 5 ] &&
	same "$(cat $stat/tx_dropped)" "$dropped"
}

# Who was only sent to is then listened to.
send_then_listen() {
	socat -u UDP4-RECV:7001,reuseaddr,ip-add-membership=239.77.9.9:ib0 - \
		> /tmp/got &
	until_true 10 sh -c 'ip maddr show dev ib0 | grep -q 239.77.9.9' || return
	sleep 1
	echo hello | on node2 socat -u - \
		UDP4-DATAGRAM:239.77.9.9:7001,ip-multicast-if=10.77.0.2
	until_true 5 grep -q hello /tmp/got
	local status=$?
	kill %% 2> /dev/null
	wait 2> /dev/null
	return $status
}

all_nodes() {
	local output

	output=$(ping -c 3 -i 0.3 ff02::1%ib0)
	echo "$output"
	[ "$(grep -o 'from fe80::[0-9a-f:]*' <<< "$output" | sort -u | wc -l)" -eq "$VM_NODES" ]
}

# One's own multicast does not come back from the fabric.
no_echo() {
	local output

	output=$(ping -c 3 -i 0.3 ff02::1%ib0 | grep -o 'icmp_seq=[0-9]* ' |
		sort | uniq -c | awk '{ print $1 }' | sort -u)
	same "$output" "$VM_NODES"
}

many_groups() {
	local i

	for i in $(seq 100); do
		ip maddr add "00:ff:ff:ff:ff:12:40:1b:ff:ff:00:00:00:00:00:00:0f:01:01:$(printf %02x "$i")" dev ib0 || return
	done
	until_true 20 sa_group '401b:ffff::f01:164' || return
	for i in $(seq 100); do
		ip maddr del "00:ff:ff:ff:ff:12:40:1b:ff:ff:00:00:00:00:00:00:0f:01:01:$(printf %02x "$i")" dev ib0 || return
	done
	until_true 20 not sa_group '401b:ffff::f01:1'
}

plan 9
check "IPv4 group: what is sent arrives" receive_v4
check "IPv4 group: left when nobody listens" until_true 10 not sa_group '401b:ffff::f4d:102'
check "IPv6 group: what is sent arrives" receive_v6
check "IPv6 group: left when nobody listens" until_true 10 not sa_group '601b:ffff::77:1'
check "sent to without listening" send_only
check "then listened to" send_then_listen
check "all nodes answer to ff02::1" all_nodes
check "own multicast does not come back" no_echo
check "100 groups joined and left" many_groups
finish
