#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# How long nothing arrives when a connection returns to TCP (Documentation/joined.rst has the
# numbers). No time is too long here; but the bytes have to be right.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/links.sh"

case $VARIANT in
large*)	rounds=100 ;;
*)	rounds=3 ;;
esac
export link

# silence SECONDS: for so long every packet of node2's link is lost, without an event
silence() {
	local end

	for end in a b; do
		echo 1000000 > "$link/$end/loss" || return
	done
	sleep "$1"
	for end in a b; do
		echo 0 > "$link/$end/loss" || return
	done
}
export -f silence

# pause NAME COMMAND
pause() {
	local said status

	said=$("$build/selftests/joined/pause" ${v6:+"$v6"} -w -l $to -S node2 -c $to -C node1 \
		"$rounds" "$2" 2>&1)
	status=$?
	echo "# $1: $said"
	result "$status" "$1"
}

plan 7
check "only InfiniBand" only_ib
pause "a tool brings it back" "ip netns exec node1 $build/tools/sdpctl/sdpctl return -a"
pause "the cable is out, and in again" "echo 0 > $link/up; echo 1 > $link/up"
pause "the peer's tool brings it back" "ip netns exec node2 $build/tools/sdpctl/sdpctl return -a"
for seconds in 0.1 2 8; do
	pause "silence for $seconds s" "silence $seconds"
done
finish
