#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Nonsense from all sides: frames that no driver would send, packet sockets, a
# subnet administrator that lies, requests for connections in somebody else's name,
# and settings that make no sense. It is counted and dropped or refused, and traffic
# goes on. Both drivers are to survive it; of what is in it the kernel's believes
# more, and has no counters for it.

. "$(dirname "$0")/lib.sh"

here=$(dirname "$0")
rdma=/sys/class/infiniband
lies=/run/lies
sent=/run/sent
peer=$(lladdr node2)

# at_least COUNTER N, grew COUNTER BEFORE N: the driver's own counter has come to N
# at least, or by N from BEFORE. The kernel's driver has none of these.
at_least() {
	[ "$(counter "$1")" -ge "$2" ]
}

grew() {
	! ours && return
	until_true 10 at_least "$1" $(($2 + $3))
	same "$1 $(($(counter "$1") - $2))" "$1 $3"
}

statistic() {
	cat "/sys/class/net/ib0/statistics/$1"
}

talks() {
	no_loss -q -c 10 -i 0.05 10.77.0.2 && no_loss -q -c 10 -i 0.05 fd77::2
}

# --- frames ----------------------------------------------------------------

# frames KIND: from node 2's adapter, to node 1 and to all; how many to each
frames() {
	local before

	before=$(wc -l < $sent)
	printf '%s %s %s\n' "$1" "$(lladdr node1)" "$(lid 1)" \
		"$1" "$(< /sys/class/net/ib0/broadcast)" "$mlid" >&"$sender"
	until_true 60 sent $((before + 2)) && tail -n 1 $sent
}

sent() {
	[ "$(wc -l < $sent)" -ge "$1" ]
}

short_frames() {
	local before n

	before=$(counter rx_bad_length)
	n=$(frames short) && grew rx_bad_length "$before" $((2 * n))
}

received() {
	[ "$(statistic rx_packets)" -ge "$1" ]
}

# What the driver cannot judge it hands to the stack.
nonsense() {
	local before n bad

	before=$(statistic rx_packets) bad=$(counter rx_bad_length)
	n=$(frames nonsense) && until_true 10 received $((before + 2 * n)) &&
	received $((before + 2 * n)) && grew rx_bad_length "$bad" 0
}

replies() {
	on node2 nstat -asz IcmpInEchoReps | awk '/Reps/ { print $2 }'
}

replied() {
	[ "$(replies)" -eq "$1" ]
}

# To others it does not matter that all have heard the ping.
answered() {
	local before n

	before=$(replies)
	n=$(frames pings) || return
	until_true 10 replied $((before + 2 * n))
	same "$(($(replies) - before))" $((2 * n))
}

# What comes while no buffer is posted is lost.
noise() {
	local before n

	before=$(statistic rx_packets)
	n=$(frames noise) && [ "$n" -ge 1000 ] && until_true 10 received $((before + n)) &&
	received $((before + n))
}

# --- packet sockets ----------------------------------------------------------

# dropped COUNTER KIND: as many as were sent
dropped() {
	local before n

	before=$(counter "$1")
	n=$("$here/packets.py" "$peer" "$2") && grew "$1" "$before" "$n"
}

# What leaves by lo goes to ib0, as it is.
# The checked kernel has no such filters: there only the socket is tried.
short_packets() {
	local status

	[ "$KERNEL" != debug ] || { "$here/packets.py" "$peer" short; return; }
	tc qdisc add dev lo clsact &&
	tc filter add dev lo egress matchall action mirred egress redirect dev ib0 &&
	dropped tx_bad_frame short
	status=$?
	tc qdisc del dev lo clsact
	return $status
}

groups() {
	"$here/packets.py" "$peer" groups && talks
}

# --- a subnet administrator that lies -----------------------------------------

# About the broadcast group it lies later; the kernel's driver sees no more than
# three of these lies.
start_sa() {
	"$here/sa.py" softib1 "$mlid" "$(ours && echo 99 || echo 3)" > $lies 2>&1 &
	sa=$!
}

takes_over() {
	until_true 60 grep -q ^lies $lies
	read -r _ records errors groups broadcasts < $lies
	[ "$broadcasts" -gt 0 ] || { cat $lies; return 1; }
	redirect 2 && until_true 20 carrier &&
	until_true 20 ping -q -c 1 -W 1 10.77.0.3
}

stop_sa() {
	kill "$sa"
	wait "$sa"
} 2> /dev/null

# told WHAT N: so many lies of the kind
told() {
	[ "$(grep "^$1 " $lies | sort -u | wc -l)" -ge "$2" ]
}

# ask KIND N: a datagram to each of the ports that there are not
ask() {
	local i

	for ((i = 0; i < $2; i++)); do
		printf 'neigh replace 10.77.0.%d dev ib0 nud permanent lladdr ' $((i + 100))
		printf '00:00:00:77:fe:80:00:00:00:00:00:00:0b:ad:00:%02x:00:00:00:%02x\n' \
			"$1" "$i"
	done | ip -batch - || return
	for ((i = 0; i < $2; i++)); do
		echo > "/dev/udp/10.77.0.$((i + 100))/9"
	done
	until_true 20 told "path $1" "$2"
}

# usable FILE PATTERN: the last fields of the GIDs like that which packets can be
# sent to
usable() {
	cat /sys/kernel/debug/ipoib/*"_$1" | awk -v g="^$2:" '
		$1 == "GID:" { found = $2 ~ g; n = $2; sub(/.*:/, "", n) }
		found && $1 == "complete:" && $2 == "yes" { print n }' | sort | xargs
}

# usable_are WANTED FILE PATTERN
usable_are() {
	same "$(usable "$2" "$3")" "$1"
}

# paths KIND N STOCK: of so many, the kernel's driver uses STOCK and ours none. The
# last answer is an honest one.
paths() {
	local wanted prefix="fe80:0:0:0:bad:$1:0"

	wanted=$(printf %x "$2")
	ours || wanted=$(xargs <<< "$3 $wanted")
	ask "$1" $(($2 + 1)) &&
	until_true 10 usable_are "$wanted" path "$prefix"
	usable_are "$wanted" path "$prefix"
}

bad_paths() {
	local bad

	bad=$(counter path_bad_record)
	paths 1 "$records" "$stock_paths" && grew path_bad_record "$bad" "$records"
}

errors() {
	local bad failed

	bad=$(counter path_bad_record) failed=$(counter path_failed)
	paths 2 "$errors" "" && grew path_bad_record "$bad" 0 &&
	{ ! ours || until_true 10 at_least path_failed $((failed + errors)); }
}

# Of five, one is true before it is not, and one is cut short.
tricks() {
	local bad

	bad=$(counter path_bad_record)
	ask 3 6 && until_true 10 usable_are "4 5" path fe80:0:0:0:bad:3:0 &&
	grew path_bad_record "$bad" 1 &&
	usable_are "4 5" path fe80:0:0:0:bad:3:0
}

# The core refuses all but the first five: of the others drivers hear only that they
# failed. The kernel's also believes in the MGID, but does not find it again.
bad_groups() {
	local pattern='ff12:[46]01b:ffff:0:0:0:(f08|8)' wanted bad failed joiner status

	wanted=$(printf %x "$groups")
	bad=$(counter mcast_bad_record) failed=$(counter mcast_join_failed)
	"$here/groups.py" join $((groups + 1)) /dev/null > /dev/null &
	joiner=$!
	until_true 20 told group "$groups" &&
	until_true 20 usable_are "$wanted" mcg "$pattern" &&
	{ ! ours || { until_true 10 at_least mcast_bad_record $((bad + 5)) &&
		until_true 10 at_least mcast_join_failed $((failed + groups)); }; }
	status=$?
	usable_are "$wanted" mcg "$pattern" || status=1
	kill $joiner
	wait $joiner 2> /dev/null
	return $status
}

# With the words that people look for
logged_groups() {
	local n

	n=$(dmesg | grep -c "ib0: multicast join failed for ff12:[46]01b:ffff:[0-9a-f:]*, status -")
	echo "$n lines"
	[ "$n" -ge 1 ] && [ "$n" -le 100 ]
}

# When it goes up the interface asks at once, and a second later.
bad_broadcast() {
	local i bad

	bad=$(counter mcast_bad_record)
	kill -USR1 "$sa"
	for ((i = 1; i <= broadcasts; i++)); do
		[ $((i % 2)) -eq 0 ] || { ip link set ib0 down && ip link set ib0 up; }
		until_true 20 told broadcast $i && not carrier || return
	done
	{ ! ours || until_true 10 at_least mcast_bad_record $((bad + broadcasts)); } &&
	not carrier
}

honest_again() {
	stop_sa
	redirect 1 && address_up node1 1 && until_true 40 carrier &&
	until_true 20 ping -q -c 1 -W 1 10.77.0.4 &&
	until_true 20 ping -q -c 1 -W 1 fd77::3 && talks
}

# --- connections in somebody else's name -----------------------------------------

connected() {
	local node

	for node in node1 node2; do
		until_true 10 on $node sh -c "echo $1 > /sys/class/net/ib0/mode" || return
	done
}

# Those of nodes 1 and 2 that are up, a line each
queue_pairs() {
	rdma resource show qp |
		sed -n 's,^link \(softib[01]\)/.* lqpn \([0-9]*\) .*type RC state RTS.*,\1 \2,p'
}

two_ways() {
	[ "$(queue_pairs | cut -d ' ' -f 1 | sort -u | wc -l)" -eq 2 ] &&
	[ "$(queue_pairs | wc -l)" -ge 4 ]
}

# end NODE-NUMBER: of a connection: GID, LID and QPN
end() {
	local address

	address=$(lladdr "node$1")
	echo "$(< "$rdma/softib$(($1 - 1))/ports/1/gids/0") $(lid "$1")" \
		"0x$(cut -c 4-11 <<< "$address" | tr -d :)"
}

# request NODE-NUMBER: node 3 asks node 1 for connections, as node 2, which it says
# is where that node is.
request() {
	local gid qpn

	read -r gid _ qpn <<< "$(end 2)"
	# shellcheck disable=SC2046 # one argument a word
	"$here/request.py" softib2 $(end 1) 10 "$gid" "$(lid "$1")" "$qpn"
}

# The two that have connections keep them.
other_names() {
	local accepted before pair

	connected connected && until_true 20 ping -q -c 1 -W 1 -s 60000 10.77.0.2 &&
	until_true 20 two_ways || return
	before=$(queue_pairs)
	accepted=$(counter conn_accepted)
	request 2 && request 3 || return
	! ours || until_true 20 at_least conn_accepted $((accepted + 20)) || return
	no_loss -q -c 10 -i 0.05 -s 10000 10.77.0.2 || return
	while read -r pair; do
		queue_pairs | grep -qx "$pair" || { echo "$pair is gone"; return 1; }
	done <<< "$before"
}

# --- settings ------------------------------------------------------------------

# The kernel's driver takes any text for a number in umcast.
files() {
	local files=(mode create_child delete_child mtu tx_queue_len)

	! ours || files+=(umcast)
	"$here/settings.py" files "${files[@]}"
}

links() {
	"$here/settings.py" links "$(ours && echo all)"
}

state() {
	ip -d -j -p link
	cat /sys/class/net/ib0/{mode,umcast,mtu,tx_queue_len}
}

nothing_set() {
	state | diff /run/before -
}

# The path records that the kernel's driver believes: with other DGIDs, multicast
# LIDs, no MTU, and rate 0
stock_paths="0 1 2 4 5 6 7 8 9 a"
plan 24
mlid=$(mlid)
start_sa
: > $sent
exec {sender}> >("$here/frames.py" softib1 > $sent 2>&1)
until_true 20 ping -q -c 1 -W 1 10.77.0.2
check "frames shorter than their header" short_frames
check "frames of nonsense" nonsense
check "reserved bits do not matter, nor does length" answered
check "noise" noise
check "traffic after it" talks
exec {sender}>&-
check "packets without a header, by a packet socket" short_packets
check "queue pairs that nobody has" dropped tx_bad_frame nobody
check "a port that nobody has" dropped tx_unreachable nowhere
check "groups of all scopes" groups
check "groups that are not IP's" dropped tx_bad_frame foreign
check "longer than the MTU" dropped tx_too_long toolong
check "traffic after them" talks
# Not by check, for what it starts and finds is needed.
takes_over
result $? "another subnet administrator"
check "its paths of nonsense" bad_paths
check "its errors" errors
check "its other tricks" tricks
check "its groups of nonsense" bad_groups
check "which are logged, some times" logged_groups
check "its broadcast groups of nonsense: no carrier" bad_broadcast
check "all is well after it" honest_again
check "connections in somebody else's name" other_names
connected datagram
state > /run/before
check "settings: files" files
check "settings: links" links
check "nothing was set" nothing_set
finish
