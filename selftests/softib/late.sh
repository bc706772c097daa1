#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the kernel posts to a queue pair that falls into error comes back: a receive that
# it posts meanwhile, a local invalidation that it has posted behind the cause.

. "$(dirname "$0")/lib.sh"

plan 3

check "an HCA" up 1
check "a receive that is posted while the queue pair falls into error comes back" \
	insmod "$BUILD/$KERNEL/selftests/softib/late/late.ko"
rmmod late
check "a local invalidation behind a request that fails does" \
	insmod "$BUILD/$KERNEL/selftests/softib/late/flush.ko"
rmmod flush
down

finish
