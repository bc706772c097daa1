#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tracepoints: what the driver asks and hears is in the kernel's trace. The
# kernel's own driver has none.

. "$(dirname "$0")/lib.sh"

tracing=/sys/kernel/debug/tracing
events=$tracing/events/ipoib
bcast=ff12:401b:ffff:0000:0000:0000:ffff:ffff
group=ff12:401b:ffff:0000:0000:0000:0f4d:0707

if ! ours; then
	plan 1
	check "no tracepoints" [ ! -e $events ]
	finish
fi

me=$(netns_number node1)

# seen EVENT PATTERN: of node1's interface.
seen() {
	grep -qE " ipoib_$1: dev ib0 netns $me .*$2" $tracing/trace
}

soon() {
	until_true 10 seen "$@" || seen "$@"
}

# traced COMMAND...: where it fails, what was traced tells why.
traced() {
	"$@" && return
	grep ' ipoib_' $tracing/trace
	return 1
}

# forget: what is in the trace.
forget() {
	: > $tracing/trace
}

port_gid() {
	cat "/sys/class/infiniband/softib$(($1 - 1))/ports/1/gids/0"
}

# Every event has this field, or the filter would be refused.
switch_on() {
	echo "netns == $me" > $events/filter && echo 1 > $events/enable
}

path() {
	local gid lid

	gid=$(port_gid 3)
	lid=$(printf 0x%04x "$(< /sys/class/infiniband/softib2/ports/1/lid)")
	# Node 3 may be the one that begins.
	forget
	ip link set ib0 down && address_up node1 1 && until_true 10 carrier &&
	no_loss -q -c 1 10.77.0.3 && seen dest_create "gid $gid" &&
	seen path_query "gid $gid" &&
	seen path_answer "gid $gid status 0 dlid $lid sl 0 mtu [45] rate [1-9]" &&
	not failed
}

# Where nobody answered within a second (ETIMEDOUT) the question was asked again.
failed() {
	grep " ipoib_path_fail: dev ib0 netns $me " $tracing/trace | grep -v ' status -110 '
}

# stranger N: a neighbour without a path, 10.77.0.N
stranger() {
	ip neigh replace "10.77.0.$1" dev ib0 nud permanent \
		lladdr "00:00:00:77:fe:80:00:00:00:00:00:00:02:00:00:00:00:00:00:$1"
}

no_path() {
	stranger 98
	ping -c 1 -W 1 10.77.0.98 > /dev/null
	ip neigh del 10.77.0.98 dev ib0
	soon path_answer 'gid fe80:.*:0098 status -[0-9]+ dlid 0x0000' &&
	soon path_fail 'gid fe80:.*:0098 status -[0-9]+ tries 1$'
}

join() {
	socat -u UDP4-RECV:7001,reuseaddr,ip-add-membership=239.77.7.7:ib0 - &
	listener=$!
	soon mcast_join "gid $group join_state 0x1$" &&
	soon mcast_answer "gid $group status 0 mlid 0xc[0-9a-f]{3} sl 0 mtu [45] rate [1-9]" &&
	! seen mcast_leave "gid $group"
}

leave() {
	kill "$listener"
	wait "$listener"
	soon mcast_leave "gid $group" && seen dest_remove "gid $group"
}

carrier_events() {
	forget
	ip link set ib0 down && soon carrier 'off$' && ! seen carrier 'on$' &&
	address_up node1 1 && soon mcast_answer "gid $bcast status 0" &&
	soon carrier 'on$'
}

# A link that goes and comes.
replug() {
	local link=/tmp/config/softib/links/softib0

	mkdir -p /tmp/config && mount -t configfs none /tmp/config || return
	echo 0 > "$link"/up
	echo 1 > "$link"/up
	umount /tmp/config
}

flush() {
	forget
	replug && soon flush 'level (normal|heavy)$' && until_true 20 carrier &&
	soon carrier 'off$' && soon carrier 'on$'
}

# asked GID N: for its path, so many times
asked() {
	[ "$(grep -c " ipoib_path_query: dev ib0 netns $me gid $1" $tracing/trace)" -ge "$2" ]
}

# The event came when the answer had come and was not in use.
in_time() {
	awk -v gid="$1" -v slow="$2" '
		{ for (i = 1; i < 7; i++) if ($i ~ /^[0-9]+[.][0-9]+:$/) now = $i + 0 }
		/ipoib_path_answer: dev ib0 / && index($0, gid) && !came { came = now }
		/ipoib_flush: dev ib0 .* normal$/ && came && !flushed { flushed = now }
		END { print "answer", came, "event", flushed
			exit !flushed || flushed > came + slow }' $tracing/trace
}

# An event forgets an answer that has just come, so the driver asks once more by itself: no
# packet does, as nobody replies.
old_answer() {
	local gid status

	gid=$(port_gid 4)
	ip link set ib0 down && address_up node1 1 && until_true 10 carrier &&
	ip neigh replace 10.77.0.96 dev ib0 nud permanent lladdr "$(lladdr node4)" &&
	insmod "$BUILD/$KERNEL/selftests/lib/slow/slow.ko" us=2000000 \
		function=ib_init_ah_attr_from_path || return
	forget
	echo > /dev/udp/10.77.0.96/9 && soon path_answer "gid $gid status 0" && replug &&
	soon flush 'level normal$' && in_time "$gid" 2 && until_true 10 asked "$gid" 2
	status=$?
	rmmod slow
	ip neigh del 10.77.0.96 dev ib0
	until_true 30 carrier && return $status
}

# again: the subnet manager says that all is to be registered again, and that is seen.
again() {
	forget
	"${0%/*}/portinfo.py" softib0 reregister 1 && soon flush 'level light$'
}

# A work that waits for rtnl keeps no other one from its turn, neither one that takes ctl
# (flush) nor one of a destination.
held() {
	local status

	stranger 97
	insmod "$BUILD/$KERNEL/selftests/ipoib/hold/hold.ko" || return
	again && again && { ping -c 1 -W 1 10.77.0.97 > /dev/null
		soon path_answer 'gid fe80:.*:0097 status -[0-9]+ dlid 0x0000'; }
	status=$?
	rmmod hold
	ip neigh del 10.77.0.97 dev ib0
	return $status
}

# Nobody sends to it any more, and that is noticed from the next time on that the
# interface comes up.
idle() {
	local gid status parameter=/sys/module/ib_ipoib/parameters/idle_timeout

	gid=$(port_gid 3)
	echo 1 > $parameter
	forget
	ip link set ib0 down && address_up node1 1 && until_true 10 carrier &&
	no_loss -q -c 1 10.77.0.3 && until_true 20 seen dest_idle "gid $gid" &&
	soon dest_remove "gid $gid"
	status=$?
	echo 300 > $parameter
	return $status
}

others() {
	ip -n node2 link set ib0 down && address_up node2 2 || return
	! grep ' ipoib_' $tracing/trace | grep -v " netns $me "
}

switched_off() {
	echo 0 > $events/enable
	forget
	ip link set ib0 down && address_up node1 1 && until_true 10 carrier &&
	! grep ' ipoib_' $tracing/trace
}

# logged PATTERN...: since the last mark, each.
logged() {
	local pattern

	for pattern; do
		dmesg | tac | sed '/test: each packet/q' | grep -E "ib0: $pattern" || return
	done
}

# swap DRIVER COMMAND...: which loads another one
swap() {
	rmmod "$1" && "${@:2}" && give_all && until_true 20 carrier &&
	until_true 20 ping -q -c 1 -W 1 10.77.0.2
}

# by_mode MODE PATTERN...: what a packet leaves in the log
by_mode() {
	local node

	for node in node1 node2; do
		on $node ip link set ib0 type ipoib mode "$1" || return
	done
	until_true 20 ping -q -c 1 -W 1 10.77.0.2 &&
	echo "test: each packet" > /dev/kmsg && no_loss -q -c 1 -s 999 10.77.0.2 &&
	until_true 10 logged "${@:2}"
}

# The driver with data_debug_level, and a level of its own for connections: nothing is
# logged until they are above 0.
each_packet() {
	local level=/sys/module/ib_ipoib_logged/parameters/data_debug_level status
	local conns=/sys/module/ib_ipoib_logged/parameters/cm_data_debug_level

	swap ib_ipoib insmod "$with_data" && no_loss -q -c 1 10.77.0.2 &&
	not logged "(sending|received)" && echo 1 > $level &&
	by_mode datagram "sending 1031 bytes to" "received 1071 bytes from" &&
	echo 0 > $level && echo 1 > $conns &&
	by_mode connected "sending 1031 bytes by" "received 1031 bytes by" &&
	echo 0 > $conns
	status=$?
	swap ib_ipoib_logged modprobe ib_ipoib
	return $status
}

with_data=$VM_BUILD/$VM_KERNEL/selftests/ipoib/logged/ib_ipoib_logged.ko
# It is built for one kernel.
logs=$([ "$VM_KERNEL" != 6.1 ] || echo 1)
plan $((12 + logs))
check "events are switched on" switch_on
check "path: created, asked for, answered" traced path
check "path: there is none" traced no_path
traced join
result $? "group: joined, answered"
traced leave
result $? "group: left, removed"
check "carrier" traced carrier_events
check "flush" traced flush
check "an answer that is older than an event is asked for again" traced old_answer
check "what waits for rtnl keeps no other work from its turn" traced held
check "idle: forgotten" traced idle
check "other interfaces can be filtered out" others
check "nothing when switched off" switched_off
echo 0 > $events/filter
[ -z "$logs" ] || check "each packet is logged, where that is built in" each_packet
finish
