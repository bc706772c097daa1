#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# TCP connections of two machines that are joined over RoCE or iWARP: the kernel's rdma_rxe or
# siw, on the Ethernet that TCP's packets take, too.

. "$(dirname "$0")/two.sh"

device=${VM_FABRIC}0

# counted NAME: a counter is not zero.
counted() {
	grep -q "^$1 [1-9]" /proc/net/sdp/snmp
}

unplugged() {
	rdma link delete "$device" && ask by tcp && ask more
}

plugged() {
	rdma link add "$device" type "$VM_FABRIC" netdev eth0 && ask more && ask by rdma
}

# This machine does not hear the other one for a moment, again and again.
flaps() {
	local _

	for _ in {1..10}; do
		tc qdisc add dev eth0 ingress &&
		tc filter add dev eth0 ingress matchall action drop && nap 0.2 &&
		tc qdisc del dev eth0 ingress && nap 0.2 || return
	done
}

# life COMMAND...: of connections with other addresses, or of more; COMMAND in the middle
life() {
	local ok

	connections && ask by rdma && "$@" && ask more && ended
	ok=$?
	kill "${pid[@]}"
	return "$ok"
}

# A VLAN of both machines; by RoCE, its addresses are GIDs of their own.
over_vlan() {
	local vlan='ip link add link eth0 name eth0.7 type vlan id 7 && ip link set eth0.7 up'

	machine 2 run sh -c "$vlan && ip address add 10.78.0.2/24 dev eth0.7" &&
	sh -c "$vlan && ip address add 10.78.0.1/24 dev eth0.7" &&
	to=10.78.0.2 life true
}

# both COMMAND...: at both machines
both() {
	machine 2 run "$@" && "$@"
}

# Devices that belong to one network namespace each: here, to the only one.
exclusive() {
	both rdma system set netns exclusive && life true && both rdma system set netns shared
}

# A peer that speaks rdma_cm, and nothing of ours.
stranger() {
	! timeout 60 rping -c -a 10.77.0.2 -p 1005 -C 1 &&
	machine 2 run grep "^rdma_req_refused [1-9]" /proc/net/sdp/snmp
}

# hostile CASE: a peer that knows what a Join looks like
hostile() {
	"$build/selftests/joined/stranger" 10.77.0.2 1005 "$1"
}

# The kernel's queue pairs that machine 2 makes are counted there from now on.
watch_qps() {
	machine 2 run sh -c "mount -t tracefs none /sys/kernel/tracing 2> /dev/null
		cd /sys/kernel/tracing && echo 'p:qps ib_create_qp_kernel' > kprobe_events &&
		echo 1 > events/kprobes/qps/enable"
}

# made PATTERN: how many there were
made() {
	# shellcheck disable=SC2016 # awk's
	machine 2 run awk '$1 == "qps" { print $2 }' /sys/kernel/tracing/kprobe_profile |
		grep -x "$1"
}

pulled() {
	unplugged && plugged
}

# The checked kernel is slow, and the tests of others are to have their turn.
many=$((100 / tap_slow))
# What the flood leaves of siw's TCP connections would be there for a minute.
[ "$VM_FABRIC" != siw ] || both sysctl -qw net.ipv4.tcp_max_tw_buckets=0
plan 36
connections
result $? "connections"
check "they leave TCP" ask by rdma
check "they go on" ask more
check "by a carrier that was joined" counted carrier_joined
rdma resource show qp | grep -q "$device/1 .*type RC .*\[sdp_rdma\]"
result $? "whose queue pairs are the device's"
check "as ss tells" eval "ss -tin | grep -q tcp-ulp-sdp-rdma"
check "the device goes: TCP has them" unplugged
check "it comes back: so do they" plugged
check "the transport goes" rmmod sdp_rdma
check "TCP has them" ask by tcp
check "they go on" ask more
check "the transport comes back" modprobe sdp_rdma
check "so do they" ask by rdma
check "the path flaps" flaps
check "they go on" ask more
check "by RDMA again" ask by rdma
check "all bytes are right" ended
kill "${pid[@]}"
to=fd77::2 v6=-6 check "over IPv6, too" life true
n=$many check "$many connections; the device goes, and comes back" life pulled
check "over a VLAN" over_vlan
check "each device is in one network namespace" exclusive
check "a stranger is refused" stranger
check "queue pairs are counted" watch_qps
check "bytes that are no request are refused" hostile bytes
check "so is another version" hostile version
check "a proof that is none" hostile proof
check "a flood of them" hostile flood
check "and requests that are taken back" hostile gone
check "no queue pair was made for them" made 0
check "connections still leave TCP" life true
check "whose queue pairs are counted" made '[1-9][0-9]*'
check "a peer without the transport" machine 2 run rmmod sdp_rdma
connections
result $? "connections to it"
check "are with TCP" ask by tcp
check "as the peer has no service" until_true 20 counted carrier_refused_no_service
check "all bytes are right" ended
kill "${pid[@]}"
finish
