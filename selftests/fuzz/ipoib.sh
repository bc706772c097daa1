#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The fuzzer of IPoIB's files and messages, as corpus.sh.

. "$(dirname "$0")/../tap.sh"

root=$(dirname "$(readlink -f "$0")")/../..
work=$(mktemp -d)
broadcast=$(< /sys/class/net/ib0/broadcast)

run_fuzz() {
	"${BUILD:-$root/build}/tools/fuzz/fuzz" --ipoib --time "$time" \
		"$root/tools/fuzz/corpus.ipoib" > "$work/inputs" 2> "$work/said"
}

operations() {
	sed -n 's/.* \([0-9]*\) operations.*/\1/p' "$work/said" | tail -n 1
}

only_ib0() {
	[ "$(ls -d /sys/class/net/{ib0.*,fz*} 2> /dev/null)" = "" ] &&
		[ "$(< /sys/class/net/ib0/operstate)" = up ]
}

# What root may set wrong, and what goes with it: a small MTU takes the addresses away.
# restore NODE: run in it
restore() {
	echo datagram > /sys/class/net/ib0/mode
	ip link set ib0 down
	ip link set ib0 mtu 2044 broadcast "$broadcast" arp on multicast on \
		allmulticast off promisc off mode default txqueuelen 256
	ip neighbour flush dev ib0 nud all
	ip link set ib0 up
	ip address replace "10.77.0.$1/24" dev ib0
}

plan 4
time=10
[ "$VM_KERNEL" != debug ] || time=30
run_fuzz
status=$?
grep '^fuzz: seed' "$work/said" | sed 's/^/# /'
tail -n 1 "$work/said" | sed 's/^/# /'
[ $status -eq 0 ] || diag "$(cat "$work/said"; grep '^report' "$work/inputs")"
result $status "no report of the kernel"
[ "$(operations)" -ge 50 ]
result $? "operations run"
restore 1
export -f restore
export broadcast
ip netns exec node2 bash -c 'restore 2'
check "ib0 is up, and has no children" until_true 60 only_ib0
check "and reaches its neighbour" until_true 60 ping -q -c 1 -W 1 10.77.0.2
finish
