#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Multicast by a queue pair of the program (libsdpmcast), and by a socket where that cannot
# be. The other node sends with sockets.

. "$(dirname "$0")/../ipoib/lib.sh"

receive=$VM_BUILD/libsdpmcast/examples/receive
group=239.77.5.1 gid=ff12:401b:ffff:0:0:0:f4d:501 sa=ff12:401b:ffff::f4d:501
group6=ff05::77:5 gid6=ff12:601b:ffff:0:0:0:77:5

# begin NAME GROUP [SOURCE]...: a receiver, whose commands come from a pipe
begin() {
	rm -f "/tmp/to.$1" "/tmp/got.$1" && mkfifo "/tmp/to.$1" || return
	"$receive" ib0 7200 "${@:2}" <> "/tmp/to.$1" > "/tmp/got.$1" 2>&1 &
	echo $! > "/tmp/pid.$1"
}

told() {
	[ "$(grep -c '^way' "/tmp/got.$1")" -gt "$2" ]
}

# value NAME WHAT: what the receiver says of itself
value() {
	local before

	before=$(grep -c '^way' "/tmp/got.$1" 2> /dev/null)
	echo tell > "/tmp/to.$1"
	until_true 10 told "$1" "${before:-0}" || { cat "/tmp/got.$1"; return 1; }
	grep '^way' "/tmp/got.$1" | tail -n 1 | tr ' ' '\n' | grep -A 1 -x "$2" | tail -n 1
}

is() {
	[ "$(value "$1" "$2")" = "$3" ]
}

shows() {
	[ "$(field "${me}_mcg" "${3-$gid}" "$1")" = "$2" ]
}

offloaded() {
	until_true 20 is "$1" way 0 || { value "$1" way; return 1; }
	is "$1" claimed 1 && until_true 10 shows attached no "${2-$gid}"
}

end() {
	local name

	for name; do
		kill -KILL "$(< "/tmp/pid.$name")" || return
	done
}

gone() {
	until_true 10 not grep -qx "GID: $gid" "$debugfs/${me}_mcg"
}

# send TEXT COUNT [TARGET]
send() {
	local i

	for i in $(seq "$2"); do
		echo "$1 $i" | on node2 socat -u - \
			"${3-UDP4-DATAGRAM:$group:7200,ip-multicast-if=10.77.0.2}"
	done
}

lines() {
	grep -c "$2" "/tmp/got.$1"
}

# The switches learn of a member some time after the member knows.
reached() {
	send probe 1 "${2-UDP4-DATAGRAM:$group:7200,ip-multicast-if=10.77.0.2}"
	grep -q probe "/tmp/got.$1"
}

# twenty NAME WAY [TARGET]: each of 20 comes that way, and once
twenty() {
	until_true 20 reached "$1" "${@:3}" && send "$2" 20 "${@:3}" &&
	until_true 10 grep -q "$2 20\$" "/tmp/got.$1"
	same "$(lines "$1" "^$2 [0-9]* $2")" 20 && same "$(lines "$1" "^[a-z-]* [0-9]* $2 ")" 20
}

by_queue_pair() {
	begin a $group && offloaded a && until_true 10 member $sa 1 && twenty a queue-pair &&
	is a socket 0
}

beside() {
	local status

	socat -u UDP4-RECV:7200,reuseaddr,ip-add-membership=$group:ib0 - > /tmp/got.kernel &
	until_true 10 shows attached yes && until_true 20 reached kernel &&
	send both 10 && until_true 10 grep -q 'both 10' /tmp/got.kernel &&
	until_true 10 grep -q 'both 10' /tmp/got.a && same "$(lines a ' both ')" 10 &&
	same "$(lines kernel both)" 10
	status=$?
	kill $!
	[ $status -eq 0 ] && until_true 10 shows attached no
}

local_sender() {
	local i

	for i in $(seq 5); do
		echo "near $i" | socat -u - UDP4-DATAGRAM:$group:7200,ip-multicast-if=10.77.0.1
	done
	until_true 10 grep -q 'near 5' /tmp/got.a && same "$(lines a ' near ')" 5
}

other_port() {
	local before

	before=$(value a port)
	send elsewhere 3 UDP4-DATAGRAM:$group:7201,ip-multicast-if=10.77.0.2 && send here 1 &&
	until_true 10 grep -q 'here 1' /tmp/got.a && is a port $((before + 3)) &&
	same "$(lines a elsewhere)" 0
}

# filtered NAME LEAST
filtered() {
	[ "$(value "$1" filtered)" -ge "$2" ]
}

sources() {
	begin b $group 10.77.0.9 && offloaded b && send foreign 5 &&
	until_true 10 filtered b 5 && same "$(lines b foreign)" 0 &&
	end b && begin b $group 10.77.0.9 10.77.0.2 && offloaded b && twenty b queue-pair && end b
}

ipv6() {
	begin c $group6 && offloaded c $gid6 &&
	twenty c queue-pair "UDP6-DATAGRAM:[$group6]:7200" && end c
}

manager() {
	stop_sm && start_sm && until_true 20 member $sa 1 && offloaded a && send again 0 &&
	until_true 20 eval 'send again 1; grep -q "again 1" /tmp/got.a'
}

large() {
	head -c 8000 /dev/zero | tr '\0' x | on node2 socat -b 9000 -u - \
		UDP4-DATAGRAM:$group:7200,ip-multicast-if=10.77.0.2
}

arrived_large() {
	large && grep -q '^socket 8000 ' /tmp/got.a
}

fragments() {
	until_true 10 eval 'large; is a way 4' && until_true 10 shows attached yes &&
	until_true 10 arrived_large && twenty a socket && is a claimed 0 && ! is a lost 0
}

killed() {
	end a && gone
}

plan 10
me=$(debugfs_name node1)
check "datagrams come by the queue pair, the interface is not attached" by_queue_pair
check "a socket beside it" beside
check "a sender on this host" local_sender
check "another port" other_port
check "sources" sources
check "IPv6" ipv6
check "another subnet manager" manager
check "fragments: the group comes by the socket" fragments
check "a program that is killed" killed
check "the driver is as it was" no_loss -q -c 3 10.77.0.2
finish
