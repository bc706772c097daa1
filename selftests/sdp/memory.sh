#!/bin/sh
# SPDX-License-Identifier: GPL-2.0

folder=$(dirname "$(readlink -f "$0")")
exec "${BUILD:-$folder/../../build}/selftests/sdp/memory"
