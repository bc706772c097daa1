#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# softib is loaded, with an HCA, and each of its allocations fails in turn.

. "$(dirname "$0")/load.sh"

plan 2
step tools/softib/softib.ko hcas=1
rmmod softib
finish
