#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Rings of other sizes while packets flow (ethtool -G), in either mode, and what is
# kept for nobody. The kernel's driver has the sizes that it was loaded with, and
# keeps connections for minutes.

. "$(dirname "$0")/conn.sh"

failslab=/sys/kernel/debug/failslab
poor=/sys/module/poor/parameters

# sizes NODE: of the receive ring and the send ring
sizes() {
	on "$1" ethtool -g ib0 |
		awk '$1 == "RX:" { rx = $2 } $1 == "TX:" { tx = $2 } END { print rx, tx }'
}

sizes_are() {
	same "$(sizes "$1")" "$2"
}

# refused WHY ETHTOOL-ARGUMENT...
refused() {
	local output why=$1

	shift
	output=$(ethtool -G ib0 "$@" 2>&1) && { echo "not refused"; return 1; }
	echo "$output"
	[[ $output == *"$why"* ]]
}

# Too small, and larger than any.
bounds() {
	refused "at least" rx 8 && refused "at least" tx 64 && refused "" rx 1000000 &&
	sizes_are node1 "256 128"
}

# Sizes are powers of two, as those of the module's parameters. The address follows.
resized() {
	local before

	before=$(lladdr node1)
	ethtool -G ib0 rx "$1" tx "$2" && sizes_are node1 "$3" &&
	until_true 10 readdressed "$before"
}

readdressed() {
	[ "$(lladdr node1)" != "$1" ]
}

# What the neighbour believes
believed() {
	same "$(on node2 ip neigh show 10.77.0.1 | sed 's/.*lladdr \([^ ]*\).*/\1/')" \
		"$(lladdr node1)"
}

# Neighbours find a node that sends nothing by its new address all the same: the node tells them,
# and they need not doubt the old one first, which takes half a minute.
announced() {
	no_loss -q -c 1 10.77.0.2 && believed && resized 512 512 "512 512" &&
	until_true 10 believed
}

# under_way RX TX: the streams come on.
under_way() {
	resized "$1" "$2" "$1 $2" && flow 100000 10
}

# As many packets at once as no smaller ring takes, once the interface is up again.
filled() {
	until_true 20 ping -q -c 1 -W 1 10.77.0.2
	# ping itself may be too slow for so many answers.
	until_true 10 at_once || at_once
}

at_once() {
	no_loss -q -c 200 -l 200 -i 0.01 10.77.0.2
}

many_times() {
	local n

	for n in {1..6}; do
		ethtool -G ib0 rx $((16 << n % 4)) tx $((128 << n % 3)) || return
	done
	flow 100000 20
}

while_down() {
	ip link set ib0 down && resized 64 256 "64 256" && up node1 &&
	until_true 20 ping -q -c 1 -W 1 10.77.0.2
}

# Every allocation of it fails once.
out_of_memory() {
	local status

	echo N > $failslab/ignore-gfp-wait
	echo 0 > $failslab/verbose
	python3 "${0%/*}/fail_rings.py" ib0
	status=$?
	echo Y > $failslab/ignore-gfp-wait
	[ $status -eq 0 ] && until_true 20 ping -q -c 1 -W 1 10.77.0.2
}

# --- what nobody uses ------------------------------------------------------

idle() {
	echo "$1" > /sys/module/ib_ipoib/parameters/idle_timeout
}

# The new time counts from the next time on that the interface comes up.
kept() {
	down node1 node2 && up node1 node2 &&
	until_true 20 ping -q -c 1 -W 1 10.77.0.2 && until_true 10 connects node1
}

# Both ends of it: neither waits for the other.
reaped() {
	until_true 60 no_queue_pairs softib
}

# --- an adapter that has less than it says -----------------------------------

# anew PARAMETER...: the driver, for all nodes
anew() {
	modprobe ib_ipoib "$@" && give_all && up node1 node2 node3 node4 &&
	until_true 20 ping -q -c 1 -W 1 10.77.0.2
}

# It takes 1000 work requests; the others take what was asked for.
poor() {
	unload && insmod "$BUILD/$KERNEL/selftests/ipoib/poor/poor.ko" most=1000 &&
	anew send_queue_size=8192 recv_queue_size=2048 max_nonsrq_conn_qp=4 &&
	sizes_are node1 "512 512" && sizes_are node2 "2048 8192" &&
	same "$(ethtool -g ib0 | awk '$1 == "RX:" { print $2; exit }')" 512
}

# Node 2 opens a connection to it, whose buffers are that connection's alone.
unshared() {
	connected node1 node2 && until_true 20 large_pings 3 10.77.0.2 &&
	connects node2 && same "$(counter conn_refused)" 0 &&
	not eval 'rdma resource show srq | grep "dev softib0 "' && datagram node1 node2
}

# end NODE-NUMBER: of a connection: GID, LID and QPN
end() {
	local address

	address=$(lladdr "node$1")
	echo "$(< "/sys/class/infiniband/softib$(($1 - 1))/ports/1/gids/0") $(lid "$1")" \
		"0x$(cut -c 4-11 <<< "$address" | tr -d :)"
}

asked() {
	[ "$(($(counter conn_accepted) + $(counter conn_refused)))" -ge "$1" ]
}

# Node 4 asks for more connections than there may be, in its own name and in that of
# others, and takes hours to answer. Others get one all the same.
others_too() {
	local before n

	down node1 && up node1 && ip neigh flush dev ib0 || return
	before=$(($(counter conn_accepted) + $(counter conn_refused)))
	for n in 4 2 3; do
		# shellcheck disable=SC2046 # one argument a word
		"${0%/*}/request.py" softib3 $(end 1) 8 $(end $n) 31 || return
	done
	until_true 10 asked $((before + 24)) || asked $((before + 24)) || return
	connected node1 node3 &&
	until_true 20 on node3 ping -q -c 1 -W 1 -M "do" -s 60000 10.77.0.1 &&
	connects node3 && datagram node1 node3
}

# It has the queue pairs of larger rings, but no room for their buffers.
unfilled() {
	ethtool -G ib0 rx 256 tx 256 && echo 300 > $poor/buffers &&
	refused "no room" rx 512 tx 128 && sizes_are node1 "256 256" &&
	until_true 20 ping -q -c 1 -W 1 10.77.0.2
}

# Nor has it a queue pair for a connection that node 4 asks for.
told() {
	local events=/sys/kernel/debug/tracing/events/ipoib/ipoib_rx_conn_open

	echo 20 > $poor/most && echo 1 > $events/enable || return
	# shellcheck disable=SC2046 # one argument a word
	"${0%/*}/request.py" softib3 $(end 1) 1 $(end 4) &&
	until_true 10 grep -q 'rx_conn_open: dev ib0 .* status -12$' "${events%/events*}/trace"
	local status=$?

	echo 0 > $events/enable
	return $status
}

rich() {
	unload && rmmod poor && anew && sizes_are node1 "256 128"
}

if ! ours; then
	plan 1
	check "the kernel's driver has fixed rings" refused "not supported" rx 512
	finish
fi

if [ -e $failslab ]; then plan 24; else plan 23; fi
check "sizes as loaded" sizes_are node1 "256 128"
check "bounds" bounds
check "larger rings" resized 1000 1000 "1024 1024"
check "that are used" filled
check "neighbours are told of the other address" announced
check "while the interface is down" while_down
streams 0
check "streams" flow 100000 20
check "a larger receive ring under way" under_way 512 256
check "and smaller ones" under_way 16 128
check "many times" many_times
connected node1 node2
check "connected mode" flow 100000 20
check "a larger ring under way" under_way 1024 1024
check "not a byte was lost" whole
[ ! -e $failslab ] || check "memory fails" out_of_memory
idle 1
check "a connection with nothing to do" kept
check "goes after a while" reaped
check "and comes back" no_loss -q -c 3 10.77.0.2
idle 300
check "others stay" kept
datagram node1 node2
check "an adapter with less room than it says has smaller rings" poor
check "and connections, though it shares no buffers" unshared
check "those who do not go on keep nobody out" others_too
check "rings whose buffers it does not take: an error, and the old rings" unfilled
check "a connection that it has nothing for is in the trace" told
check "another one has what was asked for" rich
finish
