#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The library's side of the rings, against a kernel's side played by threads.

exec "${BUILD:-build}/selftests/lib/rings"
