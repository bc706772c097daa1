#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A fabric that loses packets, also those of the subnet administrator, and a
# subnet manager that is away for a minute.

. "$(dirname "$0")/lib.sh"

# Seconds without a subnet manager, and after its return
AWAY=60
SOON=3

# --- loss ------------------------------------------------------------------

# 5 % there, and 5 % of the rest back. What is sent before the path is found is lost
# for want of room, too.
pings_lost() {
	local lost

	until_true 20 ping -c 1 -W 1 10.77.0.2 || return
	lost=$(ping -q -i 0.01 -c 400 10.77.0.2 |
		sed -n 's/.* \([0-9]*\) received.*/\1/p')
	lost=$((400 - lost))
	echo "$lost of 400 lost, should be 39"
	[ $lost -ge 18 ] && [ $lost -le 64 ]
}

# transfer FROM TO ADDRESS
transfer() {
	on "$2" socat -u TCP-LISTEN:7000,reuseaddr - > /tmp/got &
	until_true 10 listening "$2" || return
	on "$1" socat -u FILE:/tmp/file "TCP:$3:7000" && wait $! &&
	cmp /tmp/file /tmp/got
}

listening() {
	[ -n "$(on "$1" ss -Hltn sport = :7000)" ]
}

both_ways() {
	transfer node1 node2 10.77.0.2 && transfer node2 node1 10.77.0.1
}

has_carrier() {
	[ "$(on "$1" cat /sys/class/net/ib0/carrier)" = 1 ]
}

# Node 2 may have no path to here yet, and of its answers no more than 64 wait for it.
good() {
	until_true 20 ping -q -c 1 -W 1 10.77.0.2
	no_loss -q -c 100 -i 0.01 10.77.0.2
}

# All is asked for anew each time: the broadcast group, and then the paths.
joins() {
	local i

	for ((i = 0; i < $(fewer 5); i++)); do
		ip -n node2 link set ib0 down && address_up node2 2 &&
		until_true 15 has_carrier node2 &&
		until_true 15 on node2 ping -c 1 -W 0.3 10.77.0.3 &&
		until_true 15 on node2 ping -c 1 -W 0.3 fd77::4 || return
	done
}

# --- no subnet manager -----------------------------------------------------

# Node 2 is known, nodes 3 and 4 are known by address only, and twenty are
# nobody's.
acquaint() {
	local n

	ip link set ib0 down && address_up node1 1 && until_true 20 carrier &&
	until_true 20 ping -c 1 -W 1 10.77.0.2 || return
	for n in 3 4; do
		ip neigh replace 10.77.0.$n lladdr "$(lladdr node$n)" dev ib0 \
			nud permanent
	done
	for n in $(seq 10 29); do
		ip neigh replace "10.77.0.$n" dev ib0 nud permanent lladdr \
			"00:00:00:77:fe:80:00:00:00:00:00:00:02:00:00:00:00:00:00:$n"
	done
}

# What goes to the known one ends by itself, lest its last answer be missed.
talk() {
	local n

	ping -q -i 0.05 -c $((20 * (AWAY + 10))) -W 10 10.77.0.2 > /tmp/known &
	known=$!
	for n in 3 4 $(seq 10 29); do
		ping -q -i 0.2 "10.77.0.$n" > /dev/null 2>&1 &
	done
	ping -q -i 0.2 ff02::77%ib0 > /dev/null 2>&1 &
}

# The kernel's driver asks for a path anew when the subnet manager is back, and keeps
# three packets until there is an answer: 150 ms of these.
all_the_time() {
	cat /tmp/known
	if ours; then
		grep ' 0% packet loss' /tmp/known
	else
		grep -E ' [0-4](\.[0-9]+)?% packet loss' /tmp/known
	fi
}

silence() {
	pkill -INT -x ping
	until_true 10 not pgrep -x ping
}

killed() {
	pkill -KILL -x opensm && until_true 10 not pgrep -x opensm
}

# A question is answered by nobody within a second: four, with pauses of 0.5 and
# 1 s, and then one each 16 s, and one for all of them about every two. Others ask for
# the new multicast group.
few_queries() {
	local queries joins

	queries=$(counter path_queries) joins=$(counter mcast_joins)
	sleep $AWAY
	queries=$(($(counter path_queries) - queries))
	joins=$(($(counter mcast_joins) - joins))
	echo "$queries queries for 22, $joins joins for one"
	[ $queries -ge $((4 * 22)) ] &&
	[ $queries -le $((22 * (6 + AWAY / 17))) ] &&
	[ $joins -ge 2 ] && [ $joins -le 12 ]
}

# From the moment when the subnet is up
soon() {
	local begin end most=$SOON

	# The kernel's driver asks again when its pause is over, however long that is.
	ours || most=30
	start_sm || return
	read -r begin _ < /proc/uptime
	until_true $most ping -c 1 -W 0.2 10.77.0.3
	until_true $most ping -c 1 -W 0.2 10.77.0.4
	until_true $most ping -c 1 -W 0.2 10.77.0.2
	read -r end _ < /proc/uptime
	echo "from $begin to $end"
	no_loss -q -c 5 -i 0.05 10.77.0.3 && no_loss -q -c 5 -i 0.05 10.77.0.4 &&
	[ $((${end/./} - ${begin/./})) -le $((100 * most * ${tap_slow:-1})) ]
}

# New members, too: the subnet manager has forgotten all groups.
listened() {
	until_true 10 ping -c 1 -W 1 ff02::1%ib0 &&
	until_true 20 everywhere
}

everywhere() {
	[ "$(members ff12:401b:ffff::ffff:ffff)" -ge "$VM_NODES" ]
}

mountpoint -q /sys/kernel/config ||
	mount -t configfs configfs /sys/kernel/config || exit
head -c "$(fewer 1000000)" /dev/urandom > /tmp/file
# The kernel's driver counts no questions.
plan "$(ours && echo 11 || echo 10)"
lose 50000
check "of a hundred packets five are lost" pings_lost
check "but nothing of TCP" both_ways
check "groups are joined and paths found" joins
check "it was a bad link" lost 20
lose 0
check "it is a good one again" good
check "friends and strangers" acquaint
check "the subnet manager dies" killed
talk
if ours; then
	check "few questions in $AWAY s without it" few_queries
else
	sleep $AWAY
fi
check "all is well soon after its return" soon
wait $known
silence
check "known paths worked all the time$(ours || echo ", but for a moment")" all_the_time
check "the groups are joined again" listened
# Down, the interface forgets the strangers.
ip link set ib0 down
address_up node1 1
finish
