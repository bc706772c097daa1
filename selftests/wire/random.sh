#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Peers that send random messages, right and wrong, in every state, and die at any:
# MESSAGES, SEED, PEERS, how many at a time, and LENGTH, messages before something is
# wrong, in the environment, or some and any.  To make a connection takes as long as a
# hundred messages: many come sooner with long ones.
# After it all is as before, and what was wrong is counted.

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

# Of node1, and of what names no namespace, which the first one counts
counters() {
	cat /proc/net/sdp/snmp /proc/1/net/sdp/snmp
}

sum() {
	awk -v name="$1" '$1 == name { n += $2 } END { print n }'
}

# counter NAME: by how much it has moved
counter() {
	echo $(($(counters | sum "$1") - $(sum "$1" < /tmp/snmp)))
}

# Every way in which a Hello or a message can be wrong was met, as the peers see to.
all_moved() {
	local name missing=

	for name in refused_bad_hello bad_short bad_len bad_mid bad_turn bad_mseq bad_mseq_ack \
		    bad_credits bad_field bad_version bad_addr bad_sizes; do
		[ "$(counter "$name")" -gt 0 ] || missing+=" $name"
	done
	[ -z "$missing" ] || { echo "not moved:$missing"; return 1; }
}

# Each connection that was accepted has ended, as the server saw it. Those with one thing wrong and
# the good ones are a dozen at least.
all_have_ended() {
	local n

	n=$(grep -c '^end' /tmp/server)
	echo "$n have ended, of $(counter accepted)"
	[ "$n" -eq "$(counter accepted)" ] && [ "$n" -ge 12 ]
}

plan 6
counters > /tmp/snmp
serve echo
before=$(qps)
echo "# $messages messages, seed $seed, $peers peers"
check "all ends as it should" peer random "$seed" "$messages" "$peers" "$length"
diag "$(tail -n 1 <<< "$tap_output")"
# A peer may see the end before the kernel counts it.
until_true 10 all_moved
status=$?
[ $status -eq 0 ] || diag "$(all_moved)"
result $status "each kind of wrong was met and counted"
check "each connection has ended" until_true 60 all_have_ended
diag "errors: $(sed -n 's/^end //p' /tmp/server | sort | uniq -c | tr -s ' \n' ' ')"
check "no queue pair is left" until_true 60 qps_back
check "the server still runs" kill -0 "$server"
stop_serving
serve echo
check "another program is served" ip netns exec node2 \
	"$programs/sdp_end" send 10.77.0.1 $port 100000 10000
stop_serving
finish
