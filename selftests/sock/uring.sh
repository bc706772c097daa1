#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs that use io_uring see what they see on TCP.

. "$(dirname "$0")/sock.sh"
. "$(dirname "$0")/messages.sh"

plan 14
check "a machine" start
within "uring" "$programs/uring"
check "a carrier" insmod "$module"
echo test > /proc/sys/net/sdp/carriers
within "a carrier" "$programs/uring" -w SEND_ZC
check "the carrier goes" rmmod sdp_carrier_test
check "nothing holds the module" until_true 5 unused
check "and it goes" rmmod sdpdev
finish
