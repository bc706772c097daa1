#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the administrator sets: rings and moderation by ethtool, virtual
# functions, module parameters. The nodes' adapters have neither moderation, but where a
# module gives it to one, nor virtual functions (for one that does, see vf): what arrives
# at the verbs layer is seen by kprobes, where the kernel has them.

. "$(dirname "$0")/lib.sh"

tracing=/sys/kernel/debug/tracing
parameters=/sys/module/ib_ipoib/parameters
links=/sys/kernel/config/softib/links
slow='Slow=0x0001, ipoib, rate=2, defmember=full : ALL=full;'
group=00:ff:ff:ff:ff:12:40:1b:ff:ff:00:00:00:00:00:00:07:77:77:77
mgid=ff12:401b:ffff::777:7777
has_kprobes=false
[ ! -e $tracing/kprobe_events ] || has_kprobes=true

# probe FUNCTION ARGUMENTS: from now on; seen PATTERN: was it called like that?
probe() {
	! $has_kprobes && return
	echo "p:probed $1 $2" > $tracing/kprobe_events || return
	: > $tracing/trace
	echo 1 > $tracing/events/kprobes/probed/enable
}

seen() {
	local status

	! $has_kprobes && return
	grep "probed: .*$1" $tracing/trace
	status=$?
	echo 0 > $tracing/events/kprobes/probed/enable
	echo > $tracing/kprobe_events
	return $status
}

# setting OPTION NAME: the last value that ethtool shows under that name.
setting() {
	ethtool "$1" ib0 | awk -v name="$2:" '$1 == name { value = $2 } END { print value }'
}

rings() {
	same "$(setting -g RX) $(setting -g TX)" \
		"$(< $parameters/recv_queue_size) $(< $parameters/send_queue_size)" &&
	ethtool -g ib0 | awk '$1 == "RX:" || $1 == "TX:" { print $2; n++ }
		n == 2 { exit $2 < 8192 }'
}

moderation_is() {
	same "$(setting -c rx-usecs) $(setting -c rx-frames)" "$1"
}

# FUNCTION(cq, frames, usecs)
moderation() {
	probe rdma_set_cq_moderation 'frames=%si:u16 usecs=%dx:u16' &&
	fails_with "no interrupt moderation" ethtool -C ib0 rx-usecs 16 rx-frames 32 &&
	seen 'frames=32 usecs=16$' && moderation_is "0 0"
}

asked() {
	same "$(< /sys/module/moderate/parameters/asked)" "$1"
}

# An adapter that has it
moderated() {
	insmod "$BUILD/$KERNEL/selftests/ipoib/moderate/moderate.ko" &&
	ethtool -C ib0 rx-usecs 16 rx-frames 32 && asked "32 16 1" &&
	moderation_is "16 32"
}

too_much() {
	fails_with "" ethtool -C ib0 rx-frames 1001 && moderation_is "16 32"
}

# Other rings have another completion queue.
kept() {
	ethtool -G ib0 rx 512 && asked "32 16 2" && moderation_is "16 32"
}

# Connections have one of their own, as soon as there is one.
of_connections() {
	local status

	echo connected > /sys/class/net/ib0/mode &&
	until_true 20 ping -q -c 1 -W 1 10.77.0.2 && asked "32 16 3" &&
	ethtool -C ib0 rx-usecs 8 rx-frames 16 && asked "16 8 5" &&
	ethtool -C ib0 rx-usecs 16 rx-frames 32
	status=$?
	echo datagram > /sys/class/net/ib0/mode
	return $status
}

gone() {
	rmmod moderate && ethtool -G ib0 rx 256 && moderation_is "0 0"
}

not_any_more() {
	ethtool -C ib0 rx-usecs 0 rx-frames 0 && asked "0 0 2" && rmmod moderate
}

# FUNCTION(device, vf, port, state); 1 is "enable"
vf_state() {
	probe ib_set_vf_link_state 'vf=%si:s32 port=%dx:u32 state=%cx:s32' &&
	fails_with "not supported" ip link set ib0 vf 3 state enable &&
	seen 'vf=3 port=1 state=1$'
}

# FUNCTION(device, vf, port, guid, type); IFLA_VF_IB_NODE_GUID is 10, _PORT_ 11
vf_guid() {
	probe ib_set_vf_guid 'vf=%si:s32 port=%dx:u32 guid=%cx:x64 type=%r8:s32' &&
	fails_with "not supported" ip link set ib0 vf 2 "$1" 00:11:22:33:44:55:66:77 &&
	seen "vf=2 port=1 guid=0x11223344556677 type=$2\$"
}

# --- what ethtool tells ------------------------------------------------------------

driver() {
	local lines adapter

	adapter=$(readlink -f /sys/class/infiniband/softib0/device)
	lines=$(ethtool -i ib0) && echo "$lines" &&
	grep -x "driver: ib_ipoib" <<< "$lines" &&
	grep -x "bus-info: ${adapter##*/}" <<< "$lines"
}

# speed_is SPEED [INTERFACE]
speed_is() {
	local lines

	lines=$(ethtool "${2-ib0}") && echo "$lines" && [[ $lines == *"Speed: $1"* ]]
}

# speed RATE: of the cable, in Gbit/s, in both nodes
speed() {
	echo "$1" > $links/softib0/rate && until_true 30 carrier &&
	until_true 5 speed_is "$(($1 * 1000))Mb/s" &&
	ethtool ib0 | grep -x "[[:space:]]*Duplex: Full"
}

# One lane, at two speeds. The default partition's group is too fast for that. An interface
# that asks while the subnet manager still deals with the change asks again later and later.
narrow() {
	partitions "$slow" &&
	ip link add link ib0 name slow type ipoib pkey 0x8001 &&
	ip link set slow up && until_true 60 speed_is 10000Mb/s slow &&
	echo 2.5 > $links/softib0/rate && until_true 60 speed_is 2500Mb/s slow &&
	echo 5 > $links/softib0/rate && until_true 60 speed_is 5000Mb/s slow &&
	speed_is 5000Mb/s slow
}

no_speed() {
	ip link set ib0 down && speed_is "Unknown!" && address_up node1 1 &&
	until_true 20 carrier
}

# --- a group ------------------------------------------------------------------------

# maddr add|del: as ip maddr does it, which takes addresses of 6 bytes only, that is
# those of no group here.
maddr() {
	python3 - "$1" "$group" <<-EOF
	import fcntl, socket, struct, sys
	request = {"add": 0x8931, "del": 0x8932}[sys.argv[1]]    # SIOCADDMULTI
	address = bytes.fromhex(sys.argv[2].replace(":", ""))
	fcntl.ioctl(socket.socket(), request,
	            struct.pack("=16sH20s2x", b"ib0", socket.AF_UNSPEC, address))
	EOF
}

# Nobody listens.
added() {
	maddr add && ip maddr show dev ib0 | grep $group &&
	{ until_true 10 member $mgid 1 || member $mgid 1; }
}

deleted() {
	maddr del && until_true 10 not member $mgid 1 && not member $mgid 1
}

# --- what is logged -----------------------------------------------------------------

# logged PATTERN: in the kernel's log, since mark was called.
mark() {
	echo "test: $1" > /dev/kmsg
}

logged() {
	dmesg | sed "1,/test: $1/d" | grep -q "$2"
}

# The port has to tell the subnet administrator once more what it is a member of.
event() {
	"$(dirname "$0")/portinfo.py" softib0 reregister 1
}

# Events and groups are logged if wanted. The kernel's own driver has other words.
debug_level() {
	mark quiet
	ip link set ib0 down && address_up node1 1 && until_true 10 carrier && event ||
		return
	mark verbose
	echo 1 > $parameters/debug_level && echo 1 > $parameters/mcast_debug_level
	ip link set ib0 down && address_up node1 1 && until_true 10 carrier &&
	until_true 10 logged verbose "ib0: joining ff12:401b:ffff" && event &&
	until_true 10 logged verbose "ib0: event: " &&
	until_true 10 logged verbose "ib0: flush, level " &&
	# Only now has all been logged that was to be.
	not eval "dmesg | sed '1,/test: quiet/d; /test: verbose/,\$d' |
		grep 'joining\|flush\|event'"
}

levels() {
	same "$(< $parameters/debug_level) $(< $parameters/mcast_debug_level)" "0 0"
}

mountpoint -q /sys/kernel/config ||
	mount -t configfs configfs /sys/kernel/config || exit
if ours; then plan 25; else plan 17; fi
check "the driver's name" driver
check "speed, from the port's rate and width" speed_is 40000Mb/s
check "of a slower cable" speed 10
check "of a cable with one lane" narrow
ip link del slow
partitions
check "and the other again" speed 40
check "none without a link" no_speed
check "a group is added and joined" added
check "deleted and left" deleted
check "no moderation to begin with" moderation_is "0 0"
check "sending has no moderation" fails_with "unsupported parameter" \
	ethtool -C ib0 tx-usecs 16
check "moderation, as the adapter has it" moderated
check "more than it has" too_much
if ours; then
	check "other rings have it, too" kept
	check "connections, too" of_connections
	check "as long as the adapter has it" gone
else
	check "and none again" not_any_more
fi
check "link state of a virtual function" vf_state
check "node GUID of a virtual function" vf_guid node_guid 10
check "port GUID of a virtual function" vf_guid port_guid 11
check "debug levels" levels
# The kernel's own driver tells no ring sizes, and believes that an adapter
# without moderation has done it.
if ours; then
	check "sizes of the rings" rings
	check "moderation that the adapter does not have" moderation
	check "moderation that nobody has" fails_with "at most 65535" \
		ethtool -C ib0 rx-usecs 70000
	check "packets that would wait for ever" fails_with "for ever" \
		ethtool -C ib0 rx-frames 32
	# As with Debian's configuration of the kernel's own driver.
	check "no data_debug_level unless it is built in" \
		[ ! -e $parameters/data_debug_level ]
	check "what is logged" debug_level
	echo 0 > $parameters/debug_level
	echo 0 > $parameters/mcast_debug_level
fi
finish
