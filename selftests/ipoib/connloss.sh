#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Connections over a bad link, to a slow receiver, over links that go, and with
# memory in pieces: TCP gets every byte through.

. "$(dirname "$0")/conn.sh"

link=$conf/links/softib1
capture=/dev/shm/connloss.pcap
# What is lost, and how much that is at least. The kernel's driver gives a connection
# up as soon as one packet is lost, and there are 32 in the largest message.
loss=50000 least=20
ours || loss=10000 least=5

# --- a bad link ------------------------------------------------------------

large() {
	until_true 20 ping -q -c 1 -W 1 10.77.0.2 &&
	large_pings 10 10.77.0.2 && connects node1 && connects node2
}

# --- a link that goes ------------------------------------------------------

changed() {
	[ "$(queue_pairs node1)" != "$1" ]
}

# What was on its way by a connection that then failed is counted as lost, when its
# completions are taken.
on_its_way() {
	echo "$(counter tx_conn_lost), before $1"
	[ "$(counter tx_conn_lost)" -gt "$1" ]
}

# Nothing passes until connections have failed for that, though the ports are up
# all the time.
silence() {
	local before lost=0 status

	! ours || lost=$(counter tx_conn_lost)
	before=$(queue_pairs node1)
	lose 1000000
	until_true 100 changed "$before"
	status=$?
	lose 0
	[ $status -eq 0 ] &&
	{ ! ours || until_true 10 on_its_way "$lost" || on_its_way "$lost"; } &&
	flow 100000 60
}

carriers() {
	on node2 grep -q "$1" $net/ib0/carrier
}

unplugged() {
	echo 0 > $link/up && until_true 20 carriers 0 && echo 1 > $link/up &&
	until_true 20 carriers 1 && flow 100000 60
}

# --- a slow receiver -------------------------------------------------------

# reload PARAMETER...
reload() {
	unload && modprobe ib_ipoib "$@" && give_all && up node1 node2 node3 node4
}

# Few buffers for many packets
few_buffers() {
	local node

	reload recv_queue_size=16 && connected node1 node2 node3 node4 || return
	for node in node1 node2 node3 node4; do
		on $node ip link set ib0 mtu 1500
	done
	for node in 2 3 4; do
		until_true 20 ping -q -c 1 -W 1 10.77.0.$node || return
	done
}

# busy: node 1's receiving is done by a thread, on a processor that has something
# better to do as long as $busy runs.
busy() {
	local thread

	on node1 sh -c "echo 1 > $net/ib0/threaded" || return
	for thread in $(pgrep '^napi/ib0'); do
		taskset -p 1 "$thread" || return
	done
	taskset 1 chrt -f 50 sh -c 'while :; do :; done' &
	busy=$!
}

# seen BYTES: so many, or more, passed the fabric.
seen() {
	[ "$(stat -c %s $capture)" -ge "$1" ]
}

# Each node's file to a port of its own, all at once
floods() {
	local n pids=()

	head -c 1000000 /dev/urandom > /tmp/file
	cat /sys/kernel/debug/softib/capture > $capture &
	capturer=$!
	for n in 2 3 4; do
		timeout 200 socat -u TCP-LISTEN:700$n,reuseaddr CREATE:/tmp/got$n &
		pids+=($!)
		until_true 10 listening node1 700$n || return
	done
	busy || return
	for n in 2 3 4; do
		on node$n timeout 200 socat -u FILE:/tmp/file TCP:10.77.0.1:700$n &
	done
	until_true 60 seen 300000
	kill "$busy"
	wait "${pids[@]}"
	kill $capturer
	for n in 2 3 4; do
		cmp /tmp/file /tmp/got$n || return
	done
}

# not_ready: how often the fabric saw "receiver not ready" (IBA 9.7.5.1.1).
not_ready() {
	local n

	n=$(tshark -r $capture -Y 'infiniband.aeth.syndrome.opcode == 1' 2> /dev/null |
		wc -l)
	echo "$n"
	[ "$n" -gt 0 ]
}

# --- memory in pieces ------------------------------------------------------

# For who cannot wait there are no four pages in a row, and a large packet is sixteen.
# Two are what this kernel's slab wants even for one of the link's. What was refused
# is counted down from a number.
in_pieces() {
	local status refused

	echo 2 > $fail/min-order
	echo 1 > $fail/ignore-gfp-wait
	echo 0 > $fail/verbose
	echo 1000000 > $fail/times
	echo 100 > $fail/probability
	both_ways
	status=$?
	echo 0 > $fail/probability
	refused=$((1000000 - $(< $fail/times)))
	echo "$refused refused"
	[ $status -eq 0 ] && [ $refused -gt 0 ]
}

# Only a kernel that checks itself can refuse memory.
fail=/sys/kernel/debug/fail_page_alloc
head -c "$(fewer 1000000)" /dev/urandom > /tmp/file
connected node1 node2
plan "$([ -e $fail ] && echo 12 || echo 11)"
check "a good link" large
[ ! -e $fail ] || check "no four pages in a row" in_pieces
lose $loss
check "packets are lost, but nothing of TCP" both_ways
check "it was a bad link" lost $least
lose 0
check "it is a good one again" large
streams 0
check "streams" flow 100000 20
check "nothing passes until a connection fails" silence
check "the link goes and comes" unplugged
check "not a byte was lost" whole
check "few buffers" few_buffers
check "more packets than buffers: nothing is lost" floods
check "and some packets came too early" not_ready
reload
finish
