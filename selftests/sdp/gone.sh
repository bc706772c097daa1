#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# An adapter goes, and does not wait for a program that has not read what a connection
# that has ended has left it.

. "$(dirname "$0")/../tap.sh"

folder=$(dirname "$(readlink -f "$0")")
traffic=${BUILD:-$folder/../../build}/selftests/sdp/traffic
conf=/sys/kernel/config/softib

gone() {
	[ ! -e "/sys/class/infiniband/$1" ]
}

# Writing waits as long as the adapter is in use.
goes() {
	echo 0 > "$conf/hcas/$1/enable" &
	until_true 20 gone "$1"
}

# Only the transport has it.
unused() {
	[ "$(< /sys/module/sdpdev/refcnt)" -le 1 ]
}

# let_go: the program ends, and then nothing keeps the device.
let_go() {
	kill "$pid" && wait "$pid" 2> /dev/null
	until_true 20 unused
}

[ -d $conf ] || mount -t configfs none "${conf%/*}"
plan 4
exec {held}< <(exec "$traffic" unread)
pid=$!
check "bytes of a connection that was reset" read -r -t 60 -u "$held"
check "its adapter goes" goes softib1
check "so does its peer's" goes softib0
check "and then the program" let_go
finish
