#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What carries joined connections goes away in all ways that there are: they go on by TCP as soon
# as TCP can, and by InfiniBand again when that is back. All bytes are right in the end.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/links.sh"

loaded() {
	modprobe sdp_ib && until_true 10 grep -q '^sdp_ib ' /proc/modules
}

# IPv6's addresses go with it.
down_and_up() {
	ip -n node2 link set ib0 down && ip -n node2 link set ib0 up &&
	ip -n node2 address replace fd77::2/64 dev ib0 nodad
}

flap() {
	local _

	for _ in {1..10}; do
		out 0.2 && nap 0.2 || return
	done
}

# lossy SECONDS END...: nothing but management passes there.
lossy() {
	local end

	for end in "${@:2}"; do
		fault "$end" loss 1000000 || return
	done
	nap "$1"
	for end in "${@:2}"; do
		fault "$end" loss 0 || return
	done
}

lid() {
	echo $(($(< "$hcas/$1/ports/1/lid")))
}

has_lid() {
	[ "$(lid "$1")" -eq "$2" ]
}

# with_lid HCA LID: the subnet manager has died, and the next one has this in mind for it.
with_lid() {
	local cache=/run/opensm.cache guid

	guid=$(ibstat "$1" -p)
	mkdir -p "$cache"
	printf '%s\t%s\t%s\n' "$guid" "$2" "$2" > "$cache/guid2lid"
	echo "honor_guid2lid_file TRUE" > /run/opensm.conf
	pkill -KILL -x opensm
	until_true 20 no_manager
	OSM_CACHE_DIR="$cache" opensm -B -F /run/opensm.conf -f /tmp/opensm.log \
		-P /run/partitions.conf > /dev/null
	until_true 30 has_lid "$1" "$2"
}

no_manager() {
	! pgrep -x opensm > /dev/null
}

# without_pkey SECONDS: the subnet manager takes node2's P_Key, and gives it back.
without_pkey() {
	pkill -STOP -x opensm
	fault a remove_pkey 0xffff
	nap "$1"
	echo DOWN > "$link/b/state"
	pkill -CONT -x opensm
	until_true 30 grep -qx 0xffff "$hcas/softib1/ports/1/pkeys/0"
}

# again WHAT COMMAND...: connections live through it.
again() {
	local start=$SECONDS

	check "$1" "${@:2}"
	check "$1: they go on" ask more
	check "$1: by InfiniBand again" by_ib
	nap $GOOD
	diag "$((SECONDS - start)) s"
}

plan 40
check "only InfiniBand" only_ib
begin -n 2 -b 4096
result $? "connections"
check "by InfiniBand" by_ib
check "the transport goes" rmmod sdp_ib
check "by TCP" ask by tcp
again "the transport comes" loaded
again "the interface is down for a moment" down_and_up
again "the cable is out for a moment" out 1
again "the cable is out" out 20
again "the cable flaps" flap
again "node2 is not heard" lossy 3 a
again "node2 does not hear" lossy 3 b
again "a switch that passes management only" lossy 7 a b
again "another LID" with_lid softib1 64
again "the P_Key is taken away" without_pkey 3
check "the adapter goes" adapter_goes
again "the adapter comes" adapter_comes
check "all bytes are right" ask end
leave
finish
