#!/bin/sh
# SPDX-License-Identifier: GPL-2.0

folder=$(dirname "$(readlink -f "$0")")
build=${BUILD:-$folder/../../build}
exec "$build/libsdpdev/sdprun" --endpoint "$build/selftests/lib/auto"
