#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The rules of the network act on a connection that has moved.

. "$(dirname "$0")/sock.sh"
. "$(dirname "$0")/messages.sh"

touches() {
	ip netns exec red sysctl -q net.sdp.touch=1 && ip netns exec blue sysctl -q net.sdp.touch=1
}

# A bridge in a namespace of its own between two more devices; the ends have VLANs on these.
bridge() {
	ip netns add hub && ip -n hub link add bridge type bridge &&
	ip link add r1 netns red type veth peer name r2 netns hub &&
	ip link add b1 netns blue type veth peer name b2 netns hub &&
	ip -n hub link set r2 master bridge up && ip -n hub link set b2 master bridge up &&
	ip -n hub link set bridge up &&
	ip -n red link set r1 up && ip -n blue link set b1 up &&
	ip -n red link add link r1 name r5 type vlan id 5 &&
	ip -n blue link add link b1 name b5 type vlan id 5 &&
	ip -n red addr add 10.9.5.1/24 dev r5 && ip -n red link set r5 up &&
	ip -n blue addr add 10.9.5.2/24 dev b5 && ip -n blue link set b5 up
}

no_bridge() {
	[ ! -e /run/netns/hub ] || ip netns del hub
	leave
}

trap no_bridge EXIT

rows=('packets that' 'a rule' 'a capture' nothing 'a client' 'a map')
[ "$VARIANT" != long ] || rows=()

# by_test: they move to the carrier for tests, which one host has, too
by_test() {
	insmod "$module" || return
	for ns in red blue; do
		ip netns exec "$ns" sysctl -q net.sdp.carriers=test || return
	done
}

plan $((${#rows[@]} ? 18 : 22))
check "a machine" start
check "two namespaces" two_hosts
check "a bridge" bridge
check "a touch each second" touches
within "gate" "$programs/gate" "${rows[@]}"
check "a carrier" by_test
within "a carrier" "$programs/gate" -w 'nothing by TCP, but'
check "the carrier goes" rmmod sdp_carrier_test
finish
