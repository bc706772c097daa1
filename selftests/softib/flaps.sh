#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A link that goes down and up a thousand times, under everything that uses it.

. "$(dirname "$0")/lib.sh"

link=$conf/links/softib1

flap() {
	local i

	for ((i = 0; i < flaps; i++)); do
		echo 0 > "$link"/up && echo 1 > "$link"/up || return
	done
}

plan 8

check "a fabric" up 2
[ $tap_failed -eq 0 ] || finish
modprobe ib_ipoib
until_true 10 test -e /sys/class/net/ib1
ip netns add other
ip link set ib1 netns other
ip address add 10.9.0.1/24 dev ib0
ip -n other address add 10.9.0.2/24 dev ib1
ip link set ib0 up
ip -n other link set ib1 up
# ping itself gives up at the first error, which comes of an interface that is not up yet.
check "with network interfaces" until_true 20 ping -c 1 -W 1 10.9.0.2
ping -q -i 0.01 10.9.0.2 > /dev/null &
ping=$!
flaps=$(fewer 1000)
check "$flaps flaps" flap
# The counter goes up to 255.
check "are counted" test "$(< $hcas/softib1/ports/1/counters/link_downed)" \
	-ge $((flaps < 255 ? flaps : 255))
check "the link comes up once more" until_true 30 all_active 2
kill $ping
check "and the interfaces with it" until_true 30 ping -c 1 -W 1 10.9.0.2
check "the interfaces go" rmmod ib_ipoib
unmanage
check "and all else" rmmod softib

finish
