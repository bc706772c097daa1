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

# Only to see whether it is called: it uses what may be gone by then.
answered_by_kernel() {
	slowly agent_send_response 1 asked
}

plan 6
check "a fabric" up 2
lid=$(($(< $hcas/softib1/ports/1/lid)))
# The switch learns the way there a moment later.
check "an HCA answers its managers" until_true 10 asked
not answered_by_kernel > /dev/null
result $? "by itself, not by way of the kernel"
check "who sees that a request failed finds the queue pair in error" \
	slowly softib_qp_error 20000 "$programs/rc"
check "a queue pair in error is in no other state" \
	slowly rvt_error_qp 20000 "$programs/rc" error
check "it goes" down
finish
