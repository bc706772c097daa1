#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Address resolution, paths, and what waits for them. Nodes 3 and 4 are only
# spoken to here.

. "$(dirname "$0")/lib.sh"

here=$(dirname "$0")
conf=/proc/sys/net/ipv6/conf/ib0

resolved() {
	local entry

	entry=$(ip neigh show "$1" dev ib0)
	[[ $entry == *"lladdr $(lladdr node2) "* ]] || { echo "$entry"; return 1; }
}

# The kernel's driver lets no more than three packets wait, and for a second only.
burst() {
	local to=10.77.0.$1

	if ours; then
		first_wait "$1"
	else
		# Down and up forgets all paths.
		ip link set ib0 down && address_up node1 1 && until_true 10 carrier &&
		ip neigh replace "$to" lladdr "$(lladdr "node$1")" dev ib0 nud permanent &&
		no_loss -q -c 3 -l 3 -i 0.01 "$to" && ip neigh del "$to" dev ib0
	fi
}

after_flush() {
	for _ in $(seq "$(fewer 5)"); do
		ip neigh flush dev ib0
		ip -6 neigh flush dev ib0
		no_loss -q -c 1 10.77.0.2 && no_loss -q -c 1 fd77::2 || return
	done
}

# A GID that no port has. Packets for others do not wait for it.
unreachable() {
	local nowhere=00:00:00:77:fe:80:00:00:00:00:00:00:02:00:00:00:00:00:00:77
	local before=0 after

	ip neigh replace 10.77.0.99 lladdr "$nowhere" dev ib0 nud permanent
	ours && before=$(counter path_queries)
	ping -q -i 0.01 -c 500 10.77.0.99 > /tmp/lost 2>&1 &
	no_loss -q -i 0.01 -c 300 10.77.0.2 || return
	wait
	grep -q ' 0 received' /tmp/lost || { cat /tmp/lost; return 1; }
	ip neigh del 10.77.0.99 dev ib0
	# The kernel's driver counts neither.
	ours || return 0
	after=$(counter path_queries)
	echo "$((after - before)) queries, $(counter tx_unreachable) dropped"
	[ $((after - before)) -ge 1 ] && [ $((after - before)) -le 10 ] &&
	[ "$(counter tx_unreachable)" -gt 100 ]
}

# By how much a counter of the driver's grew
grown() {
	echo $(($(counter "$1") - $2))
}

# What waits for a path is 64 packets; those that still do when the interface goes
# down are lost for that.
causes() {
	local full down status

	ip neigh replace 10.77.0.98 dev ib0 nud permanent \
		lladdr 00:00:00:77:fe:80:00:00:00:00:00:00:02:00:00:00:00:00:00:98
	full=$(counter tx_queue_full) down=$(counter tx_link_down)
	pkill -STOP -x opensm
	python3 - <<-EOF
	import socket
	s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
	for _ in range(100):
	    s.sendto(b"", ("10.77.0.98", 9))
	EOF
	ip link set ib0 down
	echo "$(grown tx_queue_full "$full") too many," \
		"$(grown tx_link_down "$down") when it went down"
	[ "$(grown tx_queue_full "$full")" -eq 36 ] &&
	[ "$(grown tx_link_down "$down")" -ge 64 ]
	status=$?
	pkill -CONT -x opensm
	ip neigh del 10.77.0.98 dev ib0 2> /dev/null
	address_up node1 1
	until_true 20 ping -q -c 1 -W 1 10.77.0.2
	return $status
}

# A program asks for the owner of an address by itself, without the stack.
asked_by_arping() {
	local output

	output=$(arping -c 2 -w 10 -I ib0 10.77.0.2)
	echo "$output"
	[[ ${output,,} == *"[$(lladdr node2)]"* && $output == *"Received 2 "* ]]
}

# An address that somebody has already is found to be taken.
taken() {
	! arping -q -D -c 2 -w 5 -I ib0 10.77.0.2 &&
	arping -q -D -c 2 -w 5 -I ib0 10.77.0.88
}

# With the 20 bytes in an option of 24, RFC 4391 9.3.
solicited() {
	same "$("$here/solicit.py" fd77::2)" "$(lladdr node2)"
}

# ndisc6 sends the first six bytes, in an option of 8. That is heard, and not
# answered: for the stack, such an option is no link-layer address of this link's. The
# nodes' stacks may ask each other meanwhile, with longer ones.
asked_by_ndisc6() {
	local listener output

	on node2 timeout 60 tcpdump -Z root -n -v -l -c 1 -i ib0 \
		'icmp6 and ip6[40] == 135 and ip6[65] == 1' > /tmp/heard 2> /tmp/listens &
	listener=$!
	until_true 20 grep -q 'listening on' /tmp/listens
	output=$(ndisc6 -r 1 -w 1000 fd77::2 ib0) && return 1
	wait $listener
	cat /tmp/heard
	same "$output" "Soliciting fd77::2 (fd77::2) on ib0...
Timed out.
No response." && grep 'source link-address option (1), length 8 (1): ' /tmp/heard
}

# is ADDRESS FLAG: has an address of this node that?
is() {
	[ -n "$(ip -6 address show dev ib0 to "$1" "$2")" ]
}

# found_taken ADDRESS: by the answer, for which the stack waits a second and no longer.
# Where that was too short, it is to look once more.
found_taken() {
	is "$1" dadfailed && return
	is "$1" -tentative && ip address del "$1/64" dev ib0 && ip address add "$1/64" dev ib0
	return 1
}

# Two new addresses, one of which is node 2's; the fabric is set up without looking.
detected() {
	local status

	echo 1 > $conf/accept_dad
	ip address add fd77::2/64 dev ib0 && ip address add fd77::88/64 dev ib0 &&
	until_true 10 found_taken fd77::2
	until_true 10 is fd77::88 -tentative
	ip -6 address show dev ib0
	is fd77::2 dadfailed && is fd77::2 tentative &&
	is fd77::88 -tentative && not is fd77::88 dadfailed
	status=$?
	echo 0 > $conf/accept_dad
	ip address del fd77::2/64 dev ib0
	ip address del fd77::88/64 dev ib0
	return $status
}

# As many packets as may wait in all do so, for strangers, while nobody answers. A packet
# to a neighbour takes the place of some of them.
first_waits() {
	local n status full

	ip link set ib0 down && address_up node1 1 && until_true 10 carrier || return
	for n in {100..139}; do
		printf 'neigh replace 10.77.0.%d dev ib0 nud permanent lladdr ' "$n"
		printf '00:00:00:77:fe:80:00:00:00:00:00:00:02:00:00:00:00:00:01:%02x\n' \
			"$n"
	done | ip -batch - &&
	ip neigh replace 10.77.0.3 dev ib0 nud permanent lladdr "$(lladdr node3)" || return
	full=$(counter tx_queue_full)
	pkill -STOP -x opensm
	python3 - <<-EOF
	import socket
	# One socket may not have so much under way.
	sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(40)]
	for i, s in enumerate(sockets):
	    for _ in range(64):
	        s.sendto(b"", ("10.77.0.%d" % (100 + i), 9))
	EOF
	echo "$(grown tx_queue_full "$full") too many"
	[ "$(grown tx_queue_full "$full")" -ge 512 ]
	status=$?
	ping -q -c 1 -W 20 10.77.0.3 &
	until_true 10 path_known 3
	pkill -CONT -x opensm
	wait $! || status=1
	for n in 3 {100..139}; do
		echo "neigh del 10.77.0.$n dev ib0"
	done | ip -batch -
	return $status
}

plan "$(ours && echo 15 || echo 13)"
no_loss -q -c 1 10.77.0.2 > /dev/null
no_loss -q -c 1 fd77::2 > /dev/null
check "ARP finds the 20 bytes" resolved 10.77.0.2
check "neighbour discovery finds the 20 bytes" resolved fd77::2
check "arping" asked_by_arping
check "arping finds an address taken, and another not" taken
check "a neighbour solicitation with the 20 bytes is answered" solicited
check "ndisc6, with six of them, is not" asked_by_ndisc6
check "DAD finds an address taken, and another not" detected
check "the first packets of a burst wait for the path, none lost" burst 3
check "again, to another node" burst 4
check "first packet to a new peer, IPv4" no_loss -q -c 1 10.77.0.3
check "first packet to a new peer, IPv6" no_loss -q -c 1 fd77::4
check "no loss after a flush of the neighbours" after_flush
check "unreachable GID delays nobody$(! ours || echo " and costs few queries")" \
	unreachable
! ours || check "packets that cannot wait, or waited in vain, are told apart" causes
! ours || check "but the first one to a neighbour can, whoever else waits" first_waits
finish
