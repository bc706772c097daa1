#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What an adapter reports as failed, and packets that there is no memory for: of IPoIB
# lost, counted by their cause, and those that follow come through; of SDP the end of the
# connection, for both.

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

# --- SDP ------------------------------------------------------------------

# sending: so much has been sent over SDP, without an end.
sending() {
	on node1 "$sdpstat" -n | awk '$2 == "SDP" && $5 > 1000000 { yes = 1 } END { exit !yes }'
}

# ended PROCESS...
ended() {
	local process

	for process; do
		not kill -0 "$process" || return
	done
}

# breaks WHICH: both programs end, the sender with an error.
breaks() {
	local server client status

	on node2 "$sdprun" --endpoint socat -u TCP-LISTEN:7100,reuseaddr - > /dev/null 2> /tmp/server &
	server=$!
	until_true 20 listening node2 7100
	"$sdprun" --endpoint socat -u /dev/zero TCP:10.77.0.2:7100 > /dev/null 2> /tmp/client &
	client=$!
	until_true 20 sending && fail "$1" && until_true 30 ended $server $client
	status=$?
	fail_all 0
	cat /tmp/client /tmp/server
	kill $server $client 2> /dev/null
	wait $server
	not wait $client && return "$status"
}

carries() {
	on node2 "$sdprun" --endpoint socat -u TCP-LISTEN:7101,reuseaddr - > /tmp/got 2>&1 &
	until_true 20 listening node2 7101
	"$sdprun" --endpoint socat -u FILE:/tmp/file TCP:10.77.0.2:7101 && wait $! && cmp /tmp/file /tmp/got
}

# asks WHAT: a line to the connection that is open all the time, and back
asks() {
	local answer

	echo "$1" >&8 && read -r -t 60 -u 9 answer &&
	[ "$answer" = "$1" ]
}

# gone NODE: nothing is left of its connections.
gone() {
	not grep -q '^ *[0-9]' <(on "$1" cat /proc/net/sdp/endpoints)
}

# fail_ends PERCENT: of the moves of a queue pair to an end, five times
fail_ends() {
	echo 5 > $debug/softib/fail_ends/times
	echo "$1" > $debug/softib/fail_ends/probability
}

# Both programs end, and when the adapter agrees their queue pairs.
finished() {
	until_true 20 ended $client $server && until_true 20 gone node1 &&
	until_true 20 gone node2 && [ "$(< $debug/softib/fail_ends/times)" -eq 0 ]
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
echo 0 > $debug/softib/fail_requests/verbose
echo 0 > $debug/softib/fail_verbs/verbose
echo 0 > $debug/softib/fail_ends/verbose
echo 1 > $debug/softib/fail_ends/interval
echo 1 > $debug/softib/fail_verbs/interval
head -c 500 /dev/urandom > /tmp/file
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
on node2 "$sdprun" --endpoint socat TCP-LISTEN:7102,reuseaddr EXEC:cat &
server=$!
until_true 20 listening node2 7102
mkfifo /tmp/to /tmp/from
"$sdprun" --endpoint socat - TCP:10.77.0.2:7102 < /tmp/to > /tmp/from &
client=$!
exec 8> /tmp/to 9< /tmp/from
check "a connection of SDP" asks one
check "a send of SDP: both know that it is over" breaks 1
check "a receive" breaks 2
check "another connection is good" carries
check "and so is the one that was open meanwhile" asks two
fail_ends 100
exec 8>&-
check "and ends, where the adapter refuses that at first" finished
fail_ends 0
check "neither programs nor management have requests that fail" spared
check "an adapter for packets in two pieces" replaced
socat -u TCP4-LISTEN:7000,reuseaddr - > /tmp/got 2>&1 &
check "no memory for a copy in one piece" copied
# Where nobody came, it still listens.
kill $! 2> /dev/null
wait
finish
