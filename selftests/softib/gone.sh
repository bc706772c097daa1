#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Packets for an HCA without consumers are dropped. When all HCAs go, the
# last one goes first; what the kernel says of that, the runner looks at.

. "$(dirname "$0")/lib.sh"

plan 4

# Has so much arrived at softib1 by way of the delay that more is under way?
under_way() {
	[ "$(sed -n 's/^delayed //p' "$conf/links/softib1/b/counts")" -gt 100 ]
}

# From ib0 to ib1, whose address needs no query.
flood() {
	local to

	modprobe ib_ipoib &&
	ip link set ib0 up && ip address add 10.9.1.1/24 dev ib0 && ip link set ib1 up &&
	until_true 30 sh -c "ip link show ib0 | grep -q LOWER_UP" || return
	to=$(< /sys/class/net/ib1/address)
	ip neigh add 10.9.1.2 lladdr "$to" dev ib0 nud permanent &&
	echo 200000 > "$conf/links/softib1/b/delay" || return
	/usr/bin/python3 "$(dirname "$0")/flood.py" 10.9.1.2 &
	until_true 20 under_way
}

check "two HCAs with interfaces" up 2
flood
result $? "one sends to the other"
unmanage
check "both go meanwhile" timeout $((60 * tap_slow)) rmmod softib
wait
rmmod ib_ipoib
check "and the module" not test -e /sys/module/softib

finish
