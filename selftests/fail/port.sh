#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Allocations, and verbs calls, too.

folder=$(dirname "$(readlink -f "$0")")
nth=/sys/kernel/debug/softib/fail_verbs/nth
trap 'echo N > $nth' EXIT
echo Y > $nth || exit
"${BUILD:-$folder/../../build}/selftests/fail/link"
