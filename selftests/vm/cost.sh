#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What a message costs through softib is counted, beside rdma_rxe. How much it is
# is no test.

. "$(dirname "$0")/../tap.sh"

plan 4
out=$(tools/vm/run --bare --count --kernel "$KERNEL" -- tools/softib/cost < /dev/null 2>&1)
result $? "the cost is counted"
diag "$out"
for row in send 'RDMA read' ping-pong; do
	check "of $row" grep -Eq "^$row +[1-9][0-9]+ +[1-9][0-9]+ +[1-9][0-9]* %$" <<< "$out"
done
finish
