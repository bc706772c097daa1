#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# ifupdown, as Debian has it, administers node2's interface: addresses, both modes, and a
# P_Key child. It knows what a child is: it makes ib0.8001 by create_child.

. "$(dirname "$0")/lib.sh"

net=/sys/class/net
etc=/etc/network/interfaces

# What it finds of the machine: folders of its own to write to.
# shellcheck disable=SC2016 # for the inner shell
machine='
	for folder in /run /etc/network; do
		mkdir -p $folder && mount -t tmpfs none $folder || exit
	done
	mkdir /run/network /etc/network/if-{pre-up,up,down,post-down}.d && exec sleep infinity
'

# inside COMMAND...: where it is the administrator's
inside() {
	nsenter -t $machine_pid -m -n "$@"
}

ready() {
	inside test -d /run/network
}

# written MODE MTU: the file of the administrator's
written() {
	cat <<-EOF | inside tee $etc > /dev/null
		auto ib0
		iface ib0 inet static
		    address 10.77.0.12/24
		    pre-up echo $1 > $net/ib0/mode
		    mtu $2
		iface ib0 inet6 static
		    address fd77::12/64
		    dad-attempts 0

		iface ib0.8001 inet static
		    address 10.78.0.2/24
	EOF
}

# is_in INTERFACE MODE MTU
is_in() {
	same "$(on node2 cat "$net/$1/mode" "$net/$1/mtu" | xargs)" "$2 $3"
}

reached() {
	until_true 20 ping -q -c 1 -W 1 "$1" && no_loss -q -c 3 -i 0.05 "$1"
}

# up_in MODE MTU
up_in() {
	written "$1" "$2" && inside ifup ib0 && is_in ib0 "$1" "$2" &&
	same "$(inside ifquery --state ib0)" ib0=ib0
}

both() {
	reached 10.77.0.12 && reached fd77::12
}

is_down() {
	inside ifdown ib0 && same "$(ip -n node2 -4 address show dev ib0)" "" &&
	not on node2 grep -q up $net/ib0/operstate
}

child() {
	inside ifup ib0.8001 && is_in ib0.8001 datagram 2044 &&
	echo 0x8001 > $net/ib0/create_child && ip link set ib0.8001 up &&
	ip address add 10.78.0.1/24 dev ib0.8001 && reached 10.78.0.2
}

child_gone() {
	inside ifdown ib0.8001 && until_true 10 not on node2 test -e $net/ib0.8001
}

# By "auto", as at boot
boot() {
	inside ifup -a && is_in ib0 datagram 2044 && both
}

# found: what others find of node 2's interface
found() {
	ip -n node2 -br address show dev ib0 | xargs -n 1 | sort
}

is_found() {
	same "$(found)" "$before"
}

restored() {
	inside ifdown ib0 &&
	on node2 sysctl -qw net.ipv6.conf.ib0.accept_ra=1 net.ipv6.conf.ib0.autoconf=1 \
		net.ipv6.conf.ib0.dad_transmits=1 &&
	address_up node2 2 || return
	until_true 20 is_found || is_found
}

# The kernel's own driver makes children of create_child in another namespace.
if ours; then plan 9; else plan 7; fi
before=$(found)
partitions 'blue=0x0001, ipoib : ALL=full;'
ip -n node2 address flush dev ib0
ip -n node2 link set ib0 down
ip netns exec node2 unshare -m bash -c "$machine" &
machine_pid=$!
until_true 20 ready
check "up in datagram mode" up_in datagram 2044
check "IPv4 and IPv6" both
check "down" is_down
check "up in connected mode" up_in connected 65520
check "IPv4 and IPv6" both
if ours; then
	check "a P_Key child" child
	check "the child is down, and gone" child_gone
fi
inside ifdown ib0
written datagram 2044
check "up as at boot" boot
check "and the interface is as before" restored
kill $machine_pid
wait $machine_pid 2> /dev/null
[ ! -e $net/ib0.8001 ] || echo 0x8001 > $net/ib0/delete_child
partitions
until_true 20 ping -q -c 1 -W 1 10.77.0.2 > /dev/null
finish
