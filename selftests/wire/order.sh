#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A peer that has asked for a connection and does not say that there is one, or says so late, holds
# up no other one and is forgotten. A message of its own says so, too.

. "$(dirname "$0")/lib.sh"

# accepted PORT...: from these ports, in this order
accepted() {
	[ "$(sed -n 's/^from //p' /tmp/server | tr '\n' ' ')" = "$* " ]
}

# served N: connections that node1 has
served() {
	[ "$(rdma resource show qp | grep -c 'softib0/1 .*type RC .*\[sdp_ib\]')" -eq "$1" ]
}

plan 12
serve echo
check "one is asked for, another one made, and then the first" peer order
check "both are accepted" until_true 20 accepted 40001 40000
diag "$(sed -n 's/^from //p' /tmp/server | tr '\n' ' ')"
stop_serving
serve echo
check "a connection is good while an earlier one does not come to be" peer order alone
check "and the only one" until_true 20 accepted 40001
stop_serving
serve echo
check "messages come before what says that there is a connection" peer early
check "it was accepted" until_true 20 accepted 40000
stop_serving
serve echo
peer idle > /tmp/idle &
idle=$!
check "a peer that never says that there is a connection is told that there is none" peer unsaid
wait $idle
result $? "a peer that says so may be silent for longer"
diag "$(< /tmp/idle)"
check "nothing is left of either" until_true 20 served 0
stop_serving
serve echo
peer unsaid > /tmp/unsaid &
unsaid=$!
check "a connection is not made yet" until_true 20 served 1
stop_serving
wait $unsaid
result $? "its listener is closed: its peer is told that it is over"
diag "$(< /tmp/unsaid)"
check "nothing is left" until_true 20 served 0
finish
