#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Packets as libsdpmcast reads them, right and wrong ones.

exec "${BUILD:-$(dirname "$0")/../../build}/selftests/mcast/packets"
