#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs send and receive by rings that they have mapped.

. "$(dirname "$0")/sock.sh"

plan 34
check "a machine" start
echo 1 > /proc/sys/net/sdp/touch
within "rings" "$programs/rings"
check "nothing holds the module" until_true 5 unused
check "and it goes" rmmod sdpdev
finish
