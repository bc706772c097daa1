#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Many connections at once; for how many the machine can hold, see
# Documentation/sdpdev.rst.

. "$(dirname "$0")/../tap.sh"

folder=$(dirname "$(readlink -f "$0")")
exec "${BUILD:-$folder/../../build}/selftests/sdp/scale" "$(fewer 500)" "$(fewer 50)"
