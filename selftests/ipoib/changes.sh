#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The administrator changes everything that can be changed, again and again,
# while packets flow: TCP gets every byte through once there is peace.

. "$(dirname "$0")/lib.sh"

net=/sys/class/net

# A stream of TCP from node 2 to here, that lasts until /run/enough is there;
# what both ends saw of it.
stream() {
	socat -u TCP-LISTEN:7000,reuseaddr - | sha256sum > /tmp/received &
	receiver=$!
	until_true 10 listening || return
	on node2 bash -c '
		while [ ! -e /run/enough ]; do
			cat /tmp/block
		done | tee >(sha256sum > /tmp/sent) |
			socat -u - TCP:10.77.0.1:7000' &
}

listening() {
	[ -n "$(ss -Hltn sport = :7000)" ]
}

# So many more bytes have come.
flows() {
	local from

	from=$(received)
	until_true "$2" came $((from + $1))
}

received() {
	ss -Htin state established sport = :7000 |
		sed -n 's/.*bytes_received:\([0-9]*\).*/\1/p'
}

came() {
	[ "$(received)" -ge "$1" ]
}

# Not as many as can be, or there is no time for anything else.
floods() {
	ping -q -i 0.01 -s 1000 10.77.0.2 &
	on node2 ping -q -i 0.01 -s 3000 fd77::1 &
	ping -q -i 0.05 ff02::1%ib0 &
} > /dev/null 2>&1

# A program ends, not a shell that waits for one.
quiet() {
	pkill -x ping
	wait "$receiver"
}

# loop N FUNCTION...: the functions in turn, N times each, traffic after all.
loop() {
	local n i

	n=$(fewer "$1")
	shift
	for ((i = 0; i < n * $#; i++)); do
		"${@:i % $# + 1:1}" $((i / $#)) || return
	done
	until_true 20 carrier && flows 100000 20
}

down_up() {
	ip link set ib0 down && sleep 0.0$(($1 * 3 % 10)) && address_up node1 1 &&
	sleep 0.$(($1 % 4))
}

# Before Linux 6.2 an interface that is up keeps its name.
rename() {
	local name=ib0 new

	for new in other ib1.8001 "$name"; do
		ip link set "$name" down && ip link set "$name" name "$new" &&
		ip link set "$new" up || return
		name=$new
	done
	address_up node1 1 && sleep 0.$(($1 % 3))
}

mtu() {
	local most mtu

	most=$(< $net/ib0/mtu)
	for mtu in 1500 1280 "$most"; do
		ip link set ib0 mtu "$mtu" && sleep 0.05 || return
	done
}

mode() {
	echo connected > $net/ib0/mode && ip link set ib0 mtu 65520 &&
	sleep 0.05 &&
	echo datagram > $net/ib0/mode && ip link set ib0 mtu 2044
} 2> /dev/null

umcast() {
	echo $((1 - $1 % 2)) > $net/ib0/umcast && sleep 0.02 &&
	ip link set ib0 type ipoib umcast $(($1 % 2))
}

queue() {
	ip link set ib0 txqueuelen $((50 + $1 * 100)) &&
	ip link set ib0 allmulticast on && ip link set ib0 promisc on &&
	ip link set ib0 promisc off && ip link set ib0 allmulticast off
}

# All of it by two at once, who know nothing of each other
at_once() {
	local i n other

	n=$(fewer 3)
	for ((i = 0; i < n; i++)); do
		mtu; umcast "$i"; queue "$i"; mode
		ethtool -S ib0; cat /sys/kernel/debug/ipoib/ib0_*
	done > /dev/null 2>&1 &
	other=$!
	for ((i = 0; i < n; i++)); do
		down_up "$i" || return
	done
	wait $other
	mode
	ip link set ib0 mtu 2044
	ip link set ib0 txqueuelen "$queue_length"
	ip link set ib0 type ipoib umcast 0
	until_true 20 carrier && flows 100000 20
}

whole() {
	touch /run/enough
	until_true 30 not kill -0 "$receiver"
	until_true 10 [ -s /tmp/sent ]
	[ -s /tmp/sent ] && same "$(< /tmp/received)" "$(< /tmp/sent)"
}

as_before() {
	address_up node1 1 && until_true 20 carrier &&
	same "$(< $net/ib0/mtu)" 2044 && same "$(< $net/ib0/mode)" datagram &&
	same "$(< $net/ib0/umcast)" 0 && same "$(< $net/ib0/tx_queue_len)" "$queue_length" &&
	no_loss -q -c 10 -i 0.05 10.77.0.2 &&
	until_true 20 ping -c 1 -W 1 fd77::2 && no_loss -q -c 10 -i 0.05 fd77::2
}

head -c 100000 /dev/urandom > /tmp/block
rm -f /run/enough
queue_length=$(< $net/ib0/tx_queue_len)
plan 9
stream
floods
check "a stream and floods" flows 100000 20
check "down and up" loop 4 down_up
check "names" loop 2 rename
check "MTU" loop 3 mtu
check "modes and other settings" loop 3 mode umcast queue
check "all of them in turn" loop 2 down_up mtu rename mode umcast
check "two at once" at_once
check "not a byte is lost or wrong" whole
quiet
check "all is as before" as_before
finish
