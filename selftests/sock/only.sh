#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Modes: connections that leave TCP at once, those that may send nothing by TCP, and those
# that stay.

. "$(dirname "$0")/sock.sh"

plan 21
check "a machine" eval 'start && sysctl -q net.sdp.only_wait=1'
within "mode" "$programs/only"
finish
