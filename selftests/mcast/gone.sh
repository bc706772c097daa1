#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The adapter goes under programs that receive: their sockets receive from then on, and the
# programs sleep while nothing comes.

. "$(dirname "$0")/lib.sh"

receive=$VM_BUILD/libsdpmcast/examples/receive
conf=/sys/kernel/config/softib

is_way() {
	echo tell > $folder/to.own
	until_true 1 eval "tail -n 1 $folder/own | grep '^way $1 '"
}

begins() {
	mkfifo $folder/to.own || return
	"$receive" ib0 7200 $group <> $folder/to.own > $folder/own 2>&1 &
	echo $! > $folder/pid.own
	until_true 20 is_way 0 && python a poll 7400 $group && offloaded a
}

goes() {
	echo 0 > $conf/hcas/softib0/enable &
	until_true 20 not test -e /sys/class/infiniband/softib0
}

# sleeps NAME: whenever somebody looks
sleeps() {
	local state

	for _ in $(seq 20); do
		read -r _ _ state _ < "/proc/$(< "$folder/pid.$1")/stat" || return
		[ "$state" = S ] || return
	done
}

# A unicast datagram
near() {
	echo "near $1" | socat -u - "UDP4-DATAGRAM:127.0.0.1:$2"
}

endpoint() {
	until_true 20 is_way 6 && near own 7200 &&
	until_true 10 started own '^socket .* near own' && until_true 10 sleeps own ||
		{ cat $folder/own; return 1; }
}

unmodified() {
	near a 7400 && until_true 10 started a 'near a$' &&
	logged a 'by the kernel: the queue pair or its adapter' &&
	until_true 10 sleeps a || { cat $folder/log.a $folder/a; return 1; }
}

mountpoint -q ${conf%/*} || mount -t configfs none ${conf%/*} || exit
plan 4
check "datagrams come by the queue pair" begins
check "the adapter goes" goes
check "an endpoint: the socket receives, and the program sleeps" endpoint
check "an unmodified program: the kernel receives, and the program sleeps" unmodified
kill "$(< $folder/pid.own)"
end a
finish
