# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034 # used where it is sourced
#
# What tests by other projects' own suites share. Each suite runs twice in one machine: over
# TCP, then with endpoints. The first run says what the second one has to give.

. "$(dirname "$0")/../sock/sock.sh"

WORK=$(mktemp -d)
chmod 755 "$WORK"
servers=()

# Ends what the test has started.
clean_up() {
	local pid

	for pid in "${servers[@]}"; do
		kill "$pid" && wait "$pid"
	done 2> /dev/null
	rm -rf "$WORK"
	leave
}

trap clean_up EXIT

# bail WHY...: nothing can be tested.
bail() {
	echo "Bail out! $*"
	exit 1
}

# attach 0|1: whether TCP sockets of all namespaces get the ULP, and move at the first call
attach() {
	local ns

	for ns in '' red blue; do
		[ -z "$ns" ] || [ -e "/run/netns/$ns" ] || continue
		${ns:+ip netns exec $ns} sysctl -q -w net.sdp.attach="$1" net.sdp.move_messages=0
	done
}

# moved: how many directions have, so far, in all namespaces
moved() {
	local ns

	for ns in '' red blue; do
		[ -z "$ns" ] || [ -e "/run/netns/$ns" ] || continue
		${ns:+ip netns exec $ns} cat /proc/net/sdp/snmp
	done | awk '$1 == "moved" { n += $2 } END { print n }'
}

# more_moved BEFORE LEAST: at least so many have since
more_moved() {
	local now

	now=$(moved)
	echo "$((now - $1)) directions moved"
	[ $((now - $1)) -ge "$2" ]
}

# same_results TCP ENDPOINTS: two files of sorted lines. What TCP fails need not be better.
same_results() {
	diff "$1" "$2" > "$WORK/diff" && [ -s "$1" ] && return
	cat "$WORK/diff"
	return 1
}
