# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For tests of TCP sockets with the ULP "sdp", in a machine that has nothing yet.

# A namespace of its own: what its sockets leave in TIME_WAIT ends with it.
[ -n "$SOCK_NAMESPACE" ] || SOCK_NAMESPACE=1 exec unshare --net "$0" "$@"

. "$(dirname "$0")/../tap.sh"

root=$(dirname "$(readlink -f "$0")")/../..
build=${BUILD:-$root/build}
# shellcheck disable=SC2034 # for the tests
programs=$build/selftests/sock

# start: the module is there, and so is a loopback device.
start() {
	[ -d /sys/module/sdpdev ] || insmod "$build/$KERNEL/sdpdev/sdpdev.ko" || return
	ip link set lo up
}

# unused: no socket has a reference to the module.
unused() {
	[ "$(< /sys/module/sdpdev/refcnt)" = 0 ]
}

# no_hosts: what two_hosts made goes, as tests that follow want a machine without namespaces.
no_hosts() {
	[ ! -e /run/netns/red ] || ip netns del red
	[ ! -e /run/netns/blue ] || ip netns del blue
}

# leave: for the tests that follow, the machine is as it was.
leave() {
	no_hosts
	[ ! -e /sys/module/sdpdev ] || { until_true 10 unused && rmmod sdpdev; }
}

trap leave EXIT

# two_hosts: two network namespaces, red 10.9.0.1 and blue 10.9.0.2, and veth between them
two_hosts() {
	no_hosts
	ip netns add red && ip netns add blue &&
	ip link add r0 netns red type veth peer name b0 netns blue &&
	ip -n red addr add 10.9.0.1/24 dev r0 && ip -n blue addr add 10.9.0.2/24 dev b0 &&
	ip -n red link set lo up && ip -n blue link set lo up &&
	ip -n red link set r0 up && ip -n blue link set b0 up
}

# tell CODE: stat.py does it, the coprocess that is called sockets
tell() {
	local answer

	# shellcheck disable=SC2154 # coproc sets it
	echo "$1" >&"${sockets[1]}"
	read -r -t 60 answer <&"${sockets[0]}"
	[ "$answer" = "done" ] || { echo "$answer"; return 1; }
}
