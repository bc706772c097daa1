#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Multicast groups: joined when somebody listens, left when nobody does, sent
# to without listening. The other node may be in another machine, with another driver.

. "$(dirname "$0")/lib.sh"

v4=ff12:401b:ffff::f4d:102
v6=ff12:601b:ffff::77:1
sent=ff12:401b:ffff::f4d:909
stat=/sys/class/net/ib0/statistics
capture=/dev/shm/mcast.pcap

# datagrams TEXT COUNT TARGET: sends so many, of one line each.
datagrams() {
	local i

	# A socat each, or it may join two lines in one datagram.
	for i in $(seq "$2"); do
		echo "$1 $i" | socat -u - "$3"
	done
}

# The subnet manager tells the switches some time after it has told the joiners.
arrived() {
	datagrams probe 1 "$1"
	grep -q probe /tmp/got
}

# receive LISTENER TARGET MGID: 20 datagrams arrive at node2.
receive() {
	local listener got

	on node2 socat -u "$1" - > /tmp/got &
	listener=$!
	until_true 10 member "$3" 2 && until_true 10 arrived "$2" || return
	datagrams datagram 20 "$2" || return
	until_true 5 grep -q 'datagram 20' /tmp/got
	got=$(grep -c datagram /tmp/got)
	on node2 pkill -x socat
	wait "$listener"
	same "$got" 20
}

receive_v4() {
	receive UDP4-RECV:7000,reuseaddr,ip-add-membership=239.77.1.2:ib0 \
		UDP4-DATAGRAM:239.77.1.2:7000,ip-multicast-if=10.77.0.1 "$v4"
}

receive_v6() {
	receive "UDP6-RECV:7000,reuseaddr,ipv6-join-group=[ff05::77:1]:ib0" \
		"UDP6-DATAGRAM:[ff05::77:1]:7000" "$v6"
}

left() {
	until_true 10 not member "$1" 2
}

sent_since() {
	[ $(($(< "$stat"/tx_packets) - $1)) -ge "$2" ]
}

# Nobody listens: the group is made for the sender, and nothing is lost.
send_only() {
	local before dropped

	before=$(< "$stat"/tx_packets) dropped=$(< "$stat"/tx_dropped)
	datagrams datagram 5 \
		UDP4-DATAGRAM:239.77.9.9:7000,ip-multicast-if=10.77.0.1
	until_true 5 member "$sent" 1 || return
	# What waited for the group is counted when it has gone.
	until_true 5 sent_since "$before" 5
	echo "sent $(($(< "$stat"/tx_packets) - before))," \
	     "dropped $(($(< "$stat"/tx_dropped) - dropped))"
	ip maddr show dev ib0 | grep -q 239.77.9.9 && return 1
	sent_since "$before" 5 &&
	same "$(< "$stat"/tx_dropped)" "$dropped"
}

answered() {
	echo probe | on node2 socat -u - \
		UDP4-DATAGRAM:239.77.9.9:7001,ip-multicast-if=10.77.0.2
	grep -q probe /tmp/got
}

# What was only sent to is then listened to.
send_then_listen() {
	local listener status

	socat -u UDP4-RECV:7001,reuseaddr,ip-add-membership=239.77.9.9:ib0 - \
		> /tmp/got &
	listener=$!
	until_true 10 answered
	status=$?
	kill "$listener"
	wait "$listener"
	return "$status"
}

# --- what the stack tells others -----------------------------------------------

# told FILTER: such a packet of node 1 crossed the fabric.
told() {
	tshark -r $capture -Y "$1" 2> /dev/null | grep -q .
}

# Both groups' addresses are in packets, as they are not in GIDs.
in_capture() {
	LC_ALL=C grep -qaP '\xef\x4d\x08\x08' $capture &&
	LC_ALL=C grep -qaP '\xff\x05\x00{11}\x77\x00\x08' $capture
}

# IGMP and MLD are to groups that routers listen to.
reports() {
	local taker listeners status

	cat /sys/kernel/debug/softib/capture > $capture &
	taker=$!
	until_true 10 test -s $capture
	socat -u UDP4-RECV:7002,reuseaddr,ip-add-membership=239.77.8.8:ib0 - &
	listeners=$!
	socat -u "UDP6-RECV:7002,reuseaddr,ipv6-join-group=[ff05::77:8]:ib0" - &
	listeners+=" $!"
	until_true 20 in_capture
	status=$?
	# shellcheck disable=SC2086 # one argument a word
	kill $taker $listeners
	# shellcheck disable=SC2086
	wait $taker $listeners 2> /dev/null
	[ $status -eq 0 ] && told "igmp.maddr == 239.77.8.8 && ip.src == 10.77.0.1" &&
	told "icmpv6.mldr.mar.multicast_address == ff05::77:8"
}

# --- groups of user space's own ---------------------------------------------------

listed() {
	grep -qx "GID: $1" /sys/kernel/debug/ipoib/*_mcg
}

# listening: to the group of a program, and to another one behind it
listening() {
	local listeners status

	socat -u UDP4-RECV:7003,reuseaddr,ip-add-membership=239.77.6.6:ib0 - &
	listeners=$!
	until_true 10 in_list 239.77.6.6
	socat -u UDP4-RECV:7004,reuseaddr,ip-add-membership=239.77.6.7:ib0 - &
	listeners+=" $!"
	until_true 20 joined ff12:401b:ffff:0:0:0:f4d:607 && "$@"
	status=$?
	# shellcheck disable=SC2086 # one argument a word
	kill $listeners
	# shellcheck disable=SC2086
	wait $listeners 2> /dev/null
	until_true 20 not listed ff12:401b:ffff:0:0:0:f4d:607
	return $status
}

in_list() {
	ip maddr show dev ib0 | grep -q "$1"
}

# What a program has joined by itself is left alone, if umcast is 1.
programs_own() {
	local program status

	mckey -m 239.77.6.6 -p 0x0002 -b 10.77.0.1 > /tmp/mckey 2>&1 &
	program=$!
	until_true 20 member ff12:401b:ffff::f4d:606 1 || { cat /tmp/mckey; return 1; }
	echo 1 > /sys/class/net/ib0/umcast &&
	listening not listed ff12:401b:ffff:0:0:0:f4d:606 &&
	echo 0 > /sys/class/net/ib0/umcast &&
	listening until_true 20 joined ff12:401b:ffff:0:0:0:f4d:606
	status=$?
	echo 0 > /sys/class/net/ib0/umcast
	kill $program
	wait $program 2> /dev/null
	return $status
}

# --- all of them -------------------------------------------------------------------

all_nodes() {
	local output

	output=$(ping -c 3 -i 0.3 ff02::1%ib0)
	echo "$output"
	same "$(grep -o 'from fe80::[0-9a-f:]*' <<< "$output" |
		sort -u | wc -l)" "$VM_NODES"
}

# Says what each node has if not all of them answer.
all_answer() {
	local i

	until_true 10 all_nodes || all_nodes && return
	for i in $(seq "$VM_NODES"); do
		echo "node$i:"
		on "node$i" ip -6 address show dev ib0
		on "node$i" ip -6 neigh show dev ib0
		member ff12:601b:ffff::1 "$i" || echo "not in the group"
	done
	return 1
}

# One's own multicast does not come back from the fabric.
no_echo() {
	local twice

	twice=$(ping -c 5 -i 0.3 ff02::1%ib0 | grep -o 'from .* icmp_seq=[0-9]*' |
		sort | uniq -d)
	same "$twice" ""
}

many() {
	exec python3 - <<-EOF
	import socket, sys, time
	socks = []
	for i in range(100):
	    if i % 10 == 0:
	        socks.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
	    socks[-1].setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
	        socket.inet_aton("239.1.1.%d" % (i + 1)) + socket.inet_aton("10.77.0.1"))
	time.sleep(60)
	EOF
}

# So many of the groups that many() joins have a member.
many_joined() {
	local n

	n=$(saquery -g 2> /dev/null | grep -c 'MGID.*401b:ffff::f01:1[0-9a-f][0-9a-f]$')
	same "$n" "$1"
}

many_groups() {
	local listener

	many &
	listener=$!
	until_true 30 many_joined 100 || many_joined 100 || return
	kill "$listener"
	wait "$listener"
	until_true 30 many_joined 0 || many_joined 0
}

plan 11
check "IPv4 group: what is sent arrives" receive_v4
check "IPv4 group: left when nobody listens" left $v4
check "IPv6 group: what is sent arrives" receive_v6
check "IPv6 group: left when nobody listens" left $v6
check "sent to without listening" send_only
check "then listened to" send_then_listen
check "IGMP and MLD" reports
check "a program's own group is left to it, by umcast" programs_own
check "all nodes answer to ff02::1" all_answer
check "own multicast does not come back" no_echo
check "100 groups joined and left" many_groups
finish
