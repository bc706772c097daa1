#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A machine stands still, with all that it has, and goes on: so do its connections.

. "$(dirname "$0")/two.sh"

case $VARIANT in
large*)	seconds=60 ;;
*)	seconds=8 ;;
esac

frozen() {
	machine 2 freeze && nap "$1" && machine 2 thaw
}

plan 11
connections
result $? "connections"
check "by InfiniBand" ask by ib
check "they go on" ask more
check "a machine stands still for a moment" frozen 1
check "they go on" ask more
check "by InfiniBand" ask by ib
check "a machine stands still" frozen $seconds
check "they go on" ask more
check "by InfiniBand again" ask by ib
check "they go on" ask more
check "all bytes are right" ended
kill "${pid[@]}"
finish
