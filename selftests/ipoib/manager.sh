#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# NetworkManager, as Debian has it, administers node2's interface: addresses, modes,
# MTUs, and a P_Key child.

. "$(dirname "$0")/lib.sh"

net=/sys/class/net
log=/tmp/manager.log

# What it finds of the machine: a message bus, a name, folders of its own to write
# to. With a /sys that can only be read it does not wait for udev; later it is to
# write there.
# shellcheck disable=SC2016 # for the inner shell
machine='
	grep -q ^messagebus: /etc/passwd ||
		echo messagebus:x:997:997::/:/bin/false >> /etc/passwd
	grep -q ^messagebus: /etc/group || echo messagebus:x:997: >> /etc/group
	for folder in /run /etc/NetworkManager /var/lib/NetworkManager; do
		mkdir -p $folder && mount -t tmpfs none $folder || exit
	done
	mkdir -p /run/dbus /etc/NetworkManager/system-connections &&
	printf "%s\n" "[main]" plugins=keyfile auth-polkit=false no-auto-default="*" \
		> /etc/NetworkManager/NetworkManager.conf &&
	printf "%032d\n" 2 > /run/machine-id && touch /etc/machine-id &&
	mount --bind /run/machine-id /etc/machine-id &&
	mount -o remount,bind,ro /sys || exit
	dbus-daemon --system --fork && exec NetworkManager --no-daemon
'

managed() {
	until_true 60 cli general status > /dev/null || { tail -n 30 $log; return 1; }
	nsenter -t $manager -m mount -o remount,bind,rw /sys
}

# cli ARGUMENT...: the administrator's command
cli() {
	nsenter -t $manager -m -n nmcli --wait 30 "$@" 2>&1
}

# knows INTERFACE WHAT: what it is
knows() {
	same "$(cli -g GENERAL.TYPE device show "$1")" "$2"
}

up() {
	cli connection up "$1" || { tail -n 20 $log; return 1; }
}

added() {
	cli connection add type infiniband con-name fabric ifname ib0 \
		infiniband.transport-mode datagram ipv4.method manual \
		ipv4.addresses 10.77.0.12/24 ipv6.method manual ipv6.addresses fd77::12/64 &&
	up fabric && is_in ib0 datagram 2044
}

# is_in INTERFACE MODE MTU
is_in() {
	same "$(on node2 cat "$net/$1/mode" "$net/$1/mtu" | xargs)" "$2 $3"
}

reached() {
	until_true 20 ping -q -c 1 -W 1 "$1" && no_loss -q -c 3 -i 0.05 "$1"
}

both() {
	reached 10.77.0.12 && reached fd77::12
}

# set_to MODE MTU MTU-THEN
set_to() {
	cli connection modify fabric infiniband.transport-mode "$1" infiniband.mtu "$2" &&
	up fabric && is_in ib0 "$1" "$3" && reached 10.77.0.12
}

# The link's, whatever there was before.
no_mtu() {
	set_to datagram 0 2044
}

child() {
	cli connection add type infiniband con-name blue infiniband.parent ib0 \
		infiniband.p-key 0x8001 infiniband.transport-mode datagram \
		ipv4.method manual ipv4.addresses 10.78.0.2/24 ipv6.method disabled &&
	up blue && is_in ib0.8001 datagram 2044
}

child_here() {
	echo 0x8001 > $net/ib0/create_child && ip link set ib0.8001 up &&
	ip address add 10.78.0.1/24 dev ib0.8001 && reached 10.78.0.2
}

child_gone() {
	cli connection delete blue
	until_true 10 not on node2 test -e $net/ib0.8001
}

has_address() {
	ip -n node2 address show dev ib0 | grep "$1"
}

released() {
	cli connection down fabric || return
	until_true 10 not has_address 10.77.0.12 || not has_address 10.77.0.12
}

# found: what others find of node 2's interface
found() {
	ip -n node2 -br address show dev ib0 | xargs -n 1 | sort
	on node2 cat /proc/sys/net/ipv6/conf/ib0/{accept_ra,addr_gen_mode}
}

is_found() {
	same "$(found)" "$before" && [[ $(ip -n node2 address show dev ib0) != *tentative* ]]
}

# NetworkManager takes the link-local address, too, which comes with the link.
restored() {
	ip -n node2 link set ib0 down &&
	on node2 sysctl -qw net.ipv6.conf.ib0.accept_ra=1 &&
	address_up node2 2 || return
	until_true 20 is_found || is_found
}

# The kernel's own driver makes children of create_child in another namespace than
# this NetworkManager's.
if ours; then plan 13; else plan 9; fi
before=$(found)
partitions 'blue=0x0001, ipoib : ALL=full;'
ip -n node2 address flush dev ib0
ip netns exec node2 unshare -m bash -c "$machine" > $log 2>&1 &
manager=$!
check "NetworkManager" managed
check "an InfiniBand interface" knows ib0 infiniband
check "a connection by it" added
check "IPv4 and IPv6" both
check "connected mode" set_to connected 65520 65520
check "a smaller MTU" set_to connected 9000 9000
check "datagram mode" no_mtu
if ours; then
	check "a P_Key child" child
	check "that is one" knows ib0.8001 infiniband
	check "data" child_here
	check "goes with its connection" child_gone
fi
check "all is given back" released
kill "$(nsenter -t $manager -m cat /run/dbus/pid)" $manager
wait $manager

# For who comes next
[ ! -e $net/ib0.8001 ] || echo 0x8001 > $net/ib0/delete_child
partitions
check "and the interface is as before" restored
until_true 20 ping -q -c 1 -W 1 10.77.0.2 > /tmp/manager.ping
finish
