#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The directions of a connection move to a carrier of messages and come back: what the rules of
# the wire have to bear, without a wire.

. "$(dirname "$0")/sock.sh"

module=$build/$KERNEL/selftests/sock/carrier/sdp_carrier_test.ko
parameters=/sys/module/sdp_carrier_test/parameters
streams=('both directions' 'messages of all' streams 'two writers')

# with NAME=VALUE...: the carrier behaves so from now on.
with() {
	local setting

	for setting; do
		echo "${setting#*=}" > "$parameters/${setting%%=*}"
	done
}

# counted NAME: what the carrier's module has counted, or the kernel's
counted() {
	if [ -e "$parameters/$1" ]; then
		cat "$parameters/$1"
	else
		awk -v name="$1" '$1 == name { print $2 }' /proc/net/sdp/snmp
	fi
}

more() {
	[ "$(counted "$1")" -gt "$2" ]
}

# right SAID: a row says that nothing has moved, and nothing else is wrong.
right() {
	[ "$(grep -c 'wrong:' <<< "$1")" = 1 ] && grep -q 'it has not moved' <<< "$1"
}

none_came() {
	[ "$(counted joined)" = "$1" ] && [ "$(counted messages)" = "$2" ]
}

plan 99
check "a machine" start
check "a carrier" insmod "$module"
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
