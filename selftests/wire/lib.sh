# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For the tests on the wire: node1 serves, node2 is the peer.

. "$(dirname "$0")/../tap.sh"

programs=$BUILD/selftests/wire
port=7000

# serve MODE: a server on /dev/sdp in node1; ends when the test does. The one before it
# has left its words.
serve() {
	: > /tmp/server
	"$programs/sdp_end" "$1" $port > /tmp/server 2>&1 &
	server=$!
	trap 'kill $server 2> /dev/null' EXIT
	until_true 10 grep -q listening /tmp/server || { diag "$(< /tmp/server)"; return 1; }
}

stop_serving() {
	kill "$server"
	wait "$server" 2> /dev/null
	trap - EXIT
}

# peer CASE...: what a wrong peer in node2 sees.
peer() {
	ip netns exec node2 "$programs/sdp_peer" softib1 softib0 \
		10.77.0.2 10.77.0.1 $port "$@" 2>&1
}

