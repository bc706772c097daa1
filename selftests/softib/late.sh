#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A receive that the kernel posts while its queue pair falls into error comes back.

. "$(dirname "$0")/lib.sh"

plan 2

check "an HCA" insmod "$module" hcas=1
check "a receive that is posted while the queue pair falls into error comes back" \
	insmod "$BUILD/$KERNEL/selftests/softib/late/late.ko"
rmmod late
rmmod softib

finish
