#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The side that connects, against a listener that answers what it should not.

. "$(dirname "$0")/lib.sh"

answers=/sys/module/answer/parameters/answer
port=7100

# HelloAck in hex: MID, flags, Bufs, Len, MSeq, MSeqAck, version, capabilities,
# reserved, MaxAdverts, ActRcvSz
#
# hello_ack MID BUFS LEN MSEQ ACK VERSION SIZE
hello_ack() {
	echo "rep ${1}00$2$3$4$5${6}000001$7"
}

# What connect says, and which counter of bad things moved; the connection is
# tried from node1.
try() {
	echo "$1" > "$answers"
	bad_counters > /tmp/before
	"$programs/sdp_end" send 10.77.0.2 $port 100 100 2>&1
	bad_counters > /tmp/after
	comm -13 /tmp/before /tmp/after | cut -d ' ' -f 1
}

bad_counters() {
	grep '^bad_\|^ib_' /proc/net/sdp/snmp | sort
}

# answered NAME ANSWER EXPECTED...: each a line
answered() {
	local got expected

	got=$(try "$2")
	expected=$(printf '%s\n' "${@:3}")
	[ "$got" = "$expected" ]
	status=$?
	[ $status -eq 0 ] || diag "$got"
	result $status "$1"
}

refused='sdp_end: connect: Connection refused'
protocol='sdp_end: connect: Protocol error'

plan 24
check "a listener that does as it is told" \
	insmod "$BUILD/$KERNEL/selftests/wire/answer/answer.ko" device=softib1 port=$port
answered "rejected by the consumer" "rej 28" "$refused"
answered "rejected: no such service" "rej 8" "$refused"
answered "rejected: stale" "rej 10" "$refused"
answered "rejected: no resources" "rej 3" "$refused"
answered "rejected with a reason that is none" "rej 9999" "$refused"

answered "not answered" "none" "sdp_end: connect: Connection timed out"

zero=00000000 len=00000018 size=00004000
answered "HelloAck: nothing at all" "rep " "$protocol" bad_len
answered "HelloAck: MID" "$(hello_ack 00 0010 $len $zero $zero 22 $size)" \
	"$protocol" bad_turn
answered "HelloAck: Len too small" \
	"$(hello_ack 01 0010 00000017 $zero $zero 22 $size)" "$protocol" bad_len
answered "HelloAck: Len too large" \
	"$(hello_ack 01 0010 000000c5 $zero $zero 22 $size)" "$protocol" bad_len
answered "HelloAck: MSeq" "$(hello_ack 01 0010 $len 00000001 $zero 22 $size)" \
	"$protocol" bad_mseq
answered "HelloAck: MSeqAck" "$(hello_ack 01 0010 $len $zero 00000001 22 $size)" \
	"$protocol" bad_mseq_ack
for version in 00 11 32; do
	answered "HelloAck: version $version" \
		"$(hello_ack 01 0010 $len $zero $zero $version $size)" "$protocol" bad_version
done
answered "HelloAck: nothing behind its base header" "rep 01000010$len$zero$zero" \
	"$protocol" bad_version
answered "HelloAck: no buffers" "$(hello_ack 01 0000 $len $zero $zero 22 $size)" \
	"$protocol" bad_sizes
answered "HelloAck: too few buffers" "$(hello_ack 01 0002 $len $zero $zero 22 $size)" \
	"$protocol" bad_sizes
answered "HelloAck: tiny buffers" "$(hello_ack 01 0010 $len $zero $zero 22 000000ff)" \
	"$protocol" bad_sizes
answered "HelloAck: AbortConn instead" "$(hello_ack 03 0010 $len $zero $zero 22 $size)" \
	"$protocol" bad_turn
answered "accepted, but nobody is there" \
	"$(hello_ack 01 0010 $len $zero $zero 22 $size)" \
	"sdp_end: read: Connection timed out" ib_qp_errors

# Of node1's own adapter: the listener above has the port on node2's.
serve echo
check "a port that is taken on one adapter is there on the others" ip netns exec node2 \
	"$programs/sdp_end" send 10.77.0.1 $port 100000 10000
stop_serving
rmmod answer

serve echo
check "a good one is connected to" ip netns exec node2 \
	"$programs/sdp_end" send 10.77.0.1 $port 100000 10000
stop_serving
finish
