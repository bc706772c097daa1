#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Unmodified programs under sdprun --mcast: a queue pair receives their groups, and the kernel
# receives what that cannot. The other node sends with sockets.

. "$(dirname "$0")/lib.sh"

waits() {
	python "$1" "$1" 7400 $group && offloaded "$1" && twenty "$1" "$1" && end "$1"
}

# The same program with the kernel alone, beside: its lines tell what a program has to see.
as_kernel() {
	local name

	python a poll "$1" "$2" && offloaded a "$2" "$3" && python kernel poll "$1" "$2" &&
	until_true 10 shows attached yes "$3" || return
	for name in a kernel; do
		command_of $name stamp && twenty $name $name "$2" "$1" || return
	done
	send "$(printf 'long%0150d' 1)" 1 "$2" "$1" && send same 9 "$2" "$1" &&
	until_true 10 started a ' same 9$' && until_true 10 started kernel ' same 9$' || return
	same "$(grep -E 'long|same' $folder/a)" "$(grep -E 'long|same' $folder/kernel)" &&
	same "$(grep -c ' stamp same' $folder/a)" 9 && end a kernel
}

several() {
	local g p

	python a epoll 7400,7401,7402 $group 239.77.7.2 239.77.7.3 || return
	for g in $group 239.77.7.2 239.77.7.3; do
		for p in 7400 7401 7402; do
			until_true 30 reached_at "$g" $p && send "$g,$p" 5 "$g" $p || return
		done
	done
	for g in $group 239.77.7.2 239.77.7.3; do
		for p in 7400 7401 7402; do
			until_true 10 started a "$g.* $g,$p 5\$" &&
			same "$(grep -c "$g/.* $g,$p [1-5]\$" $folder/a)" 5 ||
				{ cat $folder/a; return 1; }
		done
	done
	same "$(grep -c 'by the queue pair' $folder/log.a)" 9 &&
	same "$(grep -c 'by the kernel' $folder/log.a)" 0 && end a
}

reached_at() {
	send "first-$1-$2" 1 "$1" "$2" && until_true 1 started a " first-$1-$2 1\$"
}

sources() {
	python a poll 7400 $group@10.77.0.9 && offloaded a && send foreign 5 &&
	command_of a join $group@10.77.0.2 && twenty a own && not started a foreign && end a
}

local_sender() {
	python a select 7400 $group && offloaded a &&
	python3 "$groups" send ib0 7400 near 5 $group && until_true 10 started a ' near 5$' &&
	twenty a far && same "$(grep -c ' near ' $folder/a)" 5 || { cat $folder/a; return 1; }
}

leaves() {
	python a edge 7400 $group && offloaded a && command_of a leave $group &&
	until_true 10 not grep -qx "GID: $gid" "$debugfs/${me}_mcg" &&
	command_of a join $group && until_true 10 offloaded a && twenty a again && end a &&
	until_true 10 not grep -qx "GID: $gid" "$debugfs/${me}_mcg"
}

# returns WORD REASON: then the kernel receives
returns() {
	python a epoll 7400 $group && offloaded a && twenty a before && command_of a "$1" &&
	by_kernel a "$2" && twenty a behind && end a
}

# An option stands in the way before the first join.
obstacle() {
	begin a python3 -c '
import socket, struct, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 37, 8)
s.bind(("", 7400))
s.setsockopt(0, 35, socket.inet_aton(sys.argv[1]) +
	struct.pack("ii", 0, socket.if_nametoindex("ib0")))
print("joined", flush=True)
sys.stdin.read()' $group && until_true 20 grep -q joined $folder/a && by_kernel a SO_TIMESTAMPING
	local status=$?

	end a && return $status
}

rule() {
	local only="=239.78.0.0/16"

	python a poll 7400 $group && until_true 10 shows attached yes && end a &&
	not test -e $folder/log.a &&
	fails_with "not a list of multicast groups" "$sdprun" --mcast=10.0.0.0/8 true &&
	fails_with "not a list of multicast groups" "$sdprun" --mcast=239.1.2.3/33 true
}

# packets: how many the interface has received
packets() {
	cat /sys/class/net/ib0/statistics/rx_packets
}

# hundreds TEXT: 200 datagrams come, and so many packets by the interface: in $came
hundreds() {
	local before

	before=$(packets)
	send "$1" 200 && until_true 10 started a " $1 200\$" || return
	came=$(($(packets) - before))
}

# What else the other node sends may be among the packets.
costs_nothing() {
	local came

	python a epoll 7400 $group && offloaded a && twenty a first && hundreds alone &&
	[ "$came" -lt 20 ] && python kernel poll 7400 $group && until_true 10 shows attached yes &&
	hundreds beside && [ "$came" -ge 200 ] && end kernel && until_true 10 shows attached no &&
	hundreds again && [ "$came" -lt 20 ] && end a || { echo "$came packets"; return 1; }
}

# It writes datagrams one behind the other.
has() {
	same "$(grep -o "$1 [0-9]*" $folder/a | wc -l)" "$2"
}

reached_socat() {
	send probe 1 && until_true 1 started a probe
}

by_socat() {
	begin a socat -u UDP4-RECV:7400,reuseaddr,ip-add-membership=$group:ib0 - && offloaded a &&
	until_true 30 reached_socat && send mine 20 && until_true 10 has mine 20 && end a
}

# It connects its socket to the first sender, and opens another one for the next. A receiver at
# another port tells when the switches know of the group.
by_iperf() {
	local status

	ip route add 239.77.0.0/16 dev ib0 && on node2 ip route add 239.77.0.0/16 dev ib0 || return
	python b poll 7402 $group && until_true 30 reached b $group 7402 &&
	begin a iperf -s -u -p 7400 -B $group && offloaded a && iperf_sends
	status=$?
	ip route del 239.77.0.0/16 dev ib0
	on node2 ip route del 239.77.0.0/16 dev ib0
	return $status
}

iperf_sends() {
	local i

	for i in 1 2; do
		until_true 20 has_sockets $i &&
		on node2 timeout 60 iperf -c $group -u -p 7400 -T 5 -l 500 -b 800K -n 100000 &&
		until_true 10 has_reports $i || { cat $folder/a $folder/log.a; return 1; }
	done
	! grep 'by the kernel' $folder/log.a && end a b
}

has_sockets() {
	[ "$(grep -c "$group: by the queue pair" $folder/log.a)" -ge "$1" ]
}

# has_reports N: of all 200 datagrams
has_reports() {
	same "$(grep -cE ' 0/ *20[0-9] \(0%\)' $folder/a)" "$1"
}

manager() {
	python a poll 7400 $group && offloaded a && twenty a before && stop_sm && start_sm &&
	until_true 20 member $sa 1 && twenty a behind &&
	logged a 'by the kernel: the membership is lost' && end a
}

# Both groups have one GID: the second one comes by the queue pair once the first one is left.
aliases() {
	local alias=ff02::77:7

	python a poll 7400 $group6 && offloaded a $group6 $gid6 && command_of a join $alias &&
	until_true 10 logged a "$alias: by the kernel: .*has its GID" && twenty a near $alias &&
	command_of a leave $alias && twenty a first $group6 && command_of a join $alias &&
	twenty a both $group6 && command_of a leave $group6 && offloaded a $alias $gid6 &&
	twenty a second $alias && end a
}

# The first join gets no answer.
refused() {
	local status

	stop_sm && python a poll 7400 $group && until_true 60 logged a 'refused the join'
	status=$?
	start_sm && [ $status -eq 0 ] && until_true 60 logged a "$group: by the queue pair" &&
	offloaded a && twenty a behind && end a
}

# The socket is in an epoll set before its first join.
early() {
	python a epoll 7400 && command_of a join $group && offloaded a && twenty a early && end a
}

# All of it takes a minute and a half.
if [ "$VARIANT" = ours ]; then
	plan 5
	row "datagrams come by the queue pair: epoll" waits epoll
	row "recvmsg() tells what the kernel tells" as_kernel 7400 $group $gid
	row "a sender on this host" local_sender
	row "fork(): the kernel receives" returns fork 'forks'
	row "a group that only the program receives costs the interface nothing" costs_nothing
	finish
fi
plan 25
for how in block poll select epoll edge asyncio; do
	row "datagrams come by the queue pair: $how" waits $how
done
row "recvmsg() tells what the kernel tells" as_kernel 7400 $group $gid
row "an epoll set that has the socket before it joins" early
row "IPv6" as_kernel 7400 $group6 $gid6
row "two IPv6 groups with one GID" aliases
row "a group that only the program receives costs the interface nothing" costs_nothing
row "several groups and ports" several
row "sources" sources
row "a sender on this host" local_sender
row "leaving and joining" leaves
row "fork(): the kernel receives" returns fork 'forks'
row "dup(): the kernel receives" returns dup 'two descriptors'
row "a filter: the kernel receives" returns filter 'sets a filter'
row "an option: the kernel receives" returns stamping 'SO_TIMESTAMPING'
row "an option before the first join: a line says so" obstacle
row "groups that the rule leaves out" rule
row "socat" by_socat
row "iperf" by_iperf
row "another subnet manager" manager
row "a join that is refused is asked for again" refused
finish
