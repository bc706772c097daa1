#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What an adapter reports as failed, and packets that there is no memory for: of IPoIB
# lost, counted by their cause, and those that follow come through; of a TCP connection that
# went by InfiniBand the way back to TCP, with all bytes.

. "$(dirname "$0")/../ipoib/conn.sh"

here=$(dirname "$0")
debug=/sys/kernel/debug
sdprun=$BUILD/libsdpdev/sdprun
sdpstat=$BUILD/tools/sdpstat/sdpstat

# of NODE COUNTER
of() {
	on "$1" ethtool -S ib0 | awk -v name="$2:" '$1 == name { print $2 }'
}

# The first large packet may be what a connection is made for.
talks() {
	until_true 30 ping -q -c 1 -W 1 "$@" 10.77.0.2 &&
	no_loss -q -c 10 -i 0.05 "$@" 10.77.0.2
}

# --- work requests ---------------------------------------------------------

# fail_all PERCENT: of the work requests
fail_all() {
	echo "$1" > $debug/softib/fail_requests/probability
}

# fail WHICH: one of the next work requests of all adapters, the first or the second
fail() {
	echo 1 > $debug/softib/fail_requests/times
	echo "$1" > $debug/softib/fail_requests/interval
	fail_all 100
}

# once NODE COUNTER WHICH [PING-OPTION...]
once() {
	fail "$3"
	ping -q -c 1 -W 1 "${@:4}" 10.77.0.2
	fail_all 0
	[ "$(of "$1" "$2")" -gt "$before" ]
}

# fails NODE COUNTER WHICH [PING-OPTION...]
fails() {
	before=$(of "$1" "$2")
	until_true 20 once "$@" && talks "${@:4}"
}

# The adapter does not take the next send, and all queue pairs start anew.
refuse_once() {
	echo 1 > $debug/softib/fail_verbs/times
	echo 100 > $debug/softib/fail_verbs/probability
	ping -q -c 1 -W 1 10.77.0.2
	echo 0 > $debug/softib/fail_verbs/probability
	[ "$(of node1 tx_post_failed)" -gt "$before" ]
}

refused() {
	before=$(of node1 tx_post_failed)
	until_true 20 refuse_once && talks
}

# --- connections over InfiniBand --------------------------------------------

# all_nodes NAME VALUE: a setting in net.sdp of both nodes
all_nodes() {
	on node1 sysctl -qw "net.sdp.$1=$2" && on node2 sysctl -qw "net.sdp.$1=$2"
}

counted() {
	awk -v name="$1" '$1 == name { print $2 }' /proc/net/sdp/snmp
}

# by_ib PORT: the connection to that port sends by InfiniBand.
by_ib() {
	on node1 "$sdpstat" "port=$1" carrier=ib | grep -q ESTABLISHED
}

# begin: a connection whose client sends what it gets by descriptor 7
begin() {
	rm -f /tmp/to
	mkfifo /tmp/to || return
	on node2 "$sdprun" socat -u TCP-LISTEN:7100,reuseaddr - > /tmp/got &
	server=$!
	until_true 20 listening node2 7100 || return
	"$sdprun" socat -u - TCP:10.77.0.2:7100 < /tmp/to &
	client=$!
	exec 7> /tmp/to
	fed=0
	until_true 20 goes
}

feed() {
	fed=$((fed + 1))
	cat /tmp/file >&7
}

# goes: it sends, in the end by InfiniBand.
goes() {
	feed && by_ib 7100
}

# has_lost WHICH: the adapter has failed to do what the connection asked for.
has_lost() {
	fail "$1"
	feed
	[ "$(counted returned_lost)" -gt "$before" ]
}

# all_came: all that was sent has.
all_came() {
	exec 7>&-
	wait "$client" && wait "$server" && complete "$fed"
}

# breaks WHICH: TCP takes the bytes, and then InfiniBand again.
breaks() {
	local status

	begin || return
	before=$(counted returned_lost)
	until_true 20 has_lost "$1"
	status=$?
	fail_all 0
	[ "$status" -eq 0 ] && until_true 30 goes && all_came
}

# asks WHAT: a line to the connection that is open all the time, and back
asks() {
	local answer

	echo "$1" >&8 && read -r -t 60 -u 9 answer &&
	[ "$answer" = "$1" ]
}

# ended PROCESS...
ended() {
	local process

	for process; do
		not kill -0 "$process" || return
	done
}

# Both have left their queue pairs; those of IPoIB's connected mode may be there.
gone() {
	not grep -q 'type RC.*sdp' <(rdma resource show qp)
}

# fail_ends PERCENT: of the moves of a queue pair to an end, five times
fail_ends() {
	echo 5 > $debug/softib/fail_ends/times
	echo "$1" > $debug/softib/fail_ends/probability
}

# Both programs end, and when the adapter agrees their queue pairs.
finished() {
	until_true 20 ended "$talker" "$echo" || echo "the programs have not ended"
	until_true 20 gone || rdma resource show qp
	gone && [ "$(< $debug/softib/fail_ends/times)" -lt 5 ]
}

# A program's work requests do not fail, nor those of management: QP 1 is the kernel's.
spared() {
	local server status

	echo -1 > $debug/softib/fail_requests/times
	echo 1 > $debug/softib/fail_requests/interval
	fail_all 100
	timeout 200 ibv_rc_pingpong -d softib0 -g 0 -n 100 > /tmp/server 2>&1 &
	server=$!
	until_true 20 listening node1 18515
	timeout 200 ibv_rc_pingpong -d softib0 -g 0 -n 100 127.0.0.1 &&
	wait $server &&
	smpquery -C softib0 -P 1 nodeinfo 1 && saquery -C softib0 -P 1 -p > /dev/null
	status=$?
	fail_all 0
	cat /tmp/server
	return "$status"
}

# --- memory ----------------------------------------------------------------

# Every second allocation of a page that may not sleep fails.
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
echo 0 > $debug/softib/fail_requests/verbose
echo 0 > $debug/softib/fail_verbs/verbose
echo 0 > $debug/softib/fail_ends/verbose
echo 1 > $debug/softib/fail_ends/interval
echo 1 > $debug/softib/fail_verbs/interval
head -c 500 /dev/urandom > /tmp/file
order=$(on node1 sysctl -n net.sdp.carriers)
messages=$(on node1 sysctl -n net.sdp.move_messages)
plan 16
check "traffic" talks
check "a send fails" fails node1 tx_completion_error 1
check "a receive" fails node2 rx_completion_error 2
check "no memory for packets that come" received
check "a send that the adapter does not take" refused
connected node1 node2
check "a send of a connection" fails node1 conn_lost 1 -s 20000
check "a receive" fails node2 rx_completion_error 2 -s 20000
datagram node1 node2
check "connections go by InfiniBand" eval 'all_nodes carriers ib && all_nodes move_messages 0'
on node2 "$sdprun" socat TCP-LISTEN:7102,reuseaddr EXEC:cat &
echo=$!
until_true 20 listening node2 7102
mkfifo /tmp/ask /tmp/answer
"$sdprun" socat - TCP:10.77.0.2:7102 < /tmp/ask > /tmp/answer &
talker=$!
exec 8> /tmp/ask 9< /tmp/answer
check "one that is open all the time" eval 'asks one && until_true 20 eval "asks two && by_ib 7102"'
check "a send of another fails: it goes on, and again by InfiniBand" breaks 1
check "a receive" breaks 2
check "the one that is open goes by InfiniBand" eval 'by_ib 7102 && asks three'
fail_ends 100
exec 8>&-
check "and ends, where the adapter refuses that at first" finished
fail_ends 0
all_nodes carriers "$order"
all_nodes move_messages "$messages"
check "neither programs nor management have requests that fail" spared
check "an adapter for packets in two pieces" replaced
socat -u TCP4-LISTEN:7000,reuseaddr - > /tmp/got 2>&1 &
check "no memory for a copy in one piece" copied
# If no request came, it still listens.
kill $! 2> /dev/null
wait
finish
