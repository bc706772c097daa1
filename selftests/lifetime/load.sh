#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# All modules come and go 30 times, or 200 if there is time, and each of their parameters
# is tried with what it cannot be: the module stays out, or the parameter as it was. Those
# of softib are in softib/params.

. "$(dirname "$0")/../tap.sh"

root=$(dirname "$(readlink -f "$0")")/../..
modules=${BUILD:-$root/build}/$KERNEL
rounds=$(fewer 200)
[ "$VARIANT" = long ] || rounds=$(fewer 30)

# load FILE [PARAMETER...]
load() {
	insmod "$modules/$1" "${@:2}"
}

there() {
	[ -c /dev/sdp ] && [ -e /sys/class/net/ib0 ] && [ -e /sys/class/net/ib1 ]
}

gone() {
	[ ! -e /sys/class/net/ib0 ] && [ ! -e /sys/class/net/ib1 ] &&
		! grep -q sdp /proc/misc && [ -z "$(ls /sys/class/infiniband)" ]
}

all_up() {
	load tools/softib/softib.ko hcas=2 && load ipoib/ib_ipoib.ko &&
	load sdpdev/sdpdev.ko && load sdpdev/sdp_verbs.ko && load sdpdev/sdp_ib.ko
}

rounds() {
	local i

	for ((i = 1; i <= rounds; i++)); do
		if ! { all_up && until_true 30 there &&
			rmmod sdp_ib sdp_verbs sdpdev ib_ipoib softib && until_true 30 gone; }; then
			echo "round $i"
			return 1
		fi
	done
}

# refused FILE PARAMETER=VALUE: not loaded, with an error
refused() {
	local name

	name=$(basename "$1" .ko)
	if load "$@" 2> /dev/null; then
		echo "$2: loaded"
		rmmod "$name"
		return 1
	fi
	[ ! -e "/sys/module/$name" ]
}

# numbers FILE: no parameter of the module that is a number, or yes or no, is any of these.
# Of yes or no the kernel reads the first character only: 1x would be yes.
numbers() {
	local name value status=0

	for name in $(modinfo -F parm "$modules/$1" | sed '/(int)$/d; s/:.*//'); do
		for value in -1 4294967296 99999999999999999999 x 2x ''; do
			refused "$1" "$name=$value" || status=1
		done
		echo "# $name" >> /tmp/tried
	done
	return "$status"
}

# A module is there, and none of its parameters takes the value.
written() {
	local file before value status=0

	for file in /sys/module/"$1"/parameters/*; do
		[ -w "$file" ] && [ "$(stat -c %a "$file")" = 644 ] || continue
		before=$(< "$file")
		for value in -1a 4294967296 99999999999999999999 x ''; do
			if echo "$value" 2> /dev/null > "$file" ||
				[ "$(< "$file")" != "$before" ]; then
				echo "$file took '$value'"
				status=1
			fi
		done
	done
	return "$status"
}

# beyond PARAMETER MOST: what is only too large or too small, the driver makes fit
beyond() {
	local value status=0

	for value in 0 1 4294967295; do
		load ipoib/ib_ipoib.ko "$1=$value" || return
		value=$(< "/sys/module/ib_ipoib/parameters/$1")
		[ "$value" -ge 2 ] && [ "$value" -le "$2" ] || { echo "$1: $value"; status=1; }
		[ -e /sys/class/net/ib0 ] || status=1
		rmmod ib_ipoib || return
	done
	return "$status"
}

plan 9
# What they depend on. Of each other they are loaded in order.
modprobe -a ib_core ib_cm rdma_cm rdmavt udp_tunnel ip6_udp_tunnel
check "$rounds times loaded and unloaded" rounds
check "ib_ipoib: numbers that are none" numbers ipoib/ib_ipoib.ko
check "sdpdev: numbers that are none" numbers sdpdev/sdpdev.ko
[ "$(wc -l < /tmp/tried)" -ge 6 ]
result $? "there are such parameters"
load tools/softib/softib.ko hcas=2
check "send_queue_size out of range" beyond send_queue_size 8192
check "recv_queue_size out of range" beyond recv_queue_size 8192
load ipoib/ib_ipoib.ko && load sdpdev/sdpdev.ko
check "ib_ipoib: written, too" written ib_ipoib
check "sdpdev: written, too" written sdpdev
check "all goes in the end" rmmod sdpdev ib_ipoib softib
finish
