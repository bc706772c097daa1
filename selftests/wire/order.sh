#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Connections of one peer are accepted in the order in which it asked for them, also
# if what says that they are established comes in another one; but who never says so
# holds up nobody, and is forgotten; whose messages come says so by them.

. "$(dirname "$0")/lib.sh"

# accepted PORT...: from these ports, in this order
accepted() {
	[ "$(sed -n 's/^from //p' /tmp/server | tr '\n' ' ')" = "$* " ]
}

# Two seconds after it was asked for, nobody waits for the first any more: another order
# that took longer tells nothing, and is tried again.
in_order() {
	local begin i

	for ((i = 0; i < 5; i++)); do
		[ $i -eq 0 ] || { stop_serving; serve echo; }
		begin=${EPOCHREALTIME//[.,]/}
		peer order > /tmp/order || { diag "$(< /tmp/order)"; return 1; }
		[ $((${EPOCHREALTIME//[.,]/} - begin)) -ge 2000000 ] &&
			! accepted 40000 40001 || break
	done
	return 0
}

# listed N: endpoints, below what heads the list
listed() {
	[ "$(wc -l < /proc/net/sdp/endpoints)" -eq $(($1 + 1)) ]
}

closed_for_tcp() {
	[ -z "$(ss -Hltn "sport = :$port")" ]
}

plan 13
serve echo
in_order
result $? "one is asked for, another one made, and then the first"
check "the first is accepted first" until_true 20 accepted 40000 40001
diag "$(sed -n 's/^from //p' /tmp/server | tr '\n' ' ')"
stop_serving
serve echo
check "a connection is good while an earlier one does not come to be" peer order alone
check "and the only one" accepted 40001
stop_serving
serve echo
check "messages come before what says that there is a connection" peer early
check "it was accepted" accepted 40000
stop_serving
serve echo
peer idle > /tmp/idle &
idle=$!
check "who never says that there is a connection is told that there is none" peer unsaid
wait $idle
result $? "who says so may be silent for longer"
diag "$(< /tmp/idle)"
check "nothing is left of either" until_true 20 listed 1
stop_serving
serve echo
peer unsaid > /tmp/unsaid &
unsaid=$!
check "a connection is not made yet" until_true 20 listed 2
stop_serving
check "its listener is closed, for TCP as well" closed_for_tcp
wait $unsaid
result $? "its peer is told that it is over"
diag "$(< /tmp/unsaid)"
check "nothing is left" until_true 20 listed 0
finish
