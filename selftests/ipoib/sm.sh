#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The subnet manager goes away and comes back.

. "$(dirname "$0")/lib.sh"

# The new one knows all members of the broadcast group.
all_joined() {
	[ "$(members ff12:401b:ffff::ffff:ffff)" -ge "$VM_NODES" ]
}

up_without_sm() {
	ip link set ib0 down && ip link set ib0 up && sleep 2 && ! carrier
}

# The peer may be in its groups again later than this node.
goes_on() {
	until_true 20 ping -q -c 1 -W 1 10.77.0.2
	no_loss -q -c 10 -i 0.05 10.77.0.2
}

# Whenever the subnet manager is a new one, the kernel's driver stops to send by a
# path until it has been told of it anew, and keeps three packets until then.
flowed_on() {
	local lost

	cat /tmp/ping
	lost=$(sed -n 's/.* \([0-9]*\)[.0-9]*% packet loss.*/\1/p' /tmp/ping)
	if ours; then
		grep ' 0% packet loss' /tmp/ping
	else
		[ "$lost" -lt 50 ]
	fi
}

plan 9
no_loss -q -c 2 10.77.0.2 > /dev/null
check "the subnet manager stops" stop_sm
check "known paths go on working without it" no_loss -q -c 100 -i 0.01 10.77.0.2
# Some seconds; it waits for the last answer.
ping -q -c 600 -i 0.01 -W 10 10.77.0.2 > /tmp/ping 2>&1 &
pinger=$!
check "it starts again" start_sm
wait $pinger
check "$(ours && echo "not a packet was" || echo "less than half are") lost meanwhile" \
	flowed_on
check "the groups are joined again" until_true 20 all_joined
# Not before, for it is by one of them.
check "a new peer is found" no_loss -q -c 1 10.77.0.3
stop_sm
check "no carrier without a subnet manager" up_without_sm
start_sm
check "carrier when it is back" until_true 40 carrier
address_up node1 1
check "traffic goes on" goes_on
finish
