#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A thousand connections, or ten thousand in the long set, move and come back at random.

. "$(dirname "$0")/sock.sh"

connections=1000 seconds=5
[ "$VARIANT" != long ] || connections=10000 seconds=120

plan 5
check "a machine" start
echo 1 > /proc/sys/net/sdp/touch
echo 1 > /proc/sys/net/sdp/move_messages
within "storm" "$programs/storm" $connections $seconds
check "nothing holds the module" until_true 5 unused
check "and it goes" rmmod sdpdev
finish
