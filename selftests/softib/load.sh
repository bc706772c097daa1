#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Loading and unloading, also while packets are under way and consumers are
# there. What the kernel says meanwhile, the runner looks at.

. "$(dirname "$0")/lib.sh"

plan 5

loops() {
	local i

	for ((i = 0; i < $(fewer 5); i++)); do
		insmod "$module" hcas=3 && rmmod softib || return
	done
}
check "again and again, unmanaged" loops

managed() {
	local i

	for ((i = 0; i < $(fewer 2); i++)); do
		up 2 && down || return
	done
}
check "and managed" managed

# The consumers' ports vanish under them.
orphans() {
	local i

	for ((i = 0; i < $(fewer 2); i++)); do
		up 2 || return
		modprobe ib_ipoib
		ip link set ib0 up
		ip link set ib1 up
		sleep 0.5
		rmmod softib || return
		[ -z "$(find /sys/class/net -name 'ib?')" ] || return
		pkill -x opensm
		until_true 20 not pgrep -x opensm > /dev/null
		rmmod ib_ipoib
	done
}
check "under IPoIB and opensm" orphans

# The kernel does not let the module go while a program has an HCA open; it
# goes right after the last of them, with packets of theirs under way.
traffic() {
	local i server client

	for ((i = 0; i < $(fewer 2); i++)); do
		up 2 || return
		ib_write_bw -d softib0 -F -D 60 > /dev/null 2>&1 &
		server=$!
		until_true 20 listening || return
		ib_write_bw -d softib1 -F -D 60 localhost > /dev/null 2>&1 &
		client=$!
		sleep 1
		kill -KILL "$server"
		sleep 0.2
		kill -KILL "$client"
		wait "$server" "$client"
		pkill -x opensm
		until_true 20 not pgrep -x opensm > /dev/null
		until_true 20 rmmod softib || return
	done
} 2> /dev/null
check "right after traffic" traffic
check "nothing is left" not test -e /sys/module/softib

finish
