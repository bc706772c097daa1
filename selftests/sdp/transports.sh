#!/bin/sh
# SPDX-License-Identifier: GPL-2.0

folder=$(dirname "$(readlink -f "$0")")
build=${BUILD:-$folder/../../build}
modules=$build/$VM_KERNEL/selftests/sdp/local
exec "$build/selftests/sdp/transports" "$modules/sdp_local.ko" "$modules/sdp_ib_try.ko"
