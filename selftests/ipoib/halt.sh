#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# An adapter that sends no more: this is noticed, and its queue pairs start anew. The
# kernel's own driver only says that nothing moves. And the stack of 6.1 warns of it as
# of a defect of its own, so this is for later ones.

. "$(dirname "$0")/lib.sh"

halted=/sys/kernel/config/softib/hcas/softib0/halted

talks() {
	until_true "$1" ping -q -c 1 -W 1 10.77.0.2 > /dev/null &&
	no_loss -q -c 10 -i 0.05 10.77.0.2
}

counted() {
	[ "$(counter "$1")" -gt "$2" ]
}

# The queue is full, and nothing completes for longer than the stack waits.
halt() {
	local status

	ip neigh replace 10.77.0.2 dev ib0 lladdr "$(lladdr node2)" nud permanent &&
	echo 1 > $halted || return
	head -c 4000000 /dev/zero | socat -u -b 1000 - UDP4:10.77.0.2:7009 2> /dev/null &
	until_true 30 counted tx_timeout "$timeouts"
	status=$?
	echo 0 > $halted
	pkill -x socat
	wait
	ip neigh replace 10.77.0.2 dev ib0 lladdr "$(lladdr node2)" nud stale &&
	return $status
}

# What the adapter had is dropped, and does not wait for it any longer.
anew() {
	until_true 20 counted tx_link_down "$down"
}

mountpoint -q /sys/kernel/config ||
	mount -t configfs configfs /sys/kernel/config || exit

plan 4
timeouts=$(counter tx_timeout) down=$(counter tx_link_down)
check "traffic" talks 20
check "the adapter stands still: this is noticed" halt
check "the queue pairs start anew" anew
check "and it sends again" talks 60
finish
