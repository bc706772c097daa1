#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Connections that may send nothing by TCP are joined before their first byte, or end.

. "$(dirname "$0")/lib.sh"

leave_it() {
	all_nodes carriers "$order"
	all_nodes only_wait 5
}

plan 19
trap leave_it EXIT
check "only InfiniBand" only_ib
check "the first byte waits two seconds at most" all_nodes only_wait 2
within only "$sock/only" -w -S node2 -C node1 -l 10.77.0.2 -c 10.77.0.2
finish
