#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What does not need a kernel once more as arm64 programs, emulated: the rings, the credit rules,
# and that the library and sdprun can be built and begin to run. By clang: Debian's gcc for arm64
# cannot be installed beside gcc-multilib.

. "$(dirname "$0")/../tap.sh"

root=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd -P)
programs=${BUILD:-$root/build}/selftests
tmp=$(mktemp -d)
trap 'rm -r "$tmp"' EXIT

# starts NAME: a program of the library's folder, with arm64's C library
starts() {
	qemu-aarch64 -L /usr/aarch64-linux-gnu "$tmp/$1" --version | grep -q "^$1 [0-9]"
}

plan 4
check "the rings work as an arm64 program" \
	env LITMUS_MS=300 qemu-aarch64 "$programs/lib/arm64/litmus"
check "so do the credit rules" qemu-aarch64 "$programs/credit/arm64/rules" 20000
check "the library is built for arm64" make -s -C "$root/libsdpdev" O="$tmp" \
	CC='clang --target=aarch64-linux-gnu' all
check "sdprun starts there" starts sdprun
finish
