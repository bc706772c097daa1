#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# tools/vm/run --kernel FOLDER: kernels in somebody's own folders, with a fabric.

. "$(dirname "$0")/../tap.sh"
. tools/lib/cache.sh

tmp=$(mktemp -d) || exit
trap 'rm -rf "$tmp"' EXIT
tree=$(readlink -f "$CACHE/kernel/$KERNEL")
release=$(< "$tree/release")

# As after "make", and after "make modules KDIR=..." of this project
make_folders() {
	mkdir -p "$tmp/built/arch/x86/boot" "$tmp/built/include/config" "$tmp/installed" \
		"$tmp/build/vm" &&
	ln -s "$tree/vmlinuz" "$tmp/built/arch/x86/boot/bzImage" &&
	ln -s "$tree/lib" "$tmp/built/lib" &&
	echo "$release" > "$tmp/built/include/config/kernel.release" &&
	ln -s "$tree/vmlinuz" "$tree/lib" "$tmp/installed/" &&
	ln -s "$BUILD/tools" "$tmp/build/tools" &&
	ln -s "$BUILD/$KERNEL" "$tmp/build/$release"
}

vm() {
	BUILD=$tmp/build tools/vm/run --nodes 1 --kernel "$@" < /dev/null > "$tmp/out" 2>&1
}

# The command runs, and has an interface of the project's driver.
boots() {
	# shellcheck disable=SC2016 # for the VM's shell
	vm "$1" -- sh -c 'uname -r; cat /sys/class/net/ib0/mtu' &&
		grep -qx "$release" "$tmp/out" && grep -qx 2044 "$tmp/out" && return
	cat "$tmp/out"
	return 1
}

# not_built ARGUMENT: what make has to be told
not_built() {
	! vm "$tmp/built" -- true && cat "$tmp/out" && grep -qF "make modules $1" "$tmp/out"
}

BUILD=$(readlink -m "${BUILD:-build}")
plan 4
check "folders" make_folders
check "a build folder" boots "$tmp/built"
check "a folder with an image and modules" boots "$tmp/installed"
rm "$tmp/build/$release"
check "one for which the project is not built" not_built "KDIR=$tmp/built"
finish
