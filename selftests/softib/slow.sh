#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What is only right if things happen in one order, with the time between them made
# long enough to see.

. "$(dirname "$0")/lib.sh"

plan 3
check "a fabric" up 2
check "who sees that a request failed finds the queue pair in error" \
	slowly softib_qp_error 20000 "$programs/rc"
check "it goes" down
finish
