#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs that use verbs, with no idea of what is below them.

. "$(dirname "$0")/lib.sh"

plan 13

check "a fabric" up 2
check "RC" pair ibv_rc_pingpong -c -n 500
check "RC, large messages, with events" pair ibv_rc_pingpong -c -e -s 300000 -n 50
check "RC, small path MTU" pair ibv_rc_pingpong -c -m 256 -s 10000 -n 100
check "RC on a shared receive queue" pair ibv_srq_pingpong -c
check "UD" pair ibv_ud_pingpong -c -n 500
check "UD, with events" pair ibv_ud_pingpong -c -e -n 500
check "sends" pair ib_send_bw -F -n 300
check "RDMA writes" pair ib_write_bw -F -n 300
check "RDMA reads" pair ib_read_bw -F -n 300
check "atomic operations" pair ib_atomic_bw -F -n 300
check "both directions at once" pair ib_send_bw -F -n 300 -b

# The connection manager, over IP; the kernel's own driver gives the addresses.
connected() {
	local server status

	modprobe ib_ipoib && ip addr add 10.1.0.1/24 dev ib0 &&
		ip link set ib0 up && until_true 20 running || return
	timeout 100 rping -s -a 10.1.0.1 -C 100 -V > /tmp/server 2>&1 &
	server=$!
	sleep 1
	timeout 100 rping -c -a 10.1.0.1 -C 100 -V
	status=$?
	wait "$server" && return "$status"
	cat /tmp/server
	return 1
}

running() {
	[ "$(cat /sys/class/net/ib0/operstate)" = up ]
}

check "rping" connected
rmmod ib_ipoib
down

finish
