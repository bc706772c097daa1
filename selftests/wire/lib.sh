# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For the tests on the wire: node1 serves, node2 is the peer. Both have direct SDP until the test
# ends.

. "$(dirname "$0")/../tap.sh"

programs=$BUILD/selftests/wire
port=7000

server=
direct() {
	sysctl -qw net.sdp.direct="$1"
	ip netns exec node2 sysctl -qw net.sdp.direct="$1"
}

leave_it() {
	[ -z "$server" ] || kill "$server" 2> /dev/null
	direct 0
}

trap leave_it EXIT
direct 1

# serve MODE: a server in node1; ends when the test does. The one before it has left its words.
serve() {
	: > /tmp/server
	"$programs/sdp_end" "$1" $port > /tmp/server 2>&1 &
	server=$!
	until_true 10 grep -q listening /tmp/server || { diag "$(< /tmp/server)"; return 1; }
}

stop_serving() {
	kill "$server"
	wait "$server" 2> /dev/null
	server=
}

# peer CASE...: what a wrong peer in node2 sees.
peer() {
	ip netns exec node2 "$programs/sdp_peer" softib1 softib0 \
		10.77.0.2 10.77.0.1 $port "$@" 2>&1
}

