#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs as they are send and receive by rings that a library has mapped for them.

. "$(dirname "$0")/sock.sh"

plan 33
check "a machine" start
export LD_PRELOAD=$build/libsdpdev/libsdprings.so SDPDEV_RINGS=always
within "rings" "$programs/preload"
unset LD_PRELOAD SDPDEV_RINGS
check "nothing holds the module" until_true 5 unused
check "and it goes" rmmod sdpdev
finish
