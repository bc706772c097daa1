#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What a round trip makes the kernel do, and no more than it did: switches from task to
# task, and allocations. Both ends are counted, and the fabric, too.

. "$(dirname "$0")/lib.sh"

tracing=/sys/kernel/tracing
# By what bytes go, see counts.c
kind=moved
mountpoint -q $tracing || mount -t tracefs none $tracing || exit

# The proof that both ends are of one host is lost in packets that an adapter has sent.
here=(-l 127.0.0.1 -S node1 -c 127.0.0.1 -C node1)
there=(-w -l "$to" -S node2 -c "$to" -C node1)

# count BYTES tcp|direct|moved PLACE...: $went and $allocated of a round trip
count() {
	local said status

	said=$("$build/selftests/joined/counts" "${@:3}" "$1" "$2")
	status=$?
	read -r went allocated <<< "$said"
	echo "# $2, $1 bytes: $said"
	return $status
}

# most NUMBER LIMIT
most() {
	awk -v is="$1" -v limit="$2" 'BEGIN { exit !(is != "" && is + 0 <= limit) }'
}

# rows NAME BYTES SWITCHES ALLOCATIONS PLACE...: the limits, with room for what else the machine
# does meanwhile, which is counted, too, and for less than one more
rows() {
	count "$2" $kind "${@:5}"
	result $? "$1, $2 bytes"
	check "at most $3 switches" most "$went" "$3"
	check "at most $4 allocations" most "$allocated" "$4"
}

# Without its tracepoints a kernel would pass each limit.
seen() {
	awk -v went="$went" -v allocated="$allocated" \
		'BEGIN { exit !(went + 0 >= 2 && allocated + 0 >= 2) }'
}

plan 18
count 64 tcp "${there[@]}"
check "what TCP switches and allocates is seen" seen
rows memory 64 2.4 0.9 "${here[@]}"
rows memory 16384 2.4 0.9 "${here[@]}"
check "only InfiniBand" only_ib
rows InfiniBand 64 2.4 0.9 "${there[@]}"
rows InfiniBand 16384 3.4 12.9 "${there[@]}"
check "direct SDP" all_nodes direct 1
kind=direct
rows "direct SDP" 16384 3.4 12.9 "${there[@]}"
all_nodes direct 0
finish
