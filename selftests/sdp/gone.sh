#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# An adapter goes, and does not wait for a program that has not read what a connection
# that has ended has left it, nor for a call whose memory never comes
# (the checked kernel is built without userfaultfd(2)).  A page that the protocol has taken
# out of a buffer stays as it is.

. "$(dirname "$0")/lib.sh"

conf=/sys/kernel/config/softib
client=/sys/module/sdp_ib_try/parameters

gone() {
	[ ! -e "/sys/class/infiniband/$1" ]
}

# Writing waits as long as the adapter is in use.
goes() {
	echo 0 > "$conf/hcas/$1/enable" &
	until_true 20 gone "$1"
}

# Only other modules have it, the transports: each once.
unused() {
	local sdpdev=/sys/module/sdpdev

	[ "$(< "$sdpdev/refcnt")" -le "$(find "$sdpdev/holders" -type l | wc -l)" ]
}

# take: one of a connection's pages is not the device's any more.
take() {
	insmod "${programs%/*/*}/$VM_KERNEL/selftests/sdp/local/sdp_ib_try.ko" &&
		ip netns exec node1 cat "$client/carry" | grep -q '^ok a page is taken'
}

# has_it: it is as it was.
has_it() {
	grep -q '^ok' "$client/held" && rmmod sdp_ib_try
}

# let_go: the programs end, and then nothing keeps the device.
let_go() {
	kill "${pids[@]}" && wait "${pids[@]}" 2> /dev/null
	until_true 20 unused
}

[ -d $conf ] || mount -t configfs none "${conf%/*}"
debug=$([ "$KERNEL" = debug ] && echo 1 || echo 0)
plan $((7 - debug))
check "a page is taken" take
exec {held}< <(exec "$programs/traffic" unread)
pids=($!)
check "bytes of a connection that was reset" read -r -t 60 -u "$held"
if [ "$debug" -eq 0 ]; then
	exec {stuck}< <(exec "$programs/traffic" stuck)
	pids+=($!)
	check "a write and a read wait for memory" read -r -t 60 -u "$stuck"
fi
check "its adapter goes" goes softib1
check "so does its peer's" goes softib0
check "and then the programs" let_go
check "the page is as it was" has_it
finish
