#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The tests of the rings once more as arm64 programs, emulated.

. "$(dirname "$0")/../tap.sh"

programs=${BUILD:-build}/selftests/lib/arm64

plan 1
check "the rings work as an arm64 program" env LITMUS_MS=300 qemu-aarch64 "$programs/litmus"
finish
