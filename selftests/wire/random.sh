#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Peers that send random messages, right and wrong, in every state, and die at any:
# MESSAGES, SEED, PEERS, how many at a time, and LENGTH, messages before something is
# wrong, in the environment, or some and any.  To make a connection takes as long as a
# hundred messages: many come sooner with long ones.
# After it all is as before, and each connection that was not right has ended for a
# reason that is counted, and that the list of endpoints shows.

. "$(dirname "$0")/lib.sh"

messages=${MESSAGES:-$(fewer 5000)}
seed=${SEED:-$RANDOM}
peers=${PEERS:-4}
length=${LENGTH:-40}

# How many QPs of each kind users in the kernel have
qps() {
	rdma resource show qp | awk '{ print $2, $0 ~ /type RC/ }' | sort | uniq -c
}

qps_back() {
	[ "$(qps)" = "$before" ]
}

# Only the listener is left.
connections_gone() {
	grep -v 'LISTEN\|^id' /proc/net/sdp/endpoints && return 1
	return 0
}

# counter NAME: by how much it has moved
counter() {
	echo $(($(sed -n "s/^$1 //p" /proc/net/sdp/snmp) - $(sed -n "s/^$1 //p" /tmp/snmp)))
}

# Every way in which a Hello or a message can be wrong was met, as the peers see to.
all_moved() {
	local name missing=

	for name in refused_bad_hello ended_bad_message ended_sequence ended_credits \
		    ended_peer_abort bad_short bad_len bad_mid bad_turn bad_mseq \
		    bad_mseq_ack bad_credits bad_field bad_version bad_addr bad_sizes; do
		[ "$(counter "$name")" -gt 0 ] || missing+=" $name"
	done
	[ -z "$missing" ] || { echo "not moved:$missing"; return 1; }
}

# Each connection that was accepted, as the server saw it: it ended as it should, or
# there is a reason. What comes after a good end may be told in between.  Those with
# one thing wrong and the good ones are a dozen at least.
all_have_reasons() {
	awk -v accepted="$(counter accepted)" '
		$1 == "aborted" { n++; words[$1]++ }
		$1 != "end" { next }
		{ n++; words[$4]++ }
		$2 && (!$3 || $4 == "-") { print; bad = 1 }
		END {
			for (word in words)
				print "#", word, words[word] > "/dev/stderr"
			print n + 0, "have ended, of", accepted
			exit bad || n != accepted || n < 12
		}' /tmp/server
}

plan 7
cp /proc/net/sdp/snmp /tmp/snmp
serve echo
before=$(qps)
echo "# $messages messages, seed $seed, $peers peers"
check "all ends as it should" peer random "$seed" "$messages" "$peers" "$length"
diag "$(tail -n 1 <<< "$tap_output")"
# A peer that has seen the end may be sooner than who counts it.
until_true 10 all_moved
status=$?
[ $status -eq 0 ] || diag "$(all_moved)"
result $status "each kind of wrong was met and counted"
check "each connection ended well, or has a reason" until_true 60 all_have_reasons
diag "$(all_have_reasons 2>&1 > /dev/null | tr -d '#\n')"
until_true 60 connections_gone
check "no connection is left" connections_gone
check "no queue pair is left" until_true 60 qps_back
check "the server still runs" kill -0 "$server"
stop_serving
serve echo
check "another program is served" ip netns exec node2 \
	"$programs/sdp_end" send 10.77.0.1 $port 100000 10000
stop_serving
finish
