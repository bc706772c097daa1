#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The rules of the network act on a connection that has moved.

. "$(dirname "$0")/sock.sh"

touches() {
	ip netns exec red sysctl -q net.sdp.touch=1 && ip netns exec blue sysctl -q net.sdp.touch=1
}

rows=('packets that' 'a rule' 'a capture' nothing)
[ "$VARIANT" != long ] || rows=()

plan $((${#rows[@]} ? 10 : 14))
check "a machine" start
check "two namespaces" two_hosts
check "a touch each second" touches
within "gate" "$programs/gate" "${rows[@]}"
finish
