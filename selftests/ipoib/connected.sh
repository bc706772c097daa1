#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Connected mode (RFC 4755): packets of up to 64 KiB by connections, and by
# datagrams what cannot go so. The other node may be in another machine, with
# another driver.

. "$(dirname "$0")/conn.sh"

stat=$net/ib0/statistics

# --- settings --------------------------------------------------------------

by_sysfs() {
	echo "$1" > $net/ib0/mode && is_mode "$1"
}

by_link() {
	ip link set ib0 type ipoib mode "$1" && is_mode "$1"
}

# At first it is the largest that there is.
mtu() {
	mtu_is $most && ip link set ib0 mtu 1500 && mtu_is 1500 &&
	ip link set ib0 mtu $most && mtu_is $most &&
	not ip link set ib0 mtu $((most + 1)) && mtu_is $most
}

# What is too much for datagrams does not stay.
mtu_of_datagrams() {
	by_sysfs datagram && mtu_is $ud_mtu && not ip link set ib0 mtu $most &&
	mtu_is $ud_mtu
}

refuses() {
	local word output

	for word in "" reliable connecte connectedd "datagram connected"; do
		output=$({ echo "$word" > $net/ib0/mode; } 2>&1) && return 1
		[[ $output == *"Invalid argument"* ]] || { echo "$output"; return 1; }
	done
	not ip link set ib0 type ipoib mode reliable && is_mode datagram
}

# The flag RC in the address; that is so whatever the mode.
capable() {
	local address node

	for node in node1 node2; do
		address=$(lladdr $node)
		echo "$node: $address"
		[ $((0x${address:0:2} & 0x80)) -ne 0 ] || return
	done
}

# --- packets ---------------------------------------------------------------

# Nodes that have nothing to say but where they are. The kernel's driver opens a
# connection for the answer to a solicitation.
resolution() {
	connected node1 node2 && down node1 node2 && up node1 node2 &&
	on node2 arping -c 1 -w 10 -I ib0 10.77.0.1 &&
	{ ! ours || on node2 "${0%/*}/solicit.py" fd77::1; } &&
	same "$(queue_pairs node1)" ""
}

by_connection() {
	connected node1 node2 && answers && large 10.77.0.2 fd77::2 &&
	until_true 10 connects node1 && connects node2
}

files() {
	local packets

	packets=$(< $stat/tx_packets)
	both_ways && transfer node1 node2 "[fd77::2]" &&
	transfer node2 node1 "[fd77::1]" || return
	packets=$(($(< $stat/tx_packets) - packets))
	echo "$packets packets"
	[ "$packets" -lt $(($(stat -c %s /tmp/file) / ud_mtu)) ]
}

peer_gid() {
	lladdr node2 | cut -d: -f5- | sed -E 's/(..):(..)/\1\2/g; s/(^|:)0{1,3}/\1/g'
}

told() {
	grep -F "$(peer_gid)" /sys/kernel/debug/ipoib/ib0_conn &&
	ethtool -S ib0 | grep conn_
}

# mix MODE MODE: of node 1 and of node 2
mix() {
	datagram node1 node2
	"$1" node1 && "$2" node2 && answers &&
	large_pings 3 10.77.0.2 &&
	large_pings 3 fd77::2 && both_ways
}

# --- a peer without connections --------------------------------------------

# An address without flags: so say those who have datagrams only.
plain() {
	local address

	address=$(lladdr node2)
	ip neigh replace 10.77.0.2 dev ib0 nud permanent lladdr "00${address:2}" &&
	ip neigh replace fd77::2 dev ib0 nud permanent lladdr "00${address:2}"
}

# too_large ADDRESS: it is said so at once, and then known.
too_large() {
	local output

	output=$(ping -M "do" -c 3 -i 0.3 -W 2 -s 60000 "$1" 2>&1) && return 1
	echo "$output"
	[[ $output =~ mtu\ ?[=:]\ ?$ud_mtu ]] &&
	ip route get "$1" | grep "mtu $ud_mtu"
}

smaller() {
	large_pings 3 10.77.0.2 &&
	large_pings 3 fd77::2 &&
	transfer node1 node2 10.77.0.2 && transfer node1 node2 "[fd77::2]"
}

# And it is a peer like others again.
forget() {
	ip neigh del 10.77.0.2 dev ib0 && ip neigh del fd77::2 dev ib0 &&
	ip route flush cache && ip -6 route flush cache && answers &&
	large 10.77.0.2 fd77::2
}

# --- groups ----------------------------------------------------------------

everybody() {
	same "$(ping -c 3 -i 0.3 ff02::1%ib0 | grep -o 'from fe80::[0-9a-f:]*' |
		sort -u | wc -l)" "$VM_NODES" &&
	ping -b -c 3 -i 0.3 -W 5 10.77.0.255 2> /dev/null | grep 'from 10.77.0.2'
}

# send_group TARGET TEXT
send_group() {
	echo "$2" | socat -b 65536 -u - "$1"
}

heard() {
	send_group "$1" "$2"
	on node2 grep -q "$2" /tmp/heard
}

dropped() {
	local n

	n=$(< $stat/tx_dropped)
	[ "$n" -gt "$1" ]
}

# large_group LISTENER TARGET: what does not fit the group arrives in pieces, or
# is counted as dropped, and others arrive after it.
large_group() {
	local before listener status text

	text=$(printf 'x%.0s' {1..5000})
	before=$(< $stat/tx_dropped)
	on node2 timeout 60 socat -b 65536 -u "$1" CREATE:/tmp/heard > /dev/null 2>&1 &
	listener=$!
	until_true 20 heard "$2" first && send_group "$2" "$text" &&
	until_true 20 heard "$2" last &&
	{ dropped "$before" || on node2 grep -qx "$text" /tmp/heard; }
	status=$?
	on node2 pkill -x socat
	wait $listener
	return $status
}

head -c "$(fewer 4000000)" /dev/urandom > /tmp/file
on node2 sysctl -qw net.ipv4.icmp_echo_ignore_broadcasts=0
datagram node1 node2

# More datagrams than a connection takes wait in the queueing discipline, and none is lost.
held_back() {
	local full sent

	tc qdisc replace dev ib0 root pfifo limit 10000 &&
	until_true 20 ping -q -c 1 -W 1 10.77.0.2 || return
	full=$(counter tx_queue_full) sent=$(< $stat/tx_packets)
	python3 - <<-EOF
	import socket
	s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
	s.setsockopt(socket.SOL_SOCKET, 32, 64 << 20)    # SO_SNDBUFFORCE
	for i in range(5000):
	    s.sendto(bytes(1000), ("10.77.0.2", 9))
	EOF
	until_true 20 eval "[ \$(< $stat/tx_packets) -ge $((sent + 5000)) ]"
	echo "sent $(($(< $stat/tx_packets) - sent))"
	same "$(counter tx_queue_full)" "$full" &&
	[ "$(< $stat/tx_packets)" -ge $((sent + 5000)) ]
	local status=$?
	tc qdisc del dev ib0 root
	return $status
}

# past_gro: how many pings and answers of ten go up without GRO
past_gro() {
	local trace=/sys/kernel/tracing event

	event=$trace/events/net/netif_receive_skb_entry
	mountpoint -q $trace || mount -t tracefs none $trace || return
	echo 'name == "ib0" && len == 84' > $event/filter && echo > $trace/trace &&
	echo 1 > $event/enable || return
	no_loss -q -c 10 -i 0.05 10.77.0.2 >&2
	echo 0 > $event/enable
	grep -c netif_receive_skb_entry: $trace/trace
}

# keep NANOSECONDS: how long GRO keeps packets, in both nodes
keep() {
	local node

	for node in node1 node2; do
		on $node sh -c "echo $1 > $net/ib0/gro_flush_timeout" || return
	done
}

# A packet that arrives alone has nothing to be merged with, unless packets are kept.
alone() {
	local some none

	until_true 20 ping -q -c 1 -W 1 10.77.0.2 && some=$(past_gro) && keep 100000 || return
	none=$(past_gro)
	keep 0
	echo "$some of those alone, $none where packets are kept"
	[ "$some" -gt 0 ] && same "$none" 0
}

# What GRO has kept does not go up behind a packet that arrives alone later.
behind() {
	local output

	until_true 20 connects node2 && output=$("${0%/*}/behind.py" "$(lladdr node1)")
	local status=$?

	keep 0
	echo "$output"
	[ $status -eq 0 ] && [[ $output == 1 || $output == "1 101" ]]
}

planned=23
! ours || planned=$((planned + 1))
# The tracepoints are those of one machine.
! ours || [ "$VM_MACHINES" -gt 1 ] || planned=$((planned + 2))
# The checked kernel has no queueing disciplines to choose from.
! ours || [ "$KERNEL" = debug ] || planned=$((planned + 1))
plan $planned
check "datagrams" is_mode datagram
check "both nodes say that they can do more" capable
check "connected, by sysfs" by_sysfs connected
check "MTU up to $most" mtu
check "back, and the MTU with it" mtu_of_datagrams
check "connected, by ip link" by_link connected
check "and back" by_link datagram
check "there are no other modes" refuses
check "address resolution opens no connection" resolution
check "packets of 60000 bytes go in one piece, by connections" by_connection
! ours || check "which debugfs and ethtool show" told
! ours || [ "$KERNEL" = debug ] || check "a connection holds the stack back" held_back
! ours || [ "$VM_MACHINES" -gt 1 ] || check "a packet that arrives alone goes past GRO" alone
! ours || [ "$VM_MACHINES" -gt 1 ] || check "and none that GRO has kept" behind
check "files, in few packets" files
check "datagrams here, connections there" mix datagram connected
check "connections here, datagrams there" mix connected datagram
check "datagrams only" mix datagram "datagram"
check "connections only" mix connected "connected"
check "a peer without connections" plain
check "a packet that is too large for it, IPv4" too_large 10.77.0.2
check "IPv6" too_large fd77::2
check "smaller ones it gets" smaller
check "and is a peer like others again" forget
check "everybody is reached" until_true 10 everybody
check "too large a packet for a group, IPv4" large_group \
	UDP4-RECV:7003,reuseaddr,ip-add-membership=239.77.1.2:ib0 \
	UDP4-DATAGRAM:239.77.1.2:7003,ip-multicast-if=10.77.0.1
check "IPv6" large_group "UDP6-RECV:7003,reuseaddr,ipv6-join-group=[ff05::77:1]:ib0" \
	"UDP6-DATAGRAM:[ff05::77:1]:7003"
datagram node1 node2
finish
