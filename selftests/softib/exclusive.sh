#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# HCAs that belong to a network namespace each (rdma system set netns exclusive).

. "$(dirname "$0")/lib.sh"

# only NAMESPACE HCA: all that programs there have
only() {
	[ "$(ip netns exec "$1" ibv_devices | awk 'NR > 2 { print $1 }')" = "$2" ]
}

# ask LID: again and again, until there is no answer
ask() {
	while perfquery -C softib0 "$1" 1 > /dev/null; do
		echo answer
	done
}

# answered COUNT: more than so many times
answered() {
	[ "$(wc -l < /tmp/answers)" -gt "$1" ]
}

# give NAMESPACE HCA: while another HCA asks its port for counters. It always answers, also
# when nothing in the kernel manages it.
give() {
	local lid asker before status

	lid=$(($(< "$hcas/$2/ports/1/lid"))) &&
	ip netns add "$1" && ip -n "$1" link set lo up || return
	: > /tmp/answers
	ask "$lid" >> /tmp/answers &
	asker=$!
	until_true 20 answered 0 && before=$(wc -l < /tmp/answers) &&
	rdma dev set "$2" netns "$1" &&
	# The next question began before the move or during it; the one behind that is asked, too.
	until_true 20 answered $((before + 1)) && kill -0 "$asker"
	status=$?
	kill "$asker"
	wait "$asker" 2> /dev/null
	return "$status"
}

# Programs tell each other over it where their QPs are.
joined() {
	ip -n one link add veth0 type veth peer name veth0 netns two &&
	ip -n one address add 10.8.0.1/24 dev veth0 &&
	ip -n two address add 10.8.0.2/24 dev veth0 &&
	ip -n one link set veth0 up && ip -n two link set veth0 up
}

one_listens() {
	[ -n "$(ip netns exec one ss -Hltn sport = :18515)" ]
}

# in_node NODE HCA [SERVER]: one end of it
in_node() {
	ip netns exec "$1" timeout $((100 * tap_slow)) \
		ibv_rc_pingpong -c -n "$(fewer 1000)" -d "${@:2}"
}

pingpong() {
	local server status

	in_node one softib1 > /tmp/server 2>&1 &
	server=$!
	until_true 20 one_listens || { cat /tmp/server; return 1; }
	in_node two softib2 10.8.0.1
	status=$?
	wait "$server" && return "$status"
	cat /tmp/server
	return 1
}

seen() {
	[ "$(ibhosts | grep -c "^Ca")" = "$1" ]
}

here() {
	ibv_devinfo -d softib2 | grep -q PORT_ACTIVE
}

plan 14

# Not before the kernel is done with the last namespace that there was.
check "each HCA is to be in one namespace" until_true 10 rdma system set netns exclusive
check "three HCAs" up 3
check "one goes to a namespace" give one softib1
check "another to another" give two softib2
check "the first has only its own" only one softib1
check "the second, too" only two softib2
check "and what is left is here" test "$(ls $hcas)" = softib0
joined
check "they still talk to each other" pingpong
check "and opensm sees them all" seen 3
check "a namespace that goes gives its HCA back" ip netns delete two
check "to the first of all" until_true 10 test -e $hcas/softib2
# The kernel gives it its name before programs can open it.
check "where it works" until_true 10 here
unmanage
check "the module goes, with an HCA that is elsewhere" rmmod softib
ip netns delete one
# Not before the kernel is done with the last namespace (rdma_compatdev_set()).
check "HCAs are everybody's again" until_true 10 rdma system set netns shared

finish
