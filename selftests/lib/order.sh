#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Who reads by a system call looks into the ring, and then at what had no room there.
# With time made between the two, what comes meanwhile is still read in its order.

. "$(dirname "$0")/tap.sh"

slow_ring() {
	tools/vm/delays --us 2000 'sdpdev:^sdp_ring_consume$' "$BUILD/selftests/lib/api" \
		> "$WORK/out" && return
	diag "$WORK/out" 80
	return 1
}

plan 1
check "what comes while a reader turns from the ring to the rest keeps its order" slow_ring
finish
