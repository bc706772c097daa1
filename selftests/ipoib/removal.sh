#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The driver, an adapter or a link goes, with children and traffic on it, in
# datagram mode or in that of $MODE.

. "$(dirname "$0")/lib.sh"

net=/sys/class/net
conf=/sys/kernel/config/softib
mode=${MODE:-datagram}

# New interfaces are in datagram mode. The kernel's driver lets go of netlink's lock
# while it changes a mode, and fails if somebody else takes it: "busy", with the lock
# unlocked twice. By sysfs it does not, and with no more than ib0 in connected mode.
mode() {
	local node

	for node; do
		until_true 10 on "$node" sh -c "echo $mode > $net/ib0/mode" || return
	done
}

# children NODE N: so many in the node, of its own partition, up
children() {
	local i options='pkey 0x7fff'

	! ours || options+=" mode $mode"
	for ((i = 0; i < $2; i++)); do
		echo "link add link ib0 name c$i type ipoib $options"
		echo "address add 10.$((90 + i)).0.${1#node}/24 dev c$i"
		echo "link set c$i up"
	done | ip -n "$1" -batch -
}

# Whatever of it ends with the interface, begins again with the next one. At
# first only what is not there says anything.
traffic() {
	until [ -e /run/enough ]; do
		iperf3 -c 10.77.0.2 --connect-timeout 500 -t 30 || sleep 0.1
	done &
	ping -q -i 0.01 -s 1000 10.77.0.2 &
	on node2 ping -q -i 0.01 -s 5000 fd77::1 &
	# By whom the peer hears of a new address at once
	on node2 ping -q -i 0.02 10.90.0.1 &
	on node2 ping -q -i 0.02 10.91.0.1 &
	ping -q -i 0.02 ff02::1%ib0 &
	until [ -e /run/enough ]; do
		echo | socat -u - UDP4-DATAGRAM:239.77.5.5:7000,ip-multicast-if=10.77.0.1
		sleep 0.05
	done &
} > /dev/null 2>&1

quiet() {
	touch /run/enough
	pkill -x 'ping|iperf3'
	wait
	rm /run/enough
} 2> /dev/null

talks() {
	until_true 30 ping -c 1 -W 1 "$1" && steady "$1"
}

# What went to an adapter that is gone may have to fail first.
works() {
	local to

	for to in 10.77.0.2 fd77::2 10.90.0.2 10.91.0.2; do
		until_true 20 talks $to || talks $to || return
	done
}

no_connections() {
	! rdma resource show qp | grep -q 'type RC'
}

# The kernel's driver warns if it goes with connections open.
unload() {
	local node

	if ! ours && [ "$mode" = connected ]; then
		for node in node1 node2; do
			on $node sh -c "echo datagram > $net/ib0/mode"
			ip -n $node link set ib0 down || return
		done
		until_true 30 no_connections
	fi
	rmmod ib_ipoib
}

reload() {
	local i

	for ((i = 0; i < $(fewer 2); i++)); do
		# Under way, or joining, or before that.
		sleep 0.$((i * 2 % 5))
		unload || return
		[ -z "$(find $net -name 'c[0-9]*')" ] || return
		modprobe ib_ipoib && give_all && mode node1 node2 && children node1 20 &&
		children node2 2 || return
	done
}

# unloaded: KiB in use without the driver
unloaded() {
	local last now

	unload || return
	now=$(in_use)
	last=$((now + 1000000))
	until [ $((last - now)) -lt 256 ]; do
		sleep 0.5
		last=$now now=$(in_use)
	done
	echo "$now"
}

# Twice the same must not cost anything the second time.
no_leak() {
	local base

	base=$(unloaded) && modprobe ib_ipoib && give_all && mode node1 node2 &&
	children node1 20 && children node2 2 && works && unload || return
	until_true 20 back_to $((base + 1024)) || back_to $((base + 1024))
	local status=$?
	modprobe ib_ipoib && give_all && mode node1 node2 && children node1 20 &&
	children node2 2 && return $status
}

# Who deletes a child by sysfs waits for those who use it, and who takes the driver
# away for those who write to its files, with netlink's lock.
deleted_meanwhile() {
	local i

	for ((i = 0; i < $(fewer 5); i++)); do
		echo 0x8001 > $net/ib0/create_child && ip link set ib0.8001 up || return
		echo 0x8001 > $net/ib0/delete_child &
		timeout 60 rmmod ib_ipoib || return
		wait
		[ -z "$(find $net -name 'ib*')" ] || return
		modprobe ib_ipoib && give_all || return
	done
}

# --- an adapter ------------------------------------------------------------

# The adapter of node 2 is pulled out; a child of its is in another namespace.
pull() {
	ip netns add box && ip -n node2 link set c1 netns box &&
	ip -n box link set c1 up &&
	timeout 100 sh -c "echo 0 > $conf/hcas/softib1/enable"
}

all_gone() {
	local name

	for name in node2 box; do
		[ -z "$(on $name find $net/ -name 'ib*' -o -name 'c[0-9]*')" ] ||
			return
	done
	ip netns del box
}

# knows ADDRESS: by the link-layer address that node 2 has now
knows() {
	local entry

	entry=$(ip neigh show "$1" dev ib0)
	echo "$entry"
	[[ $entry == *"lladdr $(lladdr node2) "* ]]
}

# The kernel makes its interface where it makes all.
plug() {
	echo 1 > $conf/hcas/softib1/enable &&
	echo 1 > $conf/links/softib1/enable &&
	until_true 20 nsenter -t 1 -n ip link show ib0 &&
	nsenter -t 1 -n ip link set ib0 netns node2 && address_up node2 2 &&
	mode node2 && children node2 2 || return
	# The new interfaces' addresses differ, by their QPNs. The kernel's driver does not
	# tell, and neighbours who are asked nothing doubt the old ones by themselves after
	# half a minute: all took 42 s. So there they are made to ask. Ours does as soon as
	# the subnet manager has found the port.
	if ours; then
		until_true 30 on node2 grep -q 1 $net/ib0/carrier
		until_true 3 knows 10.77.0.2 || knows 10.77.0.2
	else
		ip neigh flush all
	fi
}

dies() {
	echo 1 > $conf/hcas/softib1/fatal && until_true 20 no_carriers node2 &&
	echo 0 > $conf/hcas/softib1/enable && plug
}

# --- a link ----------------------------------------------------------------

no_carriers() {
	not on "$1" grep -qs 1 $net/ib0/carrier $net/c0/carrier $net/c1/carrier
}

all_carriers() {
	not on "$1" grep -qs 0 $net/ib0/carrier $net/c0/carrier $net/c1/carrier
}

unplugged() {
	all_carriers node2 && echo 0 > $conf/links/softib1/up &&
	until_true 10 no_carriers node2 && not ping -q -c 1 -W 0.5 10.90.0.2
}

plugged() {
	echo 1 > $conf/links/softib1/up && until_true 30 all_carriers node2
}

# The port is up all the time, but for the subnet manager.
init() {
	echo INIT > $conf/links/softib1/a/state &&
	until_true 30 all_carriers node2 && works
}

pings_through() {
	local i

	for ((i = 0; i < $(fewer 5); i++)); do
		echo 0 > $conf/links/softib1/up && sleep 0.$((i % 5)) &&
		echo 1 > $conf/links/softib1/up && sleep 0.$((i % 7)) || return
	done
}

mountpoint -q /sys/kernel/config ||
	mount -t configfs configfs /sys/kernel/config || exit
# Otherwise a node answers on one interface for the address of another.
for node in node1 node2; do
	on $node sysctl -qw net.ipv4.conf.all.arp_ignore=1
done
on node2 iperf3 -s > /dev/null 2>&1 &
mode node1 node2
if ours; then plan 18; else plan 17; fi
check "20 children" children node1 20
check "and two for the peer" children node2 2
check "work" works
traffic
check "the driver away and back under traffic" reload
check "everything works" works
check "the peer's adapter goes under traffic" pull
check "with all children, wherever they are" until_true 20 all_gone
check "and comes back" plug
check "everything works" works
check "it dies under traffic, and is replaced" dies
check "everything works" works
check "its link flaps under traffic" pings_through
quiet
check "everything works" works
check "a port without a link: its children have no carrier" unplugged
check "and get it back" plugged
check "a port that is set up again" init
check "the driver away and back: no memory is lost" no_leak
if ours; then
	check "the driver goes while children are deleted" deleted_meanwhile
	mode node1 node2 && children node1 20 && children node2 2
fi
pkill -x iperf3
mode=datagram
mode node1 node2
for node in node1 node2; do
	on $node sysctl -qw net.ipv4.conf.all.arp_ignore=0
	# shellcheck disable=SC2016 # for the inner shell
	on $node sh -c 'for i in /sys/class/net/c[0-9]*; do
		ip link del "${i##*/}"
	done'
done
finish
