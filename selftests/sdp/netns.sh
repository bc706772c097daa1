#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A network namespace that is deleted with a connection in it, and ends with
# the last process.

. "$(dirname "$0")/lib.sh"

traffic=$programs/traffic

# ib0 of node1 moves to a namespace of its own.
give_interface() {
	ip netns add other &&
	ip link set ib0 netns other &&
	ip -n other address add 10.77.0.1/24 dev ib0 &&
	ip -n other link set ib0 up &&
	ip netns exec other sysctl -qw net.sdp.direct=1 &&
	until_true 20 ip netns exec other ping -q -c 1 -W 1 10.77.0.2
}

# What a namespace leaves goes to the first one.
interface_back() {
	name=$(nsenter -t 1 -n ip -o link | awk '/infiniband/ {
		sub(/[:@].*/, "", $2); print $2; exit }')
	[ -n "$name" ]
}

take_interface() {
	nsenter -t 1 -n ip link set "$name" netns node1 name ib0 &&
	sysctl -qw net.ipv6.conf.ib0.accept_dad=0 &&
	ip address add 10.77.0.1/24 dev ib0 &&
	ip address add fd77::1/64 dev ib0 &&
	ip link set ib0 up &&
	until_true 20 ping -q -c 1 -W 1 10.77.0.2
}

# listed COUNT: node2 has so many connections of port 9000.
listed() {
	# shellcheck disable=SC2016 # for awk to expand
	[ "$(ip netns exec node2 awk '$1 ~ /:9000$/ && $3 == "ESTABLISHED"' \
		/proc/net/sdp/direct | wc -l)" -eq "$1" ]
}

plan 7
check "an interface for a namespace" give_interface
"$traffic" serve > /tmp/serve & server=$!
until_true 10 grep -q listening /tmp/serve
ip netns exec other "$traffic" hold > /tmp/hold & client=$!
check "a connection" until_true 20 grep -q connected /tmp/hold
ip netns del other
# Its server may not have heard yet that it is connected.
check "lives on when the name is gone" until_true 10 listed 1
! interface_back
result $? "and so does the namespace"
kill $client
wait $client 2> /dev/null
wait $server
result $? "ends in good order with its process"
until_true 20 interface_back
result $? "and so does the namespace"
check "all is as before" take_interface
finish
