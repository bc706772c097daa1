#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Wrong arguments get one clear line and status 2, and nothing is started.

. "$(dirname "$0")/../tap.sh"

# refused NAME PATTERN ARGUMENT...
refused() {
	local name=$1 pattern=$2 output status

	shift 2
	output=$(tools/vm/run "$@" 2>&1 < /dev/null)
	status=$?
	[ $status -eq 2 ] && [ "$(wc -l <<< "$output")" -eq 1 ] &&
		[[ $output == *$pattern* ]] || {
		diag "status $status: $output"
		status=1
	}
	[ $status -eq 2 ]
	result $? "$name"
}

plan 38
refused "no command" "no command"
refused "no command after --" "no command" --nodes 2 --
refused "unknown option" "--frobnicate" --frobnicate -- true
refused "unknown kernel" "--kernel: '5.10'" --kernel 5.10 -- true
own=$(mktemp -d)
refused "a kernel of one's own that is not there" "no folder $own/none" --kernel "$own/none" -- true
refused "one without an image" "neither vmlinuz nor" --kernel "$own" -- true
mkdir -p "$own/arch/x86/boot" "$own/lib/modules/1"
: > "$own/arch/x86/boot/bzImage"
refused "one without modules" "INSTALL_MOD_PATH=$own" --kernel "$own" -- true
: > "$own/lib/modules/1/modules.dep"
depmod -b "$own" 1 2> /dev/null
refused "one without what the VM needs" "without virtio_pci" --kernel "$own" -- true
mkdir "$own/lib/modules/2"
: > "$own/lib/modules/2/modules.dep"
refused "one that may be two" "more than one" --kernel "$own" -- true
rm -r "$own"
refused "0 nodes" "1 to 64" --nodes 0 -- true
refused "65 nodes" "1 to 64" --nodes 65 -- true
refused "nodes that are no number" "not a number" --nodes 2x -- true
refused "negative nodes" "not a number" --nodes -1 -- true
refused "too many digits" "not a number" --nodes 99999999999999999999 -- true
refused "empty value" "not a number" --nodes "" -- true
refused "missing value" "needs a value" --nodes
refused "unknown ipoib" "ours stock none" --ipoib theirs -- true
refused "a driver for a second machine" "more than 1" --ipoib ours,stock -- true
refused "an empty driver" "ours stock none" --ipoib ours, --machines 2 -- true
refused "one machine" "2 to 8" --machines 1 -- true
refused "nine machines" "2 to 8" --machines 9 -- true
refused "a third driver for two machines" "more than 2" \
	--machines 2 --ipoib ours,stock,ours -- true
refused "a parameter for a third machine" "3 of 2" --machines 2 --append "a 3/b=1" -- true
refused "nodes and machines" "one node in each" --machines 2 --nodes 2 -- true
refused "counting in two machines" "one machine" --count --machines 2 -- true
refused "unknown packages" "demo guest" --guest theirs -- true
refused "unknown MTU" "2048 4096" --ib-mtu 1024 -- true
refused "too many CPUs" "1 to 16" --cpus 17 -- true
refused "too little memory" "1024 to 65536" --memory 512 -- true
refused "counting on two CPUs" "one CPU" --count --cpus 2 -- true
refused "another accelerator" "tcg kvm" --accel hvf -- true
refused "counting with KVM" "not with --accel kvm" --count --accel kvm -- true
refused "time-out that is no number" "not a number" --timeout soon -- true
refused "log that cannot be written" "cannot write" --log /nowhere/log -- true
SDPDEV_CACHE=/nowhere refused "no kernel in the cache" "run tools/setup" -- true
BUILD=/nowhere refused "programs not built" "make user" -- true
bin=$(mktemp -d)
for p in bash dirname readlink wc cat cut sha256sum sort awk sed; do
	ln -s "$(command -v $p)" "$bin/"
done
PATH=$bin refused "no emulator" "qemu-system-x86_64 is not installed" -- true
rm -r "$bin"
check "--help" sh -c 'tools/vm/run --help | grep -q "^usage: "'
finish
