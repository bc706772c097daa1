#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Some hundred connections, or ten thousand in the long set, move and come back at random; and
# the same program over TCP, where it has to find nothing wrong, either. The environment may say
# how many CONNECTIONS for how many STORM_SECONDS.

. "$(dirname "$0")/sock.sh"

# backlog PACKETS: so many wait in front of a device of this machine. A slow kernel would lose most
# of them.
backlog() {
	nsenter -t 1 -n sysctl -qw net.core.netdev_max_backlog="$1"
}

connections=300 seconds=5
[ "$VARIANT" != long ] || connections=10000 seconds=120
connections=${CONNECTIONS:-$connections} seconds=${STORM_SECONDS:-$seconds}

plan 6
check "a machine" start
echo 1 > /proc/sys/net/sdp/touch
echo 1 > /proc/sys/net/sdp/move_messages
backlog 100000
within "TCP" "$programs/storm" "$connections" "$seconds" tcp
within "storm" "$programs/storm" "$connections" "$seconds"
backlog 1000
check "nothing holds the module" until_true 5 unused
check "and it goes" rmmod sdpdev
finish
