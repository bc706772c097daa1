#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The rules of the network act on a joined connection, whose packets leave by IPoIB.

. "$(dirname "$0")/lib.sh"

# renamed NAMESPACE FROM TO: a device
renamed() {
	ip -n "$1" link set "$2" down && ip -n "$1" link set "$2" name "$3" &&
	ip -n "$1" link set "$3" up
}

# named NODE NAME DEVICE ADDRESS: what the rows call it
named() {
	ln -s "/run/netns/node$1" "/run/netns/$2" && renamed "$2" ib0 "$3" &&
	ip -n "$2" addr add "$4/24" dev "$3"
}

# unnamed NODE NAME DEVICE ADDRESS: for the tests that follow
unnamed() {
	ip -n "$2" addr del "$4/24" dev "$3"
	renamed "$2" "$3" ib0
	ip -n "$2" addr add "fd77::$1/64" dev ib0 nodad
	rm "/run/netns/$2"
}

leave_it() {
	unnamed 1 red r0 10.9.0.1
	unnamed 2 blue b0 10.9.0.2
	all_nodes touch 10
	all_nodes carriers "$order"
}

reaches() {
	in_node 1 ping -q -c 1 -W 1 10.9.0.2
}

rows=('packets that' 'a rule' 'an address' 'a device' IPsec 'a capture at' 'programs' 'a client')

plan 14
trap leave_it EXIT
check "only InfiniBand" only_ib
check "a touch each second" all_nodes touch 1
check "node1 is red" named 1 red r0 10.9.0.1
check "node2 is blue" named 2 blue b0 10.9.0.2
check "they reach each other" until_true 20 reaches
within gate "$sock/gate" -w "${rows[@]}"
finish
