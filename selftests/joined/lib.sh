# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For tests of TCP connections that are joined over InfiniBand. The nodes of one machine
# share a kernel, and would use its memory: they are told not to.

. "$(dirname "$0")/../tap.sh"

build=${BUILD:-$(dirname "$(readlink -f "$0")")/../../build}
# shellcheck disable=SC2034 # for the tests
sock=$build/selftests/sock

# in_node N COMMAND...
in_node() {
	ip netns exec "node$1" "${@:2}"
}

# all_nodes FILE VALUE: a setting in each node's net.sdp
all_nodes() {
	local n

	for n in $(seq "$VM_NODES"); do
		in_node "$n" sysctl -qw "net.sdp.$1=$2" || return
	done
}

# only_ib: each connection that leaves TCP does so by InfiniBand, until the test ends.
only_ib() {
	all_nodes carriers ib
}

order=$(in_node 1 sysctl -n net.sdp.carriers)
trap 'all_nodes carriers "$order"' EXIT
