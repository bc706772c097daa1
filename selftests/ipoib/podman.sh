#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Containers of podman's, as Debian has it, in node 2, with a child of its interface: one that
# is made in the container, and one that a network of podman's (CNI's host-device) lends it.

. "$(dirname "$0")/lib.sh"

net=/sys/class/net
address=10.78.0.2
key=0x8001

# --- the machine, as podman wants it --------------------------------------------------

# The root is an overlay, over which the containers' cannot lie.
prepare() {
	local folder

	mount -t cgroup2 none /sys/fs/cgroup || return
	for folder in /var/lib/containers /var/lib/cni /etc/containers /etc/cni; do
		mkdir -p $folder
	done
	mount -t tmpfs none /var/lib/containers && mkdir -p /etc/cni/net.d || return
	cat > /etc/containers/containers.conf <<-EOF &&
		[containers]
		log_driver = "k8s-file"
		[engine]
		cgroup_manager = "cgroupfs"
		events_logger = "file"
		[network]
		network_backend = "cni"
	EOF
	cat > /etc/cni/net.d/fabric.conflist <<-EOF
		{
			"cniVersion": "0.4.0",
			"name": "fabric",
			"plugins": [ {
				"type": "host-device",
				"device": "lent",
				"ipam": {
					"type": "static",
					"addresses": [ { "address": "$address/24" } ]
				}
			} ]
		}
	EOF
}

# pod ARGUMENT...: the administrator's command in node 2
pod() {
	nsenter --net=/run/netns/node2 podman "$@"
}

# A root file system of one program
image() {
	local root=/run/image program

	prepare || return
	mkdir -p $root/bin $root/www && cp "$(command -v busybox)" $root/bin/ || return
	for program in cat httpd ip ls ping sh sleep; do
		ln -s busybox $root/bin/$program || return
	done
	echo served > $root/www/file
	tar -c -C $root . | pod import - box > /dev/null && pod image exists box
}

# --- containers ------------------------------------------------------------------------

# starts NAME ARGUMENT...: a container that serves a file
starts() {
	pod run -d --name "$1" "${@:2}" box httpd -f -p 80 -h /www > /dev/null &&
	same "$(pod inspect -f '{{.State.Running}}' "$1")" true
}

# inside NAME COMMAND...: in the container's network, with the machine's programs
inside() {
	local pid

	pid=$(pod inspect -f '{{.State.Pid}}' "$1") && nsenter -t "$pid" -n "${@:2}"
}

made_there() {
	local pid

	pid=$(pod inspect -f '{{.State.Pid}}' web) &&
	ip -n node2 link add link ib0 name blue netns "$pid" type ipoib pkey $key &&
	inside web ip address add $address/24 dev blue && inside web ip link set blue up
}

served() {
	same "$(curl -s -m 10 http://$address/file)" served
}

reached() {
	until_true 20 ping -q -c 1 -W 1 $address && no_loss -q -c 5 -i 0.05 $address &&
	until_true 10 served
}

# has_files FOLDER CONTENTS COMMAND...: the kernel's driver gives its own to a child of create_child
# only, and none of these was made by that.
has_files() {
	! ours || same "$("${@:3}" cat "$1"/pkey "$1"/mode | xargs)" "$2"
}

# What the container sees of its interface, and what it must not do with it
seen() {
	same "$(pod exec web ls $net | xargs)" "blue lo" &&
	has_files $net/blue "$key datagram" pod exec web &&
	not pod exec web ip link set blue down &&
	not pod exec web sh -c "echo connected > $net/blue/mode" &&
	pod exec web ping -q -c 1 -W 5 10.78.0.1 &&
	not pod exec web ping -q -c 1 -W 1 10.77.0.1
}

# set_both MODE MTU: as the administrator of both nodes has it
set_both() {
	ip link set blue type ipoib mode "$1" && ip link set blue mtu "$2" &&
	inside web ip link set blue type ipoib mode "$1" &&
	inside web ip link set blue mtu "$2"
}

connected() {
	set_both connected 65520 && reached && large_pings 3 $address &&
	set_both datagram $((VM_IB_MTU - 4)) && reached
}

# left: verbs objects of node 2's adapter, but for what the neighbours cost
left() {
	grep -v -e ^multicast_group -e ^ah /sys/kernel/debug/softib/softib1/objects
}

# first COMMAND...: in the first network namespace
first() {
	nsenter -t 1 -n "$@"
}

# As the kernel has it for hardware: an interface outlives its namespace.
comes_back() {
	pod rm -f -t 0 web > /dev/null && until_true 20 first ip link show blue > /dev/null &&
	first ip link del blue && until_true 20 no_more "$before" left
}

lent() {
	ip -n node2 link add link ib0 name lent type ipoib pkey $key &&
	starts lender --network fabric &&
	same "$(pod exec lender ls $net | xargs)" "eth0 lo" && reached && return
	ip neigh show dev blue
	inside lender ip address
	return 1
}

returned() {
	pod rm -f -t 0 lender > /dev/null &&
	until_true 20 on node2 test -e $net/lent &&
	has_files $net/lent "$key datagram" on node2 && not pod exec lender true &&
	ip -n node2 address add $address/24 dev lent && ip -n node2 link set lent up &&
	until_true 20 ping -q -c 1 -W 1 $address && ip -n node2 link del lent
}

plan 9
partitions 'blue=0x0001, ipoib, defmember=full : ALL=full;'
ip link add link ib0 name blue type ipoib pkey $key
ip address add 10.78.0.1/24 dev blue
ip link set blue up
until_true 20 grep -q 1 $net/blue/carrier
check "an image" image
before=$(left)
check "a container without a network" starts web --network none --cap-add NET_RAW
check "a child is made in it" made_there
check "its server is reached" reached
check "the container sees its interface, and may not change it" seen
check "connected mode" connected
check "it ends, and the child comes to the first namespace" comes_back
check "podman's own network lends another one a child" lent
check "which node 2 has again when that ends" returned
ip link del blue
partitions
finish
