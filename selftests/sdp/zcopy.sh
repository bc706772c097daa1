#!/bin/sh
# SPDX-License-Identifier: GPL-2.0

folder=$(dirname "$(readlink -f "$0")")
build=${BUILD:-$folder/../../build}
exec "$build/selftests/sdp/zcopy" "$build/$VM_KERNEL/selftests/sdp/local/sdp_local.ko"
