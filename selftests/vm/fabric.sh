#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What tools/vm/run --help promises of the fabric, for its options. The variant mtu4096 of
# selftests/ipoib is about the MTU.

. "$(dirname "$0")/../tap.sh"

vm() {
	tools/vm/run --kernel "$KERNEL" "$@" < /dev/null
}

plan 13

# shellcheck disable=SC2016 # for the VM's shell
output=$(vm --nodes 3 --ipoib stock -- bash -c '
	# A node that asks for an address gives up after three seconds.
	again() { for _ in 1 2 3 4 5; do "$@" && return; done; return 1; }
	ip netns identify
	for n in 1 2 3; do
		ip netns exec node$n ip -o addr show ib0
		cat /sys/class/infiniband/softib$((n - 1))/ports/1/state
	done
	again ping -q -c 1 -W 5 10.77.0.3 && again ping -q -c 1 -W 5 fd77::2 && echo pinged
	again ip netns exec node3 ping -q -c 1 -W 5 node2 && echo pinged by name
	ls /sys/kernel/debug/x86 > /dev/null && echo debugfs
	cat /sys/class/net/ib0/mtu
	nproc' 2>&1)
result $? "three nodes"
diag "$output"
has() {
	grep -qE -- "$2" <<< "$output"
	result $? "$1"
}
check "three interfaces with IPv4 addresses" test \
	"$(grep -oE 'inet 10\.77\.0\.[123]/24' <<< "$output" | wc -l)" -eq 3
check "three interfaces with IPv6 addresses" test \
	"$(grep -oE 'inet6 fd77::[123]/64' <<< "$output" | wc -l)" -eq 3
check "three active ports" test \
	"$(grep -c '4: ACTIVE' <<< "$output")" -eq 3
has "the command runs in node1" '^node1$'
has "the nodes reach each other" '^pinged$'
has "the nodes have names" '^pinged by name$'
has "debugfs is mounted" '^debugfs$'
has "MTU 2048 - 4" '^2044$'
has "two CPUs" '^2$'

# The same work takes the same time, when time is counted in instructions.
# shellcheck disable=SC2016 # for the VM's shell
output=$(vm --ipoib none --nodes 1 --count -- bash -c '
	ls /sys/class/net /sys/module /sys/class/infiniband
	echo "cpus $(nproc)"
	for n in 1 2 3; do
		a=${EPOCHREALTIME/./} i=0
		while [ $i -lt 20000 ]; do i=$((i + 1)); done
		echo "took $((${EPOCHREALTIME/./} - a))"
	done')
check "no interface, but an HCA" test \
	"$(grep -cxE 'ib0|ib_ipoib|softib0' <<< "$output")" -eq 1
check "one CPU to count on" grep -qx "cpus 1" <<< "$output"
diag "microseconds: $(grep took <<< "$output")"
# shellcheck disable=SC2016 # for awk
check "counted time repeats to 5 %" awk '
	/^took/ { n++; if (n == 1) min = max = $2
		  if ($2 < min) min = $2; if ($2 > max) max = $2 }
	END { exit !(n == 3 && max <= min * 1.05) }' <<< "$output"
finish
