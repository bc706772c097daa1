#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs that use verbs, with no idea of what is below them.

. "$(dirname "$0")/ip.sh"

rspreload=/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so
# Five times five transfers, verified
stream=(-S 50000 -I 5 -C 5 -T v)

# Is somebody waiting for connections, or datagrams, by the connection manager?
cm_listens() {
	rdma resource show cm_id | grep -q 'state LISTEN'
}

# Does the switch carry the group from each node to the other? The subnet manager
# answers a join before it does so, and leaves out a group with one member.
group_is_routed() {
	local mlid

	mlid=$(sed -n 's/.*joined dgid.* mlid \(0x[0-9a-f]*\) .*/\1/p' "$server_output")
	[ -n "$mlid" ] && ibroute -M "$switch_lid" "$mlid" "$mlid" | grep -q 'x x'
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
no_interfaces
down

finish
