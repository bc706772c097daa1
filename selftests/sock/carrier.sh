#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The directions of a connection move to a carrier of messages and come back: what the rules of
# the wire have to bear, without a wire.

. "$(dirname "$0")/sock.sh"
. "$(dirname "$0")/messages.sh"

streams=('both directions' 'messages of all' streams 'two writers' 'notices of MSG_ZEROCOPY: lent')

# right SAID: a row says that nothing has moved, maybe twice, and nothing else is wrong.
right() {
	grep -q 'it has not moved' <<< "$1" &&
	! grep 'wrong:' <<< "$1" | grep -qv 'it has not moved\|looked at, it was 0 times in a pipe'
}

none_came() {
	[ "$(counted joined)" = "$1" ] && [ "$(counted messages)" = "$2" ]
}

plan 117
check "a machine" start
check "a carrier" insmod "$module"
# Nothing moves otherwise.
echo test > /proc/sys/net/sdp/carriers
within "a carrier" "$programs/moves" -w
moved=$(counted moved)
check "directions moved" test "$moved" -gt 50
check "and messages were sent" more messages 1000
check "two namespaces" two_hosts
within "namespaces" "$programs/moves" -w -l 10.9.0.2 -c 10.9.0.2 -S blue -C red "${streams[@]}"
with most=1
for where in 0 1 2 3; do
	with where=$where odds=50
	lost=$(counted returned_lost)
	within "lost at point $where" "$programs/moves" -w "${streams[@]}"
	check "carriers were lost there" more returned_lost "$lost"
done
with less=1
within "messages of any size" "$programs/moves" -w "${streams[@]}"
check "none was larger than its carrier takes" test "$(counted large)" -eq 0
with less=0 odds=0
check "no carrier was bad" test "$(counted carrier_bad)" -eq 0
check "nor was a connection reset" test "$(counted carrier_reset)" -eq 0
joined=$(counted joined) messages=$(counted messages)
for forged in forge forge_answer forge_last; do
	refused=$(counted refused)
	with $forged=1
	# It says that nothing has moved.
	said=$("$programs/moves" -w streams 2>&1)
	check "no byte is wrong" right "$said"
	check "requests are refused" more refused "$refused"
	with $forged=0
done
check "no carrier was joined" none_came "$joined" "$messages"
check "the carrier goes" rmmod sdp_carrier_test
finish
