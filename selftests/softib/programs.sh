#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs that use verbs, with no idea of what is below them.

. "$(dirname "$0")/lib.sh"

server_output=/tmp/server
rspreload=/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so
# Five times five transfers, verified
stream=(-S 50000 -I 5 -C 5 -T v)

# Is somebody waiting for connections, or datagrams, by the connection manager?
cm_listens() {
	rdma resource show cm_id | grep -q 'state LISTEN'
}

# Does the switch carry the group from each node to the other? The subnet manager
# answers who joins before it does, and leaves out a group with one member.
group_is_routed() {
	local mlid

	mlid=$(sed -n 's/.*joined dgid.* mlid \(0x[0-9a-f]*\) .*/\1/p' "$server_output")
	[ -n "$mlid" ] && ibroute -M "$switch_lid" "$mlid" "$mlid" | grep -q 'x x'
}

# on_ip READY SERVER -- CLIENT: between this node, 10.1.0.1, and another one,
# 10.1.0.2; READY succeeds when the server can be talked to.
on_ip() {
	local ready=$1 command=() server status

	shift
	while [ "$1" != -- ]; do
		command+=("$1")
		shift
	done
	shift
	timeout $((100 * tap_slow)) stdbuf -oL "${command[@]}" > "$server_output" 2>&1 &
	server=$!
	until_true 20 "$ready" ||
		{ cat "$server_output"; kill "$server"; return 1; }
	timeout $((100 * tap_slow)) ip netns exec peer "$@" 2>&1
	status=$?
	wait "$server" && return "$status"
	cat "$server_output"
	return 1
}

multicast() {
	local group=(mckey -m 239.1.1.1) member status

	switch_lid=$(ibswitches | sed -n 's/.* lid \([0-9]*\) .*/\1/p')
	timeout $((100 * tap_slow)) ip netns exec peer "${group[@]}" -b 10.1.0.2 > /dev/null &
	member=$!
	on_ip group_is_routed "${group[@]}" -b 10.1.0.1 -- \
		"${group[@]}" -s -b 10.1.0.2
	status=$?
	kill "$member" 2> /dev/null
	wait "$member"
	return "$status"
}

has_carrier() {
	[[ $(ip -o link show "$@") == *LOWER_UP* ]] &&
	[[ $(ip -n peer -o link show ib1) == *LOWER_UP* ]]
}

interfaces() {
	modprobe ib_ipoib && until_true 10 [ -e /sys/class/net/ib1 ] &&
	ip netns add peer && ip link set ib1 netns peer &&
	ip -n peer link set lo up &&
	ip addr add 10.1.0.1/24 dev ib0 && ip link set ib0 up &&
	ip -n peer addr add 10.1.0.2/24 dev ib1 &&
	ip -n peer link set ib1 up && until_true 20 has_carrier ib0 &&
	# The programs ask for an address for two seconds, and the switch may carry the
	# broadcast group later than that.
	until_true 20 ip netns exec peer ping -c 1 -W 1 10.1.0.1
}

plan 24

many=$(fewer 300)
some=$(fewer 100)
few=$(fewer 20)

check "a fabric" up 2
check "ibv_devinfo" ibv_devinfo -v
check "ibv_rc_pingpong" pair ibv_rc_pingpong -c -n "$many"
check "large messages, with events" pair ibv_rc_pingpong -c -e -s 300000 -n "$few"
check "path MTU 256" pair ibv_rc_pingpong -c -m 256 -s 10000 -n "$few"
check "by GID" pair ibv_rc_pingpong -c -g 0 -n "$some"
check "ibv_srq_pingpong" pair ibv_srq_pingpong -c -n "$many"
check "ibv_uc_pingpong" pair ibv_uc_pingpong -c -n "$many"
check "by GID, path MTU 512, with events" \
	pair ibv_uc_pingpong -c -e -g 0 -m 512 -s 50000 -n "$few"
check "ibv_ud_pingpong" pair ibv_ud_pingpong -c -n "$many"
check "with events" pair ibv_ud_pingpong -c -e -n "$many"
check "ib_send_bw, in both directions" pair ib_send_bw -F -n "$some" -b
check "ib_send_lat" pair ib_send_lat -F -n "$some"
check "ib_write_bw" pair ib_write_bw -F -n "$some"
check "ib_write_bw, unreliable" pair ib_write_bw -F -c UC -n "$some"
check "ib_read_lat" pair ib_read_lat -F -n "$some"
check "ib_atomic_bw" pair ib_atomic_bw -F -n "$some"

check "IPoIB" interfaces
check "rping" on_ip cm_listens rping -s -a 10.1.0.1 -C "$some" -V -- \
	rping -c -a 10.1.0.1 -C "$some" -V
check "ucmatose" on_ip cm_listens ucmatose -b 10.1.0.1 -- \
	ucmatose -s 10.1.0.1
check "udaddy" on_ip cm_listens udaddy -b 10.1.0.1 -- udaddy -s 10.1.0.1
check "mckey" multicast
check "rstream" on_ip cm_listens rstream -b 10.1.0.1 "${stream[@]}" -- \
	rstream -s 10.1.0.1 "${stream[@]}"
# rstream itself uses sockets here, and the library that is loaded before it
# turns them into connections over RDMA.
check "librspreload" on_ip cm_listens \
	env LD_PRELOAD=$rspreload rstream -b 10.1.0.1 -T s "${stream[@]}" -- \
	env LD_PRELOAD=$rspreload rstream -s 10.1.0.1 -T s "${stream[@]}"
rmmod ib_ipoib
ip netns delete peer
down

finish
