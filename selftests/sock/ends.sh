#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# All ways to end a connection, against TCP; and the module goes when the last socket does,
# whatever TCP keeps of its connections.

. "$(dirname "$0")/sock.sh"

# held WHAT: while there is one the module stays.
held() {
	local pid line

	coproc holder { "$programs/ends" --hold "$1"; }
	pid=$!
	# shellcheck disable=SC2154 # coproc sets it
	read -r -u "${holder[0]}" line && [ "$line" = held ] && ! rmmod sdpdev 2> /dev/null
	local status=$?
	kill "$pid"
	wait "$pid" 2> /dev/null
	until_true 5 unused || status=1
	return "$status"
}

time_waits() {
	ss -Htan state time-wait | wc -l
}

no_time_waits() {
	[ "$(time_waits)" = 0 ]
}

plan 25
check "a machine" start
within "ends" "$programs/ends"
for what in listener connection child; do
	check "a $what keeps the module" held $what
done
"$programs/ends" --leave
[ "$(time_waits)" -ge 20 ]
result $? "both ends leave sockets in TIME_WAIT"
check "the module goes" rmmod sdpdev
# The checked kernel ends none for ss.
[ "$KERNEL" = debug ] || ss -K state time-wait > /dev/null
check "and they go after it" until_true 40 no_time_waits
finish
