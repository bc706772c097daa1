# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For tests of programs that find each other by IP addresses: 10.1.0.1 here, and
# 10.1.0.2 in the network namespace "peer".

. "$(dirname "$0")/lib.sh"

server_output=/tmp/server

has_carrier() {
	[[ $(ip -o link show "$@") == *LOWER_UP* ]] &&
	[[ $(ip -n peer -o link show ib1) == *LOWER_UP* ]]
}

# interfaces [COMMAND...]: by the kernel's driver, or the one that the command loads
interfaces() {
	[ $# -gt 0 ] || set -- modprobe ib_ipoib
	"$@" && until_true 10 [ -e /sys/class/net/ib1 ] &&
	ip netns add peer && ip link set ib1 netns peer &&
	ip -n peer link set lo up &&
	ip addr add 10.1.0.1/24 dev ib0 && ip link set ib0 up &&
	ip -n peer addr add 10.1.0.2/24 dev ib1 &&
	ip -n peer link set ib1 up && until_true 20 has_carrier ib0 &&
	# The programs ask for an address for two seconds, and the switch may carry the
	# broadcast group later than that.
	until_true 20 ip netns exec peer ping -c 1 -W 1 10.1.0.1
}

no_interfaces() {
	rmmod ib_ipoib
	ip netns delete peer
}

# port_open NUMBER: somebody listens there.
port_open() {
	[ -n "$(ss -Hltn sport = ":$1")" ]
}

# on_ip READY SERVER -- CLIENT: between this node, 10.1.0.1, and another one,
# 10.1.0.2; READY succeeds when the server can be talked to.
on_ip() {
	local ready=$1 command=() server status

	shift
	while [ "$1" != -- ]; do
		command+=("$1")
		shift
	done
	shift
	timeout $((100 * tap_slow)) stdbuf -oL "${command[@]}" > "$server_output" 2>&1 &
	server=$!
	until_true 20 "$ready" ||
		{ cat "$server_output"; kill "$server"; return 1; }
	timeout $((100 * tap_slow)) ip netns exec peer "$@" 2>&1
	status=$?
	wait "$server" && return "$status"
	cat "$server_output"
	return 1
}
