#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# libsdpdev's calls, between node1 and node2.

exec "${BUILD:-build}/selftests/lib/api"
