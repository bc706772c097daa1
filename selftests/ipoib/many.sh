#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Very many neighbours, groups and children on one port: they work, nobody else
# has to wait for them, and what they cost comes back.

. "$(dirname "$0")/lib.sh"

here=$(dirname "$0")
neighbours=$(fewer 10000)
# More than the driver keeps.
strangers=$(fewer 17000)
MAX_DESTS=16384
groups=$(fewer 1000)
# The kernel's driver takes 17 MiB for each, of the machine's 2 GiB.
children=$(fewer "$(ours && echo 200 || echo 40)")
# KiB that the kernel may hold once it has allocated so much.
SLACK=4096

# settle: down, with nothing in use but what stays; says how many KiB. What is
# given back is so a grace period later, or several.
settle() {
	local last=0 now

	ip link set ib0 down || return
	now=$(in_use)
	until [ $((last - now)) -ge 0 ] && [ $((last - now)) -lt 256 ]; do
		sleep 0.5
		last=$now now=$(in_use)
	done
	echo "$now"
}

up() {
	address_up node1 1 && until_true 20 carrier &&
	until_true 20 ping -c 1 -W 1 10.77.0.2
}

# spent WHAT: it costs much more than may be missing in the end.
spent() {
	local peak

	peak=$(in_use)
	diag "$1: $(((peak - base) / 1024)) MiB"
	[ $((peak - base)) -gt $((2 * SLACK)) ]
}

# given_back: everything, as soon as the interface is down
given_back() {
	ip link set ib0 down || return
	until_true 20 back_to $((base + SLACK)) || back_to $((base + SLACK)) || return
	until_true 20 no_more "$base_objects" objects || no_more "$base_objects" objects
}

# --- neighbours ------------------------------------------------------------

# Of three nodes; each address is resolved by itself.
own_many() {
	local n

	# The neighbour table is one for all namespaces.
	nsenter -t 1 -n sysctl -qw net.ipv4.neigh.default.gc_thresh1=40000 \
		net.ipv4.neigh.default.gc_thresh2=40000 \
		net.ipv4.neigh.default.gc_thresh3=50000
	for n in 2 3 4; do
		ip -n node$n route add local 10.64.$((16 * (n - 2))).0/20 dev lo
	done
}

# A path to each node, of which there are three. A question that was not answered within
# a second is asked again, and then others, too.
resolve_all() {
	local before=0

	ip route add 10.64.0.0/16 dev ib0
	ours && before=$(counter path_queries)
	"$here/echo.py" 10.64.0.1 "$neighbours" 200 &&
	same "$(ip neigh show to 10.64.0.0/16 dev ib0 | grep -c lladdr)" \
		"$neighbours" || return
	! ours && return
	before=$(($(counter path_queries) - before))
	echo "$before queries"
	[ $before -le $((neighbours / 100)) ]
}

# Link-layer addresses with GIDs that no port has
strange_neighbours() {
	ip route add 10.65.0.0/16 dev ib0 || return
	awk -v n="$strangers" 'BEGIN {
		for (i = 0; i < n; i++)
			printf "neigh add 10.65.%d.%d lladdr %s:%02x:%02x dev ib0 " \
				"nud permanent\n", int(i / 256), i % 256,
				"00:00:00:77:fe:80:00:00:00:00:00:00:02:00:00:00:00:77",
				int(i / 256), i % 256
	}' | ip -batch -
}

# speak COUNT [ROUNDS]: a packet to each of the first, and again
speak() {
	python3 - "$1" "${2-1}" <<-EOF
	import socket, sys, time
	s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
	for i in range(int(sys.argv[2])):
	    for n in range(int(sys.argv[1])):
	        s.sendto(b"", ("10.65.%d.%d" % (n >> 8, n & 255), 9))
	    time.sleep(0.2)
	EOF
}

# Each stranger is asked for at once, and then after 2, 4, 8 and 16 seconds; some once
# more, where an answer took longer than a second.
few_queries() {
	local few=$((strangers / 100)) begin=$SECONDS queries most=2

	queries=$(counter path_queries)
	speak $few 20
	[ $((SECONDS - begin)) -lt 6 ] || most=3
	[ $((SECONDS - begin)) -lt 14 ] || most=4
	queries=$(($(counter path_queries) - queries))
	echo "$queries for $few in $((SECONDS - begin)) s"
	[ $queries -ge $few ] && [ $queries -le $((most * few + few / 2)) ]
}

# All of them at once, while others are spoken to
speak_to_all() {
	local full=0 kept=$strangers

	ping -q -i 0.02 -c 200 -W 10 10.77.0.2 > /tmp/ping &
	ours && full=$(counter tx_no_dest)
	speak "$strangers" && wait $! || { cat /tmp/ping; return 1; }
	grep ' 0% packet loss' /tmp/ping || { cat /tmp/ping; return 1; }
	ours || return 0
	[ "$kept" -le $MAX_DESTS ] || kept=$MAX_DESTS
	# Some are somebody else's: a group or a node.
	full=$(($(counter tx_no_dest) - full))
	echo "kept $(grep -c GID /sys/kernel/debug/ipoib/ib0_path), refused $full"
	[ "$(grep -c GID /sys/kernel/debug/ipoib/ib0_path)" -gt $((kept - 50)) ] &&
	[ "$full" -lt 50 ]
}

# A node that nothing was sent to yet takes a stranger's place in the full table. The
# strangers ask for their places again and again.
room_for_others() {
	local talking status

	address_up node3 3 && until_true 20 on node3 grep 1 /sys/class/net/ib0/carrier &&
	not grep -x "GID: $(gid 3)" /sys/kernel/debug/ipoib/ib0_path || return
	speak "$strangers" 1000 > /dev/null 2>&1 &
	talking=$!
	until_true 20 ping -q -c 1 -W 1 10.77.0.3
	status=$?
	kill $talking
	wait $talking 2> /dev/null
	return $status
}

# --- groups ----------------------------------------------------------------

# So many of the groups have a member.
joined() {
	local n

	n=$(saquery -g 2> /dev/null |
		grep -cE 'MGID.*(401b:ffff::f08:|601b:ffff::8:)')
	echo "$n of $1"
	[ "$n" -eq "$1" ]
}

join_groups() {
	until_true 20 grep -q joined /tmp/member || { cat /tmp/member; return 1; }
	until_true 120 joined "$groups" || joined "$groups"
}

# A sender to each would make as many groups as there are again.
arrive() {
	on node2 "$here/groups.py" send "$groups" $((groups / 50)) &&
	[ "$(sort -u /tmp/got | wc -l)" -ge 50 ]
}

leave_groups() {
	kill "$member" || return
	# A node that has sent is still a member of what it has sent to.
	ip -n node2 link set ib0 down && address_up node2 2
	until_true 120 joined 0 || joined 0
}

# --- children --------------------------------------------------------------

many_up() {
	local i

	for ((i = 0; i < children; i++)); do
		echo "link add link ib0 name c$i group 7 type ipoib pkey 0x7fff"
	done | ip -batch - && ip link set group 7 up &&
	until_true 100 carriers "$children" || carriers "$children"
}

carriers() {
	local n

	n=$(cat /sys/class/net/c*/carrier 2> /dev/null | grep -c 1)
	echo "$n of $1"
	[ "$n" -eq "$1" ]
}

last_talks() {
	ip address add 10.83.0.1/24 dev c$((children - 1)) &&
	ip -n node2 address add 10.83.0.2/24 dev ib0 &&
	until_true 20 ping -q -c 1 -W 1 10.83.0.2 &&
	no_loss -q -c 10 -i 0.05 10.83.0.2 && no_loss -q -c 10 -i 0.05 10.77.0.2
	local status=$?
	ip -n node2 address del 10.83.0.2/24 dev ib0
	return $status
}

all_gone() {
	timeout 150 ip link del group 7 &&
	same "$(ls -d /sys/class/net/c* 2> /dev/null)" ""
}

plan "$(ours && echo 19 || echo 17)"
own_many
check "$neighbours neighbours answer" resolve_all
base=$(settle)
base_objects=$(objects)
! ours || ip -n node3 link set ib0 down
check "up again" up
check "$strangers strangers" strange_neighbours
! ours || check "few questions about strangers" few_queries
check "they delay nobody" speak_to_all
! ours || check "who comes after them finds a place" room_for_others
spent "neighbours"
result $? "they cost memory"
check "which comes back" given_back
check "up again" up
"$here/groups.py" join "$groups" /tmp/got > /tmp/member 2>&1 &
member=$!
check "$groups groups are joined" join_groups
check "what is sent to them arrives" until_true 20 arrive
check "left" leave_groups
check "$children children" many_up
check "the last of them" last_talks
check "they go at once" all_gone
# The first time, it was the kernel's threads and tables that grew, too.
base=$(settle)
base_objects=$(objects)
up
check "$children children once more" many_up
spent "children"
result $? "they cost memory"
check "they go at once" all_gone
check "memory comes back" given_back
address_up node1 1
for n in 2 3 4; do
	ip -n node$n route del local 10.64.$((16 * (n - 2))).0/20 dev lo
done
finish
