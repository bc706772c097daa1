#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# As many adapters in one machine as there can be, each with its interface, which the
# machine has had since it came up. The driver goes and comes again.

. "$(dirname "$0")/lib.sh"

broadcast=ff12:401b:ffff::ffff:ffff

# carriers: how many of the nodes' interfaces have one
carriers() {
	local n

	for ((n = 1; n <= VM_NODES; n++)); do
		ip -n "node$n" -o link show ib0
	done 2> /dev/null | grep -c LOWER_UP
}

all_carriers() {
	same "$(carriers)" "$VM_NODES"
}

# The subnet manager knows them, and the switch.
all_managed() {
	same "$(saquery NR 2> /dev/null | grep -c NodeDescription)" $((VM_NODES + 1)) &&
	same "$(cat /sys/class/infiniband/softib*/ports/1/state | grep -c ACTIVE)" "$VM_NODES"
}

all_joined() {
	same "$(members $broadcast)" "$VM_NODES"
}

all_answer() {
	local n

	for ((n = 2; n <= VM_NODES; n++)); do
		until_true 20 ping -q -c 1 -W 1 "10.77.0.$n" || { echo "node$n"; return 1; }
	done
}

# The interfaces of the first namespace
names() {
	nsenter -t 1 -n ip -br link show | awk '/^ib[0-9]+ / { print $1 }' | sort -V | xargs
}

unloaded() {
	timeout 60 rmmod ib_ipoib && same "$(names)" "" &&
	same "$(ip -n "node$VM_NODES" -br link show type ipoib)" ""
}

all_named() {
	same "$(names)" "$(seq -f ib%g 0 $((VM_NODES - 1)) | xargs)"
}

loaded() {
	modprobe ib_ipoib || return
	until_true 60 all_named || all_named
}

plan 8
check "$VM_NODES interfaces are up" until_true 60 all_carriers
check "the subnet manager has all adapters" until_true 60 all_managed
check "and all interfaces in the broadcast group" until_true 60 all_joined
check "each answers" all_answer
timed "the driver goes" unloaded
timed "it comes again, with an interface for each adapter" loaded
timed "they are given to the nodes" give_all
until_true 60 all_carriers
check "and each answers" all_answer
finish
