#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# An adapter without shared receive queues: each connection to it has buffers of
# its own, so there is a limit to how many there are. Nor does it take packets in as
# many pieces as the stack makes them of. In the end one whose completion queues are short.

. "$(dirname "$0")/conn.sh"

softib=/sys/module/softib/parameters
# Bytes of the packets that are answered
size=60000

# become NAME=VALUE...: adapters that are made from now on
become() {
	local parameter

	for parameter; do
		echo "${parameter#*=}" > "$softib/${parameter%=*}" || return
	done
}

# replace "NAME=VALUE ..." PARAMETER...: node 2 gets such an adapter, all get the driver
# anew.
replace() {
	unload || return
	queues softib0 > /tmp/left
	# shellcheck disable=SC2086 # one argument a word
	become $1 &&
	echo 0 > $conf/hcas/softib1/enable && echo 1 > $conf/hcas/softib1/enable &&
	echo 1 > $conf/links/softib1/enable &&
	until_true 30 grep ACTIVE /sys/class/infiniband/softib1/ports/1/state &&
	modprobe ib_ipoib "${@:2}" && give_all && up node1 node2 node3 node4 &&
	connected node1 node2 node3 node4 && ip neigh flush all &&
	become srq=Y send_sge=32 poor=N
}

# queues HCA NUMBER: of its shared receive queues
queues() {
	rdma resource show srq | grep -c "dev $1 "
}

# Not of those that somebody has left behind, as the kernel's driver does at times.
one_more() {
	same "$(queues softib0)" $(($(< /tmp/left) + 1))
}

# answers NODE...: node 2 does, to packets of that size.
answers() {
	local node

	for node; do
		until_true 20 on "$node" ping -q -c 1 -W 1 10.77.0.2 &&
		on "$node" ping -M "do" -q -c 5 -i 0.2 -W 5 -s "$size" 10.77.0.2 || return
	done
}

files() {
	connects node1 && connects node2 && both_ways
}

# Those who come too late send datagrams. The kernel's driver asks for a
# connection again and again, and drops what there is to send.
too_many() {
	if ours; then
		until_true 20 on node4 ping -q -c 1 -W 1 10.77.0.2 &&
		not on node4 ping -M "do" -q -c 2 -W 2 -s 60000 10.77.0.2 &&
		on node4 ip route get 10.77.0.2 | grep "mtu $ud_mtu" &&
		transfer node4 node2 10.77.0.2
	else
		not until_true 5 on node4 ping -q -c 1 -W 1 10.77.0.2
	fi
}

# The limit is of those that there are. What was learnt of smaller packets is
# forgotten for that.
room() {
	ip -n node4 route flush cache && answers node4
}

one_goes() {
	down node1 && until_true 60 room
}

# A message is as long as the one piece that a receive may have.
short_queues() {
	most=4092 replace poor=Y && size=4000 answers node1 && connects node1
}

as_before() {
	replace "" && answers node1 && same "$(queues softib1)" 1
}

head -c "$(fewer 1000000)" /dev/urandom > /tmp/file
if ours; then plan 10; else plan 9; fi
check "an adapter without shared receive queues" replace "srq=N send_sge=2" max_nonsrq_conn_qp=2
check "two connections to it, as many as there may be" answers node1 node3
check "it has no such queue" same "$(queues softib1)" 0
check "but others have" one_more
check "files" files
check "one more gets no connection" too_many
check "which is nothing to those that have" answers node1 node3
check "one goes: there is room" one_goes
# The kernel's driver makes no interface of such an adapter.
! ours || check "an adapter with short completion queues" short_queues
check "an adapter with shared receive queues" as_before
datagram node1 node2 node3 node4
finish
