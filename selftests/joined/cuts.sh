#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What a node sends, or what is sent to it, is cut off behind each packet in turn, from the first
# one of a connection on: within the handshake, the request, its answer, the proofs, the switch
# and the bytes.  The programs fall silent.  All that they have sent arrives when packets pass
# again, and the connection goes on.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/links.sh"

case $VARIANT in
large-a) ends='a' step=1 ;;
large-b) ends='b' step=1 ;;
*)	ends='a b' step=8 ;;
esac
most=64

is_cut() {
	[ "$(< "$link/$1/cut")" = 1 ]
}

# Seconds after which no end waits for a packet any more
OVER=12

# cut_at END N: it has to be at the end of the test's connection.
cut_at() {
	local status=0

	fault "$1" cut "$2"
	start -n 1 -b 2000 -m 1 || status=1
	until_true 20 is_cut "$1" || status=1
	# It answers when it is connected.
	echo silent >&"$asks"
	nap "$OVER"
	fault "$1" cut 0
	answer ready && answer ok && ask all || status=1
	ask loud && by_ib || status=1
	# Then the path is as good as new.
	nap "$GOOD"
	ask end || status=1
	leave
	return "$status"
}

plan $((1 + most * ((${#ends} + 1) / 2) / step))
check "only InfiniBand" only_ib
for end in $ends; do
	for ((n = $((RANDOM % step + 1)); n <= most; n += step)); do
		check "a cut at packet $n, end $end" cut_at "$end" "$n"
	done
done
finish
