#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The orders that the rings promise: the library's side against the kernel's.

LITMUS_MS=600 exec "${BUILD:-build}/selftests/lib/litmus"
