#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Each allocation fails in turn while a client of ib_core is loaded, which also sets up
# what it does for an HCA. Of each other they are loaded in order.

. "$(dirname "$0")/load.sh"

plan 9
check "an HCA" load tools/softib/softib.ko hcas=1
step ipoib/ib_ipoib.ko
step sdpdev/sdpdev.ko
step sdpdev/sdp_verbs.ko
step sdpdev/sdp_ib.ko
rmmod sdp_ib sdp_verbs sdpdev ib_ipoib softib
finish
