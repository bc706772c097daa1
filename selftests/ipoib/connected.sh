#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Connected mode (RFC 4755): packets of up to 64 KiB by connections, and by
# datagrams what cannot go so. The other node may be in another machine, with
# another driver.

. "$(dirname "$0")/conn.sh"

stat=$net/ib0/statistics
blue='Blue=0x0001, ipoib, defmember=full : ALL=full;'

# --- settings --------------------------------------------------------------

# is_mode MODE: for all who ask
is_mode() {
	same "$(< $net/ib0/mode)" "$1" &&
	ip -d -j link show ib0 | grep -F "\"mode\":\"$1\""
}

by_sysfs() {
	echo "$1" > $net/ib0/mode && is_mode "$1"
}

by_link() {
	ip link set ib0 type ipoib mode "$1" && is_mode "$1"
}

mtu_is() {
	same "$(< $net/ib0/mtu)" "$1"
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

# stack NODE: fragments that it has made
fragments() {
	on "$1" nstat -asz IpFragCreates Ip6FragCreates |
		awk '/FragCreates/ { n += $2 } END { print n }'
}

# large ADDRESS...: is answered, and no node has fragmented anything.
large() {
	local to before

	before="$(fragments node1) $(fragments node2)"
	for to; do
		large_pings 5 "$to" || return
	done
	same "$(fragments node1) $(fragments node2)" "$before"
}

# The first packet may be what a connection is made for.
answers() {
	until_true 20 ping -q -c 1 -W 1 10.77.0.2 &&
	until_true 20 ping -q -c 1 -W 1 fd77::2 &&
	until_true 20 on node2 ping -q -c 1 -W 1 10.77.0.1
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

# --- changes ---------------------------------------------------------------

settings() {
	ip -br address show dev ib0
	ip route show dev ib0
	ip -6 route show dev ib0
	lladdr node1
	lladdr node2
}

# The kernel's driver now and then sends nothing for half a minute then, so with it
# there are fewer changes.
flips() {
	local before i n node patience=30

	n=$(fewer 10)
	ours && [ "$VM_MACHINES" -eq 1 ] || { patience=90; n=3; }
	before=$(settings)
	streams 0.02 && flow 100000 $patience || return
	for ((i = 0; i < n; i++)); do
		node=node$((1 + i % 2))
		datagram $node && flow 10000 $patience &&
		connected $node && flow 100000 $patience || return
	done
	whole && same "$(settings)" "$before"
}

# Both nodes have something to send before there is any connection. The kernel's
# driver drops what does not fit its short queue until then.
at_once() {
	local lost=0 first

	ours || lost=5
	down node1 node2 && up node1 node2 || return
	on node2 ping -q -c 20 -i 0.1 -W 10 10.77.0.1 > /tmp/second &
	ping -q -c 20 -i 0.1 -W 10 10.77.0.2 > /tmp/first
	wait $!
	for first in /tmp/first /tmp/second; do
		cat $first
		[ "$(sed -n 's/.* \([0-9]*\) received.*/\1/p' $first)" -ge $((20 - lost)) ] ||
			return
	done
	large 10.77.0.2
}

# The other end of all connections is gone.
restarts() {
	local begin=$SECONDS took

	down node2 && up node2 && answers || return
	took=$((SECONDS - begin))
	echo "$took s"
	[ $took -le $((20 * ${tap_slow:-1})) ] && large 10.77.0.2 fd77::2
}

# --- a child ---------------------------------------------------------------

children() {
	local n

	partitions "$blue"
	datagram node1 node2
	for n in 1 2; do
		on node$n ip -batch - <<-EOF || return
			link add link ib0 name blue type ipoib pkey 0x8001 mode connected
			link set blue mtu $most
			address add 10.81.0.$n/24 dev blue
			address add fd81::$n/64 dev blue nodad
			link set blue up
		EOF
	done
	ip -d -j link show blue | grep -F '"mode":"connected"' &&
	until_true 30 ping -q -c 1 -W 1 10.81.0.2 &&
	until_true 30 ping -q -c 1 -W 1 fd81::2
}

# The one has connections, the other has not.
child() {
	large 10.81.0.2 fd81::2 && is_mode datagram && mtu_is $ud_mtu &&
	not large 10.77.0.2
}

childless() {
	on node1 ip link del blue && on node2 ip link del blue && partitions &&
	connected node1 node2 && answers && large 10.77.0.2
}

# --- the subnet manager, and the end ---------------------------------------

without_sm() {
	large 10.77.0.2 && pkill -KILL -x opensm &&
	until_true 10 not pgrep -x opensm &&
	large_pings 50 10.77.0.2 && both_ways
}

with_sm() {
	opensm -B -f /tmp/opensm.log -P /run/partitions.conf > /dev/null &&
	until_true 30 member ff12:401b:ffff::ffff:ffff 1 && answers &&
	large 10.77.0.2
}

# idle: what stays once the interface is down, after it had connections
idle() {
	connected node1 node2 && answers && until_true 10 connects node1 && down node1 &&
	until_true 10 no_queue_pairs softib0 && verbs
}

# The second time costs no more than the first.
given_back() {
	connects node1 && down node1 && until_true 10 no_queue_pairs softib0 &&
	until_true 20 no_more "$1" verbs
	no_more "$1" verbs
}

head -c "$(fewer 4000000)" /dev/urandom > /tmp/file
on node2 sysctl -qw net.ipv4.icmp_echo_ignore_broadcasts=0
before=$(idle)
up node1
datagram node1 node2

plan "$(ours && echo 33 || echo 32)"
check "connections, and down" [ -n "$before" ]
check "datagrams" is_mode datagram
check "both nodes say that they can do more" capable
check "connected, by sysfs" by_sysfs connected
check "MTU up to $most" mtu
check "back, and the MTU with it" mtu_of_datagrams
check "connected, by ip link" by_link connected
check "and back" by_link datagram
check "there are no other modes" refuses
check "packets of 60000 bytes go in one piece, by connections" by_connection
! ours || check "which debugfs and ethtool show" told
check "files, in few packets" files
check "datagrams here, connections there" mix datagram connected
check "connections here, datagrams there" mix connected datagram
check "datagrams only" mix datagram datagram
check "connections only" mix connected connected
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
check "modes change under streams: not a byte is lost" flips
check "both ends begin at once" at_once
check "the peer starts anew" restarts
check "children have connections" children
check "their parents have not" child
check "and without children all is as before" childless
check "connections need no subnet manager" without_sm
check "a new one does no harm" with_sm
check "what was in use is given back" given_back "$before"
up node1
datagram node1 node2
finish
