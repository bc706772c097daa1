#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What a message costs through softib is counted, beside rdma_rxe, and a packet
# through ib_ipoib beside the kernel's driver. The numbers are no test.

. "$(dirname "$0")/../tap.sh"

plan 6
out=$(tools/vm/run --bare --count --kernel "$KERNEL" -- tools/softib/cost < /dev/null 2>&1)
result $? "the cost is counted"
diag "$out"
for row in send 'RDMA read' ping-pong; do
	check "of $row" grep -Eq "^$row +[1-9][0-9]+ +[1-9][0-9]+ +[1-9][0-9]* %$" <<< "$out"
done
out=$(tools/vm/run --count --ipoib none --kernel "$KERNEL" -- \
	tools/ipoib/cost --share udp < /dev/null 2>&1)
result $? "the cost of IPoIB is counted"
diag "$out"
numbers=' +[1-9][0-9]+ +[1-9][0-9]+ +[1-9][0-9]* %'
check "of both drivers" grep -Eq "^UDP.* packet($numbers){2}$" <<< "$out"
finish
