#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What an adapter reports as failed, and packets that there is no memory for: lost,
# counted by their cause, and those that follow come through.

. "$(dirname "$0")/../ipoib/conn.sh"

here=$(dirname "$0")
debug=/sys/kernel/debug

# of NODE COUNTER
of() {
	on "$1" ethtool -S ib0 | awk -v name="$2:" '$1 == name { print $2 }'
}

talks() {
	until_true 30 ping -q -c 1 -W 1 10.77.0.2 > /dev/null &&
	no_loss -q -c 10 -i 0.05 "$@" 10.77.0.2
}

# --- work requests ---------------------------------------------------------

# once NODE COUNTER WHICH [PING-OPTION...]: of the next work requests of all adapters
# one fails, the first or the second.
once() {
	echo 1 > $debug/softib/fail_requests/times
	echo "$3" > $debug/softib/fail_requests/interval
	echo 100 > $debug/softib/fail_requests/probability
	ping -q -c 1 -W 1 "${@:4}" 10.77.0.2
	echo 0 > $debug/softib/fail_requests/probability
	[ "$(of "$1" "$2")" -gt "$before" ]
}

# fails NODE COUNTER WHICH [PING-OPTION...]
fails() {
	before=$(of "$1" "$2")
	until_true 20 once "$@" && talks "${@:4}"
}

# --- memory ----------------------------------------------------------------

# Of who cannot wait for a page one in two gets none.
hungry() {
	echo 50 > $debug/fail_page_alloc/probability
	ping -q -f -c 100 -w 3 10.77.0.2
	echo 0 > $debug/fail_page_alloc/probability
	[ "$(of node2 rx_no_memory)" -gt "$before" ]
}

received() {
	before=$(of node2 rx_no_memory)
	until_true 20 hungry && talks
}

# Node 2 gets an adapter that takes two pieces, fewer than these packets are in.
replaced() {
	local send_sge=/sys/module/softib/parameters/send_sge

	echo 2 > $send_sge
	echo 0 > $conf/hcas/softib1/enable && echo 1 > $conf/hcas/softib1/enable &&
	echo 1 > $conf/links/softib1/enable || return
	echo 32 > $send_sge
	until_true 20 nsenter -t 1 -n ip link show ib0 &&
	nsenter -t 1 -n ip link set ib0 netns node2 && up node2 || return
	ip neigh flush all
	until_true 20 talks
}

# Copied into one: where that fails, TCP sends it again.
copied() {
	local n

	before=$(of node2 tx_no_memory)
	until_true 10 grep -q ":$(printf %X 7000) " /proc/net/tcp &&
	n=$(on node2 "$here/pieces.py" 10.77.0.1 7000 /tmp/file) || return
	echo "$n pieces"
	[ "$(of node2 tx_no_memory)" -gt "$before" ] && until_true 30 complete "$n"
}

# complete N: the file has come so many times.
complete() {
	local i

	for ((i = 0; i < $1; i++)); do
		cat /tmp/file
	done | cmp - /tmp/got
}

for setting in verbose=0 interval=1 times=-1 min-order=0; do
	echo "${setting#*=}" > "$debug/fail_page_alloc/${setting%=*}" || exit
done
head -c 500 /dev/urandom > /tmp/file
plan 8
check "traffic" talks
check "a send fails" fails node1 tx_completion_error 1
check "a receive" fails node2 rx_completion_error 2
check "no memory for packets that come" received
connected node1 node2
check "a send of a connection" fails node1 conn_lost 1 -s 20000
check "a receive" fails node2 rx_completion_error 2 -s 20000
datagram node1 node2
check "an adapter for packets in two pieces" replaced
socat -u TCP4-LISTEN:7000,reuseaddr - > /tmp/got 2>&1 &
check "no memory for a copy in one piece" copied
wait
finish
