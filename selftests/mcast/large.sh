#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A program whose groups a queue pair receives: a thousand groups, and what a subnet manager may
# change meanwhile. The queue pair goes on, or the kernel receives and a line says why.

. "$(dirname "$0")/lib.sh"

cache=/run/mcast-opensm
count=1000

all_logged() {
	[ "$(grep -c 'by the queue pair' $folder/log.a)" -ge $count ]
}

all_came() {
	[ "$(grep -c " $1 1\$" $folder/a)" -ge $count ]
}

# The switches learn of members some time after these know.
all_reached() {
	on node2 python3 "$groups" send ib0 7400 early 1 "${many[@]}" &&
	[ "$(grep ' early 1$' $folder/a | awk '{ print $3 }' | sort -u | wc -l)" -eq $count ]
}

thousand() {
	local many

	mapfile -t many < <(for i in $(seq $count); do
		echo "239.78.$((i / 250)).$((i % 250))"
	done)
	# Of older kernels it is that of the first network namespace.
	nsenter -t 1 -n sysctl -q net.core.optmem_max=4000000
	sysctl -q -e net.ipv4.igmp_max_memberships=$count net.core.optmem_max=4000000
	python a epoll 7400 "${many[@]}" && until_true 120 all_logged &&
	until_true 60 all_reached &&
	on node2 python3 "$groups" send ib0 7400 many 1 "${many[@]}" &&
	until_true 30 all_came many || { tail -n 3 $folder/a $folder/log.a; return 1; }
	same "$(grep -c ' many 1$' $folder/a)" $count && end a
}

# goes_on COMMAND...: the program receives before it and behind it
goes_on() {
	python a poll 7400 $group && offloaded a && twenty a before && "$@" && twenty a behind
}

has_lid() {
	same "$(lid 1)" "$1"
}

another_lid() {
	local guid

	guid=$(ibstat softib0 -p) && stop_sm && mkdir -p $cache &&
	printf '%s\t%s\t%s\n' "$guid" "0x41" "0x41" > $cache/guid2lid &&
	echo "honor_guid2lid_file TRUE" > /run/opensm.conf &&
	OSM_CACHE_DIR=$cache start_sm && until_true 20 has_lid 65
}

again() {
	stop_sm && start_sm
}

keys() {
	"$(dirname "$0")/../ipoib/pkeys.py" softib0 "$@"
}

has_key() {
	same "$(< /sys/class/net/ib0/pkey)" "$1"
}

# There and back: the interface follows, and the socket stays with the kernel.
moved_key() {
	keys 0x8001 0xffff && until_true 30 logged a 'by the kernel: .*moved the port.s P_Keys' &&
	keys 0xffff && until_true 30 has_key 0xffff && until_true 30 carrier &&
	until_true 30 shows attached yes
}

plan 4
row "a thousand groups" thousand
row "another LID" goes_on another_lid
row "opensm again" goes_on again
row "the P_Key moves: the kernel receives" goes_on moved_key
rm -f /run/opensm.conf
finish
