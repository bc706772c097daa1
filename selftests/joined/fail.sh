#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Allocations fail at each step of a join, and of what follows.

. "$(dirname "$0")/lib.sh"

case $VARIANT in
large*)	step=64 ;;
*)	step=10000 ;;
esac

# Many joins in a short time, and each is one of a connection that was refused memory.
settings() {
	only_ib && all_nodes joins 1000
}

settings || exit
echo 0 > /sys/kernel/debug/fail_page_alloc/min-order
"$build/selftests/joined/fail" ${v6:+"$v6"} -w -l $to -S node2 -c $to -C node1 "$step"
status=$?
echo 1 > /sys/kernel/debug/fail_page_alloc/min-order
all_nodes joins 200
exit "$status"
