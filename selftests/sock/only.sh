#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Modes: connections that leave TCP at once, those that may send nothing by TCP, and those
# that stay. Then those that may send nothing by TCP, and have a carrier of messages.

. "$(dirname "$0")/sock.sh"
. "$(dirname "$0")/messages.sh"

plan 52
check "a machine" eval 'start && sysctl -q net.sdp.only_wait=1'
within "mode" "$programs/only"
check "a carrier" insmod "$module"
check "and no other" sysctl -q net.sdp.carriers=test
within "a carrier" "$programs/only" -w
check "messages were sent" more messages 100
check "there is time for another one" sysctl -q net.sdp.only_wait=10
with odds=30
lost=$(counted joined)
within "lost" "$programs/only" -w 'the first byte' streams 'a close'
check "carriers were lost" more joined $((lost + 8))
with odds=0
check "no carrier was bad" test "$(counted carrier_bad)" -eq 0
check "the carrier goes" rmmod sdp_carrier_test
finish
