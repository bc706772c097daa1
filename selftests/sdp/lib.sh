# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For tests of direct SDP, which both nodes have until the test ends.

. "$(dirname "$0")/../tap.sh"

# shellcheck disable=SC2034 # for the tests
programs=${BUILD:-$(dirname "$(readlink -f "$0")")/../../build}/selftests/sdp

# direct VALUE
direct() {
	sysctl -qw net.sdp.direct="$1" && ip netns exec node2 sysctl -qw net.sdp.direct="$1"
}

# connections STATE: how many node1 has
connections() {
	awk -v state="$1" '$3 == state { n++ } END { print n + 0 }' /proc/net/sdp/direct
}

trap 'direct 0' EXIT
direct 1
