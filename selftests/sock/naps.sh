#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# How readers of rings sleep, in a machine that counts: its time is what the programs do.

. "$(dirname "$0")/sock.sh"

plan 4
check "a machine" start
within "counted" "$programs/rings" counted
check "nothing holds the module" until_true 5 unused
finish
