#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Many more neighbours than the table of destinations holds, each with a GID and a path of
# its own. As many as the table holds are active at a time, and lose nothing. sa.py has
# the paths, all to node2.

. "$(dirname "$0")/lib.sh"

here=$(dirname "$0")
neighbours=$(fewer 50000)
# What the driver keeps, less a few groups and ports.
active=$(fewer 16300)
answers=/tmp/answers
stat=/sys/class/net/ib0/statistics

takes_over() {
	"$here/sa.py" softib1 "$mlid" 0 > $answers 2>&1 &
	sa=$!
	until_true 60 grep -q ^lies $answers && redirect 2 && until_true 20 carrier &&
	until_true 20 ping -q -c 1 -W 1 10.77.0.2
}

# GIDs that sa.py has without a lie, and the QPN of node2's interface
strangers() {
	local qpn

	qpn=$(lladdr node2) && qpn=${qpn:3:8}
	ip route add 10.64.0.0/14 dev ib0 || return
	awk -v n="$neighbours" -v qpn="$qpn" 'BEGIN {
		for (i = 0; i < n; i++)
			printf "neigh add 10.%d.%d.%d lladdr 00:%s:" \
				"fe:80:00:00:00:00:00:00:0b:ad:00:04:00:00:%02x:%02x " \
				"dev ib0 nud permanent\n", 64 + int(i / 65536),
				int(i / 256) % 256, i % 256, qpn, int(i / 256), i % 256
	}' | ip -batch -
}

# sent N: so many packets have gone since $before
sent() {
	[ $(($(< $stat/tx_packets) - before)) -ge "$1" ]
}

# speak FIRST END PACE: a datagram to each, PACE of them at a time
speak() {
	local before i

	for ((i = $1; i < $2; i += $3)); do
		before=$(< $stat/tx_packets)
		python3 - "$i" $((i + $3 < $2 ? i + $3 : $2)) <<-EOF || return
		import socket, sys
		s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		for n in range(int(sys.argv[1]), int(sys.argv[2])):
		    s.sendto(b"", ("10.%d.%d.%d" % (64 + (n >> 16), n >> 8 & 255, n & 255), 9))
		EOF
		until_true 60 sent $((i + $3 < $2 ? $3 : $2 - i)) || {
			echo "$i: $(($(< $stat/tx_packets) - before)) sent"; return 1; }
	done
}

# spoken FIRST END PACE: nothing of it is lost, and it is told how many questions that took
spoken() {
	local lost queries

	lost=$(< $stat/tx_dropped) queries=$(counter path_queries)
	speak "$@" || return
	echo "$(($(counter path_queries) - queries)) questions," \
	     "$(($(< $stat/tx_dropped) - lost)) lost," \
	     "$(grep -c GID /sys/kernel/debug/ipoib/ib0_path) paths"
	same "$(< $stat/tx_dropped)" "$lost"
}

# Once more, in one go, without a question.
again() {
	local queries

	queries=$(counter path_queries)
	spoken 0 "$active" "$active" && same "$(counter path_queries)" "$queries"
}

# The rest, as many at a time; those that were active before have not been for a while.
the_rest() {
	local first

	for ((first = active; first < neighbours; first += active)); do
		sleep 35
		spoken $first $((first + active < neighbours ? first + active : neighbours)) \
			200 || return
	done
}

mlid=$(mlid)
# The neighbour table is one for all namespaces.
nsenter -t 1 -n sysctl -qw net.ipv4.neigh.default.gc_thresh3=100000
plan 5
check "another subnet administrator" takes_over
check "$neighbours neighbours" strangers
check "$active of them at once" spoken 0 "$active" 200
check "again, all in one go" again
check "the others, after a pause each" the_rest
{ kill "$sa"; wait "$sa"; } 2> /dev/null
redirect 1
ip route del 10.64.0.0/14 dev ib0
finish
