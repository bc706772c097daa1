#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs that know nothing of it see what they see on TCP where every connection between two
# nodes is joined over InfiniBand. The nodes share a kernel: they are told not to use its memory.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/oracle/compare.sh"

namespaces=(node1 node2)
long='stream files options events waits limit'
# These are over before a connection of the checked kernel has moved.
[ "$KERNEL" = debug ] || long+=' keep control again'

# programs FAMILY: those to run
programs() {
	case $1 in
	IPv4)	echo names stream ends keep files urgent options events control again every defer \
			woken waits limit busy ;;
	*)	echo names stream ends keep ;;
	esac
}

# carriers LIST: what the nodes' connections may leave TCP by
carriers() {
	local node

	for node in "${namespaces[@]}"; do
		ip netns exec "$node" sysctl -qw "net.sdp.carriers=$1"
	done
}

order=$(ip netns exec node1 sysctl -n net.sdp.carriers)
transcribe 'IPv4 10.77.0.2 node2 node1' 'IPv6 fd77::2 node2 node1' \
	'mapped ::ffff:10.77.0.2 node2 node1'
carriers ib || bail 'no carrier ib'
compare
carriers "$order"
finish
