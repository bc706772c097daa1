#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What is only right if things happen in one order, with the time between them made
# long enough to see.

. "$(dirname "$0")/lib.sh"

asked() {
	perfquery -C softib0 "$lid" 1 && smpquery -C softib0 nodeinfo "$lid" &&
	smpquery -C softib0 nodeinfo -D 0,1,2
}

# The kernel's MAD layer would answer by this function, which uses what may be gone by then.
not_by_kernel() {
	local status calls

	insmod "$BUILD/$KERNEL/selftests/lib/slow/slow.ko" function=agent_send_response us=1 ||
		return
	asked
	status=$?
	read -r calls < /sys/module/slow/parameters/calls
	rmmod slow
	[ "$status" -eq 0 ] && [ "$calls" -eq 0 ]
}

plan 6
check "a fabric" up 2
lid=$(($(< $hcas/softib1/ports/1/lid)))
# The switch learns the way there a moment later.
check "an HCA answers its managers" until_true 10 asked
check "by itself, not by way of the kernel" not_by_kernel
check "a program that sees a failed request finds the queue pair in error" \
	slowly softib_qp_error 20000 "$programs/rc"
check "a queue pair in error is in no other state" \
	slowly rvt_error_qp 20000 "$programs/rc" error
check "it goes" down
finish
