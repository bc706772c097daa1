#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Allocations fail at each step of a move and of a return.

. "$(dirname "$0")/sock.sh"

plan 13
check "a machine" start
within "fail" "$programs/fail"
check "nothing holds the module" until_true 5 unused
finish
