#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The directions of a connection move to pipes and come back. Everything over loopback; the
# streams also over IPv6, addresses of IPv4 in IPv6, between namespaces, and through NAT.

. "$(dirname "$0")/sock.sh"

streams=('both directions' 'messages of all' streams)

# nat: blue answers for 10.9.0.9 as well.
nat() {
	tc -n blue qdisc add dev b0 clsact &&
	tc -n blue filter add dev b0 ingress protocol ip u32 match ip dst 10.9.0.9/32 \
		action nat ingress 10.9.0.9/32 10.9.0.2 &&
	tc -n blue filter add dev b0 egress protocol ip u32 match ip src 10.9.0.2/32 \
		action nat egress 10.9.0.2/32 10.9.0.9 &&
	ip -n red neigh add 10.9.0.9 dev r0 \
		lladdr "$(ip netns exec blue cat /sys/class/net/b0/address)"
}

# The checked kernel translates no addresses.
nat=4
[ "$KERNEL" != debug ] || nat=0
plan $((87 + nat))
check "a machine" start
within "loopback" "$programs/moves"
within "IPv6" "$programs/moves" -6 -l ::1 -c ::1 "${streams[@]}" SIGIO urgent
within "IPv4 in IPv6" "$programs/moves" -6 -l ::ffff:127.0.0.1 -c ::ffff:127.0.0.1 \
	"${streams[@]}"
check "two namespaces" two_hosts
within "namespaces" "$programs/moves" -l 10.9.0.2 -c 10.9.0.2 -S blue -C red "${streams[@]}"
[ $nat = 0 ] || check "NAT between them" nat
[ $nat = 0 ] || within "NAT" "$programs/moves" -l 10.9.0.2 -c 10.9.0.9 -S blue -C red \
	"${streams[@]}"
finish
