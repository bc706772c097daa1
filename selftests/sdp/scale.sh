#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Many connections at once; in the variant "large" as many as its machine is to hold.

. "$(dirname "$0")/../tap.sh"

folder=$(dirname "$(readlink -f "$0")")
connections=500 active=50
[ "$VARIANT" != large ] || connections=10000 active=1000
exec "${BUILD:-$folder/../../build}/selftests/sdp/scale" "$(fewer $connections)" "$(fewer $active)"
