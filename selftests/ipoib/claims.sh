#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Groups that a program receives by a queue pair of its own: the interface joins them,
# and its queue pair is attached as long as somebody else is a member, and no longer.

. "$(dirname "$0")/lib.sh"

member=$(dirname "$0")/member.py
group=239.77.5.1 gid=ff12:401b:ffff:0:0:0:f4d:501 sa=ff12:401b:ffff::f4d:501
witness=239.77.5.9
blue='Blue=0x0001, ipoib, defmember=full : ALL=full;'

# begin NAME INTERFACE GROUP [claim]: a member, by that name, once it is one. It has its
# commands from a pipe, which it keeps open itself.
begin() {
	rm -f "/tmp/member.$1" "/tmp/said.$1" && mkfifo "/tmp/member.$1" || return
	"$member" "$2" "$3" 7100 "${@:4}" <> "/tmp/member.$1" > "/tmp/said.$1" 2>&1 &
	echo $! > "/tmp/pid.$1"
	until_true 20 test -s "/tmp/said.$1"
	same "$(tail -n 1 "/tmp/said.$1")" ok
}

longer() {
	[ "$(wc -l < "/tmp/said.$1")" -gt "$2" ]
}

# say NAME LINE: has it do that, and prints its answer
say() {
	local before

	before=$(wc -l < "/tmp/said.$1")
	echo "$2" > "/tmp/member.$1"
	until_true 10 longer "$1" "$before"
	tail -n 1 "/tmp/said.$1"
}

does() {
	same "$(say "$@")" ok
}

# end NAME...: they are killed, with what they hold
end() {
	local name

	for name; do
		kill -KILL "$(< "/tmp/pid.$name")" || return
	done
}

# shows FIELD VALUE [GID [FILE]]
shows() {
	[ "$(field "${4-$me}_mcg" "${3-$gid}" "$1")" = "$2" ]
}

attached() {
	until_true 10 shows attached yes "$@" || shows attached yes "$@"
}

detached() {
	until_true 10 shows attached no "$@" && shows state ready "$@"
}

left() {
	! grep -qx "GID: ${1-$gid}" "$debugfs/${2-$me}_mcg"
}

gone() {
	until_true 10 left "$@"
}

# send GROUP COUNT: from node 2
send() {
	local i

	for i in $(seq "$2"); do
		echo "$i" | on node2 socat -u - UDP4-DATAGRAM:"$1":7100,ip-multicast-if=10.77.0.2
	done
}

# has NAME LEAST
has() {
	[ "$(say "$1" got)" -ge "$2" ]
}

# hears NAME GROUP: what is sent arrives; the switches learn of a member later than it does.
hears() {
	local before

	before=$(say "$1" got)
	until_true 20 eval "send $2 1; has $1 $((before + 1))"
}

# --- orders ------------------------------------------------------------------------

claimed_alone() {
	begin a ib0 $group claim && detached && shows members 1 && shows claimed 1 &&
	until_true 10 member $sa 1 && ip maddr show dev ib0 | grep -q $group
}

# What the interface has had when a later datagram has come by the same way.
nothing_comes() {
	begin w ib0 $witness && hears w $witness && send $group 5 && hears w $witness &&
	same "$(say a got)" 0
	local status=$?

	end w
	return $status
}

beside() {
	begin b ib0 $group && attached && hears b $group && same "$(say a claim)" \
		"EEXIST this membership is claimed already"
}

beside_leaves() {
	end b && detached
}

program_ends() {
	end a && gone && until_true 10 not member $sa 1
}

kernel_first() {
	begin b ib0 $group && attached && begin a ib0 $group claim &&
	until_true 10 shows claimed 1 && attached && hears b $group && does b leave &&
	detached && end b && detached && does a leave && gone && end a
}

claimed_leaves_first() {
	begin a ib0 $group claim && detached && begin b ib0 $group && attached &&
	does a leave && until_true 10 shows claimed 0 && attached && hears b $group && end a &&
	attached && end b && gone
}

taken_back() {
	begin a ib0 $group claim && detached && does a unclaim && attached && does a claim &&
	detached && same "$(say a unclaim; say a unclaim)" \
		$'ok\nENOENT this membership is not claimed' && end a && gone
}

two_claims() {
	begin a ib0 $group claim && begin b ib0 $group claim && until_true 10 shows claimed 2 &&
	detached && does a unclaim && attached && does b leave && attached && does a claim &&
	detached && end a b && gone
}

# listener: a packet socket has the interface listen, until it is killed.
listener() {
	exec python3 - <<-EOF
	import signal, socket, struct
	s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)
	s.setsockopt(263, 1, struct.pack("=iHH", socket.if_nametoindex("ib0"), 0, 20) +
	    bytes.fromhex("00ffffffff12401bffff0000000000000f4d0501"))
	signal.pause()
	EOF
}

# Not every member is a socket of IP.
listens_itself() {
	local other status

	begin a ib0 $group claim && detached || return
	listener &
	other=$!
	attached
	status=$?
	kill $other
	wait $other 2> /dev/null
	[ $status -eq 0 ] && detached && end a && gone
}

# Two addresses of IPv6, which the link sends to one group
two_scopes() {
	local v6=ff12:601b:ffff:0:0:0:77:5

	begin a ib0 ff05::77:5 claim && detached $v6 && begin b ib0 ff08::77:5 && attached $v6 &&
	end b && detached $v6 && end a && gone $v6
}

# --- what happens meanwhile -------------------------------------------------------

manager_restarts() {
	begin a ib0 $group claim && detached || return
	stop_sm && start_sm && until_true 20 member $sa 1 && detached && begin b ib0 $group &&
	attached && hears b $group && end b && detached
}

down_and_up() {
	ip link set ib0 down && gone && ip link set ib0 up && until_true 20 carrier &&
	detached && ip address replace fd77::1/64 dev ib0 nodad && begin b ib0 $group &&
	attached && end a b && gone
}

has_carrier() {
	[ "$(< /sys/class/net/blue/carrier)" = 1 ]
}

# Each interface has claims of its own.
child() {
	local there=ff12:401b:8001:0:0:0:f4d:501 name

	partitions "$blue" && ip link add link ib0 name blue type ipoib pkey 0x8001 &&
	ip address add 10.81.0.1/24 dev blue && ip link set blue up &&
	until_true 20 has_carrier || return
	name=blue@$(netns_number node1)
	[ -e "$debugfs/${name}_mcg" ] || name=blue
	begin a blue $group claim && begin b ib0 $group && detached $there "$name" &&
	attached && begin c blue $group && attached $there "$name" && end c &&
	detached $there "$name" && end b && gone
}

child_removed() {
	ip link del blue && does a leave && end a
	partitions
}

# refused WHAT TEXT
refused() {
	same "$("$member" refuse ib0 "$1")" "$2"
}

refusals() {
	refused interface "ENODEV there is no such interface" &&
	refused loopback "ENOTSUP it is not an IPoIB interface of this driver" &&
	refused file "ENOTSOCK that descriptor is no socket" &&
	refused closed "EBADF that descriptor is no socket" &&
	refused unix "EAFNOSUPPORT that socket is none of IPv4 or IPv6" &&
	refused stranger \
		"EADDRNOTAVAIL the socket has not joined the group on this interface" &&
	refused length "EINVAL an address has 4 or 16 bytes" &&
	refused long "ERANGE Attribute failed policy validation" &&
	refused twice "EEXIST this membership is claimed already" &&
	refused missing EINVAL && refused none "ENOENT this membership is not claimed" && gone
}

counted() {
	local now

	now=$(counter mcast_offloaded)
	echo "$before before, $now now"
	[ "$now" -ge $((before + 10)) ]
}

ours || { plan 1; check "the kernel's driver has no claims" test "$VM_IPOIB" = stock; finish; }
plan 17
me=$(debugfs_name node1)
before=$(counter mcast_offloaded)
check "a group that user mode receives is joined and not attached" claimed_alone
check "nothing of it comes to the interface" nothing_comes
check "a member beside it is served" beside
check "until that leaves" beside_leaves
check "the group is left when the program ends" program_ends
check "the kernel's member first" kernel_first
check "the claimed member leaves first" claimed_leaves_first
check "a claim that is taken back, and made again" taken_back
check "two claims" two_claims
check "a member that is no socket" listens_itself
check "IPv6: two scopes are one group" two_scopes
check "another subnet manager" manager_restarts
check "down and up" down_and_up
check "a child's claims" child
check "a child that goes" child_removed
check "what is refused" refusals
check "the counter" counted
finish
