#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What is counted: packets, bytes, multicast; and that ethtool shows the same.

. "$(dirname "$0")/lib.sh"

stat=/sys/class/net/ib0/statistics
names="rx_packets tx_packets rx_bytes tx_bytes tx_errors rx_dropped tx_dropped multicast"
# Of each packet that is sent; what is received counts without.
header=4

# As ethtool has them, in order
shown() {
	ethtool -S ib0 | awk 'NR > 1 { print $1 $2 }' | head -n "$(wc -w <<< "$names")"
}

in_order() {
	same "$(shown | sed 's/:.*//' | xargs)" "$names"
}

# The same twice, with nothing counted between. The kernel's driver does not know what
# the stack has dropped.
agree() {
	local name first second what=.

	ours || what='packets|bytes|multicast'
	first=$(shown | grep -E "$what")
	second=$(for name in $names; do echo "$name:$(< "$stat/$name")"; done | grep -E "$what")
	same "$first" "$second"
}

# count NAME...: of node 1's interface now
count() {
	local name

	for name; do
		echo "$(< "$stat/$name")"
	done | xargs
}

# between WHAT LEAST MOST: a number is
between() {
	echo "$1"
	[ "$1" -ge "$2" ] && [ "$1" -le "$3" ]
}

# hundred DIRECTION LENGTH: packets, and few others, were counted with what comes
# before them. What was sent is counted when it is completed.
hundred() {
	local before after packets bytes

	read -r -a before <<< "$(count "$1_packets" "$1_bytes")"
	no_loss -q -c 100 -i 0.01 -s 1000 10.77.0.2 || return
	until_true 5 counted "$1_packets" $((before[0] + 100)) || return
	read -r -a after <<< "$(count "$1_packets" "$1_bytes")"
	packets=$((after[0] - before[0])) bytes=$((after[1] - before[1]))
	between $packets 100 120 &&
	# One more may come after the packets are read, and before the bytes.
	between $bytes $((100 * $2)) $((100 * $2 + 200 * (packets - 99)))
}

counted() {
	[ "$(< "$stat/$1")" -ge "$2" ]
}

# multicasts ADDRESS LEAST MOST: so many after twenty packets of node 2 to that address.
# Others are the nodes' own, and any of them may be the twentieth.
multicasts() {
	local before

	before=$(count multicast rx_packets)
	on node2 ping -q -c 20 -i 0.01 -W 1 -b -I ib0 "$1"
	until_true 5 counted rx_packets $((${before#* } + 20)) || return
	until_true 5 counted multicast $((${before% *} + $2))
	between $(($(count multicast) - ${before% *})) "$2" "$3"
}

# The adapter cuts up what the stack sends, and each piece is a packet. The kernel's
# driver counts what the stack sends.
segments() {
	local sent received reader

	sent=$(count tx_packets) received=$(on node2 cat $stat/rx_packets)
	on node2 socat -u TCP-LISTEN:7000,reuseaddr - > /tmp/stat.in &
	reader=$!
	until_true 10 eval 'on node2 ss -Hltn sport = :7000 | grep -q .' &&
	head -c 4M /dev/zero | socat -u - TCP:10.77.0.2:7000 && wait $reader &&
	same "$(wc -c < /tmp/stat.in)" $((4 << 20)) || return
	sent=$(($(count tx_packets) - sent))
	received=$(($(on node2 cat $stat/rx_packets) - received))
	echo "sent $sent, received $received"
	[ $received -ge $(((4 << 20) / VM_IB_MTU)) ] || return
	if ours; then
		between $((100 * sent / received)) 90 110
	else
		[ $sent -le $received ]
	fi
}

plan 8
no_loss -q -c 1 10.77.0.2
check "ethtool begins with the interface's" in_order
check "which are the same" until_true 10 agree
check "what is sent" hundred tx $((1028 + header))
check "what is received" hundred rx 1028
check "broadcast is no multicast" multicasts 10.77.0.255 0 10
check "multicast is" multicasts 224.0.0.1 20 30
check "each segment is a packet: $(ours || echo "not ")counted" segments
check "ethtool knows all of it" until_true 10 agree
finish
