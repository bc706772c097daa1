# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Modules are loaded with each of their allocations failing in turn.

. "$(dirname "$0")/../tap.sh"

folder=$(dirname "$(readlink -f "$0")")
root=$folder/../..
build=${BUILD:-$root/build}
modules=$build/$KERNEL

# fails FILE [PARAMETERS]: with the module itself; what debuggers need only makes it larger
fails() {
	local copy said status

	copy=/tmp/$(basename "$1")
	strip -g -o "$copy" "$modules/$1" || return
	said=$("$build/selftests/fail/load" "$copy" "${@:2}" 2>&1)
	status=$?
	diag "${said//# /}"
	return "$status"
}

# load FILE [PARAMETERS]
load() {
	insmod "$modules/$1" "${@:2}"
}

# step FILE [PARAMETERS]: with failures, and then for those that follow
step() {
	fails "$@"
	result $? "${1##*/}, each allocation failing"
	check "${1##*/}" load "$@"
}

# What they depend on, with as few receives for each HCA as there can be, for each of
# them fails, too.
modprobe ib_core recv_queue_size=64
modprobe -a ib_core ib_cm rdma_cm rdmavt udp_tunnel ip6_udp_tunnel
