#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Child interfaces: further partitions, by sysfs and by ip link.

. "$(dirname "$0")/lib.sh"

net=/sys/class/net
keys=/sys/class/infiniband/softib0/ports/1/pkeys
links=$BUILD/selftests/ipoib/links

# A Q_Key with the high bit is not what a packet says but its queue pair, of
# which each CPU may have one (IBA 10.2.5).
blue='Blue=0x0001, ipoib, Q_Key=0x80000b1b, defmember=full : ALL=full;'
# Node 1 may talk to all others, which may not talk to each other.
red="Red=0x0002, ipoib : ALL=limited, $(ibstat softib0 -p)=full;"

has_key() {
	grep -qix "$1" "$keys"/*
}

file() {
	same "$(< "$1")" "$2"
}

# sysfs FILE VALUE
sysfs() {
	echo "$2" > "$net/ib0/$1"
}

# refuses ERROR FILE VALUE
refuses() {
	local output

	output=$(sysfs "$2" "$3" 2>&1) && { echo "done"; return 1; }
	[[ $output == *"$1"* ]] || { echo "$output"; return 1; }
}

# The kernel's driver leaves what sysfs creates in the first namespace.
fetch() {
	ours || nsenter -t 1 -n ip link set "$1" netns node1
}

create() {
	sysfs create_child 0x8001 && fetch ib0.8001 &&
	[ -d $net/ib0.8001 ]
}

# The driver has chosen the name, by the P_Key, so that udev keeps it. The kernel's driver
# does not tell.
chosen() {
	local type

	type=$(cat $net/ib0.8001/name_assign_type 2> /dev/null)
	if ours; then same "$type" 2; else not same "$type" 2; fi
}

duplicates() {
	refuses "not unique" create_child 0x8001 &&
	refuses "not unique" create_child 0xffff
}

no_pkeys() {
	refuses "Invalid argument" create_child 0 &&
	refuses "Invalid argument" create_child 0x8000 &&
	refuses "Invalid argument" create_child "" &&
	refuses "Invalid argument" create_child blue &&
	if ours; then
		# The kernel's driver says that this is invalid, too.
		refuses "out of range" create_child 0x10000 &&
		refuses "Invalid argument" create_child "0x8005 blue" &&
		refuses "Invalid argument" create_child -1
	fi
}

# is_child NAME PKEY [UMCAST]: an interface of its port, with an address of its
# own. The kernel's driver has no files for what ip link has made.
is_child() {
	local parent child

	parent=$(< $net/ib0/address) child=$(< "$net/$1/address")
	file "$net/$1/dev_port" 0 && file "$net/$1/dev_id" 0x0 &&
	file "$net/$1/iflink" "$(< $net/ib0/ifindex)" &&
	file "$net/$1/broadcast" \
		"00:ff:ff:ff:ff:12:40:1b:${2:2:2}:${2:4:2}:00:00:00:00:00:00:ff:ff:ff:ff" &&
	same "${child:12}" "${parent:12}" && not same "$child" "$parent" &&
	not [ -e "$net/$1/create_child" ] && not [ -e "$net/$1/delete_child" ] &&
	not [ -e $net/ib0/parent ] &&
	same "$("$links" "$1")" "pkey $2 mode 0 umcast ${3-0}" || return
	if ours || [[ $1 == ib0.* ]]; then
		file "$net/$1/parent" ib0 && file "$net/$1/pkey" "$2" &&
		file "$net/$1/mode" datagram && file "$net/$1/umcast" "${3-0}"
	fi
}

# add NODE NAME PKEY [PARAMETER...]: a child of the node's interface
add() {
	local node=$1 name=$2 pkey=$3

	shift 3
	ip -n "$node" link add link ib0 name "$name" type ipoib pkey "$pkey" "$@"
}

# refused OURS STOCK OPTION...: by ip link, with that explanation
refused() {
	local text=$2 output

	! ours || text=$1
	shift 2
	output=$(ip link "$@" 2>&1) && { echo "$*: done"; return 1; }
	[[ $output == *"$text"* ]] || { echo "$*: $output"; return 1; }
}

info='"info_kind":"ipoib","info_data":{"key":"0x8001","mode":"datagram","umcast":"0001"}'

attributes() {
	add node1 blue 0x0001 umcast 1 && is_child blue 0x8001 1 &&
	ip -d -j link show blue | grep -F '"link":"ib0"' | grep -F "$info" &&
	same "$("$links" ib0)" "pkey 0xffff mode 0 umcast 0"
}

umcast() {
	ip link set ib0.8001 type ipoib umcast 1 && file $net/ib0.8001/umcast 1 &&
	echo 0 > $net/ib0.8001/umcast && is_child ib0.8001 0x8001 0
}

# The kernel's driver overlooks it.
mtu() {
	local mtu=1500

	ours || mtu=$((VM_IB_MTU - 4))
	ip link add link ib0 name small mtu 1500 type ipoib pkey 0x8001 &&
	file $net/small/mtu $mtu && ip link del small
}

queue_length() {
	file $net/ib0.8001/tx_queue_len "$(< $net/ib0/tx_queue_len)" &&
	ip link add link ib0 name short txqueuelen 77 type ipoib pkey 0x8001 &&
	file $net/short/tx_queue_len 77 && ip link del short
}

# Of the address of a new child, the GUID is heeded.
address() {
	local guid=00:11:22:33:44:55:66:77 address

	ip link add link ib0 name other \
		address 00:00:00:00:00:00:00:00:00:00:00:00:$guid \
		type ipoib pkey 0x8001 || return
	address=$(< $net/other/address)
	ip link del other && same "${address:36}" $guid &&
	not same "${address:0:11}" 00:00:00:00
}

# named NAME 0x0003|0x8003: what sysfs makes of it, by that name
named() {
	echo "$2" > $net/ib*/create_child && fetch "$1" && [ -d "$net/$1" ] &&
	echo 0x8003 > $net/ib*/delete_child && until_true 10 not [ -e "$net/$1" ]
}

# As the P_Key was written, and as much of the parent's name as there is room for.
names() {
	local status

	named ib0.0003 0x0003 && named ib0.8003 0x8003 && ip link set ib0 down &&
	ip link set ib0 name ib3456789012345 && named ib34567890.8003 0x8003
	status=$?
	ip link set ib3456789012345 name ib0
	address_up node1 1 && until_true 10 carrier && return $status
}

# An administrator may create a child again as soon as it is deleted.
again_at_once() {
	for _ in 1 2 3 4 5; do
		sysfs create_child 0x8003 && sysfs delete_child 0x8003 || return
	done
	until_true 10 not [ -e $net/ib0.8003 ]
}

# Root is not enough.
incapable() {
	local file

	for file in create_child delete_child; do
		fails_with "Operation not permitted" setpriv --bounding-set=-net_admin \
			--inh-caps=-net_admin bash -c "echo 0x8001 > $net/ib0/$file" ||
			return
	done
}

# Each in a container, perhaps.
same_partition() {
	add node1 again 0x8001 && add node1 other 0xffff &&
	is_child again 0x8001 && is_child other 0xffff &&
	ip link add link ib0 name alike type ipoib && is_child alike 0xffff &&
	ip link del again && ip link del other && ip link del alike
}

# What the kernel's driver refuses, it does without a word; refused() looks for
# the error's.
bad_children() {
	local none="0 and 0x8000 are not valid P_Keys" invalid="Invalid argument" pkey

	for pkey in 0 0x8000; do
		refused "$none" "$invalid" \
			add link ib0 name bad type ipoib pkey $pkey || return
	done
	refused "the parent is itself a child" "$invalid" \
		add link blue name bad type ipoib pkey 2 &&
	refused "the parent is not an IPoIB interface" "No such device" \
		add link lo name bad type ipoib pkey 2 &&
	refused "needs a parent" "$invalid" add name bad type ipoib pkey 2
}

# All that the kernel's driver has no use for, it overlooks.
bad_settings() {
	local own

	own=$(< $net/ib0/address)
	if ours; then
		refused "the MTU is out of range" "" \
			add link ib0 name bad mtu 70000 type ipoib pkey 2 &&
		refused "the MTU is out of range" "" \
			add link ib0 name bad mtu 20 type ipoib pkey 2 &&
		refused "a GUID, which is not 0" "" add link ib0 name bad \
			address "${own:0:36}00:00:00:00:00:00:00:00" type ipoib pkey 2 &&
		refused "an address has 20 bytes" "" add link ib0 name bad \
			address "$own:00" type ipoib pkey 2
		return
	fi
	ip link add link ib0 name bad mtu 20 address "$own" type ipoib pkey 2 &&
	is_child bad 0x8002 && file $net/bad/mtu $((VM_IB_MTU - 4)) &&
	ip link del bad
}

# The kernel's driver takes the first for 1, and overlooks the second.
bad_changes() {
	if ours; then
		refused "out of range" "" set blue type ipoib umcast 2 &&
		refused "keeps its P_Key" "" set blue type ipoib pkey 2
		return
	fi
	ip link set blue type ipoib umcast 0 &&
	ip link set blue type ipoib umcast 2 &&
	ip link set blue type ipoib pkey 2 && is_child blue 0x8001 1
}

# link_up NAME NUMBER NET: in all nodes
link_up() {
	local n

	for n in 1 2 3; do
		ip -n "node$n" address add "10.$2.0.$n/24" dev "$1" &&
		ip -n "node$n" address add "fd$2::$n/64" dev "$1" nodad &&
		ip -n "node$n" link set "$1" up || return
	done
	until_true 20 file "$net/$1/carrier" 1
}

partition() {
	add node2 blue 0x8001 && add node3 blue 0x8001 && link_up blue 81 &&
	until_true 10 ping -q -c 1 -W 1 10.81.0.2 &&
	until_true 10 ping -q -c 1 -W 1 10.81.0.3 &&
	no_loss -q -c 5 -i 0.05 10.81.0.2 && no_loss -q -c 5 -i 0.05 10.81.0.3 &&
	until_true 10 ping -q -c 1 -W 1 fd81::2 &&
	no_loss -q -c 5 -i 0.05 fd81::2
}

has_qkey() {
	saquery --smkey 1 MCMR 2>&1 | grep "qkey.*$1"
}

# A question to a busy subnet administrator may be in vain.
controlled_qkey() {
	local cpu

	until_true 10 has_qkey 0x80000b1b || return
	for ((cpu = 0; cpu < $(nproc); cpu++)); do
		no_loss -q -c 3 -i 0.05 10.81.0.2 &
		taskset -cp $cpu $! > /dev/null
		wait $! || return
	done
}

# What is sent on one link is not seen on another one of the same ports.
apart() {
	# Otherwise a node answers on one interface for the address of another.
	on node2 sysctl -qw net.ipv4.conf.all.arp_ignore=1 &&
	ip address add 10.90.0.1/24 dev blue &&
	ip -n node2 address add 10.90.0.2/24 dev ib0 &&
	not ping -q -c 2 -W 1 10.90.0.2
	local status=$?
	on node2 sysctl -qw net.ipv4.conf.all.arp_ignore=0
	ip address del 10.90.0.1/24 dev blue
	ip -n node2 address del 10.90.0.2/24 dev ib0
	return $status
}

missing() {
	add node1 red 0x0002 && add node2 red 0x0002 && add node3 red 0x0002 &&
	ip link set red up && file $net/red/carrier 0 &&
	not ping -q -c 1 -W 1 -I red 10.82.0.2
}

comes() {
	partitions "$blue" "$red" && until_true 20 has_key 0x8002 &&
	link_up red 82 && until_true 10 ping -q -c 1 -W 1 10.82.0.2 &&
	until_true 10 ping -q -c 1 -W 1 10.82.0.3
}

membership() {
	no_loss -q -c 3 -i 0.05 10.82.0.2 && no_loss -q -c 3 -i 0.05 10.82.0.3 &&
	not on node2 ping -q -c 2 -W 1 10.82.0.3
}

goes() {
	partitions "$blue" && until_true 20 not has_key 0x8002 &&
	until_true 10 file $net/red/carrier 0
}

returns() {
	partitions "$blue" "$red" && until_true 20 file $net/red/carrier 1 &&
	until_true 10 ping -q -c 1 -W 1 10.82.0.2
}

# Children go up and down with their parent.
follow() {
	ip link set ib0 down && not grep -q up $net/{blue,red}/operstate &&
	ip link set ib0 up && until_true 20 file $net/blue/carrier 1 &&
	until_true 20 file $net/red/carrier 1 && address_up node1 1 &&
	ip address replace fd81::1/64 dev blue nodad &&
	until_true 10 ping -q -c 1 -W 1 10.81.0.2
}

rename() {
	ip link set ib0 down && ip link set ib0 name parent &&
	file $net/ib0.8001/parent parent && ip link set parent name ib0 &&
	address_up node1 1 && until_true 10 carrier
}

move() {
	ip netns add box && ip link set red netns box &&
	ip -n box address add 10.82.0.1/24 dev red && ip -n box link set red up &&
	until_true 20 on box ping -q -c 1 -W 1 10.82.0.2 &&
	ip -n box link del red && ip netns del box
}

delete() {
	ip link del blue && sysfs delete_child 0x8001 &&
	until_true 10 not [ -e $net/ib0.8001 ] &&
	refuses "No such device" delete_child 0x8001 &&
	refuses "No such device" delete_child 0x0003 &&
	ip -n node2 link del red && ip -n node3 link del red &&
	ip -n node2 link del blue && ip -n node3 link del blue
}

# All up at once, in the partition of all.
many() {
	local i n

	n=$(fewer 50)
	for ((i = 0; i < n; i++)); do
		echo "link add link ib0 name c$i type ipoib pkey 0x8001"
		echo "link set c$i up"
	done | ip -batch - &&
	until_true 60 all_carriers "$n" &&
	ip address add 10.83.0.1/24 dev "c$((n - 1))" &&
	add node2 blue 0x8001 && ip -n node2 address add 10.83.0.2/24 dev blue &&
	ip -n node2 link set blue up &&
	until_true 20 ping -q -c 1 -W 1 10.83.0.2 &&
	for ((i = 0; i < n; i++)); do
		echo "link del c$i"
	done | ip -batch - && same "$(ls -d $net/c* 2> /dev/null)" ""
}

all_carriers() {
	[ "$(cat $net/c*/carrier 2> /dev/null | grep -c 1)" -eq "$1" ]
}

partitions "$blue"
if ours; then plan 33; else plan 32; fi
check "a P_Key appears" until_true 20 has_key 0x8001
check "created by sysfs" create
check "it is a child" is_child ib0.8001 0x8001
check "its name $(ours && echo is || echo "is not") for udev to keep" chosen
check "its P_Key is its name: no duplicates" duplicates
check "what is no P_Key is refused" no_pkeys
check "created by ip link; libnl agrees" attributes
check "umcast by both" umcast
check "its MTU" mtu
check "its queue's length" queue_length
check "its GUID" address
check "its name" names
! ours || check "created again at once" again_at_once
check "for those with CAP_NET_ADMIN" incapable
check "several of one partition, by name" same_partition
check "bad children are refused" bad_children
check "settings of a new child: $(ours || echo "not ")refused" bad_settings
check "changes of a child: $(ours || echo "not ")refused" bad_changes
check "a partition" partition
check "its Q_Key counts, whichever CPU sends" controlled_qkey
check "partitions are apart" apart
check "a P_Key that the port does not have" missing
check "comes" comes
check "full and limited members" membership
check "goes" goes
check "and returns" returns
check "children follow their parent down and up" follow
check "parent by another name" rename
check "a child in another namespace" move
check "deleted" delete
check "many" many
ip -n node2 link del blue
add node1 last 0x8001
check "the port's own interface cannot be deleted" sh -c \
	"ip link set last up && ip link del ib0 && [ -e $net/ib0 ] && ip link del last"
check "the parent is as before" no_loss -q -c 3 -i 0.05 10.77.0.2
partitions
finish
