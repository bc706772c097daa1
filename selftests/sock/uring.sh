#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs that use io_uring see what they see on TCP.

. "$(dirname "$0")/sock.sh"

plan 8
check "a machine" start
within "uring" "$programs/uring"
check "nothing holds the module" until_true 5 unused
check "and it goes" rmmod sdpdev
finish
