#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Many more neighbours than the table of destinations holds, each with a GID and a path of
# its own. As many as the table holds are active at a time, and lose nothing. sa.py has
# the paths, all to node2. The log tells what a neighbour costs, in either driver: questions,
# KiB, and in the variant with counted time, in which a nanosecond of a busy CPU is an
# instruction, instructions; those of asking are also sa.py's.

. "$(dirname "$0")/lib.sh"

here=$(dirname "$0")
neighbours=${NEIGHBOURS:-$(fewer 50000)}
# What the driver keeps, less a few groups and ports.
MAX_DESTS=16384
active=$((neighbours / 3 < MAX_DESTS - 84 ? neighbours / 3 : MAX_DESTS - 84))
answers=/tmp/answers
stat=/sys/class/net/ib0/statistics
paths=$debugfs/ib0_path
idle_timeout=/sys/module/ib_ipoib/parameters/idle_timeout
# KiB that the kernel may hold in the end
SLACK=4096

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

# speak FIRST END PACE: a datagram to each, PACE of them at a time: the next ones when
# those have gone
speak() {
	python3 - "$@" $stat/tx_packets <<-EOF
	import socket, sys, time
	first, end, pace = map(int, sys.argv[1:4])
	s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

	def sent():
	    with open(sys.argv[4], encoding="ascii") as f:
	        return int(f.read())

	for i in range(first, end, pace):
	    some = range(i, min(i + pace, end))
	    want, late = sent() + len(some), time.monotonic() + 60
	    for n in some:
	        s.sendto(b"", ("10.%d.%d.%d" % (64 + (n >> 16), n >> 8 & 255, n & 255), 9))
	    while sent() < want:
	        if time.monotonic() > late:
	            sys.exit("%d: %d not sent" % (i, want - sent()))
	        time.sleep(0.01)
	EOF
}

# Milliseconds in which a CPU was busy
busy() {
	awk '/^cpu / { print 10 * ($2 + $3 + $4 + $7 + $8) }' /proc/stat
}

# How many paths there are. The kernel's driver would take an hour to show so many: each time
# that its file is read it goes through the paths before, each from the first on.
known() {
	if ours; then grep -c GID "$paths"; else echo unknown; fi
}

# So many questions has the subnet administrator had.
questions() {
	grep -c '^path 4' $answers
}

# spoken FIRST END PACE: nothing of it is lost; for each a question, but for those that were
# asked already.
spoken() {
	local lost queries spent n=$(($2 - $1))

	lost=$(< $stat/tx_dropped) queries=$(questions) spent=$(busy)
	speak "$@" || return
	spent=$(($(busy) - spent))
	echo "$n neighbours: $(($(questions) - queries)) questions," \
	     "$(($(< $stat/tx_dropped) - lost)) lost, $(known) paths," \
	     "$((1000 * spent / n)) us each" | tee -a /tmp/costs
	same "$(< $stat/tx_dropped)" "$lost"
}

# Each is asked for, and few twice: an answer may take longer than a second.
first_time() {
	local queries n=$(($2 - $1))

	queries=$(questions)
	spoken "$@" || return
	queries=$(($(questions) - queries))
	[ $queries -ge "$n" ] && [ $queries -le $((n + n / 4)) ]
}

# Once more, in one go, without a question.
again() {
	local queries

	queries=$(questions)
	spoken 0 "$active" "$active" && same "$(questions)" "$queries"
}

# No question for some seconds
quiet() {
	local queries

	queries=$(questions)
	sleep 4
	same "$(questions)" "$queries"
}

# An event that may have changed paths: each is asked for again, at once or by the next
# packet, and few twice, though sa.py answers no faster than it can. Packets go on.
event() {
	local queries

	queries=$(questions)
	"$here/portinfo.py" softib0 reregister 1 || return
	until_true 300 quiet
	spoken 0 "$active" 20 || return
	queries=$(($(questions) - queries))
	echo "$queries questions after the event" | tee -a /tmp/costs
	[ $queries -ge $((active - active / 50)) ] && [ $queries -le $((active + active / 4)) ]
}

# The rest, as many at a time; those that were active before have not been for a while.
the_rest() {
	local first

	for ((first = active; first < neighbours; first += active)); do
		sleep 35
		first_time $first $((first + active < neighbours ? first + active : neighbours)) \
			20 || return
	done
}

# The table is full, and no fuller.
kept() {
	local n

	n=$(known)
	echo "$n paths"
	[ "$n" -ge "$active" ] && [ "$n" -le $MAX_DESTS ]
}

few_paths() {
	[ "$(known)" -lt 10 ]
}

# What is not used any more is forgotten. The kernel's driver forgets paths as it goes down.
forgotten() {
	ours || { ip link set ib0 down && address_up node1 1; return; }
	echo 30 > "$idle_timeout"
	until_true 150 few_paths
	local status=$?
	echo 300 > "$idle_timeout"
	return $status
}

# memory: KiB in use, but for programs
memory() {
	local programs

	programs=$(awk '/^AnonPages:/ { print $2 }' /proc/meminfo)
	echo $(($(in_use) - programs))
}

mlid=$(mlid)
# The neighbour table is one for all namespaces.
nsenter -t 1 -n sysctl -qw net.ipv4.neigh.default.gc_thresh3=100000
: > /tmp/costs
if ours; then plan 10; else plan 9; fi
check "another subnet administrator" takes_over
check "$neighbours neighbours" strangers
base=$(memory)
check "$active of them at once" first_time 0 "$active" 20
peak=$(memory)
diag "a neighbour: $((1024 * (peak - base) / active)) bytes"
check "again, all in one go" again
check "an event asks for each once more" event
check "the others, after a pause each" the_rest
! ours || check "as many paths as there may be" kept
peak=$(memory)
diag "all: $((peak - base)) KiB"
[ $((peak - base)) -gt $((2 * SLACK * active / 16384)) ]
result $? "they cost memory"
check "they are forgotten" forgotten
until_true 60 back_to $((base + SLACK)) memory
check "which gives the memory back" back_to $((base + SLACK)) memory
diag "left: $(($(memory) - base)) KiB"
diag "$(< /tmp/costs)"
{ kill "$sa"; wait "$sa"; } 2> /dev/null
redirect 1
ip route del 10.64.0.0/14 dev ib0
finish
